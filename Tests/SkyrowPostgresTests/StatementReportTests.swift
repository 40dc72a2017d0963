import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

/// What is measured of statements, and who is told.
@Suite struct StatementReportTests {
    @Test(arguments: [
        (Int64.min, 0), (0, 0), (1, 0), (10, 0), (11, 1), (20, 1), (21, 2), (Int64.max, 2),
    ])
    func aBoundBelongsToTheRangeItEnds(value: Int64, range: Int) {
        var histogram = Histogram(bounds: [10, 20])
        histogram.record(value)
        #expect(histogram.counts == (0...2).map { $0 == range ? 1 : 0 })
        #expect(histogram.count == 1)
        #expect(histogram.sum == value)
    }

    @Test(arguments: [Histogram.durations, .batchSizes])
    func boundsGrow(histogram: Histogram) {
        #expect(zip(histogram.bounds, histogram.bounds.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// The reports of what `body` runs.
    private func reports(
        threshold: Duration = .zero,
        of body: (PostgresClient) async throws -> Void
    ) async throws -> [StatementReport] {
        let reports = Reports()
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql("CREATE TABLE note (id int)")
            try await withPostgresClient(
                database.url,
                configure: {
                    $0.sendsSlowStatementsOnce()
                    $0.reporting = StatementReporting(threshold: threshold) { reports.append($0) }
                }
            ) {
                try await body($0)
            }
        }
        return reports.all
    }

    @Test func everyWayToRunAStatementIsReportedWithoutItsValues() async throws {
        let reports = try await reports { client in
            _ = try await client.read("SELECT \("a secret")")
            _ = try await client.write("INSERT INTO note VALUES (\(Int32(41)))")
            _ = try await client.write("INSERT INTO note VALUES (\(Int32(42)))", groupCommit: .allowed)
            try await client.withTransaction { transaction in
                try await transaction.execute("DELETE FROM note WHERE id = \(Int32(43))")
                try await transaction.executeScript("CREATE TABLE a (); CREATE TABLE b ()")
                _ = try await transaction.copyIn("COPY note FROM STDIN", chunks: AsyncStream { $0.finish() })
            }
        }
        #expect(
            reports.map { "\($0.queue): \($0.text)" } == [
                "read: SELECT $1",
                "write: INSERT INTO note VALUES ($1)",
                "group_commit: INSERT INTO note VALUES ($1)",
                "transaction: DELETE FROM note WHERE id = $1",
                // A script is left out, which may be as long as a schema.
                "transaction: COPY note FROM STDIN",
                "transaction: COMMIT",
            ]
        )
        #expect(reports.allSatisfy { $0.failure == nil && $0.pipelined == 1 && $0.run > .zero && $0.wait >= .zero })
    }

    @Test func onlyWhatRanAsLongAsTheThresholdIsReported() async throws {
        let reports = try await reports(threshold: .milliseconds(200)) { client in
            _ = try await client.read("SELECT 1")
            _ = try await client.read("SELECT pg_sleep(0.2)")
            _ = try await client.withTransaction { try await $0.execute("SELECT pg_sleep(0.2)") }
        }
        // On a busy machine others may be slow as well.
        let slow = reports.filter { $0.text.contains("pg_sleep") }
        #expect(slow.map(\.queue) == ["read", "transaction"])
        #expect(reports.allSatisfy { $0.run >= .milliseconds(200) })
        let none = try await self.reports(threshold: .seconds(3600)) { _ = try await $0.read("SELECT pg_sleep(0.01)") }
        #expect(none.isEmpty)
    }

    @Test func aFailureIsReportedByItsStateOrItsKind() async throws {
        let reports = try await reports { client in
            _ = try? await client.read("SELECT 1 / 0")
            _ = try? await client.write("SELECT 1 / 0")
            _ = try? await client.write("SELECT 1 / 0", groupCommit: .allowed)
            _ = try? await client.withTransaction { try await $0.execute("SELECT 1 / 0") }
            _ = try? await client.write("SELECT \("a\u{0}b")")
        }
        #expect(
            reports.map { "\($0.queue): \($0.failure ?? "none")" } == [
                "read: 22012", "write: 22012", "group_commit: 22012", "transaction: 22012", "write: invalidValue",
            ]
        )
    }

    @Test func companionsAndQueuesAreCounted() async throws {
        let reports = Reports()
        let url = try await TemporaryCluster.shared().url()
        let (_, statistics) = try await withWaitingClient(
            url,
            waiting: 12,
            configure: {
                $0.readConnections = 1
                $0.maximumReadConnections = 1
                $0.maximumReadBatch = 8
                $0.reporting = StatementReporting { reports.append($0) }
            },
            statements: Array(repeating: { try await $0.read("SELECT 1").rowCount }, count: 12)
        )
        #expect(reports.all.map(\.pipelined).sorted() == [4, 4, 4, 4] + Array(repeating: 8, count: 8))
        let reads = statistics.reads
        #expect(reads.statements == 12)
        #expect(reads.batches == 2)
        #expect(reads.wait.count == 12)
        #expect(reads.run.count == 12)
        #expect(reads.batchSize.sum == 12)
        #expect(reads.batchSize.counts == [0, 0, 1, 1, 0, 0, 0, 0])
        #expect(reads.connections == 1)
        #expect(reads.busyConnections == 0)
    }

    @Test func aConnectionIsBusyWhileItsStatementRuns() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await withPostgresClient(database.url) { client in
                try await database.psql("CREATE TABLE gate ()")
                try await client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE gate")
                    let blocked = Task { try await client.read("SELECT count(*) FROM gate") }
                    try await waiting(until: "a read runs") { client.statistics.reads.busyConnections > 0 }
                    #expect(client.statistics.transactionsInUse == 1)
                    // Nobody waits for the lock once it is released below.
                    blocked.cancel()
                }
                #expect(client.statistics.transactionWait.count == 1)
                #expect(client.statistics.transactionRun.count == 2)
            }
        }
    }
}

private final class Reports: Sendable {
    private let reports = Mutex<[StatementReport]>([])

    var all: [StatementReport] { reports.withLock { $0 } }

    func append(_ report: StatementReport) {
        reports.withLock { $0.append(report) }
    }
}
