import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct CancellationTests {
    /// Waits until so many sessions of the database run `pg_sleep`.
    private func sleepers(_ count: Int, in database: TemporaryDatabase) async throws {
        let query = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND wait_event = 'PgSleep'
            """
        try await waiting(until: "\(count) sessions sleep") { try await database.psql(query) == "\(count)" }
    }

    @Test func cancellingTheTaskOfAReadCancelsTheStatement() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                let task = Task { try await client.read("SELECT pg_sleep(600)") }
                try await sleepers(1, in: database)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await sleepers(0, in: database)
            }
        }
    }

    @Test(arguments: [PostgresGroupCommit.never, .allowed])
    func cancellingTheTaskOfAWriteCancelsTheStatement(groupCommit: PostgresGroupCommit) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                let task = Task {
                    try await client.write(
                        "INSERT INTO note SELECT 1 FROM (SELECT pg_sleep(600)) nap",
                        groupCommit: groupCommit
                    )
                }
                try await sleepers(1, in: database)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await sleepers(0, in: database)
                let count = try await database.psql("SELECT count(*) FROM note")
                #expect(count == "0")
            }
        }
    }

    @Test(arguments: [true, false])
    func cancellingTheTaskOfATransactionRollsItBack(isFirstStatement: Bool) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(database.url) { client in
                let task = Task {
                    try await client.withTransaction { transaction in
                        if !isFirstStatement { try await transaction.execute("INSERT INTO note VALUES (1)") }
                        try await transaction.execute("SELECT pg_sleep(600)")
                    }
                }
                try await sleepers(1, in: database)
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
                try await client.withTransaction { _ = try await $0.execute("INSERT INTO note VALUES (2)") }
                let ids = try await database.psql("SELECT id FROM note")
                #expect(ids == "2")
            }
        }
    }

    @Test func aStatementThatWaitsIsTakenOutOfTheQueue() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            let client = PostgresClient(
                configuration: PostgresConfiguration(connection: database.url, waitingUpTo: .seconds(300)),
                logger: .silent
            )
            for groupCommit in [PostgresGroupCommit.never, .allowed] {
                let write = Task { try await client.write("INSERT INTO note VALUES (1)", groupCommit: groupCommit) }
                try await waiting(until: "the write waits") { client.waitingStatements > 0 }
                write.cancel()
                await #expect(throws: CancellationError.self) { try await write.value }
            }
            let cancelledBefore = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await client.write("INSERT INTO note VALUES (1)")
            }
            cancelledBefore.cancel()
            await #expect(throws: CancellationError.self) { try await cancelledBefore.value }
            try await withRunning {
                try await client.run()
            } while: {
                _ = try await client.write("INSERT INTO note VALUES (2)")
            }
            let ids = try await database.psql("SELECT id FROM note")
            #expect(ids == "2")
        }
    }

    @Test func neighboursOfACancelledReadAreAnswered() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            func limit(_ configuration: inout PostgresConfiguration) {
                configuration.readConnections = 1
                configuration.maximumReadConnections = 1
            }
            try await withPostgresClient(database.url, configure: limit) { client in
                for _ in 0..<5 {
                    let slow = Task { try await client.read("SELECT pg_sleep(600)") }
                    try await sleepers(1, in: database)
                    let others = (0..<20).map { number in
                        Task { try await client.read("SELECT \(number)").decode(row: 0, column: 0, as: Int.self) }
                    }
                    slow.cancel()
                    for (number, other) in others.enumerated() {
                        let result = try await other.value
                        #expect(result == number)
                    }
                    await #expect(throws: CancellationError.self) { try await slow.value }
                }
            }
        }
    }
}
