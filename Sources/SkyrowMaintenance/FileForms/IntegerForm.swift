import SkyrowModel

struct IntegerForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = Int64(text) else { throw FieldFault("is no integer of 64 bits") }
        return .integer(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.integer(text) != nil }
}

/// A file has the numbers that a sequence gave.
struct SequenceForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        try IntegerForm().value(inText: text)
    }

    func value(of other: RecordValue) -> RecordValue? {
        if case .integer = other { other } else { nil }
    }
}

extension CSVText {
    /// A whole number in its one usual spelling that fits 64 bits.
    static func integer(_ text: String) -> Int64? {
        isWhole(text) ? Int64(text) : nil
    }

    /// True for `-?[1-9][0-9]*` and `0`, of any length.
    static func isWhole(_ text: String) -> Bool {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard let first = digits.first, digits.allSatisfy(isDigit) else { return false }
        return first != UInt8(ascii: "0") || text == "0"
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
