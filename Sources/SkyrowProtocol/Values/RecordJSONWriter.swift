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
    /// Whether each list that is open has a count.
    private var counted: [Bool] = []

    package init(_ writer: JSONWriter) {
        self.writer = writer
    }

    package mutating func beginRecord() {
        writer.beginObject()
    }

    package mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        writer.key(key)
        writer.value(value)
        // The only member of this kind is `_id`, and the v1 form has the constant behind it.
        if case .recordID = value { writer.append(",\"_type\":\"record\"") }
    }

    package mutating func beginTransients() {
        writer.beginObject("_transient")
    }

    package mutating func transient(_ name: String) {
        writer.key(name)
    }

    package mutating func transientNumber(_ number: Double) {
        writer.columnNumber(number)
    }

    package mutating func transientID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {
        writer.recordID(type, id)
    }

    package mutating func missingTransient() {
        writer.null()
    }

    package mutating func beginList(count: Int?) {
        counted.append(count != nil)
        if let count {
            writer.beginObject()
            writer.member("count", count)
            writer.key("records")
        }
        writer.beginArray()
    }

    package mutating func endList() {
        writer.endArray()
        if counted.popLast() == true { writer.endObject() }
    }

    package mutating func endTransients() {
        writer.endObject()
    }

    package mutating func endRecord() {
        writer.endObject()
    }
}
