import SkyrowPostgres
import SkyrowTestSupport
import Testing

/// A statement that runs before another one in its transaction and round trip.
@Suite struct PreludeTests {
    private static func prelude(_ sql: SQL, within limit: Duration = .seconds(1200)) -> PostgresPrelude {
        PostgresPrelude(sql: sql, timeLimit: limit)
    }

    /// In one connection, so that a setting which is left over is found.
    private static func onlyOne(_ configuration: inout PostgresConfiguration) {
        configuration.readConnections = 1
        configuration.maximumReadConnections = 1
        configuration.maximumWriteConnections = 1
    }

    private func run(
        _ sql: SQL,
        _ prelude: PostgresPrelude? = nil,
        writes: Bool,
        on client: PostgresClient
    ) async throws -> String {
        let result =
            writes ? try await client.write(sql, prelude: prelude) : try await client.read(sql, prelude: prelude)
        return try result.decode(row: 0, column: 0, as: String.self)
    }

    @Test(arguments: [false, true])
    func itsSettingsHoldForTheStatementAlone(_ writes: Bool) async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url, configure: Self.onlyOne) { client in
                let question: SQL = "SELECT coalesce(current_setting('my.name', true), '')"
                // The second time it runs by name.
                for name in ["ann", "bob"] {
                    let prelude = Self.prelude("SELECT set_config('my.name', \(name), true)")
                    let inside = try await run(question, prelude, writes: writes, on: client)
                    #expect(inside == name)
                    let outside = try await run(question, writes: writes, on: client)
                    #expect(outside.isEmpty)
                }
            }
        }
    }

    @Test(arguments: [false, true])
    func statementsWithPreludesDoNotMix(_ writes: Bool) async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url) { client in
                let found = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            let prelude =
                                number.isMultiple(of: 3)
                                ? nil : Self.prelude("SELECT set_config('my.name', \(String(number)), true)")
                            let name = try await run(
                                "SELECT coalesce(current_setting('my.name', true), '')",
                                prelude,
                                writes: writes,
                                on: client
                            )
                            return name == (prelude == nil ? "" : String(number))
                        }
                    }
                    return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(found == 100)
            }
        }
    }

    @Test(arguments: [false, true])
    func anErrorSaysWhichOfTheTwoFailed(_ writes: Bool) async throws {
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url, configure: Self.onlyOne) { client in
                let first = try await #require(throws: PostgresError.self) {
                    try await run("SELECT 'x'", Self.prelude("SELECT \("y")::integer"), writes: writes, on: client)
                }
                #expect(first.sqlState == "22P02")
                #expect(first.isOfPrelude)
                let second = try await #require(throws: PostgresError.self) {
                    try await run(
                        "SELECT (\("y")::integer)::text",
                        Self.prelude("SELECT 1"),
                        writes: writes,
                        on: client
                    )
                }
                #expect(second.sqlState == "22P02")
                #expect(!second.isOfPrelude)
                let third = try await #require(throws: PostgresError.self) {
                    try await run("SELECT 'x'", Self.prelude("SELECT \("a\u{0}")"), writes: writes, on: client)
                }
                #expect(third.code == .invalidValue)
                // The connection is as good as before.
                let after = try await run("SELECT 'x'", Self.prelude("SELECT 1"), writes: writes, on: client)
                #expect(after == "x")
            }
        }
    }

    @Test(arguments: [false, true])
    func itsTimeLimitReplacesThatOfTheConfiguration(_ writes: Bool) async throws {
        func short(_ configuration: inout PostgresConfiguration) {
            configuration.statementTimeout = .milliseconds(20)
            configuration.cancellationTimeout = patience
        }
        try await withTemporaryDatabase { url in
            try await withPostgresClient(url, configure: short) { client in
                let long = Self.prelude("SELECT set_config('statement_timeout', '1200s', true)")
                let result = try await run("SELECT pg_sleep(0.1)::text", long, writes: writes, on: client)
                #expect(result.isEmpty)
                let error = try await #require(throws: PostgresError.self) {
                    try await run("SELECT pg_sleep(600)::text", writes: writes, on: client)
                }
                #expect(error.code == .statementTimeout)
            }
        }
    }

    @Test func whatAFailedPreludeLeavesUndoneIsUndone() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.write("SELECT 1 / 0", prelude: Self.prelude("INSERT INTO note VALUES (1)"))
                }
                #expect(error.sqlState == "22012")
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "0")
            }
        }
    }
}
