package import SkyrowJSON
package import SkyrowModel

/// Writes a record's v1 form straight from the values of a database row.
///
/// ```swift
/// var sink = RecordJSONWriter(writer)
/// source.emit(into: &sink)          // {"_id":"note/1","_type":"record","_access":null,"title":"Milk"}
/// ```
package struct RecordJSONWriter: RecordSink {
    private let writer: JSONWriter

    package init(_ writer: JSONWriter) {
        self.writer = writer
    }

    package mutating func beginRecord() {
        writer.beginObject()
    }

    package mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        writer.key(key)
        switch value {
        case .null: writer.null()
        case .boolean(let value): writer.boolean(value)
        case .integer(let value): writer.integer(value)
        case .number(let value): writer.columnNumber(value)
        case .string(let utf8): writer.string(utf8: utf8)
        case .datetime(let value): writer.date(value)
        case .plainDatetime(let value): writer.timestamp(value)
        case .json(let text): writer.json(validated: text)
        case .recordID(let type, let id):
            writer.recordID(type, id)
            // The only member of this kind is `_id`, and the v1 form has the constant behind it.
            writer.append(",\"_type\":\"record\"")
        case .reference(let type, let id):
            writer.separate()
            writer.append("{\"$type\":\"ref\",\"$id\":")
            writer.recordID(type, id)
            writer.append("}")
        case .bytes(let bytes): writer.bytes(bytes)
        case .unknown(let type): writer.unknown(type)
        }
    }

    package mutating func beginTransients() {
        writer.key("_transient")
        writer.beginObject()
    }

    package mutating func transient(_ name: String) {
        writer.key(name)
    }

    package mutating func missingTransient() {
        writer.null()
    }

    package mutating func endTransients() {
        writer.endObject()
    }

    package mutating func endRecord() {
        writer.endObject()
    }
}

extension JSONWriter {
    /// `"type/id"` as a plain string.
    func recordID(_ type: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) {
        separate()
        append(UInt8(ascii: "\""))
        append(type.assumingMemoryBound(to: UInt8.self))
        append(UInt8(ascii: "/"))
        escaped(id)
        append(UInt8(ascii: "\""))
    }

    /// `{"$type":"date","$date":"…"}`
    func date(_ value: Timestamp) {
        separate()
        append("{\"$type\":\"date\",\"$date\":\"")
        rfc3339(value)
        append("\"}")
    }

    /// `{"$type":"bytes","$base64":"…"}`
    func bytes(_ bytes: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"bytes\",\"$base64\":")
        base64(bytes)
        append("}")
    }

    /// `{"$type":"unknown","$underlying_type":"money"}`, which is ignored when a client sends it back.
    func unknown(_ type: UnsafeRawBufferPointer) {
        separate()
        append("{\"$type\":\"unknown\",\"$underlying_type\":")
        string(utf8: type)
        append("}")
    }

    /// A double of a column; NaN and the infinities, which only psql can have put there, go as an unknown value.
    ///
    /// As `null` they would be wiped out by the next client that saves back what it read.
    func columnNumber(_ value: Double) {
        if value.isFinite {
            number(value)
        } else {
            let type: StaticString = "double precision"
            unknown(UnsafeRawBufferPointer(start: type.utf8Start, count: type.utf8CodeUnitCount))
        }
    }
}
