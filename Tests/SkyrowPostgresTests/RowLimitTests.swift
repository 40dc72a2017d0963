import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowPostgres

/// Statements whose rows are counted while they arrive.
@Suite struct RowLimitTests {
    /// Counts what statements hold.
    private final class Budget: PostgresRowBudget {
        private let limit: Int
        private let counts = Mutex((used: 0, largest: 0))

        init(_ limit: Int) {
            self.limit = limit
        }

        var used: Int { counts.withLock(\.used) }
        var largest: Int { counts.withLock(\.largest) }

        func takeForRows(_ bytes: Int) -> PostgresError.Code? {
            counts.withLock { counts in
                guard counts.used + bytes <= limit else { return .resultTooLarge }
                counts.used += bytes
                counts.largest = max(counts.largest, counts.used)
                return nil
            }
        }

        func giveBackForRows(_ bytes: Int) {
            counts.withLock { $0.used -= bytes }
        }
    }

    private static let mixed: SQL = """
        SELECT n, CASE WHEN n % 3 > 0 THEN repeat('x', n) END AS text, NULL::bytea AS nothing, '' AS empty,
        n::float8 / 7 AS number FROM generate_series(1, 700) AS n
        """

    @Test func collectedRowsAreAsLibpqHasThem() async throws {
        try await withPostgresClient(try await TemporaryCluster.shared().url()) { client in
            let plain = try await client.read(Self.mixed)
            let budget = Budget(10_000_000)
            let limit = PostgresRowLimit(budget: budget, excess: .fails)
            let transaction = try await client.withTransaction { transaction in
                let first = try await transaction.query(Self.mixed, limit: limit)
                return [first, try await transaction.query(Self.mixed, limit: limit)]
            }
            for rows in [
                try await client.read(Self.mixed, limit: limit), try await client.write(Self.mixed, limit: limit),
            ]
                + transaction
            {
                #expect(rows.rowCount == 700)
                #expect(rows.columnCount == 5)
                #expect(rows.columnName(1) == "text")
                for row in 0..<700 {
                    for column in -1..<6 {
                        #expect(rows.isNull(row: row, column: column) == plain.isNull(row: row, column: column))
                        let isSame = plain.withColumn(row, column) { expected in
                            rows.withColumn(row, column) { $0.map(Array.init) == expected.map(Array.init) }
                        }
                        #expect(isSame, "row \(row), column \(column)")
                    }
                    #expect(!rows.isShort(row: row))
                }
                #expect(rows.isNull(row: 700, column: 0))
            }
            #expect(budget.largest > 0)
        }
    }

    @Test func whatIsHeldIsGivenBackWithTheResult() async throws {
        try await withPostgresClient(try await TemporaryCluster.shared().url()) { client in
            let budget = Budget(10_000_000)
            do {
                let rows = try await client.read(
                    "SELECT repeat('x', 10000) FROM generate_series(1, 100)",
                    limit: PostgresRowLimit(budget: budget, excess: .fails)
                )
                #expect((900_000...1_100_000).contains(budget.used))
                #expect(rows.rowCount == 100)
            }
            try await waiting(until: "the connection's thread gives the result up") { budget.used == 0 }
        }
    }

    /// 10 GB, of which a megabyte arrives.
    @Test func aReadOfTooManyRowsIsCancelled() async throws {
        let budget = Budget(1_000_000)
        let limit = PostgresRowLimit(budget: budget, excess: .fails)
        let tooMany: @Sendable (PostgresClient) async throws -> Int = { client in
            try await client.read("SELECT repeat('x', 100000) FROM generate_series(1, 100000)", limit: limit).rowCount
        }
        let few: @Sendable (PostgresClient) async throws -> Int = { client in
            try await client.read("SELECT 1", limit: limit).rowCount
        }
        // All in one pipeline.
        let (outcomes, _) = try await withWaitingClient(
            try await TemporaryCluster.shared().url(),
            waiting: 5,
            configure: { $0.readConnections = 1 },
            statements: [few, tooMany, few, few, tooMany]
        )
        #expect(outcomes.map(\.failureCode) == [nil, .resultTooLarge, nil, nil, .resultTooLarge])
        #expect(budget.largest <= 1_000_000)
        try await waiting(until: "the connection's thread gives the results up") { budget.used == 0 }
    }

    /// Those that wait together are one statement unless their rows are long; then each is counted for itself.
    @Test func gatheredReadsOfLongRowsAreAskedOneByOne() async throws {
        let coalescing = CoalescedStatement(
            many: """
                SELECT repeat('x', q.length::int), q.place FROM unnest(\([Int64(0)])) WITH ORDINALITY AS q (length, place)
                """
        )
        func read(_ length: Int64, _ budget: Budget) -> @Sendable (PostgresClient) async throws -> Int {
            { client in
                let row = try await client.readOne(
                    "SELECT repeat('x', \(length)::int)",
                    coalescing: coalescing,
                    limit: PostgresRowLimit(budget: budget, excess: .fails)
                )
                return row.flatMap { $0.result.unsafeBytes($0.index, 0)?.count } ?? -1
            }
        }
        let budgets = (0..<40).map { _ in Budget(600_000) }
        let (outcomes, _) = try await withWaitingClient(
            try await TemporaryCluster.shared().url(),
            waiting: 40,
            configure: { $0.readConnections = 1 },
            statements: budgets.enumerated().map { read($0 == 7 ? 900_000 : 500_000, $1) }
        )
        for (number, outcome) in outcomes.enumerated() {
            switch outcome {
            case .success(let length): #expect(length == 500_000)
            case .failure: #expect(number == 7 && outcome.failureCode == .resultTooLarge)
            }
        }
        #expect(outcomes[7].failureCode == .resultTooLarge)
    }

    @Test func aWriteOfTooManyRowsIsDoneAndKeepsSomeColumns() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int, text text, last int)")
            try await withPostgresClient(database.url) { client in
                let budget = Budget(100_000)
                let rows = try await client.write(
                    """
                    INSERT INTO note SELECT n, repeat('x', 10000), -n FROM generate_series(1, 100) AS n
                    RETURNING id, text, last
                    """,
                    limit: PostgresRowLimit(budget: budget, excess: .keepsColumns(first: 1, last: 1))
                )
                #expect(rows.rowCount == 100)
                let short = (0..<100).filter { rows.isShort(row: $0) }
                let first = try #require(short.first)
                #expect(short == Array(first..<100))
                #expect((8...20).contains(first))
                for row in 0..<100 {
                    #expect(try rows.decode(row: row, column: 0, as: Int.self) == row + 1)
                    #expect(try rows.decode(row: row, column: 2, as: Int.self) == -(row + 1))
                    #expect(rows.isNull(row: row, column: 1) == (row >= first))
                }
            }
            #expect(try await database.psql("SELECT count(*) FROM note") == "100")
        }
    }

    /// libpq keeps the buffer that such a row needs for as long as the connection lives.
    @Test func aConnectionThatMetAVeryLongRowIsReplaced() async throws {
        let url = try await TemporaryCluster.shared().url()
        try await withPostgresClient(url) {
            $0.readConnections = 1
        } _: { client in
            func backend() async throws -> Int {
                try await client.read("SELECT pg_backend_pid()").decode(row: 0, column: 0, as: Int.self)
            }
            let first = try await backend()
            let limit = PostgresRowLimit(budget: Budget(100_000), excess: .fails)
            let error = try await #require(throws: PostgresError.self) {
                try await client.read("SELECT repeat('x', 20000000)", limit: limit)
            }
            #expect(error.code == .resultTooLarge)
            #expect(try await backend() != first)
        }
    }
}
