package import SkyrowModel
package import SkyrowPostgres

/// An open transaction, to be passed on to the store's methods.
package typealias StoreTransaction = PostgresTransaction

extension RecordStore {
    /// Whether a statement would find an open connection; cheap.
    package var isReady: Bool { client.isReady }

    /// How many statements wait for locks that others hold, while connections are kept for the rest.
    package var heldBack: (reads: Int, writes: Int) { client.heldBack }

    /// Runs `body` in one transaction, which it passes to the store's methods; commits when it returns and rolls back when
    /// it throws.
    ///
    /// `body` may run more than once: a transaction that met another one is tried again, whatever `body` made of the
    /// failure of its statement.
    package func withTransaction<Success>(
        _ body: (StoreTransaction) async throws(SkyrowError) -> Success
    ) async throws(SkyrowError) -> Success {
        try await reporting { try await client.withTransaction(body) }
    }
}
