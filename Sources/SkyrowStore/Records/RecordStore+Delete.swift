package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    package func delete(
        _ ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool
    ) async throws -> [RecordOutcome] {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }

    /// The same inside a transaction of the caller's.
    package func delete(
        _ ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool,
        transaction: PostgresTransaction
    ) async throws -> [RecordOutcome] {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }
}
