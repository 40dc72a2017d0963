/// One field of a CSV line.
package struct CSVField: Hashable, Sendable {
    var text: String
    /// Whether the field is quoted: `""` is an empty text, an unquoted empty field is no value.
    var isQuoted: Bool

    init(_ text: String, isQuoted: Bool = false) {
        self.text = text
        self.isQuoted = isQuoted
    }
}

/// One record of a CSV file, and its first line's number.
struct CSVLine: Hashable, Sendable {
    var number: Int
    var fields: [CSVField]
}

/// An incremental parser of CSV files (RFC 4180).
///
/// Fields may be quoted, with doubled quotes and line breaks inside. Lines end with LF, CRLF or CR. A UTF-8 byte order
/// mark and empty lines are skipped. A quote inside an unquoted field is literal.
struct CSVParser: Sendable {
    private enum Place: Sendable {
        case startOfField
        case inField
        case inQuotes
        /// After a quote that ends the field, unless another quote follows.
        case behindQuote
        /// In a line that already has a fault.
        case inFaultyLine
    }

    private let delimiter: UInt8
    private var place = Place.startOfField
    private var isAtStartOfFile = true
    private var previousWasReturn = false
    /// The current line, and the first line of its record.
    private var line = 1
    private var firstLine = 1
    private var field: [UInt8] = []
    private var fieldIsQuoted = false
    private var fields: [CSVField] = []
    private var fault: LineFault?

    init(delimiter: UInt8 = UInt8(ascii: ",")) {
        self.delimiter = delimiter
    }

    /// Takes the next bytes and appends the records that they complete.
    mutating func take(_ bytes: [UInt8], into records: inout [Result<CSVLine, LineFault>]) {
        var bytes = bytes[...]
        if isAtStartOfFile {
            isAtStartOfFile = false
            if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes.removeFirst(3) }
            if bytes.starts(with: [0xff, 0xfe]) || bytes.starts(with: [0xfe, 0xff]) {
                let fault = LineFault(line: 1, reason: "the file is UTF-16; convert it to UTF-8", endsFile: true)
                records.append(.failure(fault))
                return
            }
        }
        for byte in bytes { take(byte, &records) }
    }

    /// Appends the last record if the file does not end with a line break.
    mutating func finish(into records: inout [Result<CSVLine, LineFault>]) {
        switch place {
        case .inQuotes:
            let reason = "a quote is never closed"
            records.append(.failure(LineFault(line: firstLine, reason: reason, endsFile: true)))
        case .startOfField where fields.isEmpty: break
        case .startOfField, .inField, .behindQuote, .inFaultyLine: endRecord(&records)
        }
    }

    private mutating func take(_ byte: UInt8, _ records: inout [Result<CSVLine, LineFault>]) {
        let newline = UInt8(ascii: "\n")
        let carriageReturn = UInt8(ascii: "\r")
        let quote = UInt8(ascii: "\"")
        let completesReturn = previousWasReturn && byte == newline
        previousWasReturn = byte == carriageReturn

        if place == .inQuotes {
            if byte == quote {
                place = .behindQuote
            } else {
                if byte == newline && !completesReturn || byte == carriageReturn { line += 1 }
                field.append(byte)
            }
            return
        }
        if byte == newline || byte == carriageReturn {
            // The CR of a CRLF has already ended the line.
            if completesReturn { return }
            line += 1
            if place == .startOfField, fields.isEmpty {
                firstLine = line
            } else {
                endRecord(&records)
            }
            return
        }
        switch place {
        case .inQuotes, .inFaultyLine: break
        case .startOfField where byte == quote:
            fieldIsQuoted = true
            place = .inQuotes
        case .behindQuote where byte == quote:
            field.append(byte)
            place = .inQuotes
        case .startOfField, .inField, .behindQuote:
            if byte == delimiter {
                endField()
            } else if place == .behindQuote {
                fault = LineFault(line: line, reason: "there is text after a closing quote")
                place = .inFaultyLine
            } else {
                field.append(byte)
                place = .inField
            }
        }
    }

    private mutating func endField() {
        if let text = String(validating: field, as: UTF8.self), !field.contains(0) {
            fields.append(CSVField(text, isQuoted: fieldIsQuoted))
        } else {
            let reason = field.contains(0) ? "the text contains a NUL byte" : "the text is not UTF-8"
            fault = fault ?? LineFault(line: firstLine, reason: reason)
            fields.append(CSVField(""))
        }
        field.removeAll(keepingCapacity: true)
        fieldIsQuoted = false
        place = .startOfField
    }

    private mutating func endRecord(_ records: inout [Result<CSVLine, LineFault>]) {
        endField()
        if let fault {
            records.append(.failure(fault))
        } else {
            records.append(.success(CSVLine(number: firstLine, fields: fields)))
        }
        fields = []
        fault = nil
        firstLine = line
    }
}
