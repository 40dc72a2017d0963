import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Live queries against a real PostgreSQL, over both sources of changes.
@Suite(.timeLimit(.minutes(60))) struct LiveQueryTests {
    typealias Source = LiveConfiguration.Source

    static let sources: [Source] = [.logical, .polling]

    private static func request(
        _ predicate: RecordPredicate? = nil,
        name: String = "s",
        _ change: (inout LiveSubscribeRequest) -> Void = { _ in }
    ) -> LiveSubscribeRequest {
        var request = LiveSubscribeRequest(name: name, type: type("note"), predicate: predicate)
        change(&request)
        return request
    }

    private static func title(_ text: String) -> RecordPredicate {
        .comparison(.eq, .keyPath(FieldPath(unchecked: "title")), .value(.string(text)))
    }

    /// Has an outlet get all that was committed so far: a record of its own subscription comes last.
    private func settle(_ fixture: ServiceFixture, _ outlet: MemoryOutlet, _ marks: LiveSession) async throws {
        let id = "m\(Int.random(in: 0..<Int.max))"
        let before = outlet.events.count
        try await fixture.change("INSERT INTO category (_id) VALUES ('\(id)')")
        try await waiting(until: "the mark arrives", hearing: [outlet]) {
            outlet.events.contains { $0.id == "category/\(id)" }
        }
        _ = before
    }

    private func marked(_ session: LiveSession, _ outlet: MemoryOutlet) async throws {
        try await session.subscribe(LiveSubscribeRequest(name: "marks", type: type("category")), as: .anonymous)
        try await outlet.waitUntilReady("marks")
    }

    @Test(arguments: sources)
    func everyEventIsTold(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            let ann = try await fixture.user("ann")
            let annID = ann.caller.userID?.rawValue ?? ""
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let subscribed = try await session.subscribe(Self.request(Self.title("a")), as: ann)
            #expect(subscribed.source.rawValue == source.rawValue)
            try await outlet.waitUntilReady("s")
            try await marked(session, outlet)
            let closed = "'{}'"
            let rows: [(String, [String])] = [
                // n → m, by insert; m → m; m → r; r → m; m → n by deletion
                ("INSERT INTO note (_id, title) VALUES ('1', 'a')", ["created 1"]),
                ("UPDATE note SET n = 1 WHERE _id = '1'", ["updated 1"]),
                ("UPDATE note SET title = 'b' WHERE _id = '1'", ["left 1"]),
                ("UPDATE note SET n = 2 WHERE _id = '1'", []),
                ("UPDATE note SET title = 'a' WHERE _id = '1'", ["entered 1"]),
                ("DELETE FROM note WHERE _id = '1'", ["deleted 1"]),
                // what cannot be read is not there
                ("INSERT INTO note (_id, title, _access) VALUES ('2', 'a', \(closed))", []),
                ("UPDATE note SET n = 1 WHERE _id = '2'", []),
                ("UPDATE note SET _access = '{\"user:\(annID)\": \"read\"}' WHERE _id = '2'", ["entered 2"]),
                ("UPDATE note SET _access = \(closed) WHERE _id = '2'", ["deleted 2"]),
                ("UPDATE note SET _owner = '\(annID)' WHERE _id = '2'", ["entered 2"]),
                ("UPDATE note SET _owner = NULL WHERE _id = '2'", ["deleted 2"]),
                ("DELETE FROM note WHERE _id = '2'", []),
                // r and n
                ("INSERT INTO note (_id, title) VALUES ('3', 'b')", []),
                ("UPDATE note SET _access = \(closed) WHERE _id = '3'", []),
                ("DELETE FROM note WHERE _id = '3'", []),
            ]
            for (statement, expected) in rows {
                outlet.clear()
                try await fixture.change(statement)
                try await settle(fixture, outlet, session)
                let told = outlet.events.filter { $0.subscription == "s" }.map {
                    "\($0.event) \($0.id.dropFirst("note/".count))"
                }
                #expect(told == expected, "\(statement)")
            }
            #expect(outlet.faults == [])
            session.end()
        }
    }

    @Test(arguments: sources)
    func nothingIsMissedBetweenBeginningAndPresent(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.change(
                "INSERT INTO note (_id, title) SELECT 'o' || i, 'a' FROM generate_series(1, 2500) AS i"
            )
            let writes = Task {
                for number in 0..<200 {
                    try await fixture.change(
                        "INSERT INTO note (_id, title, n) VALUES ('n\(number)', 'a', \(number))",
                        "DELETE FROM note WHERE _id = 'o\(number + 1)'",
                        "UPDATE note SET n = \(number) WHERE _id = 'o\(number + 1000)'"
                    )
                }
            }
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request(Self.title("a")) { $0.sendsInitial = true }, as: .anonymous)
            try await writes.value
            try await waiting(until: "all has arrived", hearing: [outlet]) {
                let held = outlet.held("s")
                return held.count == 2500 && held["note/n199"] != nil && held["note/o1199"]?["n"] == "199"
            }
            #expect(outlet.held("s").keys.contains { $0 == "note/o200" } == false)
            session.end()
        }
    }

    @Test(arguments: sources)
    func aTokenResumes(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.change("INSERT INTO note (_id, title) VALUES ('1', 'a'), ('2', 'a'), ('3', 'a')")
            let first = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: first)
            try await session.subscribe(Self.request(Self.title("a")) { $0.sendsInitial = true }, as: .anonymous)
            try await first.waitUntilReady("s")
            #expect(Set(first.held("s").keys) == ["note/1", "note/2", "note/3"])
            session.end()
            try await fixture.change(
                "DELETE FROM note WHERE _id = '1'",
                "UPDATE note SET title = 'b' WHERE _id = '2'",
                "INSERT INTO note (_id, title) VALUES ('4', 'a')"
            )
            let second = MemoryOutlet()
            second.hold(first.held("s"), "s")
            let next = LiveSession(of: fixture.service, outlet: second)
            let token = try #require(first.token("s"))
            try await next.subscribe(Self.request(Self.title("a")) { $0.since = token }, as: .anonymous)
            try await second.waitUntilReady("s")
            #expect(Set(second.held("s").keys) == ["note/3", "note/4"])
            #expect(second.events.allSatisfy { $0.phase == "resume" && ["changed", "removed"].contains($0.event) })
            next.end()
            let third = MemoryOutlet()
            let other = LiveSession(of: fixture.service, outlet: third)
            try await other.subscribe(Self.request(Self.title("b")) { $0.since = token }, as: .anonymous)
            try await waiting(until: "it ends", hearing: [third]) { third.reset("s") != nil }
            #expect(third.reset("s")?["reason"] == "schema")
            other.end()
            for wrong in ["", "AQ", token + "x", String(token.dropLast())] {
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                try await expectError(.invalidToken) {
                    try await session.subscribe(Self.request(Self.title("a")) { $0.since = wrong }, as: .anonymous)
                }
                session.end()
            }
        }
    }

    @Test func fieldsAndOldValuesAreThoseThatWereAskedFor() async throws {
        try await withLiveService(.logical) { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(
                Self.request(name: "keys") {
                    $0.desiredFields = ["title", "small"]
                    $0.previous = .all
                },
                as: .anonymous
            )
            try await session.subscribe(
                Self.request(name: "watch") {
                    $0.watched = ["n"]
                    $0.previous = .fields(["n", "title"])
                    $0.events = [.updated]
                },
                as: .anonymous
            )
            for name in ["keys", "watch"] { try await outlet.waitUntilReady(name) }
            try await marked(session, outlet)
            try await fixture.change("INSERT INTO note (_id, title, n, small) VALUES ('1', 'a', 1, 7)")
            try await fixture.change("UPDATE note SET title = 'b', secret = 'x' WHERE _id = '1'")
            try await fixture.change("UPDATE note SET n = NULL, tags = '{x,y}' WHERE _id = '1'")
            try await settle(fixture, outlet, session)
            let keys = outlet.events.filter { $0.subscription == "keys" }
            #expect(keys.map(\.event) == ["created", "updated", "updated"])
            #expect(keys.allSatisfy { Set($0.record.keys) == ["_access", "title", "small"] })
            #expect(keys.map { $0.record["small"] } == ["7", "7", "7"])
            #expect(keys.map(\.previous) == [nil, ["title": "a"], [:]])
            let watch = outlet.events.filter { $0.subscription == "watch" }
            #expect(watch.map(\.event) == ["updated"])
            #expect(watch.first?.previous == ["n": "1"])
            #expect(watch.first?.record["tags"] == "[\"x\", \"y\"]")
            session.end()
        }
    }

    @Test(arguments: sources)
    func privateRecordsAreTheirUsersAlone(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            var outlets: [MemoryOutlet] = []
            var sessions: [LiveSession] = []
            for user in [ann, bob] {
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                try await session.subscribe(Self.request { $0.database = .own }, as: user)
                try await outlet.waitUntilReady("s")
                outlets.append(outlet)
                sessions.append(session)
            }
            _ = try await fixture.service.save(
                SaveRequest(draft("note/1", ["title": .string("mine")]), database: .own),
                by: ann.caller
            )
            try await waiting(until: "ann has it", hearing: [outlets[0]]) {
                outlets[0].held("s")["note/1"]?["title"] == "mine"
            }
            _ = try await fixture.service.delete(["note/1"], in: .own, by: ann.caller)
            try await waiting(until: "ann has it no more", hearing: [outlets[0]]) { outlets[0].held("s").isEmpty }
            #expect(outlets[0].events.map(\.event) == ["created", "deleted"])
            #expect(outlets[1].events == [])
            try await expectError(.permissionDenied) {
                try await sessions[1].subscribe(
                    Self.request(name: "x") { $0.database = .user(ann.caller.userID ?? "") },
                    as: bob
                )
            }
            for session in sessions { session.end() }
        }
    }

    @Test(arguments: sources)
    func rightsThatChangeEndSubscriptions(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            let (first, second) = (MemoryOutlet(), MemoryOutlet())
            let sessions = [first, second].map { LiveSession(of: fixture.service, outlet: $0) }
            try await sessions[0].subscribe(Self.request(), as: ann)
            try await sessions[1].subscribe(Self.request(), as: bob)
            try await first.waitUntilReady("s")
            try await second.waitUntilReady("s")
            try await fixture.psql(
                "INSERT INTO _role (name) VALUES ('editor'); "
                    + "INSERT INTO _user_role (user_id, role) VALUES ('\(ann.caller.userID?.rawValue ?? "")', 'editor')"
            )
            try await waiting(until: "the subscription ends", hearing: [first]) { first.reset("s") != nil }
            #expect(first.reset("s")?["reason"] == "access")
            #expect(first.closure == nil && second.reset("s") == nil)
            try await fixture.service.run(Actions.authLogOut, with: bob.credentials)
            try await waiting(until: "the connection ends", hearing: [second]) { second.closure != nil }
            #expect(second.closure == .sessionEnded)
            #expect(second.reset("s")?["reason"] == "session" && second.reset("s")?["code"] == "104")
            try await fixture.change("INSERT INTO note (_id) VALUES ('1')")
            let third = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: third)
            try await session.subscribe(Self.request { $0.sendsInitial = true }, as: .anonymous)
            try await third.waitUntilReady("s")
            #expect(first.events == [] && second.events == [])
            session.end()
        }
    }

    @Test func formsOfTheTypeEndSubscriptionsWhereTheyMatter() async throws {
        try await withLiveService(.logical) { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request(), as: .anonymous)
            try await outlet.waitUntilReady("s")
            // A new field makes no difference.
            try await fixture.psql("ALTER TABLE note ADD later text COLLATE \"C\"")
            try await fixture.change("INSERT INTO note (_id, later) VALUES ('1', 'x')")
            try await waiting(until: "the record arrives", hearing: [outlet]) {
                outlet.held("s")["note/1"]?["later"] == "x"
            }
            try await fixture.psql("ALTER TABLE note DROP later")
            try await fixture.change("INSERT INTO note (_id) VALUES ('2')")
            try await waiting(until: "the subscription ends", hearing: [outlet]) { outlet.reset("s") != nil }
            #expect(outlet.reset("s")?["reason"] == "schema")
            session.end()
        }
    }

    @Test(arguments: sources)
    func muchAtOnceIsReadAnew(_ source: Source) async throws {
        try await withLiveService(source) {
            $0.limits.transactionRows = 50
        } _: { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request(), as: .anonymous)
            try await outlet.waitUntilReady("s")
            try await fixture.change("INSERT INTO note (_id) SELECT 'b' || i FROM generate_series(1, 60) AS i")
            try await waiting(until: "the subscription ends", hearing: [outlet]) { outlet.reset("s") != nil }
            let reset = try #require(outlet.reset("s"))
            #expect(reset["reason"] == "bulk")
            #expect(outlet.events == [])
            let again = MemoryOutlet()
            let next = LiveSession(of: fixture.service, outlet: again)
            try await next.subscribe(Self.request { $0.since = reset["token"] }, as: .anonymous)
            try await again.waitUntilReady("s")
            #expect(again.held("s").count == 60)
            try await fixture.change("TRUNCATE note")
            try await waiting(until: "it ends again", hearing: [again]) {
                again.reset("s") != nil || again.held("s").isEmpty
            }
            session.end()
            next.end()
        }
    }

    @Test func aConnectionThatWasBehindResumes() async throws {
        try await withLiveService(.logical) { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request { $0.sendsInitial = true }, as: .anonymous)
            try await outlet.waitUntilReady("s")
            try await fixture.change("INSERT INTO note (_id, n) VALUES ('1', 1), ('2', 1)")
            try await waiting(until: "both arrive", hearing: [outlet]) { outlet.held("s").count == 2 }
            outlet.beginNextGeneration()
            try await fixture.change("UPDATE note SET n = 2 WHERE _id = '1'", "DELETE FROM note WHERE _id = '2'")
            try await fixture.change("INSERT INTO note (_id) VALUES ('3')")
            outlet.beginNextGeneration()
            session.outletCaughtUp()
            // The records at the beginning are sent again, and then what is gone of those that were sent before.
            try await waiting(until: "it has caught up", hearing: [outlet]) {
                outlet.held("s")["note/1"]?["n"] == "2" && outlet.held("s")["note/3"] != nil
                    && outlet.held("s")["note/2"] == nil
            }
            try await fixture.change("INSERT INTO note (_id) VALUES ('4')")
            try await waiting(until: "it goes on", hearing: [outlet]) { outlet.held("s")["note/4"] != nil }
            session.end()
        }
    }

    /// What the client got of a beginning that was cut off is not forgotten by the next one.
    @Test(arguments: sources)
    func whatIsGoneFromABeginningThatWasCutOffIsNamed(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.change("INSERT INTO note (_id, n) SELECT i::text, 0 FROM generate_series(1, 3) AS i")
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            for round in 1...2 {
                // In the second round the one before has ended, and nothing has come since.
                outlet.whileWaiting.withLock { happens in
                    happens = {
                        outlet.beginNextGeneration()
                        try? await fixture.change("DELETE FROM note WHERE _id = '\(round)'")
                        outlet.beginNextGeneration()
                        session.outletCaughtUp()
                    }
                }
                if round == 1 {
                    try await session.subscribe(Self.request { $0.sendsInitial = true }, as: .anonymous)
                } else {
                    outlet.beginNextGeneration()
                    outlet.beginNextGeneration()
                    session.outletCaughtUp()
                }
                try await waiting(until: "the deletion of \(round) is known", hearing: [outlet]) {
                    outlet.isReady("s") && outlet.held("s").count == 3 - round
                }
                #expect(outlet.held("s")["note/3"] != nil && outlet.reset("s") == nil)
            }
            session.end()
        }
    }

    /// A page may show a record as it was for a moment only, which questions about changes do not find.
    @Test(arguments: sources)
    func aRecordThatLeavesWhileABeginningIsReadLeaves(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.change(
                "INSERT INTO note (_id, title) VALUES ('hot', 'b')",
                "INSERT INTO note (_id, title) SELECT 'n' || i, 'a' FROM generate_series(1, 200) AS i"
            )
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request(Self.title("a")) { $0.sendsInitial = true }, as: .anonymous)
            try await outlet.waitUntilReady("s")
            for round in 0..<20 {
                let writes = Task {
                    for title in ["a", "b", "a", "b", "a", "b", "a", "b"] {
                        try await fixture.change("UPDATE note SET title = '\(title)' WHERE _id = 'hot'")
                    }
                }
                for _ in 0..<2 {
                    outlet.beginNextGeneration()
                    outlet.beginNextGeneration()
                    session.outletCaughtUp()
                    for _ in 0..<Int.random(in: 0...400) { await Task.yield() }
                }
                try await writes.value
                let mark = "note/end\(round)"
                try await fixture.change("INSERT INTO note (_id, title) VALUES ('end\(round)', 'a')")
                try await waiting(until: "the mark arrives", hearing: [outlet]) { outlet.held("s")[mark] != nil }
                try await waiting(until: "round \(round): the record leaves", hearing: [outlet]) {
                    outlet.held("s")["note/hot"] == nil
                }
            }
            #expect(outlet.reset("s") == nil)
            session.end()
        }
    }

    @Test func whatCannotBeAskedIsRefused() async throws {
        try await withLiveService(.logical) {
            $0.limits.perConnection = 2
            $0.limits.scans = 1
        } _: { fixture in
            let ann = try await fixture.user("ann")
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            func refused(_ code: ErrorCode, _ request: LiveSubscribeRequest) async throws {
                try await expectError(code) { try await session.subscribe(request, as: ann) }
            }
            let through = RecordPredicate.comparison(
                .eq,
                .keyPath(FieldPath(unchecked: "category._id")),
                .value(.string("x"))
            )
            let missing = RecordPredicate.comparison(
                .eq,
                .keyPath(FieldPath(unchecked: "nothing")),
                .value(.string("x"))
            )
            try await refused(.recordQueryInvalid, Self.request(through))
            try await refused(.recordQueryInvalid, Self.request(missing))
            try await fixture.psql("CREATE VIEW seen AS SELECT 1 AS n")
            try await fixture.service.store.cache.reload()
            try await refused(.resourceNotFound, LiveSubscribeRequest(name: "s", type: type("seen")))
            try await refused(.notAuthenticated, Self.request { $0.database = .union })
            try await session.subscribe(Self.request(), as: ann)
            try await refused(.duplicated, Self.request())
            try await refused(
                .overloaded,
                Self.request(.comparison(.gt, .keyPath(FieldPath(unchecked: "n")), .value(.integer(1))), name: "scan")
            )
            try await session.subscribe(Self.request(Self.title("a"), name: "keyed"), as: ann)
            try await refused(.overloaded, Self.request(Self.title("b"), name: "third"))
            try session.unsubscribe("s")
            try await expectError(.resourceNotFound) { try session.unsubscribe("s") }
            try await session.subscribe(Self.request(Self.title("b"), name: "third"), as: ann)
            session.end()
            try await expectError(.overloaded) { try await session.subscribe(Self.request(name: "late"), as: ann) }
        }
    }

    @Test func withoutASourceThereAreNone() async throws {
        try await withLiveService(.off) { fixture in
            let session = LiveSession(of: fixture.service, outlet: MemoryOutlet())
            try await expectError(.notSupported) { try await session.subscribe(Self.request(), as: .anonymous) }
        }
    }
}
