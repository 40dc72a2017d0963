import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns the indexes of a record type, or of all types, without those that every type has.
    public func indexes(of type: RecordTypeName? = nil) async throws(ClientError) -> [RecordIndex] {
        let request = IndexListRequest(type: type)
        return try await call(.schemaIndexList) {
            $0.indexListParameters(request)
        } read: { json throws(SkyrowError) in
            try RecordIndex.list(result: json)
        }
    }

    /// Requests an index; ``indexes(of:)`` reports when it is built.
    ///
    /// ```swift
    /// try await client.createIndex(IndexDefinition(of: film, [IndexField("year", .descending)]))
    /// ```
    ///
    /// Requesting an existing index returns it; a failed one is built again.
    @discardableResult
    public func createIndex(_ definition: IndexDefinition) async throws(ClientError) -> RecordIndex {
        let request = IndexCreateRequest(definition)
        return try await call(.schemaIndexCreate, repeatability: .safe) {
            $0.indexCreateParameters(request)
        } read: { json throws(SkyrowError) in
            try RecordIndex(result: json)
        }
    }

    /// Requests that an index is dropped.
    ///
    /// - Parameters:
    ///   - name: the name of the index.
    ///   - forces: whether to drop an index that ``createIndex(_:)`` did not create.
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
