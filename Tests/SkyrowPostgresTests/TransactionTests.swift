import SkyrowPostgres
import SkyrowTestSupport
import Testing

private struct BodyError: Error {}

@Suite struct TransactionTests {
    private static let table = "CREATE TABLE note (id int PRIMARY KEY, stars int NOT NULL DEFAULT 0)"

    @Test func whatABodyDidIsCommittedWhenItReturns() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                let count = try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO note VALUES (\(Int32(1)))")
                    try await transaction.execute("INSERT INTO note VALUES (\(Int32(2)))")
                    return try await transaction.query("SELECT count(*) FROM note").decode(
                        row: 0,
                        column: 0,
                        as: Int.self
                    )
                }
                #expect(count == 2)
                let rows = try await database.psql("SELECT count(DISTINCT xmin::text), count(*) FROM note")
                #expect(rows == "1|2")
            }
        }
    }

    @Test func aBodysOwnErrorRollsBackAndArrivesAsItself() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                await #expect(throws: BodyError.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.execute("INSERT INTO note VALUES (1)")
                        throw BodyError()
                    }
                }
                let rows = try await database.psql("SELECT count(*) FROM note")
                #expect(rows == "0")
                // The connection goes back clean.
                try await client.withTransaction { _ = try await $0.execute("INSERT INTO note VALUES (1)") }
            }
        }
    }

    @Test func aFailureThatABodySwallowedIsNotCommittedInSilence() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                let error = try await #require(throws: PostgresError.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.execute("INSERT INTO note VALUES (1)")
                        _ = try? await transaction.execute("INSERT INTO note VALUES (1)")
                    }
                }
                #expect(error.sqlState == "25P02")
                let rows = try await database.psql("SELECT count(*) FROM note")
                #expect(rows == "0")
            }
        }
    }

    @Test func aSavepointUndoesItsOwnPart() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            try await withPostgresClient(database.url) { client in
                try await client.withTransaction { transaction in
                    try await transaction.execute("INSERT INTO note VALUES (1)")
                    await #expect(throws: PostgresError.self) {
                        try await transaction.withSavepoint { transaction in
                            try await transaction.execute("INSERT INTO note VALUES (2)")
                            try await transaction.execute("INSERT INTO note VALUES (1)")
                        }
                    }
                    try await transaction.withSavepoint { transaction in
                        _ = try await transaction.execute("INSERT INTO note VALUES (3)")
                    }
                }
                let rows = try await database.psql("SELECT string_agg(id::text, ',' ORDER BY id) FROM note")
                #expect(rows == "1,3")
            }
        }
    }

    @Test(arguments: [
        (PostgresIsolation.readCommitted, "read committed"), (.repeatableRead, "repeatable read"),
        (.serializable, "serializable"),
    ])
    func theIsolationLevelIsTheOneAskedFor(isolation: PostgresIsolation, name: String) async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let found = try await client.withTransaction(isolation: isolation) { transaction in
                try await transaction.query("SHOW transaction_isolation").decode(row: 0, column: 0, as: String.self)
            }
            #expect(found == name)
        }
    }

    @Test func collidingTransactionsAreRunAgainUntilAllHaveHappened() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table + "; INSERT INTO note VALUES (1), (2)")
            try await withPostgresClient(database.url) { client in
                let attempts = Counter()
                try await withThrowingTaskGroup { group in
                    for _ in 0..<8 {
                        group.addTask {
                            try await client.withTransaction(isolation: .serializable, retries: 100) { transaction in
                                attempts.increment()
                                let stars = try await transaction.query("SELECT stars FROM note WHERE id = 1")
                                    .decode(row: 0, column: 0, as: Int32.self)
                                try await transaction.execute("UPDATE note SET stars = \(stars + 1) WHERE id = 1")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let stars = try await database.psql("SELECT stars FROM note WHERE id = 1")
                #expect(stars == "8")
            }
        }
    }

    @Test func aDeadlockIsResolvedByRunningOneOfThemAgain() async throws {
        let cluster = try await TemporaryCluster.start(settings: ["deadlock_timeout": "50ms"])
        try await cluster.psql(Self.table + "; INSERT INTO note VALUES (1), (2)")
        try await withPostgresClient(cluster.url()) { client in
            let haveFirst = Counter()
            let attempts = Counter()
            let committed = Counter()
            try await withThrowingTaskGroup { group in
                for (first, second) in [(Int32(1), Int32(2)), (2, 1)] {
                    group.addTask {
                        let ownAttempts = Counter()
                        try await client.withTransaction { transaction in
                            attempts.increment()
                            ownAttempts.increment()
                            // It could have its first row again before the other wakes up: a second deadlock.
                            if ownAttempts.value > 1 {
                                try await waiting(until: "the other has committed", hearing: [committed]) {
                                    committed.value >= 1
                                }
                            }
                            try await transaction.execute("UPDATE note SET stars = stars + 1 WHERE id = \(first)")
                            haveFirst.increment()
                            try await waiting(until: "both transactions have their first lock", hearing: [haveFirst]) {
                                haveFirst.value >= 2
                            }
                            try await transaction.execute("UPDATE note SET stars = stars + 1 WHERE id = \(second)")
                        }
                        committed.increment()
                    }
                }
                try await group.waitForAll()
            }
            #expect(attempts.value == 3)
            let stars = try await cluster.psql("SELECT sum(stars) FROM note")
            #expect(stars == "4")
        }
    }

    @Test func retriesHaveAnEnd() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let attempts = Counter()
            let error = try await #require(throws: PostgresError.self) {
                try await client.withTransaction(retries: 2) { transaction in
                    attempts.increment()
                    try await transaction.execute(
                        "DO $$ BEGIN RAISE EXCEPTION 'no luck' USING ERRCODE = 'serialization_failure'; END $$"
                    )
                }
            }
            #expect(error.sqlState == .serializationFailure)
            #expect(attempts.value == 3)
        }
    }

    @Test func aTransactionWithoutStatementsNeedsNoConnection() async throws {
        try await withPostgresClient("postgresql:///x?host=/nowhere") { client in
            let result = try await client.withTransaction { _ in 42 }
            #expect(result == 42)
        }
    }

    @Test func aTransactionCannotBeUsedAfterItsEnd() async throws {
        try await withPostgresClient(TemporaryCluster.shared().url()) { client in
            let kept = try await client.withTransaction { $0 }
            let error = try await #require(throws: PostgresError.self) { try await kept.query("SELECT 1") }
            #expect(error.code == .misuse)
        }
    }

    @Test func scriptsRunAsAWhole() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                try await client.withTransaction { transaction in
                    try await transaction.executeScript("CREATE TABLE a (id int); CREATE TABLE b (id int); SELECT 1;")
                }
                await #expect(throws: PostgresError.self) {
                    try await client.withTransaction { transaction in
                        try await transaction.executeScript("DROP TABLE a; DROP TABLE nothing")
                    }
                }
                let error = try await #require(throws: PostgresError.self) {
                    try await client.withTransaction { try await $0.executeScript("SELECT \(1)") }
                }
                #expect(error.code == .misuse)
                let tables = try await database.psql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
                #expect(tables == "2")
            }
        }
    }

    @Test func transactionsWaitForAConnectionButNotForEver() async throws {
        func limit(_ configuration: inout PostgresConfiguration) {
            configuration.maximumTransactionConnections = 1
            // The others find a connection in this time, even on a busy machine.
            configuration.acquireTimeout = .seconds(10)
        }
        try await withPostgresClient(TemporaryCluster.shared().url(), configure: limit) { client in
            try await client.withTransaction { transaction in
                try await transaction.execute("SELECT 1")
                let error = try await #require(throws: PostgresError.self) {
                    try await client.withTransaction { try await $0.execute("SELECT 1") }
                }
                #expect(error.code == .acquireTimeout)
                let waiting = Task { try await client.withTransaction { try await $0.execute("SELECT 1") } }
                waiting.cancel()
                let outcome = await waiting.result
                #expect(!outcome.succeeded)
            }
            try await client.withTransaction { _ = try await $0.execute("SELECT 1") }
        }
    }
}
