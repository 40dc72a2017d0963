import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Fetches that wait together are one statement, in which each caller has rules of its own.
@Suite(.timeLimit(.minutes(60))) struct CoalescedFetchTests {
    private struct Ask: Sendable {
        var id: RecordID
        var caller: Caller
        var scope: DatabaseScope
    }

    private static let lists: [AccessList?] = [
        nil, AccessList([]), AccessList([AccessEntry(.everyone, .read)]),
        AccessList([AccessEntry(.user("bob"), .read)]),
        AccessList([AccessEntry(.role("editors"), .write)]), AccessList([AccessEntry(.user("carl"), .write)]),
        AccessList([AccessEntry(.apiKey("tablet"), .read)]),
    ]

    private static let asks: [Ask] = {
        let callers: [Caller] = [
            .anonymous, Caller.anonymous.withKey("tablet"), .ann, .bob, Caller.bob.withKey("tablet"),
            Caller(kind: .user("carl"), roles: ["editors", "x"]), .master,
            Caller(kind: .master(actingAs: "bob")),
        ]
        let ids = (0..<lists.count).map { id("note/\($0)") } + [id("note/404")]
        return callers.flatMap { caller in
            ids.flatMap { id in
                [DatabaseScope.everyone, .user("ann")].map { Ask(id: id, caller: caller, scope: $0) }
            }
        }
    }()

    @Test func eachRecordIsJudgedForTheOneWhoAsks() async throws {
        try await withRecords { f in
            for (number, list) in Self.lists.enumerated() {
                try await f.save("note/\(number)", ["title": .string("public")], access: list)
                try await f.save("note/\(number)", ["title": .string("private")], access: list, .ann, in: .user("ann"))
            }
            // Not in the order of the callers, so that neighbours differ.
            let asks = Self.asks.enumerated().sorted { ($0.offset * 37 % 83) < ($1.offset * 37 % 83) }.map(\.element)
            let table = try #require(f.store.cache.current[type("note")])
            var configuration = PostgresConfiguration(connection: f.database.url, waitingUpTo: .seconds(300))
            configuration.readConnections = 1
            configuration.maximumReadBatch = asks.count
            configuration.sendsSlowStatementsOnce()
            let client = PostgresClient(configuration: configuration, logger: .silent)
            let tasks = asks.map { ask in
                Task {
                    let access = RecordAccess(ask.caller, in: ask.scope)
                    let statement = FetchStatement.one(id: ask.id.id, table: table, access: access)
                    let row = try await client.readOne(statement.sql, coalescing: statement.coalescing)
                    return row.map { row in
                        (
                            rows: row.result.rowCount,
                            StoredRows(row.result, plan: statement.plan, for: access.fields)[row.index].collected()
                        )
                    }
                }
            }
            try await waiting(until: "all fetches wait") { client.statistics.reads.queueDepth >= asks.count }
            let service = Task { try await client.run() }
            var largest = 0
            var found = 0
            for (ask, task) in zip(asks, tasks) {
                let coalesced = try await task.value
                let alone = try await f.fetch(ask.id.description, ask.caller, in: ask.scope)
                #expect(coalesced?.1 == alone, "\(ask)")
                largest = max(largest, coalesced?.rows ?? 0)
                if alone != nil { found += 1 }
            }
            service.cancel()
            try await service.value
            #expect(found > 20 && found < asks.count - 20)
            #expect(largest > 5)
        }
    }
}
