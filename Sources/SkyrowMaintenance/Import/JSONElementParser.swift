/// The text of one element of a JSON file, and its first line's number.
struct JSONElement: Hashable, Sendable {
    var line: Int
    var text: [UInt8]
}

/// An incremental parser that splits a file into the texts of its objects, without validating their contents.
///
/// The file is an array or concatenated values. NDJSON has one value a line, so the lines after a faulty one stay readable.
struct JSONElementParser: Sendable {
    private enum Place: Sendable {
        case startOfFile
        case betweenElements
        case inElement
        case inString
        case behindBackslash
        case behindArray
    }

    /// The last token between the elements of an array.
    private enum Separation: Sendable {
        case startOfArray
        case element
        case comma
    }

    private let isByLine: Bool
    private var separation = Separation.startOfArray
    private var place = Place.startOfFile
    private var isArray = false
    private var depth = 0
    private var line = 1
    private var element = JSONElement(line: 1, text: [])
    private var isAtStartOfFile = true
    private var hasFailed = false

    init(format: FileFormat) {
        isByLine = format == .ndjson
    }

    /// Takes the next bytes and appends the elements that they complete.
    mutating func take(_ bytes: [UInt8], into elements: inout [Result<JSONElement, LineFault>]) {
        var bytes = bytes[...]
        if isAtStartOfFile {
            isAtStartOfFile = false
            if bytes.starts(with: [0xef, 0xbb, 0xbf]) { bytes.removeFirst(3) }
        }
        for byte in bytes where !hasFailed {
            if isByLine { takeInLine(byte, &elements) } else { take(byte, &elements) }
            if byte == UInt8(ascii: "\n") { line += 1 }
        }
    }

    /// Appends the last element, and a fault if the file ends inside of one.
    mutating func finish(into elements: inout [Result<JSONElement, LineFault>]) {
        if hasFailed { return }
        if isByLine {
            takeInLine(UInt8(ascii: "\n"), &elements)
        } else {
            switch place {
            case .startOfFile, .behindArray: break
            case .betweenElements where !isArray: break
            case .inElement where depth == 0: endElement(&elements)
            case .betweenElements: fail("the array is not closed", &elements)
            case .inElement, .inString, .behindBackslash:
                line = element.line
                fail("the file ends inside the value that begins here", &elements)
            }
        }
    }

    private mutating func takeInLine(_ byte: UInt8, _ elements: inout [Result<JSONElement, LineFault>]) {
        if byte == UInt8(ascii: "\n") {
            element.line = line
            if !element.text.allSatisfy(isWhitespace) { elements.append(.success(element)) }
            element.text = []
        } else {
            element.text.append(byte)
        }
    }

    private mutating func take(_ byte: UInt8, _ elements: inout [Result<JSONElement, LineFault>]) {
        switch place {
        case .startOfFile:
            if isWhitespace(byte) { return }
            place = .betweenElements
            if byte == UInt8(ascii: "[") {
                isArray = true
            } else {
                take(byte, &elements)
            }
        case .betweenElements:
            if isWhitespace(byte) { return }
            switch (isArray, byte, separation) {
            case (true, UInt8(ascii: "]"), .startOfArray), (true, UInt8(ascii: "]"), .element): place = .behindArray
            case (true, UInt8(ascii: ","), .element): separation = .comma
            case (true, UInt8(ascii: "]"), .comma), (true, UInt8(ascii: ","), _):
                fail("a comma stands where a value should", &elements)
            case (true, _, .element): fail("a comma is missing before this value", &elements)
            default:
                element = JSONElement(line: line, text: [])
                place = .inElement
                take(byte, &elements)
            }
        case .inElement:
            takeInElement(byte, &elements)
        case .inString:
            element.text.append(byte)
            if byte == UInt8(ascii: "\\") { place = .behindBackslash }
            if byte == UInt8(ascii: "\"") { place = .inElement }
        case .behindBackslash:
            element.text.append(byte)
            place = .inString
        case .behindArray:
            if !isWhitespace(byte) { fail("there is text after the array", &elements) }
        }
    }

    private mutating func takeInElement(_ byte: UInt8, _ elements: inout [Result<JSONElement, LineFault>]) {
        switch byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            element.text.append(byte)
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            if depth == 0 {
                guard !element.text.isEmpty else { return fail("a bracket closes nothing", &elements) }
                endElement(&elements)
                return take(byte, &elements)
            }
            depth -= 1
            element.text.append(byte)
            if depth == 0 { endElement(&elements) }
        case UInt8(ascii: "\""):
            place = .inString
            element.text.append(byte)
        default:
            if depth == 0, isWhitespace(byte) || byte == UInt8(ascii: ",") {
                endElement(&elements)
                // A comma is handled between the elements.
                if !hasFailed, byte == UInt8(ascii: ",") { take(byte, &elements) }
            } else {
                element.text.append(byte)
            }
        }
    }

    private mutating func endElement(_ elements: inout [Result<JSONElement, LineFault>]) {
        if element.text.isEmpty {
            fail("a comma stands where a value should", &elements)
        } else {
            elements.append(.success(element))
            element.text = []
            place = .betweenElements
            separation = .element
        }
    }

    private mutating func fail(_ reason: String, _ elements: inout [Result<JSONElement, LineFault>]) {
        hasFailed = true
        elements.append(.failure(LineFault(line: line, reason: reason, endsFile: true)))
    }
}

private func isWhitespace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\t")
}
