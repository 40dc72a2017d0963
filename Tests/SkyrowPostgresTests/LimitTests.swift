import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct LimitTests {
    @Test func aStatementThatRunsTooLongIsCancelled() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.statementTimeout = .milliseconds(50)
                // However late a busy server hears of it.
                configuration.cancellationTimeout = patience
            }
            try await withPostgresClient(database.url, configure: limit) {
                client in
                let read = try await #require(throws: PostgresError.self) {
                    try await client.read("SELECT pg_sleep(600)")
                }
                #expect(read.code == .statementTimeout)
                for groupCommit in [PostgresGroupCommit.never, .allowed] {
                    let write = try await #require(throws: PostgresError.self) {
                        try await client.write(
                            "INSERT INTO note SELECT 1 FROM (SELECT pg_sleep(600)) n",
                            groupCommit: groupCommit
                        )
                    }
                    #expect(write.code == .statementTimeout)
                }
                let transaction = try await #require(throws: PostgresError.self) {
                    try await client.withTransaction { try await $0.execute("SELECT pg_sleep(600)") }
                }
                #expect(transaction.code == .statementTimeout)
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "0")
            }
        }
    }

    @Test func aFullQueueRefusesTheNextStatement() async throws {
        let url = try await TemporaryCluster.shared().url()
        let read: @Sendable (PostgresClient) async throws -> Int = { client in
            try await client.read("SELECT 1").decode(row: 0, column: 0, as: Int.self)
        }
        let write: @Sendable (PostgresClient) async throws -> Int = { client in
            try await client.write("SELECT 1", groupCommit: .allowed).rowCount
        }
        let (outcomes, _) = try await withWaitingClient(
            url,
            waiting: 4,
            configure: { $0.maximumQueueLength = 2 },
            statements: [read, read, read, write, write, write]
        )
        // Which of three is the third depends on the scheduler.
        #expect(outcomes.count { $0.failureCode == .overloaded } == 2)
        #expect(outcomes.count { $0.succeeded } == 4)
    }

    @Test func withoutAServerStatementsEndWithAnError() async throws {
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.acquireTimeout = .milliseconds(100)
        }
        try await withPostgresClient("postgresql:///x?host=/nowhere", configure: limit) { client in
            let read = try await #require(throws: PostgresError.self) { try await client.read("SELECT 1") }
            #expect(read.code == .cannotConnect)
            let write = try await #require(throws: PostgresError.self) { try await client.write("SELECT 1") }
            #expect(write.code == .cannotConnect)
            let transaction = try await #require(throws: PostgresError.self) {
                try await client.withTransaction { try await $0.execute("SELECT 1") }
            }
            #expect(transaction.code == .cannotConnect)
            #expect(!client.isReady)
        }
    }

    @Test func aSlowReadHoldsUpNoOther() async throws {
        let slow: @Sendable (PostgresClient) async throws -> Int = { client in
            try await client.read("SELECT 1, pg_sleep(600)").rowCount
        }
        let url = try await TemporaryCluster.shared().url()
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.readConnections = 1
            configuration.maximumReadConnections = 3
        }
        try await withPostgresClient(url, configure: limit) { client in
            let naps = [Task { try await slow(client) }, Task { try await slow(client) }]
            while client.statistics.reads.statements < 2 {
                // More readers than connections, some of them behind the slow ones.
                try await withThrowingTaskGroup { group in
                    for number in 0..<40 {
                        group.addTask {
                            let result = try await client.read("SELECT \(number)")
                            #expect(try result.decode(row: 0, column: 0, as: Int.self) == number)
                        }
                    }
                    try await group.waitForAll()
                }
            }
            for nap in naps {
                nap.cancel()
                await #expect(throws: CancellationError.self) { try await nap.value }
            }
        }
    }

    /// Without named statements, where the session keeps no settings, each transaction has them.
    @Test(arguments: [true, false])
    func sessionsHaveTheSettingsAskedFor(namedStatements: Bool) async throws {
        let url = try await TemporaryCluster.shared().url()
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.searchPath = ["app", "pg_catalog"]
            configuration.applicationName = "skyrow-test"
            configuration.sessionSettings = ["work_mem": "5MB"]
            configuration.statementTimeout = .seconds(7)
            configuration.readTimeout = .seconds(3)
            configuration.groupCommitLockTimeout = .milliseconds(70)
            configuration.preparedStatements = namedStatements ? .whereKept : .never
        }
        try await withPostgresClient(url, configure: limit) { client in
            func settings(_ result: PostgresResult) throws -> [String] {
                try (0..<result.columnCount).map { try result.decode(row: 0, column: $0) }
            }
            let query: SQL = """
                SELECT current_setting('search_path'), current_setting('application_name'), current_setting('work_mem'),
                    current_setting('statement_timeout'), current_setting('lock_timeout')
                """
            let common = ["\"app\", \"pg_catalog\"", "skyrow-test", "5MB"]
            #expect(try settings(await client.read(query)) == common + ["3s", "0"])
            #expect(try settings(await client.write(query)) == common + ["7s", "0"])
            #expect(try settings(await client.write(query, groupCommit: .allowed)) == common + ["250ms", "70ms"])
            let transaction = try await client.withTransaction { try await $0.query(query) }
            #expect(try settings(transaction) == common + ["7s", "0"])
            let script = try await client.withTransaction { transaction in
                try await transaction.executeScript("SELECT 1")
                return try await transaction.query(query)
            }
            #expect(try settings(script) == common + ["7s", "0"])
        }
    }
}

@Suite struct ConnectionEnvironmentTests {
    @Test(arguments: [
        (
            "postgresql://ann:p%40ss@db1:5433,db2/app?sslmode=require&application_name=x&keepalives=0",
            [
                "PGUSER": "ann", "PGPASSWORD": "p@ss", "PGHOST": "db1,db2", "PGPORT": "5433,", "PGDATABASE": "app",
                "PGSSLMODE": "require", "PGAPPNAME": "x",
            ]
        ),
        ("host='/tmp/a \\' b' port=5432 user=skyrow", ["PGHOST": "/tmp/a ' b", "PGPORT": "5432", "PGUSER": "skyrow"]),
        ("postgresql://", [:]),
    ])
    func aConnectionStringBecomesVariables(text: String, expected: [String: String]) throws {
        #expect(try PostgresConfiguration.environment(ofConnection: text) == expected)
    }

    @Test func whatIsNoneIsNotRepeated() {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConfiguration.environment(ofConnection: "postgresql://ann:secret@[x")
        }
        #expect(error?.code == .misuse)
        #expect(error?.debugDescription.contains("secret") == false)
    }
}
