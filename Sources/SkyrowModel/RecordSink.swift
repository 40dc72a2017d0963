/// The name of a member of a record's wire form, with its JSON spelling ready to copy.
///
/// Field and reserved names are ASCII letters, digits and underscores, so the spelling needs no escapes.
package struct MemberKey: Sendable, Hashable {
    package let name: String
    /// `"title":`
    package let encoded: [UInt8]

    package init(_ name: String) {
        self.name = name
        encoded = Array("\"\(name)\":".utf8)
    }
}

/// A member's name, lent for the duration of one call.
///
/// Rows of one result are emitted on several threads at once, and counting references to the same few names on all of them
/// costs more than writing the values; so a sink gets bytes without reference counting.
package struct BorrowedKey {
    /// `"title":`
    package let encoded: UnsafeRawBufferPointer

    package init(encoded: UnsafeRawBufferPointer) {
        self.encoded = encoded
    }

    /// The name as a string of its own.
    package var name: String { String(decoding: encoded.dropFirst().dropLast(2), as: UTF8.self) }
}

/// A member's value, lent from the memory of a database result for the duration of one call.
package enum BorrowedValue {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    /// UTF-8 text.
    case string(UnsafeRawBufferPointer)
    /// Becomes `{"$type":"date","$date":"…"}`.
    case datetime(Timestamp)
    /// A reserved instant, which is a bare string on the wire.
    case plainDatetime(Timestamp)
    /// Valid JSON text to copy through.
    case json(UnsafeRawBufferPointer)
    /// `"type/id"` as a plain string, as `_id` has it; type and id are UTF-8.
    case recordID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// Becomes `{"$type":"ref","$id":"type/id"}`.
    case reference(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    /// Becomes `{"$type":"bytes","$base64":"…"}`.
    case bytes(UnsafeRawBufferPointer)
    /// Becomes `{"$type":"geo","$lng":114.15,"$lat":22.28}`.
    case location(Location)
    /// A geometry in EWKB; becomes `{"$type":"geojson","$val":{…}}`.
    case geometry(UnsafeRawBufferPointer)
    /// The elements of an array, `null` where they are NULL.
    case array(UnsafeBufferPointer<BorrowedValue>)
    /// Becomes `{"$type":"relation","$record_type":"user"}`.
    case relation(type: UnsafeRawBufferPointer)
    /// A column whose SQL type is not ours, by its name: `{"$type":"unknown","$underlying_type":"money"}`.
    case unknown(UnsafeRawBufferPointer)
}

/// Takes one record's members in the order of the wire form, straight from a database row.
///
/// It is the seam by which the store hands values to the JSON writer without either knowing the other. Calls come as
/// `beginRecord`, any number of `member`, optionally `beginTransients` with its entries and `endTransients`, `endRecord`.
package protocol RecordSink {
    /// Opens the record; a JSON writer also writes `"_type":"record"`.
    mutating func beginRecord()
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue)
    mutating func beginTransients()
    /// Names what is included and follows: a record as `beginRecord … endRecord`, `transientID`, `transientNumber`,
    /// `missingTransient`, or some records and ids between `beginList` and `endList`.
    mutating func transient(_ name: String)
    mutating func transientNumber(_ number: Double)
    /// A record that stands elsewhere, by the UTF-8 of its type and its id.
    mutating func transientID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    mutating func missingTransient()
    /// - Parameter count: how many records there are, where that is said.
    mutating func beginList(count: Int?)
    mutating func endList()
    mutating func endTransients()
    mutating func endRecord()
}

extension RecordSink {
    // For sinks that take no inclusions.

    package mutating func beginTransients() {}
    package mutating func transient(_ name: String) {}
    package mutating func transientNumber(_ number: Double) {}
    package mutating func transientID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) {}
    package mutating func missingTransient() {}
    package mutating func beginList(count: Int?) {}
    package mutating func endList() {}
    package mutating func endTransients() {}

    package mutating func member(_ key: MemberKey, _ value: BorrowedValue) {
        key.encoded.withUnsafeBytes { member(BorrowedKey(encoded: $0), value) }
    }
}

/// A source of records for a sink: a database row, or a `Record` in memory.
package protocol RecordSource: Sendable {
    /// False when only the reserved members are at hand, because the whole would have been too much.
    var isWhole: Bool { get }
    func emit(into sink: inout some RecordSink)
}

extension RecordSource {
    package var isWhole: Bool { true }
}
