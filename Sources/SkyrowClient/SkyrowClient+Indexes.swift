import SkyrowJSON
import SkyrowModel
import SkyrowWire

extension SkyrowClient {
    /// The indexes of a record type, or of all, but for those that every type has.
    public func indexes(of type: RecordTypeName? = nil) async throws(ClientError) -> [RecordIndex] {
        let request = IndexListRequest(type: type)
        return try await call(.schemaIndexList) {
            $0.indexListParameters(request)
        } read: { json throws(SkyrowError) in
            try RecordIndex.list(result: json)
        }
    }

    /// Has an index built; ``indexes(of:)`` says when it is ready.
    ///
    /// ```swift
    /// try await client.createIndex(IndexDefinition(of: film, [IndexField("year", .descending)]))
    /// ```
    ///
    /// An index that was asked for before is the same one; it is begun anew where it failed.
    @discardableResult
    public func createIndex(_ definition: IndexDefinition) async throws(ClientError) -> RecordIndex {
        let request = IndexCreateRequest(definition)
        return try await call(.schemaIndexCreate, repeatability: .safe) {
            $0.indexCreateParameters(request)
        } read: { json throws(SkyrowError) in
            try RecordIndex(result: json)
        }
    }

    /// Has an index dropped.
    ///
    /// - Parameters:
    ///   - name: that of the index.
    ///   - forces: whether it goes although it was made by other means than ``createIndex(_:)``.
    @discardableResult
    public func deleteIndex(_ name: String, forces: Bool = false) async throws(ClientError) -> RecordIndex {
        let request = IndexDeleteRequest(name: name, forces: forces)
        return try await call(.schemaIndexDelete) {
            $0.indexDeleteParameters(request)
        } read: { json throws(SkyrowError) in
            try RecordIndex(result: json)
        }
    }
}
