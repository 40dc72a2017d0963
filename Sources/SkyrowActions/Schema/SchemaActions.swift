package import SkyrowModel
import SkyrowStore

extension ActionService {
    /// `schema:fetch`
    package func schema() async throws(SkyrowError) -> RecordSchema {
        try await observed(.schemaFetch) { () async throws(SkyrowError) in
            try await store.recordSchema()
        }
    }

    /// `schema:create`: creates types and adds fields, all of them or none.
    package func createTypes(_ request: SchemaCreateRequest) async throws(SkyrowError) -> RecordSchema {
        try await observed(.schemaCreate) { () async throws(SkyrowError) in
            try await store.createTypes(request)
        }
    }

    /// `schema:rename`
    package func renameField(_ request: SchemaRenameRequest) async throws(SkyrowError) -> RecordSchema {
        try await observed(.schemaRename) { () async throws(SkyrowError) in
            try await store.renameField(request)
        }
    }

    /// `schema:delete`
    package func deleteField(_ request: SchemaDeleteRequest) async throws(SkyrowError) -> RecordSchema {
        try await observed(.schemaDelete) { () async throws(SkyrowError) in
            try await store.deleteField(request)
        }
    }
}
