import Glibc
import SkyrowSystem

/// The bytes of a file, decompressed when they are gzip's.
final class ImportFile: Sendable {
    private let bytes: FileDescriptor
    private let decompressor: GzipReader?

    /// Throws ``ToolError`` when the file cannot be opened.
    init(opening path: String) async throws(ToolError) {
        bytes = try FileDescriptor(opening: path, O_RDONLY)
        var magic: [UInt8] = [0, 0]
        // Only what can be read from its start again, as the import reads it twice.
        guard pread(bytes.number, &magic, 2, 0) >= 0 else { throw .system("Cannot read \(path)") }
        decompressor = magic == [0x1f, 0x8b] ? try await GzipReader(from: bytes) : nil
    }

    /// The next bytes; none at the end. Throws ``ToolError`` when they cannot be read or decompressed.
    func next() async throws(ToolError) -> [UInt8] {
        if let decompressor { return try await decompressor.next() }
        return try bytes.read(upTo: 256 << 10)
    }
}
