import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres

/// Reads the changes of a publication `p` of a temporary database, one after another, with a deadline each.
final class ChangeReader {
    let client: PostgresClient
    let database: TemporaryDatabase
    let changes: PostgresChanges
    private var iterator: PostgresChanges.AsyncIterator

    init(client: PostgresClient, database: TemporaryDatabase) throws {
        self.client = client
        self.database = database
        changes = try client.changes(publication: "p")
        iterator = changes.makeAsyncIterator()
    }

    /// The next event; nil at the end.
    func next(_ what: String = "an event") async throws -> ChangeEvent? {
        let changes = changes
        return try await waiting(for: what, giveUp: changes.stop) { await iterator.next() }
    }

    /// The next event that is no position.
    func nextNews(_ what: String = "news") async throws -> ChangeEvent? {
        while true {
            let event = try await next(what)
            if case .position? = event { continue }
            return event
        }
    }

    @discardableResult
    func connected() async throws -> PostgresLSN {
        while let event = try await nextNews("the connection") {
            switch event {
            case .connected(let position): return position
            case .delayed: continue
            default: throw UnexpectedEvent(event: "\(event)")
            }
        }
        throw UnexpectedEvent(event: "the end")
    }

    func transaction() async throws -> ChangeTransaction {
        let event = try await nextNews("a transaction")
        guard case .transaction(let transaction)? = event else {
            throw UnexpectedEvent(event: event.map { "\($0)" } ?? "the end")
        }
        return transaction
    }

    func interruption() async throws -> ReplicationFailure {
        while let event = try await nextNews("an interruption") {
            switch event {
            case .interrupted(let failure): return failure
            case .delayed: continue
            default: throw UnexpectedEvent(event: "\(event)")
            }
        }
        throw UnexpectedEvent(event: "the end")
    }

    /// Waits until everything that committed before this call has come, and returns it.
    func transactionsUntilNow() async throws -> [ChangeTransaction] {
        let text = try await database.psql("SELECT pg_current_wal_flush_lsn()")
        let end = try #require(PostgresLSN(text))
        var found: [ChangeTransaction] = []
        changes.requestPosition()
        while let event = try await next("the position \(end)") {
            switch event {
            case .transaction(let transaction):
                found.append(transaction)
            case .position(let position):
                if position >= end { return found }
                changes.requestPosition()
            default:
                throw UnexpectedEvent(event: "\(event)")
            }
        }
        throw UnexpectedEvent(event: "the end")
    }
}

struct UnexpectedEvent: Error {
    let event: String
}

extension ChangeTransaction {
    /// `insert note 1|a` for each row.
    var lines: [String] {
        rows.map { row in
            let old = row.old.map { old in
                if case .key = old { " key \(old.tuple.line)" } else { " old \(old.tuple.line)" }
            }
            let new = row.new.map { " \($0.line)" }
            return "\(row.kind) \(row.relation.name)\(old ?? "")\(new ?? "")"
        }
    }
}

extension TemporaryDatabase {
    /// How many replication slots this database has, and WAL senders.
    func slots() async throws -> String {
        try await psql(
            """
            SELECT count(*) FROM pg_replication_slots WHERE database = current_database()
            UNION ALL SELECT count(*) FROM pg_stat_activity
            WHERE backend_type = 'walsender' AND datname = current_database()
            """
        ).replacing("\n", with: " ")
    }

    func waitUntilNoSlotIsLeft() async throws {
        try await waiting(until: "no slot and no WAL sender is left") { try await slots() == "0 0" }
    }
}

/// A table `note` with the publication `p`, and a stream of its changes; afterwards no slot may be left.
func withChanges(
    tables: String = "CREATE TABLE note (_id text PRIMARY KEY, title text); ALTER TABLE note REPLICA IDENTITY FULL;",
    publication: String = "CREATE PUBLICATION p FOR TABLE note WITH (publish_via_partition_root)",
    on cluster: TemporaryCluster? = nil,
    test: String = #function,
    configure: @escaping (inout PostgresConfiguration) -> Void = { _ in },
    _ body: (ChangeReader) async throws -> Void
) async throws {
    try await withTemporaryDatabaseAndPsql(on: cluster, test: test) { database in
        try await database.psql(tables + publication)
        try await withPostgresClient(database.url, configure: configure) { client in
            let reader = try ChangeReader(client: client, database: database)
            try await body(reader)
            reader.changes.stop()
        }
        try await database.waitUntilNoSlotIsLeft()
    }
}
