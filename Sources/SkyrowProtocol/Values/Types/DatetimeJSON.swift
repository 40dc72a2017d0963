import SkyrowJSON
import SkyrowModel

// The JSON form of an instant: `{"$type":"date","$date":"2026-03-01T09:00:00.000001Z"}`.

extension RecordValue {
    init(date json: JSONView, field: @autoclosure () -> String) throws(SkyrowError) {
        guard let text = json["$date"], text.isString else {
            throw .invalidArgument("A date must have the member $date with an RFC 3339 instant.", field())
        }
        guard !Timestamp.isFinerThanMicroseconds(text.slice) else {
            throw .invalidArgument("An instant is stored to the microsecond; round it to six decimal places.", field())
        }
        do throws(SkyrowError) {
            self = .datetime(try Timestamp(json: text))
        } catch {
            throw .invalidArgument(error.message, field())
        }
    }
}

extension Timestamp {
    /// Reads a string, without a copy when it has no escapes.
    fileprivate init(json: JSONView) throws(SkyrowError) {
        if json.kind == .string {
            try self.init(rfc3339: UnsafeRawBufferPointer(json.slice))
        } else {
            try self.init(rfc3339: json.string ?? "")
        }
    }
}

extension JSONWriter {
    func date(_ value: Timestamp) {
        separate()
        append("{\"$type\":\"date\",\"$date\":\"")
        rfc3339(value)
        append("\"}")
    }
}
