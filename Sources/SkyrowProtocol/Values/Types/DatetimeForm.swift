import SkyrowJSON
package import SkyrowModel

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

struct DatetimeForm: FileForm {
    func value(inText text: String) throws(FieldFault) -> RecordValue {
        // Years before 1 and after 9999 have a sign, and two values are infinite.
        guard let value = CSVText.instant(text) ?? (try? Timestamp(rfc3339: text)) else {
            throw FieldFault("is not an ISO 8601 date or time")
        }
        return .datetime(value)
    }

    func suggests(_ text: String) -> Bool { CSVText.instant(text) != nil }

    func value(of other: RecordValue) throws(FieldFault) -> RecordValue? {
        if case .string(let text) = other { try value(inText: text) } else { nil }
    }
}

extension CSVText {
    /// Parses a date, which means its midnight, or an ISO 8601 instant with `T` or a space. Without an offset it is UTC.
    package static func instant(_ text: String) -> Timestamp? {
        var spelling = Array(text.utf8)
        guard spelling.count >= 10, spelling[4] == UInt8(ascii: "-") else { return nil }
        if spelling.count == 10 { spelling += Array("T00:00:00Z".utf8) }
        if spelling[10] == UInt8(ascii: " ") { spelling[10] = UInt8(ascii: "T") }
        // "T12:30" and "T12:30Z" have no seconds.
        if spelling.count == 16 || spelling.count > 16 && spelling[16] != UInt8(ascii: ":") {
            spelling.insert(contentsOf: Array(":00".utf8), at: 16)
        }
        let time = spelling[11...]
        let hasOffset = time.contains {
            $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") || $0 | 0x20 == UInt8(ascii: "z")
        }
        if !hasOffset { spelling.append(UInt8(ascii: "Z")) }
        // PostgreSQL writes "+01" and "+0100" for "+01:00".
        if let sign = time.lastIndex(where: { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "-") }) {
            switch spelling.count - sign {
            case 3: spelling += Array(":00".utf8)
            case 5: spelling.insert(UInt8(ascii: ":"), at: sign + 3)
            default: break
            }
        }
        return try? Timestamp(rfc3339: String(decoding: spelling, as: UTF8.self))
    }
}
