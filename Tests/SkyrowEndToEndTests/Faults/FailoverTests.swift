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

/// Another PostgreSQL takes over from the one that is lost: no save that a synchronous follower has confirmed is missing, and
/// clients learn that what they have may be of another history.
@Suite(.timeLimit(.minutes(60))) struct FailoverTests {
    /// What a live query has said.
    private final class Notes: Sendable {
        private let state = Mutex<(records: LiveRecords, resets: [LiveReset], error: (any Error)?)>(
            (LiveRecords(), [], nil)
        )
        private let task: Mutex<Task<Void, Never>?>

        init(_ query: LiveQuery) {
            task = Mutex(nil)
            let following = Task { [self] in
                do {
                    for try await event in query {
                        state.withLock { state in
                            _ = state.records.apply(event)
                            if case .reset(let reset) = event { state.resets.append(reset) }
                        }
                    }
                } catch {
                    state.withLock { $0.error = error }
                }
            }
            task.withLock { $0 = following }
        }

        var ids: Set<String> { state.withLock { Set($0.records.byID.keys.map(\.id)) } }
        var isReady: Bool { state.withLock { $0.records.isReady } }
        var resets: [LiveReset] { state.withLock { $0.resets } }
        var error: (any Error)? { state.withLock { $0.error } }
        func end() { task.withLock { $0?.cancel() } }
    }

    /// Fetches changes to the end; returns the last page.
    private func fetchAll(_ service: RunningService, since: String? = nil) async throws -> [String: Any] {
        var position = since.map { #","since":"\#($0)""# } ?? ""
        while true {
            let text = try await service.call("changes:fetch", #"{"record_type":"note","limit":1000\#(position)}"#)
            let page = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            guard let cursor = page["cursor"] as? String else { return page }
            position = #","cursor":"\#(cursor)""#
        }
    }

    @Test(arguments: TemporaryPatroni.Replication.allCases)
    func clientsConvergeWhenTheFollowerTakesOver(_ replication: TemporaryPatroni.Replication) async throws {
        let folder = try TemporaryDirectory()
        try await withPatroni(replication) { servers in
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: ["--development", "--database-url", servers.url],
                logLevel: "critical",
                refusesInTime: true
            )
            let load = Load()
            async let running: Void = load.run(on: service)
            do {
                try await load.awaitProgress(20)
                let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
                let notes = Notes(client.publicDatabase.live(try RecordQuery("note")))
                defer { notes.end() }
                try await waiting(until: "the live query is ready") { notes.isReady }
                let token = try #require(try await fetchAll(service)["token"] as? String)
                try await load.awaitProgress(20)
                #expect(notes.resets == [])

                try await servers.failOver()
                try await load.awaitProgress(40)
                load.stop()
                await running

                let ids = Set(
                    try await servers.psql("SELECT _id FROM app.note").split(separator: "\n").map(String.init)
                )
                if replication == .synchronous { #expect(load.acknowledged.subtracting(ids) == []) }
                try await waiting(until: "the client holds what is there") { notes.isReady && notes.ids == ids }
                #expect(notes.resets == [.branch])
                #expect(notes.error == nil)
                #expect(try await fetchAll(service, since: token)["reset"] as? String == "branch")
                // From here on it is one history.
                let next = try #require(try await fetchAll(service)["token"] as? String)
                let last = try await service.saveNote("last")
                try await waiting(until: "the last note arrives") { notes.ids.contains(last) }
                let page = try await fetchAll(service, since: next)
                #expect(page["reset"] is NSNull)
                #expect((page["changed"] as? [[String: Any]])?.map { $0["_id"] as? String } == ["note/last"])
                #expect(load.outcomes.losses == [])
                #expect(Set(load.outcomes.refusals.keys).isSubset(of: DatabaseFaultTests.clearRefusals))
            } catch {
                load.stop()
                service.process.send(signal: SIGKILL)
                await running
                throw error
            }
            #expect(await service.terminate() == .exited(0))
        }
    }
}
