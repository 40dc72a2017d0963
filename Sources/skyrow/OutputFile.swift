import Glibc

/// A file that a command writes, which gets its name when it is complete and is readable by its owner alone.
final class OutputFile: Sendable {
    let path: String
    /// Open for reading too.
    let file: FileDescriptor
    private let draft: String

    /// Throws ``ToolError`` when there is such a file already, unless it is to be replaced, or none can be made.
    init(path: String, replacing: Bool = false) throws(ToolError) {
        guard replacing || access(path, F_OK) != 0 else {
            throw .failure("There is a file \(path) already: give another name, or --overwrite to replace it.")
        }
        self.path = path
        draft = "\(path).\(getpid()).partial"
        file = try FileDescriptor(opening: draft, O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
    }

    deinit {
        // It has another name by now, unless something went wrong.
        unlink(draft)
    }

    func write(_ bytes: [UInt8]) throws(ToolError) {
        try file.write(bytes)
    }

    /// Makes it durable and gives it its name; throws ``ToolError`` when the disk refuses.
    func finish() throws(ToolError) {
        guard fsync(file.number) == 0 else { throw .system("Cannot write \(path)") }
        guard rename(draft, path) == 0 else { throw .system("Cannot make \(path)") }
        let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        let directory = try FileDescriptor(opening: folder, O_RDONLY | O_DIRECTORY)
        guard fsync(directory.number) == 0 else { throw .system("Cannot write \(folder)") }
    }
}
