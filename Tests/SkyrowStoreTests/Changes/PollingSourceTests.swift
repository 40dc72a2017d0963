import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// What questions find is what was there at the moment that they report.
@Suite struct PollingSourceTests {
    /// Keeps what a source has handed on.
    private final class Log: Sendable {
        private let entries = Mutex<[String]>([])

        var all: [String] { entries.withLock { $0 } }

        func take(_ event: ChangeSourceEvent) {
            entries.withLock { entries in
                switch event {
                case .started: entries.append("started")
                case .moment: entries.append("moment")
                case .transaction(let transaction):
                    for change in transaction.changes {
                        var title = "gone"
                        if case .scalar(.text(let text)) = change.after?.fields[field("title")] { title = text }
                        entries.append("\(change.storedID) \(title)")
                    }
                default: entries.append("\(event)")
                }
            }
        }
    }

    /// A transaction that commits between the moment and the rows belongs to the next moment, and what it overwrites or deletes
    /// to this one.
    @Test func rowsAreThoseOfTheMoment() async throws {
        try await withRecords { f in
            let log = Log()
            let source = PollingChangeSource(f.store, interval: .seconds(3600), rowLimit: 100) {
                [type("note"): [.everyone]]
            }
            try await withRunning {
                await source.run { log.take($0) }
            } while: {
                func waitForMoment(_ count: Int) async throws {
                    try await waiting(until: "moment \(count)") { log.all.count { $0 == "moment" } >= count }
                }
                try await waitForMoment(1)
                try await f.psql("INSERT INTO note (_id, title) VALUES ('1', 'first'), ('2', 'first')")
                try await f.client.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                    source.wake()
                    try await waiting(until: "rows are asked for") {
                        try await f.client.read(
                            "SELECT count(*) FROM pg_locks WHERE relation = 'app.note'::regclass AND NOT granted"
                        ).decode(row: 0, column: 0, as: Int64.self) > 0
                    }
                    try await transaction.execute("UPDATE app.note SET title = 'second' WHERE _id = '1'")
                    try await transaction.execute("DELETE FROM app.note WHERE _id = '2'")
                }
                try await waitForMoment(2)
                source.wake()
                try await waitForMoment(3)
            }
            let moments = log.all.split(separator: "moment", omittingEmptySubsequences: false).map { Set($0) }
            #expect(moments.prefix(3) == [["started"], ["1 first", "2 first"], ["1 second", "2 gone"]])
        }
    }
}
