package import SkyrowPostgres

/// What one process at a time does, however long that takes, and in no transaction.
///
/// Another connection holds the lock of a table meanwhile, in a transaction that does nothing else. It is of a mode that needs no
/// transaction id, which would hold up vacuums and streams of changes, and it is no advisory lock, which any role can take.
package struct DatabaseTurn: Sendable {
    fileprivate let holder: PostgresSession

    /// Throws where the connection was lost, and the turn with it.
    package func requireHeld() async throws {
        // The portal of a SELECT keeps its snapshot until the next statement, and an index that is built waits for that.
        _ = try await holder.query("SHOW transaction_isolation")
    }
}

extension PostgresClient {
    /// Runs `body` unless another process is at the same; nil then.
    ///
    /// - Parameter table: the table whose lock says so; reading and writing it go on.
    package func withTurn<Success>(
        at table: SQL,
        _ body: (DatabaseTurn) async throws -> Success
    ) async throws -> Success? {
        try await withSession { holder in
            // The names that this version of PostgreSQL has.
            _ = try await holder.query(
                """
                SELECT set_config(name, '0', false) FROM pg_catalog.pg_settings
                WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')
                """
            )
            // With another level its snapshot would stay, and an index that is built waits for that.
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
