package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    package func query(
        _ query: RecordQuery,
        in scope: DatabaseScope,
        caller: Caller
    ) async throws -> QueryAnswer {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }
}
