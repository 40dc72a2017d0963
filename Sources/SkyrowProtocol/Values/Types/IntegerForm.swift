import SkyrowModel

struct IntegerForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = Int64(text) else { throw FieldFault("is not a 64-bit integer") }
        return .integer(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.integer(text) != nil }
}

/// The form of sequences: files contain the assigned numbers.
struct SequenceForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        try IntegerForm().value(inText: text)
    }

    func value(of other: RecordValue) -> RecordValue? {
        if case .integer = other { other } else { nil }
    }
}

extension CSVText {
    /// Parses an integer of 64 bits in its canonical spelling.
    static func integer(_ text: String) -> Int64? {
        isWhole(text) ? Int64(text) : nil
    }

    /// Returns whether the text matches `-?[1-9][0-9]*` or `0`, at any length.
    package static func isWhole(_ text: String) -> Bool {
        let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
        guard let first = digits.first, digits.allSatisfy(isDigit) else { return false }
        return first != UInt8(ascii: "0") || text == "0"
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
