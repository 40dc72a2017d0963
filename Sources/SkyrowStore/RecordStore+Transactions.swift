package import SkyrowModel
package import SkyrowPostgres

/// An open transaction, to pass to the store's methods.
package typealias StoreTransaction = PostgresTransaction

extension RecordStore {
    /// Runs `body` in one transaction, which it passes to the store's methods; commits if it returns, rolls back if it throws.
    ///
    /// `body` may run more than once: a transaction that failed because of a concurrent one is retried, even if `body` caught
    /// the error.
    package func withTransaction<Success>(
        _ body: (StoreTransaction) async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        try await reporting { try await client.withTransaction(body) }
    }

    /// The same for statements, whose errors are converted once the transaction has ended.
    func inTransaction<Success>(
        _ body: (StoreTransaction) async throws -> Success
    ) async throws(SkyrowError) -> Success {
        try await reporting { try await client.withTransaction(body) }
    }
}
