/// The name of a member in a record's wire form, with its JSON spelling ready to copy.
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

/// A member's name, borrowed for the duration of one call.
///
/// Several threads emit the rows of one result at once, and counting references to the same few names on all of them costs more
/// than writing the values. A sink therefore gets bytes without reference counting.
package struct BorrowedKey {
    /// `"title":`
    package let encoded: UnsafeRawBufferPointer

    package init(encoded: UnsafeRawBufferPointer) {
        self.encoded = encoded
    }

    /// The name as a new string.
    package var name: String { String(decoding: encoded.dropFirst().dropLast(2), as: UTF8.self) }
}

/// Receives the members of one record in the order of the wire form, directly from a database row.
///
/// It decouples the store from the JSON writer. Calls come in the order `beginRecord`, any number of `member`, optionally
/// `beginTransients` with its entries and `endTransients`, `endRecord`.
package protocol RecordSink {
    /// Opens the record; a JSON writer also writes `"_type":"record"`.
    mutating func beginRecord()
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue)
    mutating func beginTransients()
    /// Names the inclusion that follows: a record as `beginRecord … endRecord`, `transientID`, `transientNumber`,
    /// `missingTransient`, or records and ids between `beginList` and `endList`.
    mutating func transient(_ name: String)
    mutating func transientNumber(_ number: Double)
    /// A record that is sent elsewhere, by the UTF-8 of its type and its id.
    mutating func transientID(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer)
    mutating func missingTransient()
    /// - Parameter count: the number of records, if it is reported.
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
    /// False when only the reserved members are available, because the whole record would have been too large.
    var isWhole: Bool { get }
    func emit(into sink: inout some RecordSink)
}

extension RecordSource {
    package var isWhole: Bool { true }
}
