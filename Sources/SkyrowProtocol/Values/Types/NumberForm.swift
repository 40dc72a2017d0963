import SkyrowModel

struct NumberForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = CSVText.number(text) ?? CSVText.specialNumber(text) else {
            throw FieldFault("is not a number")
        }
        return .number(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.number(text) != nil }

    func value(of other: RecordValue) throws(FieldFault) -> RecordValue? {
        switch other {
        case .integer(let number):
            guard Int64(exactly: Double(number)) == number else {
                throw FieldFault("has more digits than a number can store")
            }
            return .number(Double(number))
        case .string(let text):
            // JSON has no numbers for these.
            guard let number = CSVText.specialNumber(text) else { throw FieldFault("is text, not a number") }
            return .number(number)
        default: return nil
        }
    }
}

extension CSVText {
    /// Parses a number with the grammar of JSON, extended by `.5`.
    static func number(_ text: String) -> Double? {
        var rest = text.utf8[...]
        func digits() -> Int {
            let count = rest.prefix { isDigit($0) }.count
            rest.removeFirst(count)
            return count
        }
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let leadsWithZero = rest.first == UInt8(ascii: "0")
        let whole = digits()
        guard whole <= 1 || !leadsWithZero else { return nil }
        var fraction = 0
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = digits()
            guard fraction > 0 else { return nil }
        }
        guard whole + fraction > 0 else { return nil }
        if let exponent = rest.first, exponent | 0x20 == UInt8(ascii: "e") {
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard digits() > 0 else { return nil }
        }
        guard rest.isEmpty, let value = Double(text), value.isFinite else { return nil }
        return value
    }

    /// Parses `NaN`, `Infinity` or `-Infinity`, which a column can hold but which do not suggest a type.
    static func specialNumber(_ text: String) -> Double? {
        switch text {
        case "NaN": .nan
        case "Infinity": .infinity
        case "-Infinity": -.infinity
        default: nil
        }
    }

    /// PostgreSQL's spelling of `NaN` and the infinities; nil for all other numbers.
    package static func spelling(ofSpecial number: Double) -> UnsafeRawBufferPointer? {
        guard !number.isFinite else { return nil }
        let text: StaticString = number.isNaN ? "NaN" : number > 0 ? "Infinity" : "-Infinity"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}
