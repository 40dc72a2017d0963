package import SkyrowModel
package import SkyrowPostgres

extension RecordStore {
    /// Saves records, each in its own right or, when `atomic`, all or none.
    package func save(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool
    ) async throws -> [RecordOutcome] {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }

    /// The same inside a transaction of the caller's.
    package func save(
        _ items: [SaveRequest.Item],
        in scope: DatabaseScope,
        caller: Caller,
        atomic: Bool,
        transaction: PostgresTransaction
    ) async throws -> [RecordOutcome] {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }

    /// Throws when the caller may create no record in this database at all.
    package func requireMayCreate(in scope: DatabaseScope, caller: Caller) throws(SkyrowError) {
        throw SkyrowError(.unexpectedError, "The service failed.")
    }

    /// Which of these records exist and are closed to the caller for writing, and what each would be refused with.
    ///
    /// Asked before a save changes the schema, so that nothing is created for a caller who may not write.
    package func refusals(
        savingTo ids: [RecordID],
        in scope: DatabaseScope,
        caller: Caller
    ) async throws -> [RecordID: SkyrowError] {
        [:]
    }
}
