import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

/// Writes CSV (RFC 4180) that `skyrow import` and psql's `\copy … csv header` read.
///
/// A line of column names precedes one line a record. An empty field is NULL, `""` is an empty text. Ids are stored
/// ones, and bytes are `\x` with hexadecimal digits.
struct CSVRecordWriter: RecordFileWriter {
    private var text: [UInt8] = []
    private var isAtStartOfLine = true
    private let defusesFormulas: Bool
    /// A writer for values with the same form in JSON.
    private let scratch = JSONWriter(capacity: 256)

    /// - Parameter defusingFormulas: Whether texts that a spreadsheet would read as formulas get an apostrophe. An
    ///   import does not remove it.
    init(columns: [String], defusingFormulas: Bool) {
        defusesFormulas = defusingFormulas
        for name in columns { append(plain: name.utf8) }
        endRecord()
    }

    mutating func beginRecord() {}

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        value.withText(scratch) { bytes, isText in
            if isText { append(quoting: bytes) } else { append(plain: bytes) }
        }
    }

    mutating func endRecord() {
        text.append(UInt8(ascii: "\n"))
        isAtStartOfLine = true
    }

    mutating func take() -> [UInt8] {
        defer { text.removeAll(keepingCapacity: true) }
        return text
    }

    mutating func finish() {}

    private mutating func separate() {
        if !isAtStartOfLine { text.append(UInt8(ascii: ",")) }
        isAtStartOfLine = false
    }

    private mutating func append(plain bytes: some Collection<UInt8>) {
        separate()
        text.append(contentsOf: bytes)
    }

    private mutating func append(quoting bytes: UnsafeRawBufferPointer) {
        separate()
        let quote = UInt8(ascii: "\"")
        let isDefused = defusesFormulas && bytes.first.map(Self.formulaStarts.contains) == true
        let needsQuotes =
            bytes.isEmpty
            || bytes.contains { byte in
                byte == quote || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            }
        guard needsQuotes else {
            if isDefused { text.append(UInt8(ascii: "'")) }
            return text.append(contentsOf: bytes)
        }
        text.append(quote)
        if isDefused { text.append(UInt8(ascii: "'")) }
        for byte in bytes {
            if byte == quote { text.append(quote) }
            text.append(byte)
        }
        text.append(quote)
    }

    /// Characters that begin a formula in a spreadsheet, or are skipped before one (OWASP, "CSV Injection").
    private static let formulaStarts = Set("=+-@\t\r\n".utf8)
}
