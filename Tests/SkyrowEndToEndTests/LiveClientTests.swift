import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Live queries of the client against the built service.
@Suite(.timeLimit(.minutes(60))) struct LiveClientTests {
    /// The records of a query, kept by a task of its own.
    private final class Shown: Sendable {
        private let state = Mutex<(records: LiveRecords, error: (any Error)?)>((LiveRecords(), nil))
        private let task: Mutex<Task<Void, Never>?>

        init(_ query: LiveQuery) {
            task = Mutex(nil)
            task.withLock { task in
                task = Task { [self] in
                    do {
                        for try await records in query.records { state.withLock { $0.records = records } }
                    } catch {
                        state.withLock { $0.error = error }
                    }
                }
            }
        }

        var texts: [String] { state.withLock { $0.records }.sorted().map { $0["content"]?.stringValue ?? "" } }
        var isReady: Bool { state.withLock { $0.records.isReady } }
        var error: (any Error)? { state.withLock { $0.error } }
        func end() { task.withLock { $0?.cancel() } }

        func waits(for texts: [String]) async throws {
            do {
                try await waiting(until: "the query shows \(texts)") {
                    isReady && self.texts == texts
                }
            } catch {
                Issue.record("\(self.texts), \(String(describing: self.error))")
                throw error
            }
        }
    }

    /// A result that is kept current, read by a task of its own.
    private final class Latest<Result: Sendable>: Sendable {
        private let state = Mutex<(result: Result?, error: (any Error)?)>((nil, nil))
        private let task: Mutex<Task<Void, Never>?>

        init(_ results: LiveResults<Result>) {
            task = Mutex(nil)
            task.withLock { task in
                task = Task { [self] in
                    do {
                        for try await result in results { state.withLock { $0.result = result } }
                    } catch {
                        state.withLock { $0.error = error }
                    }
                }
            }
        }

        func end() { task.withLock { $0?.cancel() } }

        func waits(until what: String, _ isSo: (Result) -> Bool) async throws {
            do {
                try await waiting(until: what) { state.withLock { $0.result }.map(isSo) ?? false }
            } catch {
                Issue.record("\(state.withLock { $0 })")
                throw error
            }
        }
    }

    @Test func twoClientsSeeOneListAcrossARestart() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(in: folder.path + "/data")
        var running = service
        do {
            let key = try service.key("SKYROW_API_KEY")
            let ann = SkyrowClient(endpoint: service.address, apiKey: key)
            let ben = SkyrowClient(endpoint: service.address, apiKey: key)
            _ = try await ann.signUp(["username": "ann"], password: "correct horse")
            _ = try await ben.signUp(["username": "ben"], password: "battery staple")
            let first = try RecordDraft("item/1", ["content": "Milk", "list": 1])
            _ = try await ann.publicDatabase.save(first)

            let query = try RecordQuery("item").filter(Field("list") == 1)
            let shown = Shown(ben.publicDatabase.live(query))
            try await shown.waits(for: ["Milk"])
            _ = try await ann.publicDatabase.save(RecordDraft("item/2", ["content": "Bread", "list": 1]))
            _ = try await ann.publicDatabase.save(RecordDraft("item/9", ["content": "Elsewhere", "list": 2]))
            try await shown.waits(for: ["Milk", "Bread"])
            _ = try await service.psql("UPDATE item SET content = 'Oat milk' WHERE _id = '1'")
            try await shown.waits(for: ["Oat milk", "Bread"])
            // It leaves the list, and another one comes to it.
            _ = try await ann.publicDatabase.save(RecordDraft("item/2", ["list": 2]))
            _ = try await ann.publicDatabase.save(RecordDraft("item/9", ["list": 1]))
            try await shown.waits(for: ["Oat milk", "Elsewhere"])
            // A second query takes a place in the same stream.
            let other = Shown(ben.publicDatabase.live(try RecordQuery("item").filter(Field("list") == 2)))
            try await other.waits(for: ["Bread"])
            try await ann.publicDatabase.delete(try RecordID("item/9"))
            try await shown.waits(for: ["Oat milk"])

            // What happens while the service is away comes when it is back.
            let port = try #require(service.address.port)
            _ = await service.terminate()
            running = try await RunningService.start(
                in: folder.path + "/data",
                arguments: ["--development", "--port", "\(port)"]
            )
            _ = try await running.psql("INSERT INTO item (_id, content, list) VALUES ('3', 'Eggs', 1)")
            _ = try await running.psql("DELETE FROM item WHERE _id = '1'")
            try await shown.waits(for: ["Eggs"])
            try await other.waits(for: ["Bread"])
            shown.end()
            other.end()
        } catch {
            _ = await running.terminate()
            throw error
        }
        _ = await running.terminate()
    }

    @Test func aRecordThatIsHiddenLeaves() async throws {
        try await withService { service in
            let key = try service.key("SKYROW_API_KEY")
            let ann = SkyrowClient(endpoint: service.address, apiKey: key)
            let ben = SkyrowClient(endpoint: service.address, apiKey: key)
            _ = try await ann.signUp(["username": "ann"], password: "correct horse")
            _ = try await ben.signUp(["username": "ben"], password: "battery staple")
            _ = try await ann.publicDatabase.save(RecordDraft("item/1", ["content": "Milk"]))
            let shown = Shown(ben.publicDatabase.live(try RecordQuery("item")))
            let own = Shown(ann.publicDatabase.live(try RecordQuery("item")))
            try await shown.waits(for: ["Milk"])
            try await own.waits(for: ["Milk"])
            _ = try await ann.publicDatabase.save(RecordDraft("item/1", ["content": "Secret"], access: AccessList([])))
            try await own.waits(for: ["Secret"])
            try await shown.waits(for: [])
            shown.end()
            own.end()
        }
    }

    /// The newest two, their number and the groups of a type, in one stream with a live query.
    @Test func resultsAreKeptCurrent() async throws {
        try await withService { service in
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            _ = try await client.signUp(["username": "ann"], password: "correct horse")
            let database = client.publicDatabase
            for number in 1...3 {
                _ = try await database.save(
                    RecordDraft("item/\(number)", ["content": .string("\(number)"), "list": 1])
                )
            }
            let shown = Shown(database.live(try RecordQuery("item").filter(Field("list") == 2)))
            try await shown.waits(for: [])
            let newest = Latest(
                database.watch(try RecordQuery("item").sorted(by: "content", .descending).limited(to: 2).counted())
            )
            let lists = Latest(database.watch(try AggregateQuery("item").grouped(by: "list").computing("n", .count)))
            func page(_ ids: [String], of count: Int) async throws {
                try await newest.waits(until: "the page has \(ids) of \(count)") {
                    $0.records.map(\.id.id) == ids && $0.count == count
                }
            }
            func counts(_ counts: [String: Int]) async throws {
                try await lists.waits(until: "the groups are \(counts)") { result in
                    let pairs = result.groups.map { ($0.digits(of: "list") ?? "", Int($0.digits(of: "n") ?? "") ?? 0) }
                    return Dictionary(uniqueKeysWithValues: pairs) == counts
                }
            }
            try await page(["3", "2"], of: 3)
            try await counts(["1": 3])
            _ = try await service.psql("UPDATE item SET content = '9', list = 2 WHERE _id = '1'")
            try await page(["1", "3"], of: 3)
            try await counts(["1": 2, "2": 1])
            try await shown.waits(for: ["9"])
            try await database.delete(try RecordID("item/3"))
            try await page(["1", "2"], of: 2)
            try await counts(["1": 1, "2": 1])
            _ = try await service.psql("DELETE FROM item")
            try await page([], of: 0)
            try await counts([:])
            shown.end()
            newest.end()
            lists.end()
        }
    }

    /// Where a page has logged in, and where it has a key alone.
    @Test(arguments: [true, false])
    func aTicketOpensAStreamAndResumesIt(hasUser: Bool) async throws {
        try await withService { service in
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            _ = try await client.signUp(["username": "ann"], password: "correct horse")
            _ = try await client.publicDatabase.save(RecordDraft("item/1", ["content": "Milk"]))
            let page = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let ticket = try await (hasUser ? client : page).liveTicket()
            #expect(ticket.expiresAt > Timestamp(microseconds: 0))
            func address(of type: String, _ ticket: String) -> String {
                "\(service.address)/live?record_type=\(type)&initial=true&live-query-token=\(ticket)"
            }
            let first = try await CurlStream(address(of: "item", ticket.token), socket: nil, key: "")
            try await first.waits(for: ["item/1": "Milk"])
            try await waiting(until: "the stream has a token") { first.hasToken }
            await first.end()

            _ = try await client.publicDatabase.save(RecordDraft("item/2", ["content": "Bread"]))
            let second = try await CurlStream(address(of: "item", ticket.token), socket: nil, key: "", resuming: first)
            try await second.waits(for: ["item/1": "Milk", "item/2": "Bread"])
            #expect(second.phases.first == "resume" && second.resets == [], "\(second.phases)")
            await second.end()
            // A ticket is none for another stream, and none by itself in the name of a user.
            let id = try #require(second.lastID)
            func refusal(_ address: String, id: String?) async throws -> String {
                let header = id.map { ["-H", "Last-Event-ID: \($0)"] } ?? []
                let limit = "\(patience.components.seconds)"
                return try await Tool.run(words: ["curl", "-s", "-N", "--max-time", limit] + header + [address]).output
            }
            if hasUser {
                for last in [nil, id, "x.y"] {
                    let type = last == id ? "other" : "item"
                    let said = try await refusal(address(of: type, ticket.token), id: last)
                    #expect(said.contains(#""code":134"#), "\(said)")
                }
                try await client.logOut()
                let said = try await refusal(address(of: "item", ticket.token), id: id)
                #expect(said.contains(#""code":134"#), "\(said)")
            } else {
                let said = try await refusal(address(of: "item", ticket.token + "x"), id: id)
                #expect(said.contains(#""code":134"#), "\(said)")
            }
        }
    }

    /// In development mode both are empty, and the live query gets what the first saves make; a view can become no type.
    @Test func aTypeThatThereIsNotYetHasNoRecords() async throws {
        try await withService { service in
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            _ = try await client.signUp(["username": "ann"], password: "correct horse")
            #expect(try await client.publicDatabase.query(RecordQuery("later")).records.isEmpty)
            let address = "\(service.address)/live?record_type=later&initial=true"
            let key = try service.key("SKYROW_API_KEY")
            let stream = try await CurlStream(address, socket: nil, key: key)
            try await waiting(until: "the stream has a token") { stream.hasToken }
            _ = try await client.publicDatabase.save(RecordDraft("later/1", ["content": "one"]))
            try await stream.waits(for: ["later/1": "one"])
            _ = try await client.publicDatabase.save(RecordDraft("later/2", ["content": "two"]))
            try await stream.waits(for: ["later/1": "one", "later/2": "two"])
            #expect(stream.resets == [] && stream.phases.first == "initial", "\(stream.phases)")
            await stream.end()

            // A client that lost its stream before the type was made goes on from the token that it has.
            let other = "\(service.address)/live?record_type=other&initial=true"
            let first = try await CurlStream(other, socket: nil, key: key)
            try await waiting(until: "the stream has a token") { first.hasToken }
            await first.end()
            _ = try await client.publicDatabase.save(RecordDraft("other/1", ["content": "one"]))
            let second = try await CurlStream(other, socket: nil, key: key, resuming: first)
            try await second.waits(for: ["other/1": "one"])
            #expect(second.resets == [])
            await second.end()

            _ = try await service.psql("CREATE VIEW shown AS SELECT * FROM later")
            let said = try await Tool.run(
                words: [
                    "curl", "-s", "-N", "-H", "X-Skygear-API-Key: \(key)", "\(service.address)/live?record_type=shown",
                ]
            )
            #expect(said.output.contains(#""code":110"#), "\(said.output)")
        }
    }

    @Test func aRefusalIsThrown() async throws {
        try await withService { service in
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            // A live query of a type that there is not yet waits for it.
            _ = try await client.signUp(["username": "ann"], password: "correct horse")
            _ = try await client.publicDatabase.save(RecordDraft("item/1", ["content": "one"]))
            var pages = client.publicDatabase.watch(try RecordQuery("item").filter(Field("_x.y") == 1))
                .makeAsyncIterator()
            let bad = await #expect(throws: ClientError.self) { try await pages.next() }
            #expect(bad?.serverCode != nil)
            var iterator = client.publicDatabase.live(
                try RecordQuery("item").filter(Field("list.owner") == "x")
            ).makeAsyncIterator()
            await #expect(throws: ClientError.self) { while try await iterator.next() != nil {} }
            let stranger = SkyrowClient(endpoint: service.address, apiKey: "wrong")
            var refused = stranger.publicDatabase.live(try RecordQuery("item")).makeAsyncIterator()
            let error = await #expect(throws: ClientError.self) { try await refused.next() }
            #expect(error?.serverCode == .accessKeyNotAccepted)
        }
    }
}
