import Glibc

/// The bytes of a file, decompressed when they are gzip's.
final class ImportFile: Sendable {
    private let bytes: FileDescriptor
    private let decompressor: ChildProcess?

    /// Throws ``ToolError`` when the file cannot be opened.
    init(opening path: String) async throws(ToolError) {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        var magic: [UInt8] = [0, 0]
        // Only what can be read from its start again, as the import reads it twice.
        guard pread(file.number, &magic, 2, 0) >= 0 else { throw .system("Cannot read \(path)") }
        guard magic == [0x1f, 0x8b] else {
            bytes = file
            decompressor = nil
            return
        }
        let (reading, writing) = try FileDescriptor.pipe()
        let complaints = try FileDescriptor(opening: "/dev/null", O_WRONLY)
        decompressor = try await ChildProcess.launch(
            Command(
                ["gzip", "-dc"],
                environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"],
                descriptors: [file, writing, complaints]
            )
        )
        bytes = reading
    }

    /// The next bytes; none at the end. Throws ``ToolError`` when they cannot be read or decompressed.
    func next() async throws(ToolError) -> [UInt8] {
        let chunk = try bytes.read(upTo: 256 << 10)
        if chunk.isEmpty, let decompressor, await decompressor.exit != .exited(0) {
            throw .failure("The file ends too early, or is not what gzip made.")
        }
        return chunk
    }
}
