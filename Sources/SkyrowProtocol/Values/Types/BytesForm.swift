import SkyrowJSON
import SkyrowModel

// The JSON form of bytes: `{"$type":"bytes","$base64":"AAEC"}`.

extension RecordValue {
    init(bytes json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let text = json["$base64"]?.string, let bytes = decodeBase64(text.utf8) else {
            throw .invalidArgument("Bytes must have the member $base64 with base64 text (RFC 4648, padded).", field())
        }
        self = .bytes(bytes)
    }
}

extension JSONWriter {
    func bytes(_ bytes: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"bytes\",\"$base64\":")
        base64(bytes)
        append("}")
    }

    /// `\x` with hexadecimal digits, which is no JSON.
    func hexadecimal(_ bytes: UnsafeRawBufferPointer) {
        append("\\x")
        for byte in bytes {
            append(Hexadecimal.digit(byte >> 4))
            append(Hexadecimal.digit(byte & 15))
        }
    }
}

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
