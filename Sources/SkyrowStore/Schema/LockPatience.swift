internal import SkyrowPostgres

/// Runs a transaction that needs tables exclusively, again when it meets one which others keep locked.
///
/// Each attempt must be short (`lock_timeout`), since all users of the table queue up behind one that needs it
/// alone. Throws what the last attempt threw.
package func patiently<Success>(attempts: Int = 5, _ body: () async throws -> Success) async throws -> Success {
    var attempt = 1
    while true {
        do {
            return try await body()
        } catch let error as PostgresError where error.sqlState == .lockNotAvailable && attempt < attempts {
            try await Task.sleep(for: .milliseconds(50 << min(attempt, 5)))
            attempt += 1
        }
    }
}
