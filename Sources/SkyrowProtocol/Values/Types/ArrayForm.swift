package import SkyrowJSON
package import SkyrowModel

// The JSON form of the array of a column, which is that of an array in a json field. What a client sends is read as the
// latter, and becomes the former by the type of its field.

extension JSONWriter {
    func array(_ elements: UnsafeBufferPointer<BorrowedValue>) {
        beginArray()
        for element in elements { value(element) }
        endArray()
    }
}

/// The form of arrays: PostgreSQL's array literals in CSV, such as `{1,2}` or `{"a","b \"c\""}`, and arrays in JSON.
package struct ArrayForm: FileForm {
    let element: ElementType

    package init(element: ElementType) {
        self.element = element
    }

    package func value(inText text: String) throws(FieldFault) -> RecordValue {
        var elements: [RecordValue] = []
        for part in try CSVText.elements(text) {
            elements.append(
                try part.map { text throws(FieldFault) in try element.fieldType.value(inText: text) } ?? .null
            )
        }
        return .array(elements)
    }

    package func value(of other: RecordValue) throws(FieldFault) -> RecordValue? {
        guard case .json(let text) = other, text.utf8.first == UInt8(ascii: "[") else { return nil }
        return .array(try Self.elements(of: text) { json throws(FieldFault) in try element(json) })
    }

    /// Reads an element of a JSON array.
    package func element(_ json: JSONView) throws(FieldFault) -> RecordValue {
        let value: RecordValue?
        do throws(SkyrowError) { value = try RecordValue(json, field: "") } catch { throw FieldFault(error.message) }
        guard let value else { throw FieldFault("has an element with an unknown type") }
        return value == .null ? .null : try element.fieldType.value(value)
    }

    /// Returns the elements of a JSON array, each read by `read`.
    package static func elements(
        of text: JSONText,
        _ read: (JSONView) throws(FieldFault) -> RecordValue
    ) throws(FieldFault) -> [RecordValue] {
        guard let document = try? JSONDocument(text.utf8, depthLimit: .max) else {
            throw FieldFault("is not valid JSON")
        }
        return try document.withRoot { root throws(FieldFault) -> [RecordValue] in
            guard root.isArray else { throw FieldFault("is not an array") }
            var elements: [RecordValue] = []
            elements.reserveCapacity(root.count)
            for json in root.elements { elements.append(try read(json)) }
            return elements
        }
    }
}

extension CSVText {
    /// Returns PostgreSQL's literal of an array, with ids as stored in the table.
    static func array(_ elements: UnsafeBufferPointer<BorrowedValue>) -> [UInt8] {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (place, element) in elements.enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            switch element {
            case .string(let utf8), .reference(_, let utf8): ArrayLiteral.append(quoting: utf8, to: &text)
            case .integer(let integer): text += "\(integer)".utf8
            case .number(let number): text += ArrayLiteral.spelling(of: number).utf8
            case .boolean(let flag): text.append(UInt8(ascii: flag ? "t" : "f"))
            default: text += "NULL".utf8
            }
        }
        text.append(UInt8(ascii: "}"))
        return text
    }

    /// Returns the element texts of a one-dimensional array, nil for NULL. Throws for any other text.
    package static func elements(_ text: String) throws(FieldFault) -> [String?] {
        var reader = ArrayReader(rest: Array(text.utf8)[...])
        guard let elements = reader.elements() else {
            throw FieldFault("is not an array, such as {a,b} with quotes around texts")
        }
        return elements
    }
}

/// An array in the text form of PostgreSQL: `{1,2}`, `{"a","b \"c\""}`.
package enum ArrayLiteral {
    /// Returns the text of some elements; texts are always quoted.
    package static func text(of elements: [RecordValue], id: (RecordID) -> String = { $0.id }) -> String {
        var text: [UInt8] = [UInt8(ascii: "{")]
        for (place, element) in elements.enumerated() {
            if place > 0 { text.append(UInt8(ascii: ",")) }
            switch element {
            case .string(let string): append(quoting: string.utf8, to: &text)
            case .reference(let target): append(quoting: id(target).utf8, to: &text)
            case .integer(let integer): text += "\(integer)".utf8
            case .number(let number): text += spelling(of: number).utf8
            case .boolean(let flag): text.append(UInt8(ascii: flag ? "t" : "f"))
            default: text += "NULL".utf8
            }
        }
        text.append(UInt8(ascii: "}"))
        return String(decoding: text, as: UTF8.self)
    }

    fileprivate static func append(quoting bytes: some Sequence<UInt8>, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for byte in bytes {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
        text.append(UInt8(ascii: "\""))
    }

    /// Returns the shortest spelling that PostgreSQL reads as the number.
    fileprivate static func spelling(of number: Double) -> String {
        if number.isNaN { return "NaN" }
        return number.isInfinite ? (number < 0 ? "-Infinity" : "Infinity") : "\(number)"
    }
}

/// Parses PostgreSQL's array literals (its manual, 8.15.6).
private struct ArrayReader {
    var rest: ArraySlice<UInt8>

    mutating func elements() -> [String?]? {
        guard take("{"), rest.last == UInt8(ascii: "}") else { return nil }
        rest.removeLast()
        skipSpace()
        if rest.isEmpty { return [] }
        var elements: [String?] = []
        while true {
            skipSpace()
            if take("\"") {
                guard let text = quoted() else { return nil }
                elements.append(text)
                skipSpace()
            } else {
                guard let text = bare() else { return nil }
                elements.append(text.uppercased() == "NULL" ? nil : text)
            }
            if rest.isEmpty { return elements }
            guard take(",") else { return nil }
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipSpace() {
        rest = rest.drop { [0x20, 0x09, 0x0A, 0x0B, 0x0C, 0x0D].contains($0) }
    }

    /// Reads a quoted element after its opening quote.
    private mutating func quoted() -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            } else {
                bytes.append(byte)
            }
        }
        return nil
    }

    private mutating func bare() -> String? {
        var bytes: [UInt8] = []
        while let byte = rest.first, byte != UInt8(ascii: ",") {
            rest.removeFirst()
            if byte == UInt8(ascii: "\\") {
                guard let escaped = rest.popFirst() else { return nil }
                bytes.append(escaped)
            } else {
                // A brace starts another dimension, and a quote here is unbalanced.
                guard !"{}\"".utf8.contains(byte) else { return nil }
                bytes.append(byte)
            }
        }
        while let last = bytes.last, last == 0x20 || (0x09...0x0D).contains(last) { bytes.removeLast() }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }
}
