import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// A connection of a test's own that shows the results of `live:watch` as its messages say.
final class WatchOutlet: LiveOutlet, Changing {
    fileprivate struct State {
        /// The records of each subscription in their order: the id, and the values of two fields.
        var lists: [String: [String]] = [:]
        var counts: [String: Int] = [:]
        var groups: [String: String] = [:]
        var resets: [String: String] = [:]
        var events: [String] = []
        var generation = 0
    }

    private let state = Mutex(State())
    let changes = ChangeSignal()

    var generation: Int { state.withLock { $0.generation } }
    func list(_ name: String = "w") -> [String]? { state.withLock { $0.lists[name] } }
    func count(_ name: String = "w") -> Int? { state.withLock { $0.counts[name] } }
    func groups(_ name: String = "w") -> String? { state.withLock { $0.groups[name] } }
    func reset(_ name: String = "w") -> String? { state.withLock { $0.resets[name] } }
    /// The events so far, `"entered note/1"`.
    var events: [String] { state.withLock { $0.events } }
    func beginNextGeneration() { state.withLock { $0.generation += 1 } }
    func close(_ reason: LiveClosure) {}

    func send(_ message: LiveMessage, in generation: Int) -> Bool {
        let bytes = Data(message.parameters.parts.joined())
        let json = (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any] ?? [:]
        defer { changes.notify() }
        return state.withLock { state in
            guard generation == state.generation, generation.isMultiple(of: 2) else { return false }
            switch message.method {
            case .reset: state.resets[json["subscription"] as? String ?? ""] = json["reason"] as? String
            case .checkpoint: break
            case .changes:
                let changes = json["changes"] as? [[String: Any]] ?? []
                var named: [String: Set<String>] = [:]
                for change in changes {
                    let name = change["subscription"] as? String ?? ""
                    let id = (change["record"] as? [String: Any])?["_id"] as? String ?? change["id"] as? String
                    if let id { named[name, default: []].insert(id) }
                    state.events.append("\(change["event"] ?? "")\(id.map { " \($0)" } ?? "")")
                }
                for (name, ids) in named where json["phase"] as? String == "live" {
                    state.lists[name]?.removeAll { row in ids.contains { row.hasPrefix("\($0) ") } }
                }
                if json["phase"] as? String == "initial", let name = json["subscription"] as? String {
                    state.lists[name] = []
                }
                for change in changes { state.take(change) }
            }
            return true
        }
    }
}

extension WatchOutlet.State {
    fileprivate mutating func take(_ change: [String: Any]) {
        let name = change["subscription"] as? String ?? ""
        if let count = change["count"] as? Int { counts[name] = count }
        if let result = change["result"] as? [String: Any], let found = result["groups"] as? [[String: Any]] {
            groups[name] = found.map { group in
                group.filter { !$0.key.hasPrefix("_") }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                    .joined(separator: ",")
            }.joined(separator: " ")
        }
        guard let record = change["record"] as? [String: Any], let id = record["_id"] as? String,
            let index = change["index"] as? Int
        else { return }
        let included = (record["_transient"] as? [String: Any])?["category"] as? [String: Any]
        let row = "\(id) \(record["n"] ?? "-")\(included.map { " \($0["name"] ?? "-")" } ?? "")"
        var list = lists[name] ?? []
        list.insert(row, at: min(index, list.count))
        lists[name] = list
    }
}

/// Queries that no record answers by itself, over both sources of changes.
@Suite(.timeLimit(.minutes(60))) struct LiveWatchTests {
    typealias Source = LiveConfiguration.Source

    static let sources: [Source] = [.logical, .polling]

    private func path(_ text: String) -> FieldPath { FieldPath(unchecked: text) }

    /// The first three notes by their numbers.
    private func window(_ change: (inout RecordQuery) -> Void = { _ in }) -> LiveWatchRequest.Subject {
        var query = RecordQuery(type: type("note"), sort: [SortKey(path("n"), .descending)], limit: 3)
        change(&query)
        return .records(query)
    }

    private func watch(
        _ session: LiveSession,
        _ subject: LiveWatchRequest.Subject,
        name: String = "w",
        in database: DatabaseName = .everyone,
        as user: LiveUser = .anonymous
    ) async throws {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(SkyrowError) {
                _ = try await session.watch(
                    LiveWatchRequest(name: name, database: database, subject),
                    for: user.holder()
                )
                return
            } catch {
                // A slot is made when no transaction of the cluster writes, and other tests have some.
                guard error.message.hasPrefix("Changes of the database cannot be followed"), .now < deadline else {
                    throw error
                }
            }
        }
    }

    @Test(arguments: sources)
    func aWindowIsKeptCurrent(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.change("INSERT INTO note (_id, n) SELECT i::text, i FROM generate_series(1, 5) AS i")
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await watch(session, window { $0.counting = .exact })
            #expect(outlet.list() == ["note/5 5", "note/4 4", "note/3 3"])
            #expect(outlet.count() == 5)
            let rows: [(String, [String], Int)] = [
                ("INSERT INTO note (_id, n) VALUES ('9', 9)", ["note/9 9", "note/5 5", "note/4 4"], 6),
                ("DELETE FROM note WHERE _id = '5'", ["note/9 9", "note/4 4", "note/3 3"], 5),
                ("UPDATE note SET n = 8 WHERE _id = '1'", ["note/9 9", "note/1 8", "note/4 4"], 5),
                ("UPDATE note SET n = 10 WHERE _id = '4'", ["note/4 10", "note/9 9", "note/1 8"], 5),
                ("UPDATE note SET _access = '{}' WHERE _id = '9'", ["note/4 10", "note/1 8", "note/3 3"], 4),
                ("UPDATE note SET _access = NULL WHERE _id = '9'", ["note/4 10", "note/9 9", "note/1 8"], 5),
                ("DELETE FROM note", [], 0),
            ]
            for (statement, list, count) in rows {
                try await fixture.change(statement)
                do {
                    try await waiting(until: "\(statement) is shown", hearing: [outlet]) {
                        outlet.list() == list && outlet.count() == count
                    }
                } catch {
                    let shown = "\(outlet.list() ?? []), \(outlet.count() ?? -1), reset \(outlet.reset() ?? "never")"
                    Issue.record("\(error): shows \(shown)")
                }
            }
            try session.unsubscribe("w")
            try await expectError(.resourceNotFound) { try session.unsubscribe("w") }
            session.end()
        }
    }

    @Test(arguments: sources)
    func recordsOfOtherTypesAndGroupsCount(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.psql("ALTER TABLE category ADD name text COLLATE \"C\"")
            try await fixture.service.store.cache.reload()
            try await fixture.change(
                "INSERT INTO category (_id, name) VALUES ('a', 'x'), ('b', 'y')",
                "INSERT INTO note (_id, n, category) VALUES ('1', 1, 'a'), ('2', 2, 'b'), ('3', 3, 'a')"
            )
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let named = RecordPredicate.comparison(.eq, .keyPath(path("category.name")), .value(.string("x")))
            try await watch(session, window { $0.predicate = named }, name: "path")
            try await watch(
                session,
                window { $0.include = [Inclusion(name: "category", keyPath: path("category"))] },
                name: "include"
            )
            try await watch(
                session,
                .groups(
                    AggregateQuery(
                        type: type("note"),
                        groupKeys: [GroupKey("c", path("category.name"))],
                        aggregates: [Aggregate("k", .count)]
                    )
                ),
                name: "groups"
            )
            #expect(outlet.list("path") == ["note/3 3", "note/1 1"])
            #expect(outlet.list("include") == ["note/3 3 x", "note/2 2 y", "note/1 1 x"])
            #expect(outlet.groups("groups") == "c=x,k=2 c=y,k=1")
            try await fixture.change("UPDATE category SET name = 'x' WHERE _id = 'b'")
            try await waiting(until: "all three follow the category", hearing: [outlet]) {
                outlet.list("path") == ["note/3 3", "note/2 2", "note/1 1"]
                    && outlet.list("include") == ["note/3 3 x", "note/2 2 x", "note/1 1 x"]
                    && outlet.groups("groups") == "c=x,k=3"
            }
            session.end()
        }
    }

    /// Two callers with different rights have different results of the same query, and one that loses rights gets nothing more.
    @Test(arguments: sources)
    func eachCallerSeesItsOwn(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            let annID = ann.caller.userID?.rawValue ?? ""
            try await fixture.change(
                "INSERT INTO note (_id, n, _access) VALUES ('1', 1, NULL), ('2', 2, '{\"user:\(annID)\": \"read\"}'), ('3', 3, '{}')"
            )
            let outlets = [WatchOutlet(), WatchOutlet(), WatchOutlet()]
            let sessions = outlets.map { LiveSession(of: fixture.service, outlet: $0) }
            for (session, user) in zip(sessions, [ann, bob, .master]) { try await watch(session, window(), as: user) }
            let seen = [["note/2 2", "note/1 1"], ["note/1 1"], ["note/3 3", "note/2 2", "note/1 1"]]
            #expect(outlets.map { $0.list() } == seen)
            try await fixture.change("UPDATE note SET n = 5 WHERE _id = '2'")
            try await waiting(until: "those who see it have the change", hearing: [outlets[0], outlets[2]]) {
                outlets[0].list() == ["note/2 5", "note/1 1"] && outlets[2].list()?.first == "note/2 5"
            }
            #expect(outlets[1].events == ["entered note/1"])
            try await expectError(.permissionDenied) {
                try await watch(sessions[1], window(), name: "x", in: .user(ann.caller.userID ?? ""), as: bob)
            }
            try await fixture.psql(
                "INSERT INTO _role (name) VALUES ('editor'); INSERT INTO _user_role (user_id, role) VALUES ('\(annID)', 'editor')"
            )
            try await waiting(until: "the subscription ends", hearing: [outlets[0]]) { outlets[0].reset() == "access" }
            try await fixture.service.run(Actions.authLogOut, with: bob.credentials)
            try await waiting(until: "the session ends", hearing: [outlets[1]]) { outlets[1].reset() == "session" }
            let before = [outlets[0].events.count, outlets[1].events.count]
            try await fixture.change("UPDATE note SET n = 6 WHERE _id IN ('1', '2')")
            try await waiting(until: "the operator has it", hearing: [outlets[2]]) {
                outlets[2].list()?.contains("note/2 6") ?? false
            }
            #expect([outlets[0].events.count, outlets[1].events.count] == before)
            for session in sessions { session.end() }
        }
    }

    /// Failed once: a write of a hidden field was one of the revision, which is sent.
    @Test(arguments: sources)
    func aChangeOfWhatIsHiddenIsNoUpdate(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.psql("INSERT INTO _field_rule VALUES ('note', 'secret', 'read', '{role:editor}')")
            try await fixture.service.store.cache.reload()
            try await fixture.change("INSERT INTO note (_id, n) VALUES ('1', 1)")
            let (hidden, open) = (WatchOutlet(), WatchOutlet())
            let sessions = [hidden, open].map { LiveSession(of: fixture.service, outlet: $0) }
            for (session, user) in zip(sessions, [LiveUser.anonymous, .master]) {
                try await watch(session, window(), as: user)
            }
            for number in 1...5 {
                try await fixture.change("UPDATE note SET secret = '\(number)'")
                try await waiting(until: "who sees it has the change", hearing: [open]) {
                    open.events.count == 1 + number
                }
            }
            try await fixture.change("UPDATE note SET n = 2")
            try await waiting(until: "both have it", hearing: [hidden, open]) {
                [hidden, open].allSatisfy { $0.list() == ["note/1 2"] }
            }
            #expect(hidden.events == ["entered note/1", "updated note/1"])
            for session in sessions { session.end() }
        }
    }

    @Test func aConnectionThatWasBehindGetsTheWholeResult() async throws {
        try await withLiveService(.logical) { fixture in
            try await fixture.change("INSERT INTO note (_id, n) VALUES ('1', 1)")
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await watch(session, window())
            outlet.beginNextGeneration()
            try await fixture.change("INSERT INTO note (_id, n) VALUES ('2', 2)", "DELETE FROM note WHERE _id = '1'")
            outlet.beginNextGeneration()
            session.outletCaughtUp()
            try await waiting(until: "it has caught up", hearing: [outlet]) { outlet.list() == ["note/2 2"] }
            try await fixture.change("INSERT INTO note (_id, n) VALUES ('3', 3)")
            try await waiting(until: "it goes on", hearing: [outlet]) { outlet.list() == ["note/3 3", "note/2 2"] }
            session.end()
        }
    }

    /// Failed once: it was 110, while `record:query` has no records of such a type.
    @Test(arguments: sources)
    func aTypeThatIsYetToBeMadeHasNoRecords(_ source: Source) async throws {
        try await withLiveService(source) {
            $0.limits.watchesPerConnection = 3
        } _: { fixture in
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            var query = RecordQuery(type: type("later"), sort: [SortKey(path("n"), .descending)])
            query.counting = .exact
            let count = AggregateQuery(type: type("later"), aggregates: [Aggregate("k", .count)])
            try await watch(session, .records(query))
            try await watch(session, .groups(count), name: "groups")
            try await watch(session, .records(query), name: "given up")
            try await waiting(until: "all three have begun", hearing: [outlet]) {
                outlet.list() == [] && outlet.count() == 0 && outlet.groups("groups") == "k=0"
                    && outlet.list("given up") == []
            }
            try await expectError(.duplicated) { try await watch(session, .records(query)) }
            try await expectError(.overloaded) { try await watch(session, .records(query), name: "fourth") }
            try session.unsubscribe("given up")
            try await expectError(.resourceNotFound) { try session.unsubscribe("given up") }
            try await fixture.change(
                "SELECT _create_type('later'); ALTER TABLE later ADD n bigint; INSERT INTO later (_id, n) VALUES ('1', 1)"
            )
            try await fixture.service.store.cache.reload(.types([type("later")]))
            try await waiting(until: "its records are shown", hearing: [outlet]) {
                outlet.list() == ["later/1 1"] && outlet.count() == 1 && outlet.groups("groups") == "k=1"
            }
            try await fixture.change("INSERT INTO later (_id, n) VALUES ('2', 2)")
            try await waiting(until: "they are followed", hearing: [outlet]) {
                outlet.list() == ["later/2 2", "later/1 1"] && outlet.groups("groups") == "k=2"
            }
            #expect(outlet.list("given up") == [] && outlet.reset() == nil)
            session.end()
        }
    }

    /// What cannot be begun when the type is there ends then.
    @Test func aQueryThatDoesNotFitTheTypeEndsWhenThatIsMade() async throws {
        try await withLiveService(.logical) { fixture in
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let ann = try await fixture.user("ann")
            let sorted = RecordQuery(type: type("later"), sort: [SortKey(path("nothing"), .descending)])
            try await watch(session, .records(sorted))
            try await watch(session, .records(RecordQuery(type: type("later"))), name: "ann's", as: ann)
            try await fixture.service.run(Actions.authLogOut, with: ann.credentials)
            try await fixture.change("SELECT _create_type('later')")
            try await fixture.service.store.cache.reload(.types([type("later")]))
            try await waiting(until: "both have ended", hearing: [outlet]) {
                outlet.reset() == "schema" && outlet.reset("ann's") == "session"
            }
            session.end()
        }
    }

    @Test func whatCannotBeWatchedIsRefused() async throws {
        try await withLiveService(.logical) {
            $0.limits.watchesPerConnection = 2
            $0.limits.watchBytes = 2_000
        } _: { fixture in
            let outlet = WatchOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            func refused(_ code: ErrorCode, _ subject: LiveWatchRequest.Subject, name: String = "x") async throws {
                try await expectError(code) { try await watch(session, subject, name: name) }
            }
            try await fixture.psql("CREATE VIEW seen AS SELECT 1 AS n")
            try await fixture.service.store.cache.reload()
            try await refused(.resourceNotFound, .records(RecordQuery(type: type("seen"))))
            try await refused(
                .recordQueryInvalid,
                window { $0.predicate = .comparison(.eq, .keyPath(path("nothing")), .value(.string("x"))) }
            )
            try await watch(session, window())
            try await refused(.duplicated, window(), name: "w")
            try await expectError(.duplicated) {
                try await session.subscribe(LiveSubscribeRequest(name: "w", type: type("note")), as: .anonymous)
            }
            try await watch(session, window { $0.limit = 2 }, name: "second")
            try await refused(.overloaded, window(), name: "third")
            try session.unsubscribe("second")
            // More than may be sent at once.
            try await fixture.change(
                "INSERT INTO note (_id, title) SELECT 't' || i, repeat('x', 900) FROM generate_series(1, 3) AS i"
            )
            try await refused(.overloaded, window(), name: "large")
            try await waiting(until: "the first ends, too", hearing: [outlet]) { outlet.reset() == "gap" }
            session.end()
        }
        try await withLiveService(.off) { fixture in
            let session = LiveSession(of: fixture.service, outlet: WatchOutlet())
            try await expectError(.notSupported) { try await watch(session, window()) }
        }
    }
}
