import SkyrowActions
import SkyrowModel

/// Pairs rows with files of the same name, from two listings in the order of names that arrive in pages.
///
/// ```swift
/// while true {
///     if pairing.needsRows { pairing.add(try await rows(after: pairing.lastRow)) }
///     if pairing.needsFiles { pairing.add(try await files(after: pairing.lastFile)) }
///     guard let pair = pairing.next() else { break }
/// }
/// ```
struct FilePairing: Sendable {
    enum Pair: Hashable, Sendable {
        case both(FileRow, FileEntry)
        case row(FileRow)
        case file(FileEntry)
    }

    /// A shorter page is the last one.
    let pageLength: Int
    private var rows: ArraySlice<FileRow> = []
    private var files: ArraySlice<FileEntry> = []
    private var rowsAreComplete = false
    private var filesAreComplete = false
    /// The last row and file that were added.
    private(set) var lastRow: FileRow?
    private(set) var lastFile: FileEntry?

    init(pageLength: Int = FileRow.pageLength) {
        self.pageLength = pageLength
    }

    var needsRows: Bool { rows.isEmpty && !rowsAreComplete }
    var needsFiles: Bool { files.isEmpty && !filesAreComplete }

    mutating func add(_ page: [FileRow]) {
        rows = page[...]
        lastRow = page.last ?? lastRow
        rowsAreComplete = page.count < pageLength
    }

    mutating func add(_ page: [FileEntry]) {
        files = page[...]
        lastFile = page.last ?? lastFile
        filesAreComplete = page.count < pageLength
    }

    /// Returns the next pair; nil at the end of both listings.
    ///
    /// - Precondition: Neither rows nor files are needed.
    mutating func next() -> Pair? {
        guard let row = rows.first else { return files.popFirst().map(Pair.file) }
        guard let file = files.first else { return rows.popFirst().map(Pair.row) }
        if row.name == file.name {
            rows.removeFirst()
            files.removeFirst()
            return .both(row, file)
        }
        if row.name.rawValue < file.name.rawValue {
            rows.removeFirst()
            return .row(row)
        }
        files.removeFirst()
        return .file(file)
    }
}
