/// The members of each saved record that the result of a save contains.
public enum ReturnedMembers: String, Hashable, Sendable, CaseIterable {
    /// The whole record.
    case record
    /// Its id and revision, and the fields that operators changed.
    case changed
}

/// A saved record, reduced to its id, its revision and some of its fields.
package struct ChangedMembers: RecordSource {
    private let record: any RecordSource
    private let names: Set<String>

    package init(of record: any RecordSource, fields: some Sequence<FieldName>) {
        self.record = record
        names = Set(["_id", "_revision"]).union(fields.map(\.rawValue))
    }

    package var isWhole: Bool { record.isWhole }

    package func emit(into sink: inout some RecordSink) {
        var filter = MemberFilter(sink: sink, names: names)
        record.emit(into: &filter)
        sink = filter.sink
    }
}

/// Passes on the members with some names, of the outermost record only.
private struct MemberFilter<Sink: RecordSink>: RecordSink {
    var sink: Sink
    let names: Set<String>
    /// The number of open records.
    private var depth = 0

    init(sink: Sink, names: Set<String>) {
        self.sink = sink
        self.names = names
    }

    mutating func beginRecord() {
        depth += 1
        if depth == 1 { sink.beginRecord() }
    }

    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) {
        if depth == 1, names.contains(key.name) { sink.member(key, value) }
    }

    mutating func endRecord() {
        depth -= 1
        if depth == 0 { sink.endRecord() }
    }
}
