import Glibc
import SkyrowCrypto
import SkyrowJSON
import SkyrowSystem

/// The rows of a dump, table by table, counted and hashed while they are read.
final class DumpRows {
    private let output: ProgramOutput
    private var script = DumpScript()
    private var ready: ArraySlice<DumpPiece> = []
    private var isAtEnd = false
    private var hash = SHA256()
    /// The tables read so far.
    private(set) var tables: [BackupManifest.Table] = []
    /// The highest number in the first column of `_migration`.
    private(set) var schemaVersion = 0

    init(_ output: ProgramOutput) {
        self.output = output
    }

    /// The number of rows read so far.
    var rowCount: Int { tables.reduce(0) { $0 + $1.rows } }

    /// Returns the next piece, or nil at the end. Throws ``ToolError`` if pg_restore fails or the text is truncated.
    func next() async throws(ToolError) -> DumpPiece? {
        while ready.isEmpty {
            if isAtEnd { return nil }
            let bytes = try await output.next()
            isAtEnd = bytes.isEmpty
            ready = try script.take(bytes)[...]
        }
        let piece = ready.removeFirst()
        note(piece)
        return piece
    }

    private func note(_ piece: DumpPiece) {
        switch piece {
        case .script: break
        case .copy(_, let table):
            hash = SHA256()
            tables.append(BackupManifest.Table(name: table, rows: 0, bytes: 0, checksum: ""))
        case .lines(let bytes, let count):
            guard let last = tables.indices.last else { return }
            hash.update(bytes)
            tables[last].rows += count
            tables[last].bytes += bytes.count
            guard tables[last].name == "_migration" else { return }
            for line in bytes.split(separator: UInt8(ascii: "\n")) {
                let number = String(decoding: line.prefix { $0 != UInt8(ascii: "\t") }, as: UTF8.self)
                schemaVersion = max(schemaVersion, Int(number) ?? 0)
            }
        case .endOfCopy:
            guard let last = tables.indices.last else { return }
            tables[last].checksum = Hexadecimal.text(hash.finish().bytes)
        }
    }

    /// The lines of the current table.
    var lines: Lines { Lines(rows: self) }

    struct Lines: AsyncSequence {
        fileprivate let rows: DumpRows

        struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate let rows: DumpRows

            mutating func next() async throws -> [UInt8]? {
                guard case .lines(let bytes, _)? = try await rows.next() else { return nil }
                return bytes
            }
        }

        func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(rows: rows)
        }
    }
}

/// The dump in an archive, read with pg_restore.
struct DumpReader: Sendable {
    /// The archive's path.
    let path: String
    let entry: TarEntry
    let program: DumpProgram

    /// Returns the rows in restore order.
    func rows() async throws(ToolError) -> DumpRows {
        DumpRows(try await read(program.script(section: "data")))
    }

    /// Returns the entries of a section without rows, except those of the schema itself, in parts of `length` entries.
    func parts(of section: String, length: Int) async throws(ToolError) -> [ArraySlice<Substring>] {
        let entries = DumpProgram.entries(of: try await read(program.list(section: section)).text())
        return stride(from: 0, to: entries.count, by: length).map { entries[$0..<min($0 + length, entries.count)] }
    }

    /// Returns the statements of one part of a section.
    func script(section: String, part: ArraySlice<Substring>) async throws(ToolError) -> String {
        let file = try FileDescriptor.temporary()
        try file.write((part.joined(separator: "\n") + "\n").utf8)
        let text = try await read(program.script(section: section, list: "/proc/self/fd/3"), others: [file]).text()
        return DumpReader.withoutCommands(text)
    }

    private func read(_ words: [String], others: [FileDescriptor] = []) async throws(ToolError) -> ProgramOutput {
        let file = try FileDescriptor(opening: path, O_RDONLY)
        guard lseek(file.number, off_t(entry.offset), SEEK_SET) >= 0 else { throw .system("Cannot read \(path)") }
        // pg_restore reads its input to the end, and other files follow the dump in the archive.
        let (reading, writing) = try FileDescriptor.pipe()
        let silence = try FileDescriptor(opening: "/dev/null", O_WRONLY)
        _ = try await ChildProcess.launch(
            Command(
                ["head", "-c", "\(entry.size)"],
                environment: ProgramOutput.plainEnvironment,
                descriptors: [file, writing, silence]
            )
        )
        return try await ProgramOutput(of: words, input: reading, others: others)
    }

    /// Returns a script without the psql commands at its beginning and end, which the server does not accept.
    static func withoutCommands(_ script: String) -> String {
        var lines = script.split(separator: "\n", omittingEmptySubsequences: false)
        if let first = lines.firstIndex(where: { $0.hasPrefix("\\restrict ") }) { lines.remove(at: first) }
        if let last = lines.lastIndex(where: { $0.hasPrefix("\\unrestrict ") }) { lines.remove(at: last) }
        return lines.joined(separator: "\n")
    }
}
