import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns the indexes of a record type, or of all types, without those that every type has.
    public func indexes(of type: RecordTypeName? = nil) async throws(ClientError) -> [RecordIndex] {
        try await call(Actions.schemaIndexList, type)
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
        try await call(Actions.schemaIndexCreate, definition)
    }

    /// Requests that an index is dropped.
    ///
    /// - Parameters:
    ///   - name: the name of the index.
    ///   - forces: whether to drop an index that ``createIndex(_:)`` did not create.
    @discardableResult
    public func deleteIndex(_ name: String, forces: Bool = false) async throws(ClientError) -> RecordIndex {
        try await call(Actions.schemaIndexDelete, IndexDeletion(name: name, forces: forces))
    }
}
