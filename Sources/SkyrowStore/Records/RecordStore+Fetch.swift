package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    package func fetch(
        _ ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller
    ) async throws -> [RecordOutcome] {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }
}
