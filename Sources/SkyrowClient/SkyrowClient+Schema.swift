import SkyrowJSON
import SkyrowModel
import SkyrowProtocol

extension SkyrowClient {
    /// Returns all record types with their fields.
    public func schema() async throws(ClientError) -> RecordSchema {
        try await call(.schemaFetch) { json throws(SkyrowError) in try RecordSchema(result: json) }
    }

    /// Creates record types, and adds fields to those that exist; returns the whole schema.
    @discardableResult
    public func createTypes(_ types: [RecordType]) async throws(ClientError) -> RecordSchema {
        let request = SchemaCreateRequest(types: types)
        return try await change(.schemaCreate, repeatability: .safe) { $0.schemaCreateParameters(request) }
    }

    /// Renames a field; returns the whole schema.
    @discardableResult
    public func renameField(
        _ field: FieldName,
        of type: RecordTypeName,
        to newName: FieldName
    ) async throws(ClientError) -> RecordSchema {
        let request = SchemaRenameRequest(type: type, field: field, newName: newName)
        return try await change(.schemaRename) { $0.schemaRenameParameters(request) }
    }

    /// Drops a field with its data; returns the whole schema.
    @discardableResult
    public func deleteField(_ field: FieldName, of type: RecordTypeName) async throws(ClientError) -> RecordSchema {
        let request = SchemaDeleteRequest(type: type, field: field)
        return try await change(.schemaDelete) { $0.schemaDeleteParameters(request) }
    }

    private func change(
        _ action: ActionName,
        repeatability: Repeatability? = nil,
        parameters: @escaping (JSONWriter) -> Void
    ) async throws(ClientError) -> RecordSchema {
        try await call(action, repeatability: repeatability, parameters: parameters) { json throws(SkyrowError) in
            try RecordSchema(result: json)
        }
    }
}
