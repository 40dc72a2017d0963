package import SkyrowJSON
package import SkyrowModel

extension Record: RecordSource {
    /// Tells the record to a sink in the order of the wire form, fields sorted by name.
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
            emit(value, as: MemberKey(name.rawValue), into: &sink)
        }
        if !transient.isEmpty {
            sink.beginTransients()
            for (name, record) in transient.sorted(by: { $0.key < $1.key }) {
                sink.transient(name)
                if let record { record.emit(into: &sink) } else { sink.missingTransient() }
            }
            sink.endTransients()
        }
        sink.endRecord()
    }

    private func emit(_ value: RecordValue, as key: MemberKey, into sink: inout some RecordSink) {
        switch value {
        // A field that is NULL is left out; a sequence is a request, never a stored value.
        case .null, .sequence: break
        case .string(let text): text.withBytes { sink.member(key, .string($0)) }
        case .integer(let value): sink.member(key, .integer(value))
        case .number(let value): sink.member(key, .number(value))
        case .boolean(let value): sink.member(key, .boolean(value))
        case .datetime(let value): sink.member(key, .datetime(value))
        case .json(let text): text.utf8.withUnsafeBytes { sink.member(key, .json($0)) }
        case .reference(let id): id.withBytes { sink.member(key, .reference(type: $0, id: $1)) }
        case .bytes(let bytes): bytes.withUnsafeBytes { sink.member(key, .bytes($0)) }
        }
    }
}

extension MemberKey {
    fileprivate static let id = MemberKey("_id")
    fileprivate static let access = MemberKey("_access")
    fileprivate static let ownerID = MemberKey("_ownerID")
    fileprivate static let createdAt = MemberKey("_created_at")
    fileprivate static let createdBy = MemberKey("_created_by")
    fileprivate static let updatedAt = MemberKey("_updated_at")
    fileprivate static let updatedBy = MemberKey("_updated_by")
    fileprivate static let revision = MemberKey("_revision")
}

extension RecordID {
    fileprivate func withBytes(_ body: (_ type: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) -> Void) {
        type.rawValue.withBytes { type in id.withBytes { body(type, $0) } }
    }
}

extension String {
    fileprivate func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) {
        var text = self
        text.withUTF8 { body(UnsafeRawBufferPointer($0)) }
    }
}

extension JSONWriter {
    /// A record in the v1 form.
    package func record(_ source: some RecordSource) {
        var sink = RecordJSONWriter(self)
        source.emit(into: &sink)
    }
}
