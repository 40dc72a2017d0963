package import SkyrowJSON
package import SkyrowModel

extension Record: RecordSource {
    /// Emits the record to a sink in the order of the wire form, fields sorted by name.
    package func emit(into sink: inout some RecordSink) {
        sink.beginRecord()
        id.withBytes { sink.member(.id, .recordID(type: $0, id: $1)) }
        let list = JSONWriter(capacity: 64)
        list.accessList(access)
        list.withUnsafeBytes { sink.member(.access, .json($0)) }
        owner?.rawValue.withBytes { sink.member(.ownerID, .string($0)) }
        if let createdAt { sink.member(.createdAt, .plainDatetime(createdAt)) }
        createdBy?.rawValue.withBytes { sink.member(.createdBy, .string($0)) }
        if let updatedAt { sink.member(.updatedAt, .plainDatetime(updatedAt)) }
        updatedBy?.rawValue.withBytes { sink.member(.updatedBy, .string($0)) }
        if let revision { sink.member(.revision, .integer(revision)) }
        for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
            // A field that is NULL is left out.
            value.withBorrowed { sink.member(MemberKey(name.rawValue), $0) }
        }
        if !transient.isEmpty || !computed.isEmpty || !lists.isEmpty {
            sink.beginTransients()
            for name in Set(transient.keys).union(computed.keys).sorted() {
                sink.transient(name)
                if let number = computed[name] {
                    sink.transientNumber(number)
                } else if let record = transient[name] ?? nil {
                    record.emit(into: &sink)
                } else {
                    sink.missingTransient()
                }
            }
            for (name, list) in lists.sorted(by: { $0.key < $1.key }) {
                sink.transient(name)
                sink.beginList(count: list.count)
                for record in list.records { record.emit(into: &sink) }
                sink.endList()
            }
            sink.endTransients()
        }
        sink.endRecord()
    }
}

extension MemberKey {
    fileprivate static let id = MemberKey(ReservedColumn.id.member)
    fileprivate static let access = MemberKey(ReservedColumn.access.member)
    fileprivate static let ownerID = MemberKey(ReservedColumn.owner.member)
    fileprivate static let createdAt = MemberKey(ReservedColumn.createdAt.member)
    fileprivate static let createdBy = MemberKey(ReservedColumn.createdBy.member)
    fileprivate static let updatedAt = MemberKey(ReservedColumn.updatedAt.member)
    fileprivate static let updatedBy = MemberKey(ReservedColumn.updatedBy.member)
    fileprivate static let revision = MemberKey(ReservedColumn.revision.member)
}

extension JSONWriter {
    /// A record in the v1 form.
    package func record(_ source: some RecordSource) {
        var sink = RecordJSONWriter(self)
        source.emit(into: &sink)
    }
}
