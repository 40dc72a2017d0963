import SkyrowPostgres
import SkyrowTestSupport
import Testing

@Suite struct GroupCommitTests {
    private static let table = "CREATE TABLE note (id int PRIMARY KEY, stars int NOT NULL DEFAULT 0)"

    private static func insert(_ id: Int, groupCommit: PostgresGroupCommit = .allowed)
        -> @Sendable (PostgresClient) async throws -> Int
    {
        { client in
            try await client.write("INSERT INTO note (id) VALUES (\(Int32(id)))", groupCommit: groupCommit).affectedRows
        }
    }

    @Test func writesThatWaitTogetherShareOneCommit() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 64,
                statements: (0..<64).map { Self.insert($0) }
            )
            #expect(outcomes.allSucceeded())
            #expect(statistics.groupCommits.largestBatch == 64)
            // One transaction id means one commit.
            let transactions = try await database.psql("SELECT count(DISTINCT xmin::text), count(*) FROM note")
            #expect(transactions == "1|64")
        }
    }

    @Test func writesWithoutSharingCommitEachAlone() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            let (outcomes, _) = try await withWaitingClient(
                database.url,
                waiting: 20,
                statements: (0..<20).map { Self.insert($0, groupCommit: .never) }
            )
            #expect(outcomes.allSucceeded())
            let transactions = try await database.psql("SELECT count(DISTINCT xmin::text) FROM note")
            #expect(transactions == "20")
        }
    }

    @Test func oneRefusedWriteOfAGroupIsRefusedAlone() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table + "; INSERT INTO note VALUES (40)")
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 64,
                statements: (0..<64).map { Self.insert($0) }
            )
            for (index, outcome) in outcomes.enumerated() {
                #expect(outcome.succeeded == (index != 40))
                guard case .failure(let error) = outcome else { continue }
                #expect((error as? PostgresError)?.sqlState == .uniqueViolation)
            }
            #expect(statistics.groupCommits.failedGroups == 1)
            let count = try await database.psql("SELECT count(*) FROM note")
            #expect(count == "64")
        }
    }

    @Test func failuresSendNoOtherWriteOutOfItsGroup() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            // Every twelfth write fails, as that of 4 of 48 clients does.
            try await database.psql(Self.table + "; INSERT INTO note SELECT i * 12 FROM generate_series(0, 3) AS i")
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 48,
                statements: (0..<48).map { Self.insert($0) }
            )
            for (index, outcome) in outcomes.enumerated() { #expect(outcome.succeeded == (index % 12 != 0)) }
            #expect(statistics.groupCommits.failedGroups == 4)
            // Only the four were tried by themselves, and no other was run more than twice.
            #expect(statistics.writes.statements == 4)
            #expect(statistics.groupCommits.largestBatch == 48)
            let commits = try await database.psql("SELECT count(DISTINCT xmin::text) <= 5 FROM note WHERE id % 12 <> 0")
            #expect(commits == "t")
        }
    }

    @Test func aConstraintCheckedAtTheSharedCommitRefusesItsOwnWriteOnly() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                \(Self.table);
                CREATE TABLE child (note int REFERENCES note DEFERRABLE INITIALLY DEFERRED);
                """
            )
            let orphan: @Sendable (PostgresClient) async throws -> Int = { client in
                try await client.write("INSERT INTO child VALUES (-1)", groupCommit: .allowed).affectedRows
            }
            let (outcomes, _) = try await withWaitingClient(
                database.url,
                waiting: 9,
                statements: (0..<8).map { Self.insert($0) } + [orphan]
            )
            #expect(outcomes.map(\.succeeded) == Array(repeating: true, count: 8) + [false])
            let count = try await database.psql("SELECT count(*) FROM note")
            #expect(count == "8")
        }
    }

    @Test func aValueThatCannotBeSentDoesNotSpoilTheGroup() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            let unsendable: @Sendable (PostgresClient) async throws -> Int = { client in
                try await client.write("SELECT \("a\u{0}")", groupCommit: .allowed).affectedRows
            }
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 5,
                statements: [Self.insert(1), Self.insert(2), unsendable, Self.insert(3), Self.insert(4)]
            )
            #expect(outcomes.map(\.succeeded) == [true, true, false, true, true])
            #expect(statistics.groupCommits.failedGroups == 0)
        }
    }

    @Test func writesWithOneKeyNeverShareACommit() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table)
            let (outcomes, _) = try await withWaitingClient(
                database.url,
                waiting: 12,
                statements: (0..<12).map { Self.insert($0, groupCommit: .allowedExcept(key: $0 % 4)) }
            )
            #expect(outcomes.allSucceeded())
            let collisions = try await database.psql(
                "SELECT count(*) FROM note a JOIN note b ON a.xmin = b.xmin AND a.id < b.id AND a.id % 4 = b.id % 4"
            )
            #expect(collisions == "0")
        }
    }

    @Test(arguments: [true, false])
    func aRowLockedElsewhereHoldsUpNoOtherWrite(namedStatements: Bool) async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(Self.table + "; INSERT INTO note VALUES (-1)")
            try await withPostgresClient(database.url) { holder in
                let blocked: @Sendable (PostgresClient) async throws -> Int = { client in
                    try await client.write("UPDATE note SET stars = stars + 1 WHERE id = -1", groupCommit: .allowed)
                        .affectedRows
                }
                try await holder.withTransaction { transaction in
                    try await transaction.execute("SELECT 1 FROM note WHERE id = -1 FOR UPDATE")
                    try await withPostgresClient(database.url) {
                        $0.preparedStatements = namedStatements ? .whereKept : .never
                    } _: { client in
                        let stuck = Task { try await blocked(client) }
                        // All of these end while the row is still locked, though some share a group with it.
                        try await withThrowingTaskGroup { group in
                            for index in 0..<100 { group.addTask { try await Self.insert(index)(client) } }
                            try await group.waitForAll()
                        }
                        try await transaction.execute("SELECT pg_notify('done', '')")
                        stuck.cancel()
                        await #expect(throws: CancellationError.self) { try await stuck.value }
                    }
                }
                let updated = try await blocked(holder)
                #expect(updated == 1)
                let stars = try await database.psql("SELECT stars FROM note WHERE id = -1")
                #expect(stars == "1")
            }
        }
    }

    @Test func aSlowWriteIsTakenOutOfTheGroup() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            // It is slow at the first attempt only, and that until it is ended.
            try await database.psql("\(Self.table); CREATE SEQUENCE attempts")
            let slow: @Sendable (PostgresClient) async throws -> Int = { client in
                try await client.write(
                    """
                    INSERT INTO note SELECT 100 FROM (
                        SELECT pg_sleep(CASE nextval('attempts') WHEN 1 THEN 600 ELSE 0 END)
                    ) AS nap
                    """,
                    groupCommit: .allowed
                ).affectedRows
            }
            let (outcomes, statistics) = try await withWaitingClient(
                database.url,
                waiting: 3,
                configure: { $0.groupCommitTimeout = .seconds(5) },
                statements: [Self.insert(1), slow, Self.insert(2)]
            )
            #expect(outcomes.allSucceeded())
            #expect(statistics.groupCommits.failedGroups == 1)
            #expect(try await database.psql("SELECT last_value FROM attempts") == "2")
            let count = try await database.psql("SELECT count(*) FROM note")
            #expect(count == "3")
        }
    }
}
