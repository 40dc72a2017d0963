/// A statement that runs before another one, in the same transaction and round trip, and what else differs for that transaction.
///
/// It is for code of the application, which may run long and reads settings: the prelude sets them locally. The request runs
/// alone in its transaction.
///
/// ```swift
/// let prelude = PostgresPrelude(sql: "SELECT set_config('skyrow.user_id', \(user), true)", timeLimit: .seconds(10))
/// let result = try await client.read("SELECT app.greeting()", prelude: prelude)
/// ```
package struct PostgresPrelude: Sendable {
    package let sql: SQL
    /// The time limit of the other statement, which the prelude sets as `statement_timeout`; it replaces that of the configuration.
    package let timeLimit: Duration

    package init(sql: SQL, timeLimit: Duration) {
        self.sql = sql
        self.timeLimit = timeLimit
    }
}
