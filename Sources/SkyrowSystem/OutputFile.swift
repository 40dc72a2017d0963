import Glibc

/// A file that a command writes, which gets its name when it is complete and is readable by its owner alone.
package final class OutputFile: Sendable {
    package let path: String
    /// Open for reading too.
    package let file: FileDescriptor
    private let draft: String
    private let replaces: Bool

    /// Throws ``ToolError`` when there is such a file already, unless it is to be replaced, or none can be made.
    package init(path: String, replacing: Bool = false) throws(ToolError) {
        var status = stat()
        // A link that leads nowhere is there as well.
        guard replacing || lstat(path, &status) != 0 else { throw OutputFile.isThere(path) }
        self.path = path
        replaces = replacing
        // In a directory that others may write others may have put something under this name.
        draft = "\(path).\(UInt32.random(in: .min ... .max)).partial"
        file = try FileDescriptor(opening: draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    private static func isThere(_ path: String) -> ToolError {
        .failure("There is a file \(path) already: give another name, or --overwrite to replace it.")
    }

    deinit {
        // It has another name by now, unless something went wrong.
        unlink(draft)
    }

    package func write(_ bytes: [UInt8]) throws(ToolError) {
        try file.write(bytes)
    }

    /// Makes it durable and gives it its name; throws ``ToolError`` when the disk refuses.
    package func finish() throws(ToolError) {
        guard fsync(file.number) == 0 else { throw .system("Cannot write \(path)") }
        try giveName()
        let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        let directory = try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.number) == 0 else { throw .system("Cannot write \(folder)") }
    }

    /// Unlike rename(2), link(2) replaces nothing that has come meanwhile; neither follows a link under the name.
    private func giveName() throws(ToolError) {
        if !replaces {
            if link(draft, path) == 0 { return }
            if errno == EEXIST { throw OutputFile.isThere(path) }
            // Some file systems have no hard links.
            guard [EPERM, ENOTSUP, ENOSYS].contains(errno) else { throw .system("Cannot make \(path)") }
            var status = stat()
            guard lstat(path, &status) != 0 else { throw OutputFile.isThere(path) }
        }
        guard rename(draft, path) == 0 else { throw .system("Cannot make \(path)") }
    }
}
