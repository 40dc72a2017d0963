import SkyrowJSON
import SkyrowModel

// The JSON form of a relation: `{"$type":"relation","$record_type":"user"}`. Its members are not sent with the record.

extension RecordValue {
    init(relation json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let name = json["$record_type"]?.string else {
            throw .invalidArgument(
                "A relation must have the member $record_type with the type of its members.",
                field()
            )
        }
        do throws(SkyrowError) { self = .relation(try RecordTypeName(name)) } catch {
            throw .invalidArgument(error.message, field())
        }
    }
}

extension JSONWriter {
    func relation(_ type: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"relation\",\"$record_type\":")
        string(utf8: type)
        append("}")
    }
}
