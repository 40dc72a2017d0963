import Glibc
import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
package import SkyrowSystem

/// The archive that `skyrow backup` writes: a tar file of a PostgreSQL dump, the files of records, a manifest, and checksums.
///
/// ```
/// skyrow-backup/database.dump    pg_dump's custom format
/// skyrow-backup/files/NAME       with --files, for each file
/// skyrow-backup/manifest.json    ``BackupManifest``
/// skyrow-backup/SHA256SUMS       of the files before, as sha256sum(1) checks them
/// ```
enum BackupArchive {
    static let dump = "skyrow-backup/database.dump"
    static let files = "skyrow-backup/files/"
    static let manifest = "skyrow-backup/manifest.json"
    static let checksums = "skyrow-backup/SHA256SUMS"
    /// What every archive has.
    static let parts: Set = [dump, manifest, checksums]

    /// Returns the line about a file in the checksums.
    static func line(_ name: String, _ contents: FileContents) -> String {
        "\(Hexadecimal.text(contents.sha256))  \(name)\n"
    }
}

/// Writes an archive, file by file.
final class BackupWriter {
    private let output: OutputFile
    private let time: Int
    private var length = 0
    /// The lines of the checksums. They are not in memory, since an archive may have millions.
    private let checksums: FileDescriptor
    /// The number of bytes written.
    var count: Int { length }

    init(_ output: OutputFile, time: Timestamp) throws(ToolError) {
        self.output = output
        self.time = Int((time.microseconds + Timestamp.unixEpochOffset) / 1_000_000)
        checksums = try output.scratch()
    }

    /// Adds a file, and returns what it contains. `body` gets a function that writes the file's next bytes.
    @discardableResult
    func add(_ name: String, _ body: ((_ bytes: [UInt8]) throws(ToolError) -> Void) async throws(ToolError) -> Void)
        async throws(ToolError) -> FileContents
    {
        var header = TarHeader(name: name, size: 0, time: time)
        try write(header.extended)
        let start = length
        // The header is rewritten when the size is known.
        try write(header.block)
        var hash = SHA256()
        var size = 0
        try await body { bytes throws(ToolError) in
            hash.update(bytes)
            size += bytes.count
            try self.write(bytes)
        }
        try write([UInt8](repeating: 0, count: TarHeader.padding(after: size)))
        header.size = size
        let block = header.block
        guard pwrite(output.file.number, block, block.count, off_t(start)) == block.count else {
            throw .system("Cannot write \(output.path)")
        }
        let contents = FileContents(size: Int64(size), sha256: hash.finish().bytes)
        try checksums.write(BackupArchive.line(name, contents).utf8)
        return contents
    }

    /// Writes the checksums, and renames the archive to its final name.
    func finish() async throws(ToolError) {
        guard lseek(checksums.number, 0, SEEK_SET) == 0 else { throw .system("Cannot read the checksums") }
        try await add(BackupArchive.checksums) { write throws(ToolError) in
            while case let part = try checksums.read(upTo: FileContents.partLength), !part.isEmpty { try write(part) }
        }
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
    private let checksums: TarEntry

    /// Reads the whole archive and verifies its checksums.
    ///
    /// Throws ``ToolError`` if the file is not an archive, is truncated or damaged, or is newer than this program.
    package init(opening path: String) throws(ToolError) {
        self.path = path
        let file = try FileDescriptor(opening: path, O_RDONLY)
        var parts: [String: TarEntry] = [:]
        var files = BackupManifest.Files(count: 0, bytes: 0)
        var heads = ArchiveEntries(file, path)
        while let entry = try heads.next() {
            if entry.name.hasPrefix(BackupArchive.files) {
                guard entry.assetName != nil else { throw .damagedArchive(path) }
                files.count += 1
                // The sizes are bounded by that of the archive.
                files.bytes += entry.size
            } else if BackupArchive.parts.contains(entry.name), parts[entry.name] == nil {
                parts[entry.name] = entry
            }
        }
        func entry(_ name: String) throws(ToolError) -> TarEntry {
            guard let entry = parts[name] else {
                throw .failure("\(path) is not a backup of skyrow: it does not contain \(name).")
            }
            return entry
        }
        dump = try entry(BackupArchive.dump)
        let described = try entry(BackupArchive.manifest)
        checksums = try entry(BackupArchive.checksums)
        guard described.size < 1 << 28 else { throw .damagedArchive(path) }
        var entries = ArchiveEntries(file, path)
        var lines = ChecksumLines(checksums.parts(of: file))
        while let entry = try entries.next() {
            guard entry.name != BackupArchive.checksums else { continue }
            let line = BackupArchive.line(entry.name, try FileContents(reading: entry.parts(of: file)))
            guard try lines.next() == Array(line.utf8) else { throw .damagedArchive(path) }
        }
        guard try lines.next() == nil else { throw .damagedArchive(path) }
        manifest = try BackupManifest(json: try file.read(described.size, at: described.offset), path: path)
        guard manifest.files ?? BackupManifest.Files(count: 0, bytes: 0) == files else { throw .damagedArchive(path) }
    }

    /// Calls `body` with each file of records: its name, a function that returns its next bytes, none at the end, and one that
    /// throws ``ToolError`` unless that is what the checksums say of it.
    func eachFile(
        _ body: (
            _ name: AssetName,
            _ next: () throws(ToolError) -> [UInt8],
            _ check: (FileContents) throws(ToolError) -> Void
        ) async throws(ToolError) -> Void
    ) async throws(ToolError) {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        var entries = ArchiveEntries(file, path)
        var lines = ChecksumLines(checksums.parts(of: file))
        while let entry = try entries.next() {
            guard entry.name != BackupArchive.checksums else { continue }
            let line = try lines.next()
            guard let name = entry.assetName else { continue }
            try await body(name, entry.parts(of: file)) { contents throws(ToolError) in
                guard line == Array(BackupArchive.line(entry.name, contents).utf8) else { throw .damagedArchive(path) }
            }
        }
    }
}

/// The files of an archive, one after another.
private struct ArchiveEntries {
    private let path: String
    private var entries: TarEntries

    init(_ file: FileDescriptor, _ path: String) {
        self.path = path
        entries = TarEntries { offset, count throws(ToolError) in try file.read(count, at: offset) }
    }

    /// Returns the next file; nil at the end.
    mutating func next() throws(ToolError) -> TarEntry? {
        do {
            return try entries.next()
        } catch let fault as TarFault {
            switch fault {
            case .foreign: throw .failure("\(path) is not a backup of skyrow.")
            case .damaged: throw .damagedArchive(path)
            case .truncated: throw .failure("\(path) is truncated. Nothing was changed; use another backup.")
            }
        } catch let error as ToolError {
            throw error
        } catch {
            throw .damagedArchive(path)
        }
    }
}

/// The lines of an archive's checksums, one after another.
private struct ChecksumLines {
    private let more: () throws(ToolError) -> [UInt8]
    private var rest: ArraySlice<UInt8> = []
    private var isAtEnd = false
    /// A line has a checksum, two spaces, and a name.
    private static let maximumLength = 64 + 2 + TarPath.maximumLength

    /// - Parameter more: Returns the next bytes; none at the end.
    init(_ more: @escaping () throws(ToolError) -> [UInt8]) {
        self.more = more
    }

    /// Returns the next line, with its line feed unless it is cut off; nil at the end.
    mutating func next() throws(ToolError) -> [UInt8]? {
        if rest.count <= Self.maximumLength, !isAtEnd {
            let bytes = try more()
            isAtEnd = bytes.isEmpty
            rest = rest + bytes
        }
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? rest.endIndex
        defer { rest = rest[end...] }
        return Array(rest[..<end])
    }
}

extension TarEntry {
    /// The name of a file of records; nil for other entries and invalid names.
    fileprivate var assetName: AssetName? {
        name.hasPrefix(BackupArchive.files) ? AssetName(name.dropFirst(BackupArchive.files.count)) : nil
    }

    /// Returns a function that returns the next bytes of the entry; none at its end.
    fileprivate func parts(of file: FileDescriptor) -> () throws(ToolError) -> [UInt8] {
        var done = 0
        return { () throws(ToolError) in
            let part = try file.read(min(FileContents.partLength, size - done), at: offset + done)
            done += part.count
            return part
        }
    }
}

extension FileDescriptor {
    /// Reads bytes at an offset; fewer at the end of the file.
    fileprivate func read(_ count: Int, at offset: Int) throws(ToolError) -> [UInt8] {
        var failed = false
        let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 0)) { buffer, initialized in
            guard let start = buffer.baseAddress else { return }
            while initialized < count {
                let received = pread(number, start + initialized, count - initialized, off_t(offset + initialized))
                if received < 0, errno == EINTR { continue }
                failed = received < 0
                if received <= 0 { return }
                initialized += received
            }
        }
        guard !failed else { throw .system("Cannot read") }
        return bytes
    }
}
