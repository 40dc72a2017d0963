import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns all record types with their fields.
    public func schema() async throws(ClientError) -> RecordSchema {
        try await call(Actions.schemaFetch, ())
    }

    /// Creates record types, and adds fields to those that exist; returns the whole schema.
    @discardableResult
    public func createTypes(_ types: [RecordType]) async throws(ClientError) -> RecordSchema {
        try await call(Actions.schemaCreate, types)
    }

    /// Renames a field; returns the whole schema.
    @discardableResult
    public func renameField(
        _ field: FieldName,
        of type: RecordTypeName,
        to newName: FieldName
    ) async throws(ClientError) -> RecordSchema {
        try await call(Actions.schemaRename, FieldRename(type: type, field: field, newName: newName))
    }

    /// Drops a field with its data; returns the whole schema.
    @discardableResult
    public func deleteField(_ field: FieldName, of type: RecordTypeName) async throws(ClientError) -> RecordSchema {
        try await call(Actions.schemaDelete, FieldDeletion(type: type, field: field))
    }
}
