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
@Suite struct LiveClientTests {
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
                try await waiting(until: "the query shows \(texts)", within: .seconds(60)) {
                    isReady && self.texts == texts
                }
            } catch {
                Issue.record("\(self.texts), \(String(describing: self.error))")
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

    @Test func aRefusalIsThrown() async throws {
        try await withService { service in
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
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
