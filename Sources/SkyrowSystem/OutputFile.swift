import Glibc

/// A file that a command writes. It gets its name when it is complete, and only its owner can read it.
package final class OutputFile: Sendable {
    package let path: String
    /// Also open for reading.
    package let file: FileDescriptor
    private let draft: String
    private let replaces: Bool

    /// Throws ``ToolError`` if the file exists and should not be replaced, or if it cannot be created.
    package init(path: String, replacing: Bool = false) throws(ToolError) {
        var status = stat()
        // A dangling link exists as well.
        guard replacing || lstat(path, &status) != 0 else { throw OutputFile.isThere(path) }
        self.path = path
        replaces = replacing
        // If others can write to the directory, something may exist under this name.
        draft = "\(path).\(UInt32.random(in: .min ... .max)).partial"
        file = try FileDescriptor(opening: draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    }

    private static func isThere(_ path: String) -> ToolError {
        .failure("The file \(path) already exists: choose another name, or add --overwrite to replace it.")
    }

    deinit {
        // The file has another name by now, unless something failed.
        unlink(draft)
    }

    package func write(_ bytes: [UInt8]) throws(ToolError) {
        try file.write(bytes)
    }

    /// Creates a file without a name on the same disk, open for reading and writing.
    package func scratch() throws(ToolError) -> FileDescriptor {
        let name = "\(draft).scratch"
        let file = try FileDescriptor(opening: name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        unlink(name)
        return file
    }

    /// Makes the file durable and gives it its name; throws ``ToolError`` if that fails.
    package func finish() throws(ToolError) {
        guard fsync(file.number) == 0 else { throw .system("Cannot write \(path)") }
        try giveName()
        let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        let directory = try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.number) == 0 else { throw .system("Cannot write \(folder)") }
    }

    /// Unlike rename(2), link(2) does not replace a file that was created meanwhile; neither follows a link under the name.
    private func giveName() throws(ToolError) {
        if !replaces {
            if link(draft, path) == 0 { return }
            if errno == EEXIST { throw OutputFile.isThere(path) }
            // Some file systems have no hard links.
            guard [EPERM, ENOTSUP, ENOSYS].contains(errno) else { throw .system("Cannot create \(path)") }
            var status = stat()
            guard lstat(path, &status) != 0 else { throw OutputFile.isThere(path) }
        }
        guard rename(draft, path) == 0 else { throw .system("Cannot create \(path)") }
    }
}
