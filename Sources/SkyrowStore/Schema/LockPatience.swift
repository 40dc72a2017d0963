internal import SkyrowPostgres
internal import SkyrowSystem

/// Runs a transaction that locks tables exclusively, and retries it if others hold a lock.
///
/// Each attempt must be short (``PostgresTransaction/limitLockWaits()``), since all users of the table queue up behind a waiting
/// exclusive lock. Throws the error of the last attempt.
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
    /// Limits how long the following statements wait for a table lock to what others may wait behind them.
    package func limitLockWaits() async throws {
        _ = try await query("SELECT set_config('lock_timeout', \(literal: "\(tableLockMilliseconds)ms"), true)")
    }
}
