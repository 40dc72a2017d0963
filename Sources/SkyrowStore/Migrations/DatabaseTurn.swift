package import SkyrowPostgres

/// An exclusive lock among processes, for any length of time and without a transaction around the work.
///
/// Another connection holds a table lock meanwhile, in a transaction that does nothing else. The lock mode needs no transaction
/// id, which would hold up vacuums and streams of changes. It is not an advisory lock, since any role can take those.
package struct DatabaseTurn: Sendable {
    fileprivate let holder: PostgresSession

    /// Throws if the connection was lost, and the lock with it.
    package func requireHeld() async throws {
        // The portal of a SELECT keeps its snapshot until the next statement, and a concurrent index build waits for that.
        _ = try await holder.query("SHOW transaction_isolation")
    }
}

extension PostgresClient {
    /// Runs `body` under an exclusive lock; returns nil if another process holds it.
    ///
    /// - Parameter table: the table to lock, which can still be read and written.
    package func withTurn<Success>(
        at table: SQL,
        _ body: (DatabaseTurn) async throws -> Success
    ) async throws -> Success? {
        try await withSession { holder in
            // Only the settings that this version of PostgreSQL has.
            _ = try await holder.query(
                """
                SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
                WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')
                """
            )
            // At another isolation level the snapshot would stay, and a concurrent index build waits for that.
            _ = try await holder.query("BEGIN ISOLATION LEVEL READ COMMITTED")
            do {
                _ = try await holder.query("LOCK TABLE \(table) IN SHARE UPDATE EXCLUSIVE MODE NOWAIT")
            } catch let error as PostgresError where error.sqlState == .lockNotAvailable {
                return nil
            }
            return try await body(DatabaseTurn(holder: holder))
        }
    }
}
