/// One field of a CSV line.
package struct CSVField: Hashable, Sendable {
    var text: String
    /// `""` is an empty text, nothing at all is no value.
    var isQuoted: Bool

    init(_ text: String, isQuoted: Bool = false) {
        self.text = text
        self.isQuoted = isQuoted
    }
}

/// One record of a CSV file and the line it begins on.
struct CSVLine: Hashable, Sendable {
    var number: Int
    var fields: [CSVField]
}

/// Takes the bytes of a CSV file and gives its records (RFC 4180).
///
/// Fields may be quoted, with quotes doubled and line ends kept inside; lines end with LF, CRLF or CR; a UTF-8 byte order
/// mark is skipped, and so are empty lines. A quote inside an unquoted field stands for itself.
struct CSVParser: Sendable {
    private enum Place: Sendable {
        case startOfField
        case inField
        case inQuotes
        /// Behind a quote that ends the field, unless another follows.
        case behindQuote
        /// In a line that has a fault already.
        case inFaultyLine
    }

    private let delimiter: UInt8
    private var place = Place.startOfField
    private var isAtStartOfFile = true
    private var previousWasReturn = false
    /// The line being read and the one its record began on.
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

    /// Gives the last record, when the file does not end with a line end.
    mutating func finish(into records: inout [Result<CSVLine, LineFault>]) {
        switch place {
        case .inQuotes:
            let reason = "a quote is opened and never closed"
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
            // The second half of CRLF has ended its line already.
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
                fault = LineFault(line: line, reason: "there is text behind a closing quote")
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
            let reason = field.contains(0) ? "there is a NUL byte" : "the text is not UTF-8"
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
