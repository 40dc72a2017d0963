internal import SkyrowPostgres
internal import SkyrowSystem

/// Runs a transaction that needs tables exclusively, again when it meets one which others keep locked.
///
/// Each attempt must be short (``PostgresTransaction/limitLockWaits()``), since all users of the table queue up behind one that
/// needs it alone. Throws what the last attempt threw.
package func patiently<Success>(attempts: Int = 8, _ body: () async throws -> Success) async throws -> Success {
    var attempt = 1
    while true {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == .lockNotAvailable && attempt < attempts {
            try await ServiceTimer.sleep(for: .milliseconds(50 << min(attempt, 5)))
            attempt += 1
        }
    }
}

extension PostgresTransaction {
    /// Has the statements that follow wait for a table no longer than others may wait behind them.
    package func limitLockWaits() async throws {
        _ = try await query("SELECT set_config('lock_timeout', '40ms', true)")
    }
}
