import SkyrowJSON
import SkyrowModel

struct BytesForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let value = CSVText.bytes(text) else { throw FieldFault("is not \\x followed by hexadecimal digits") }
        return .bytes(value)
    }
}

extension CSVText {
    /// Parses PostgreSQL's hex format: `\x` and an even number of hexadecimal digits.
    static func bytes(_ text: String) -> [UInt8]? {
        text.hasPrefix("\\x") ? Hexadecimal.bytes(text.utf8.dropFirst(2)) : nil
    }
}
