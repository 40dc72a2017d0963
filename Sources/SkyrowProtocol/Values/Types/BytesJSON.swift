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
}
