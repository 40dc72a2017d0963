package import SkyrowModel


extension ActionService {
    /// `schema:fetch`
    package func schema() async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:create`
    package func createTypes(_ request: SchemaCreateRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:rename`
    package func renameField(_ request: SchemaRenameRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }

    /// `schema:delete`
    package func deleteField(_ request: SchemaDeleteRequest) async throws(SkyrowError) -> RecordSchema {
        throw SkyrowError(.overloaded, "The service is not ready.")
    }
}
