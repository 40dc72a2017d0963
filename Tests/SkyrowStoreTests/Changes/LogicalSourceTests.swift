import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// Transactions of the stream that others do not see yet.
@Suite(.timeLimit(.minutes(60))) struct LogicalSourceTests {
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])

        var all: [String] { entries.withLock { $0 } }

        func append(_ entry: String) { entries.withLock { $0.append(entry) } }
    }

    private struct Write: Sendable {
        let statement: String
        /// What is handed on, and what is in the table then.
        let expected: [String]
    }

    /// PostgreSQL has a commit in its log before others see it. Here it waits in between for a standby that does not exist.
    @Test func transactionsAreHandedOnWhenOthersSeeThem() async throws {
        // A text that is stored apart from its row is not in the log when an update leaves it alone: the record is read.
        let large = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 2000) AS i)"
        let writes = [
            Write(statement: "INSERT INTO note (_id, title) VALUES ('1', 'a')", expected: ["1 a, a in the table"]),
            Write(statement: "UPDATE note SET title = 'b' WHERE _id = '1'", expected: ["1 b, b in the table"]),
            Write(statement: "DELETE FROM note WHERE _id = '1'", expected: ["1 gone, gone in the table"]),
            Write(statement: "UPDATE note SET title = 'c' WHERE _id = 'large'", expected: ["large c, c in the table"]),
        ]
        try await withRecords(on: try await Self.cluster()) { f in
            try await f.psql("ALTER TABLE note REPLICA IDENTITY DEFAULT, ADD body text")
            try await f.psql("INSERT INTO note (_id, title, body) VALUES ('large', 'a', \(large))")
            let log = Log()
            let source = LogicalChangeSource(f.store, rowLimit: 100)
            try await withRunning {
                await source.run { event in
                    switch event {
                    case .started: log.append("started")
                    case .transaction(let transaction):
                        for change in transaction.changes { log.append(await Self.entry(change, f)) }
                    default: break
                    }
                }
            } while: {
                try await waiting(until: "the stream begins") { log.all == ["started"] }
                for write in writes {
                    let count = log.all.count
                    async let done: Void = Self.write(write.statement, f)
                    try await Self.waitUntilSent(f)
                    try await Self.release(f)
                    try await done
                    try await waiting(until: "\(write.statement) arrives") { log.all.count > count }
                    #expect(Array(log.all[count...]) == write.expected, "\(write.statement)")
                }
            }
        }
    }

    /// One that others do not see for long holds up what comes after it, and not the end.
    @Test func theSourceEndsWhileATransactionIsNotSeen() async throws {
        try await withRecords(on: try await Self.cluster()) { f in
            let log = Log()
            let source = LogicalChangeSource(f.store, rowLimit: 100)
            let writer = try await withRunning {
                await source.run { event in
                    switch event {
                    case .started: log.append("started")
                    case .transaction: log.append("transaction")
                    default: break
                    }
                }
            } while: {
                try await waiting(until: "the stream begins") { log.all == ["started"] }
                let writer = Task { try await Self.write("INSERT INTO note (_id) VALUES ('1')", f) }
                try await Self.waitUntilSent(f)
                return writer
            }
            #expect(log.all == ["started"])
            try await Self.release(f)
            try await writer.value
        }
    }

    /// Its sessions wait for a standby that does not exist where they ask for synchronous commits.
    private static func cluster() async throws -> TemporaryCluster {
        try await TemporaryCluster.start(
            settings: ["synchronous_standby_names": "nobody", "synchronous_commit": "local"]
        )
    }

    private static func entry(_ change: RecordChange, _ f: RecordsFixture) async -> String {
        var title = "gone"
        if case .scalar(.text(let text)) = change.after?.fields[field("title")] { title = text }
        let found = try? await f.client.read("SELECT title FROM app.note WHERE _id = \(change.storedID)")
        let present = found.map { rows in
            rows.isEmpty ? "gone" : (try? rows.decode(row: 0, column: 0, as: String.self)) ?? "unreadable"
        }
        return "\(change.storedID) \(title), \(present ?? "unreadable") in the table"
    }

    /// Returns when a standby has confirmed it, or the wait was cancelled.
    private static func write(_ statement: String, _ f: RecordsFixture) async throws {
        try await f.psql("SET synchronous_commit = on; \(statement)")
    }

    private static func waitUntilSent(_ f: RecordsFixture) async throws {
        try await waiting(until: "a commit waits, and was sent") {
            try await f.client.read(
                """
                SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')
                    AND EXISTS (SELECT FROM pg_stat_replication WHERE sent_lsn >= pg_current_wal_flush_lsn())
                """
            ).decode(row: 0, column: 0, as: Bool.self)
        }
    }

    private static func release(_ f: RecordsFixture) async throws {
        try await f.psql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    }
}
