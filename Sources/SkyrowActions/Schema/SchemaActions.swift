import SkyrowModel
import SkyrowProtocol
import SkyrowStore

extension ActionTable {
    static let schema: [any AnyEntry] = [
        Entry(Actions.schemaFetch, ActionService.schema),
        Entry(Actions.schemaCreate, ActionService.createTypes),
        Entry(Actions.schemaRename, ActionService.renameField),
        Entry(Actions.schemaDelete, ActionService.deleteField),
        Entry(Actions.schemaIndexCreate, ActionService.createIndex),
        Entry(Actions.schemaIndexDelete, ActionService.deleteIndex),
        Entry(Actions.schemaIndexList, ActionService.indexes(of:_:)),
    ]
}

extension ActionService {
    fileprivate func schema(_: Void, _ call: Call) async throws(SkyrowError) -> RecordSchema {
        try await store.recordSchema()
    }

    fileprivate func createTypes(_ types: [RecordType], _ call: Call) async throws(SkyrowError) -> RecordSchema {
        let schema = try await store.createTypes(types)
        noteSchemaChange(of: types.map(\.name))
        return schema
    }

    fileprivate func renameField(_ rename: FieldRename, _ call: Call) async throws(SkyrowError) -> RecordSchema {
        let schema = try await store.renameField(rename)
        noteSchemaChange(of: [rename.type])
        return schema
    }

    fileprivate func deleteField(_ deletion: FieldDeletion, _ call: Call) async throws(SkyrowError) -> RecordSchema {
        let schema = try await store.deleteField(deletion)
        noteSchemaChange(of: [deletion.type])
        return schema
    }
}

// MARK: Indexes

extension ActionService {
    /// A process of the service builds the index afterwards.
    fileprivate func createIndex(_ definition: IndexDefinition, _ call: Call) async throws(SkyrowError) -> RecordIndex {
        try await store.createIndex(definition)
    }

    /// The index is dropped afterwards.
    fileprivate func deleteIndex(_ deletion: IndexDeletion, _ call: Call) async throws(SkyrowError) -> RecordIndex {
        try await store.deleteIndex(deletion)
    }

    fileprivate func indexes(of type: RecordTypeName?, _ call: Call) async throws(SkyrowError) -> [RecordIndex] {
        try await store.indexes(of: type)
    }
}
