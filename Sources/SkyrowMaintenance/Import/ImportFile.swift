import Glibc
import SkyrowSystem

/// A file's bytes, decompressed if they are gzip data.
final class ImportFile: Sendable {
    private let bytes: FileDescriptor
    private let decompressor: GzipReader?

    /// Throws ``ToolError`` if the file cannot be opened.
    init(opening path: String) async throws(ToolError) {
        bytes = try FileDescriptor(opening: path, O_RDONLY)
        var magic: [UInt8] = [0, 0]
        // pread fails for files that cannot be rewound; the import reads the file twice.
        guard pread(bytes.number, &magic, 2, 0) >= 0 else { throw .system("Cannot read \(path)") }
        decompressor = magic == [0x1f, 0x8b] ? try await GzipReader(from: bytes) : nil
    }

    /// Returns the next bytes, or none at the end. Throws ``ToolError`` if they cannot be read or decompressed.
    func next() async throws(ToolError) -> [UInt8] {
        if let decompressor { return try await decompressor.next() }
        return try bytes.read(upTo: 256 << 10)
    }
}
