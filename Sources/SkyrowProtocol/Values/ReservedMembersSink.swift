import SkyrowJSON
import SkyrowModel

/// Writes a record without its fields, and that they are omitted.
struct ReservedMembersSink: RecordSink {
    private var writer: RecordJSONWriter
    private let json: JSONWriter
    /// How many included records are open.
    private var depth = 0

    init(_ json: JSONWriter) {
        self.json = json
        writer = RecordJSONWriter(json)
    }

    mutating func beginRecord() {
        depth += 1
        if depth == 1 { writer.beginRecord() }
    }

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        // The key begins with a quotation mark; field names do not begin with an underscore.
        guard depth == 1, key.encoded.count > 1, key.encoded[1] == UInt8(ascii: "_") else { return }
        writer.member(key, value)
    }

    mutating func endRecord() {
        depth -= 1
        guard depth == 0 else { return }
        json.member("_fields_omitted", true)
        writer.endRecord()
    }
}
