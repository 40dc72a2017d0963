import Foundation
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Live queries while what they depend on breaks: each client holds in the end what is there, and was told of every record.
@Suite(.timeLimit(.minutes(60))) struct LiveFaultTests {
    typealias Source = LiveConfiguration.Source

    private static let killSender = """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE backend_type = 'walsender' AND datname = current_database()
        """

    /// Clients of a service, and writers that go on whatever breaks.
    private final class Scene: Sendable {
        let fixture: ServiceFixture
        let outlets: [MemoryOutlet]
        private let sessions: [LiveSession]
        private let made = Mutex<Set<String>>([])

        init(_ fixture: ServiceFixture) async throws {
            self.fixture = fixture
            let ann = try await fixture.user("ann")
            var outlets: [MemoryOutlet] = []
            var sessions: [LiveSession] = []
            for (place, user) in [ann, .anonymous, .anonymous].enumerated() {
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                var request = LiveSubscribeRequest(name: "s", type: type("note"), predicate: nil)
                if place == 2 {
                    request.predicate = .comparison(.eq, .keyPath(FieldPath(unchecked: "title")), .value(.string("a")))
                }
                request.sendsInitial = place > 0
                try await session.subscribe(request, as: user)
                try await outlet.waitUntilReady("s")
                outlets.append(outlet)
                sessions.append(session)
            }
            self.outlets = outlets
            self.sessions = sessions
        }

        /// Writes from two connections until `body` has returned.
        func whileWriting(_ body: () async throws -> Void) async throws {
            let ends = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<2 {
                    group.addTask {
                        var number = 0
                        while ends.value == 0 {
                            number += 1
                            try? await self.write("w\(writer)-\(number)", number)
                            try await Task.sleep(for: .milliseconds(2))
                        }
                    }
                }
                do {
                    try await body()
                } catch {
                    ends.increment()
                    throw error
                }
                ends.increment()
                try await group.waitForAll()
            }
        }

        private func write(_ id: String, _ number: Int) async throws {
            let title = number.isMultiple(of: 2) ? "a" : "b"
            try await fixture.change("INSERT INTO note (_id, title, n) VALUES ('\(id)', '\(title)', 0)")
            made.withLock { _ = $0.insert("note/\(id)") }
            // One that comes, leaves the results of the third client, comes back and is deleted, again and again.
            let shared =
                number.isMultiple(of: 5)
                ? "DELETE FROM note WHERE _id = 'shared'"
                : "INSERT INTO note (_id, title, n) VALUES ('shared', '\(title)', 0) "
                    + "ON CONFLICT (_id) DO UPDATE SET title = excluded.title, n = note.n + 1"
            try? await fixture.change("UPDATE note SET n = n + 1 WHERE _id = '\(id)'", shared)
        }

        /// Returns when so many more records were made.
        func awaitProgress(_ count: Int) async throws {
            let goal = made.withLock { $0.count } + count
            try await waiting(until: "\(goal) records are made") { made.withLock { $0.count } >= goal }
        }

        /// Expects that each client holds what is there, and was told of each record.
        func expectAll() async throws {
            let rows = try await fixture.psql("SELECT _id, title, coalesce(n::text, 'null') FROM note").split(
                separator: "\n"
            )
            let present = rows.map { $0.split(separator: "|").map(String.init) }
            for (place, outlet) in outlets.enumerated() {
                let expected = Dictionary(
                    uniqueKeysWithValues: present.filter { place < 2 || $0[1] == "a" }.map {
                        ("note/\($0[0])", [$0[1], $0[2]])
                    }
                )
                func held() -> [String: [String]] {
                    outlet.held("s").mapValues { [$0["title"] ?? "null", $0["n"] ?? "null"] }
                }
                do {
                    try await waiting(until: "client \(place) holds what is there", hearing: [outlet]) {
                        outlet.reset("s") != nil || held() == expected
                    }
                } catch {
                    let (held, wrong) = (held(), expected)
                    let differing = Set(wrong.keys).union(held.keys).filter { held[$0] != wrong[$0] }
                    Issue.record("\(error): \(differing.prefix(5).map { ($0, held[$0], wrong[$0]) })")
                }
                #expect(outlet.reset("s") == nil && outlet.closure == nil, "\(outlet.reset("s") ?? [:])")
                #expect(outlet.faults == [])
            }
            let told = Set(outlets[0].events.map(\.id))
            let missed = made.withLock { $0 }.subtracting(told)
            #expect(missed.isEmpty, "\(missed.sorted().prefix(5))")
        }

        func source() -> LiveSourceName? {
            fixture.service.live.state.withLock { state in
                switch state.mode {
                case .none: nil
                case .logical: .logical
                case .polling: .polling
                }
            }
        }

        func waitForSource(_ source: LiveSourceName) async throws {
            try await waiting(until: "changes come by \(source.rawValue)") { self.source() == source }
        }

        func end() { for session in sessions { session.end() } }
    }

    @Test func aStreamThatIsEndedAgainAndAgainLosesNothing() async throws {
        try await withLiveService(.auto) { fixture in
            let scene = try await Scene(fixture)
            try await scene.whileWriting {
                for _ in 0..<6 {
                    try await scene.awaitProgress(10)
                    try await waiting(until: "a stream is ended") { try await fixture.psql(Self.killSender) != "0" }
                }
                try await scene.awaitProgress(10)
            }
            try await scene.expectAll()
            try await scene.waitForSource(.logical)
            scene.end()
        }
    }

    enum Death: CaseIterable, Sendable {
        case ofAll
        case ofOneProcess
        case byOperator
    }

    /// Three times within a minute, after which the stream is used as before.
    @Test(arguments: Death.allCases, [Source.auto, .polling])
    func theDeathOfPostgreSQLLosesNothing(_ death: Death, _ source: Source) async throws {
        let cluster = try await TemporaryCluster.start()
        try await withLiveService(source, on: cluster) { fixture in
            let scene = try await Scene(fixture)
            try await scene.whileWriting {
                for _ in 0..<3 {
                    try await scene.awaitProgress(10)
                    switch death {
                    case .ofAll: try await cluster.restart()
                    case .ofOneProcess: try await cluster.killOneProcess()
                    case .byOperator:
                        try await cluster.stop(mode: "immediate")
                        try await cluster.launch()
                    }
                }
                try await scene.awaitProgress(10)
            }
            try await scene.expectAll()
            try await scene.waitForSource(source == .auto ? .logical : .polling)
            scene.end()
        }
    }

    /// How the transaction ends by which revisions follow a start of PostgreSQL: the one write of a beginning.
    enum Failure: CaseIterable, CustomTestStringConvertible, Sendable {
        case connectionFailure
        case protocolViolation
        case shutdown
        case crash
        case start
        case tooManyConnections
        case standby
        /// The connection ends while the COMMIT is processed, which leaves open what became of it.
        case lostCommit

        fileprivate var statement: String {
            switch self {
            case .connectionFailure: Self.raising("08006")
            case .protocolViolation: Self.raising("08P01")
            case .shutdown: Self.raising("57P01")
            case .crash: Self.raising("57P02")
            case .start: Self.raising("57P03")
            case .tooManyConnections: Self.raising("53300")
            case .standby: Self.raising("25006")
            case .lostCommit: "PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(60)"
            }
        }

        private static func raising(_ state: String) -> String { "RAISE EXCEPTION USING ERRCODE = '\(state)'" }

        var testDescription: String { statement }
    }

    /// Failed of a lost commit and of the class 08: the live query ended with "gap".
    @Test(arguments: Failure.allCases)
    func aBeginningThatFailsAsPostgreSQLDiesIsTriedAgain(_ failure: Failure) async throws {
        try await withLiveService(.logical) { fixture in
            let (first, second) = (MemoryOutlet(), MemoryOutlet())
            let sessions = [first, second].map { LiveSession(of: fixture.service, outlet: $0) }
            var request = LiveSubscribeRequest(name: "s", type: type("note"), predicate: nil)
            request.sendsInitial = true
            // Changes are followed from here on.
            try await sessions[0].subscribe(request, as: .anonymous)
            try await first.waitUntilReady("s")
            try await fixture.change(
                "INSERT INTO note (_id, title) VALUES ('1', 'a')",
                "CREATE SEQUENCE app_internal.failures",
                """
                CREATE FUNCTION app_internal.fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM nextval('app_internal.failures'); \(failure.statement); RETURN NULL; END $$
                """,
                "UPDATE _meta SET started_at = 'epoch'",
                """
                CREATE CONSTRAINT TRIGGER fail AFTER INSERT OR UPDATE ON _meta DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION app_internal.fail()
                """
            )
            try await sessions[1].subscribe(request, as: .anonymous)
            try await waiting(until: "it has failed three times") {
                if second.reset("s") != nil { return true }
                return try await Int(fixture.psql("SELECT last_value FROM failures")) ?? 0 >= 3
            }
            try await fixture.psql("DROP TRIGGER fail ON _meta")
            try await second.waitUntilReady("s")
            #expect(second.held("s")["note/1"]?["title"] == "a")
            #expect(first.reset("s") == nil)
            for session in sessions { session.end() }
        }
    }

    /// A slot is made when all that write have ended; meanwhile changes are asked for.
    @Test func aWriterThatStaysOpenHoldsUpTheStreamAndNoEvent() async throws {
        let cluster = try await TemporaryCluster.start()
        try await withLiveService(.auto, on: cluster) { fixture in
            try await withPostgresClient(cluster.url()) { other in
                // In another database of the server.
                let scene = try await other.withTransaction { writer in
                    _ = try await writer.query("SELECT pg_current_xact_id()")
                    let scene = try await Scene(fixture)
                    #expect(scene.source() == .polling)
                    try await scene.whileWriting { try await scene.awaitProgress(20) }
                    try await scene.expectAll()
                    #expect(scene.source() == .polling)
                    return scene
                }
                try await scene.whileWriting {
                    try await scene.waitForSource(.logical)
                    try await scene.awaitProgress(20)
                }
                try await scene.expectAll()
                // And once more, from the stream to questions and back.
                try await other.withTransaction { writer in
                    _ = try await writer.query("SELECT pg_current_xact_id()")
                    #expect(try await fixture.psql(Self.killSender) == "1")
                    try await scene.whileWriting {
                        try await scene.waitForSource(.polling)
                        try await scene.awaitProgress(20)
                    }
                    try await scene.expectAll()
                }
                try await scene.whileWriting {
                    try await scene.waitForSource(.logical)
                    try await scene.awaitProgress(20)
                }
                try await scene.expectAll()
                scene.end()
            }
        }
    }

    /// Without questions the first subscription waits as well, and is served when the writer has ended.
    @Test func aStreamThatAWriterHasHeldUpBegins() async throws {
        let cluster = try await TemporaryCluster.start()
        try await withLiveService(.logical, on: cluster) { fixture in
            try await withPostgresClient(cluster.url()) { other in
                let began = try await other.withTransaction { writer in
                    _ = try await writer.query("SELECT pg_current_xact_id()")
                    let began = Task { try await Scene(fixture) }
                    try await waiting(until: "the slot waits for the writer") {
                        try await fixture.psql(
                            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender' AND wait_event_type = 'Lock'"
                        ) == "1"
                    }
                    // So long that the stream says so.
                    _ = try await writer.query("SELECT pg_sleep(1)")
                    return began
                }
                let scene = try await began.value
                #expect(scene.source() == .logical)
                try await scene.whileWriting { try await scene.awaitProgress(20) }
                try await scene.expectAll()
                scene.end()
            }
        }
    }

    @Test(arguments: [Source.auto, .polling])
    func aPoolerInFrontMakesNoDifference(_ source: Source) async throws {
        let cluster = try await TemporaryCluster.start()
        try await withTemporaryPooler(of: cluster) { pooler in
            try await withLiveService(source, on: cluster, through: pooler) { fixture in
                let scene = try await Scene(fixture)
                try await scene.whileWriting { try await scene.awaitProgress(40) }
                try await scene.expectAll()
                #expect(scene.source() == (source == .auto ? .logical : .polling))
                scene.end()
            }
        }
    }

    /// Failed once: requests got 10002, as where PostgreSQL has no rules to show.
    @Test(arguments: [Source.auto, .polling])
    func whileAServerStandsStillRequestsAreToBeTriedAgain(_ source: Source) async throws {
        let cluster = try await TemporaryCluster.start()
        // Longer than a busy machine delays a check, so that only the server that stands still makes the rules unknown.
        let patience = Duration.seconds(10)
        try await withLiveService(source, on: cluster, rulesPatience: patience) { fixture in
            let scene = try await Scene(fixture)
            let bob = try await fixture.user("bob").caller
            let store = fixture.service.store
            let watched = WatchOutlet()
            let watching = LiveSession(of: fixture.service, outlet: watched)
            let newest = LiveWatchRequest(name: "w", .records(RecordQuery(type: type("note"), limit: 1)))
            @Sendable func watch(_ request: LiveWatchRequest) async -> SkyrowError? {
                do throws(SkyrowError) {
                    _ = try await watching.watch(request, for: LiveUser.anonymous.holder())
                    return nil
                } catch {
                    return error
                }
            }
            #expect(await watch(newest) == nil)
            try await scene.whileWriting {
                try await scene.awaitProgress(10)
                let begun = try await cluster.whileStandingStill {
                    try await waiting(until: "it is not known what the rules are") {
                        store.rulesAge.map { $0 > patience } ?? false
                    }
                    let begun = Task {
                        var second = newest
                        second.name = "second"
                        return await watch(second)
                    }
                    try await expectError(.overloaded) {
                        try await store.fetch([id("note/shared")], in: .everyone, caller: .anonymous)
                    }
                    try await expectError(.overloaded) {
                        try await store.save([.draft(draft("note/x"))], in: .everyone, caller: bob, atomic: false)
                    }
                    return begun
                }
                let refusal = await begun.value
                #expect(refusal == nil || refusal?.code == .overloaded, "\(String(describing: refusal))")
                try await scene.awaitProgress(20)
                try await waiting(until: "the rules are known") {
                    (try? await store.fetch([id("note/shared")], in: .everyone, caller: .anonymous)) != nil
                }
            }
            try await scene.expectAll()
            #expect(watched.reset() == nil)
            watching.end()
            scene.end()
        }
    }
}
