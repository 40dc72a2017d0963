import Glibc
import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowSystem

/// The archive that `skyrow backup` writes: a tar file of a PostgreSQL dump, a manifest, and checksums.
///
/// ```
/// skyrow-backup/database.dump    pg_dump's custom format
/// skyrow-backup/manifest.json    ``BackupManifest``
/// skyrow-backup/SHA256SUMS       of the files before, as sha256sum(1) checks them
/// ```
enum BackupArchive {
    static let dump = "skyrow-backup/database.dump"
    static let manifest = "skyrow-backup/manifest.json"
    static let checksums = "skyrow-backup/SHA256SUMS"
}

/// Writes an archive, file by file.
final class BackupWriter {
    private let output: OutputFile
    private let time: Int
    private var length = 0
    private var checksums = ""
    /// The number of bytes written.
    var count: Int { length }

    init(_ output: OutputFile, time: Timestamp) {
        self.output = output
        self.time = Int((time.microseconds + Timestamp.unixEpochOffset) / 1_000_000)
    }

    /// Adds a file. `body` gets a function that writes the file's next bytes.
    func add(_ name: String, _ body: ((_ bytes: [UInt8]) throws(ToolError) -> Void) async throws(ToolError) -> Void)
        async throws(ToolError)
    {
        let start = length
        // The header is rewritten when the size is known.
        try write(TarHeader(name: name, size: 0, time: time).block)
        var hash = SHA256()
        var size = 0
        try await body { bytes throws(ToolError) in
            hash.update(bytes)
            size += bytes.count
            try self.write(bytes)
        }
        try write([UInt8](repeating: 0, count: TarHeader.padding(after: size)))
        let header = TarHeader(name: name, size: size, time: time).block
        guard pwrite(output.file.number, header, header.count, off_t(start)) == header.count else {
            throw .system("Cannot write \(output.path)")
        }
        checksums += "\(Hexadecimal.text(hash.finish().bytes))  \(name)\n"
    }

    /// Writes the checksums, and renames the archive to its final name.
    func finish() async throws(ToolError) {
        let checksums = Array(checksums.utf8)
        try await add(BackupArchive.checksums) { write throws(ToolError) in try write(checksums) }
        try write([UInt8](repeating: 0, count: 2 * TarHeader.blockLength))
        try output.finish()
    }

    private func write(_ bytes: [UInt8]) throws(ToolError) {
        try output.write(bytes)
        length += bytes.count
    }
}

/// An archive with verified checksums.
package struct BackupReader: Sendable {
    package let path: String
    package let manifest: BackupManifest
    /// The position of the dump in the file.
    package let dump: TarEntry

    /// Reads the whole archive and verifies its checksums.
    ///
    /// Throws ``ToolError`` if the file is not an archive, is truncated or damaged, or is newer than this program.
    package init(opening path: String) throws(ToolError) {
        self.path = path
        let file = try FileDescriptor(opening: path, O_RDONLY)
        func read(_ offset: Int, _ count: Int) throws(ToolError) -> [UInt8] {
            try BackupReader.read(file, offset, count)
        }
        let entries: [TarEntry]
        do {
            entries = try tarEntries(read: read)
        } catch let fault as TarFault {
            throw BackupReader.explain(fault, path)
        } catch let error as ToolError {
            throw error
        } catch {
            throw .damagedArchive(path)
        }
        func entry(_ name: String) throws(ToolError) -> TarEntry {
            guard let entry = entries.first(where: { $0.name == name }) else {
                throw .failure("\(path) is not a backup of skyrow: it does not contain \(name).")
            }
            return entry
        }
        dump = try entry(BackupArchive.dump)
        let described = try entry(BackupArchive.manifest)
        let sums = try entry(BackupArchive.checksums)
        guard described.size < 1 << 28, sums.size < 1 << 28 else { throw .damagedArchive(path) }
        var expected = ""
        for entry in entries where entry.name != BackupArchive.checksums {
            expected += "\(try BackupReader.checksum(of: entry, in: file))  \(entry.name)\n"
        }
        guard try read(sums.offset, sums.size) == Array(expected.utf8) else { throw .damagedArchive(path) }
        manifest = try BackupManifest(json: try read(described.offset, described.size), path: path)
    }

    private static func read(_ file: FileDescriptor, _ offset: Int, _ count: Int) throws(ToolError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 0)) { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            while initialized < count {
                let place = off_t(offset + initialized)
                let received = pread(file.number, start + initialized, count - initialized, place)
                if received < 0, errno == EINTR { continue }
                failed = received < 0
                if received <= 0 { return }
                initialized += received
            }
        }
        guard !failed else { throw .system("Cannot read") }
        return bytes
    }

    private static func checksum(of entry: TarEntry, in file: FileDescriptor) throws(ToolError) -> String {
        var hash = SHA256()
        var offset = 0
        while offset < entry.size {
            let part = try read(file, entry.offset + offset, min(1 << 20, entry.size - offset))
            guard !part.isEmpty else { break }
            hash.update(part)
            offset += part.count
        }
        return Hexadecimal.text(hash.finish().bytes)
    }

    private static func explain(_ fault: TarFault, _ path: String) -> ToolError {
        switch fault {
        case .foreign: .failure("\(path) is not a backup of skyrow.")
        case .damaged: .damagedArchive(path)
        case .truncated: .failure("\(path) is truncated. Nothing was changed; use another backup.")
        }
    }
}
