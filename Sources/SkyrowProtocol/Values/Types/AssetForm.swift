import SkyrowJSON
import SkyrowModel

// The JSON form of a file: `{"$type":"asset","$name":"7b0e2a7c-…-cat.png","$url":"https://…"}`. On input only `$name` counts, and a
// client keeps `$url`.

extension RecordValue {
    init(asset json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let name = json["$name"]?.string.flatMap({ AssetName($0) }) else {
            throw .invalidArgument("A file must have the member $name with the name that its upload returned.", field())
        }
        self = .asset(Asset(name, url: json["$url"]?.string))
    }
}

extension JSONWriter {
    /// - Parameter name: any text, since psql may have put another one than an `AssetName` into the column.
    func asset(_ name: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"asset\",\"$name\":")
        string(utf8: name)
        if let links, AssetName.isName(name) {
            append(",\"$url\":\"")
            links.withAddress(of: name) { append($0.assumingMemoryBound(to: UInt8.self)) }
            append("\"")
        }
        append("}")
    }
}

/// The form of files in CSV: their names.
struct AssetForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        guard let name = AssetName(text) else { throw FieldFault("is not the name of a file") }
        return .asset(Asset(name))
    }

    func value(of other: RecordValue) throws(FieldFault) -> RecordValue? {
        if case .string(let text) = other { try value(inText: text) } else { nil }
    }
}
