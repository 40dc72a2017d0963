import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Types whose log has of old records their ids alone (`"live": "key"`): the same events as of others.
@Suite(.timeLimit(.minutes(60))) struct LiveKeyTests {
    typealias Source = LiveConfiguration.Source

    private static let byKey = "ALTER TABLE note REPLICA IDENTITY DEFAULT"

    private static func request(_ change: (inout LiveSubscribeRequest) -> Void = { _ in }) -> LiveSubscribeRequest {
        var request = LiveSubscribeRequest(
            name: "s",
            type: type("note"),
            predicate: .comparison(.eq, .keyPath(FieldPath(unchecked: "title")), .value(.string("a")))
        )
        change(&request)
        return request
    }

    private func settle(_ fixture: ServiceFixture, _ outlet: MemoryOutlet) async throws {
        let id = "m\(Int.random(in: 0..<Int.max))"
        try await fixture.change("INSERT INTO category (_id) VALUES ('\(id)')")
        try await waiting(until: "the mark arrives", hearing: [outlet]) {
            outlet.events.contains { $0.id == "category/\(id)" }
        }
    }

    @Test(arguments: LiveQueryTests.sources)
    func everyEventIsSent(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.psql(Self.byKey)
            try await fixture.change("INSERT INTO note (_id, title) VALUES ('old', 'a')")
            let ann = try await fixture.user("ann")
            let annID = ann.caller.userID?.rawValue ?? ""
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request { $0.sendsInitial = true }, as: ann)
            try await outlet.waitUntilReady("s")
            try await session.subscribe(LiveSubscribeRequest(name: "marks", type: type("category")), as: .anonymous)
            try await outlet.waitUntilReady("marks")
            // A text that PostgreSQL stores apart from its row is not in the log when an update leaves it alone.
            let large = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 2000) AS i)"
            let rows: [(String, [String])] = [
                ("UPDATE note SET n = 1 WHERE _id = 'old'", ["updated old"]),
                ("DELETE FROM note WHERE _id = 'old'", ["deleted old"]),
                ("INSERT INTO note (_id, title, secret) VALUES ('1', 'a', \(large))", ["created 1"]),
                ("UPDATE note SET n = 1 WHERE _id = '1'", ["updated 1"]),
                ("UPDATE note SET title = 'b' WHERE _id = '1'", ["left 1"]),
                ("UPDATE note SET n = 2 WHERE _id = '1'", []),
                ("UPDATE note SET title = 'a' WHERE _id = '1'", ["entered 1"]),
                ("UPDATE note SET _access = '{}' WHERE _id = '1'", ["deleted 1"]),
                ("UPDATE note SET n = 3 WHERE _id = '1'", []),
                ("UPDATE note SET _owner = '\(annID)' WHERE _id = '1'", ["entered 1"]),
                ("DELETE FROM note WHERE _id = '1'", ["deleted 1"]),
                ("INSERT INTO note (_id, title) VALUES ('2', 'b')", []),
                ("DELETE FROM note WHERE _id = '2'", []),
                ("INSERT INTO note (_id, title, _access) VALUES ('3', 'a', '{}')", []),
                ("DELETE FROM note WHERE _id = '3'", []),
            ]
            for (statement, expected) in rows {
                outlet.clear()
                try await fixture.change(statement)
                try await settle(fixture, outlet)
                let sent = outlet.events.filter { $0.subscription == "s" }
                #expect(sent.map { "\($0.event) \($0.id.dropFirst("note/".count))" } == expected, "\(statement)")
                if statement.contains("SET n = 1 WHERE _id = '1'") {
                    #expect(sent.first?.record["secret"]?.utf8.count == 64_000)
                }
            }
            #expect(outlet.faults == [] && outlet.reset("s") == nil)
            session.end()
        }
    }

    @Test(arguments: LiveQueryTests.sources)
    func oldValuesAreRefused(_ source: Source) async throws {
        try await withLiveService(source) { fixture in
            try await fixture.psql(Self.byKey)
            let session = LiveSession(of: fixture.service, outlet: MemoryOutlet())
            for previous in [LiveSubscribeRequest.PreviousValues.all, .fields(["title"])] {
                try await expectError(.notSupported) {
                    try await session.subscribe(Self.request { $0.previous = previous }, as: .anonymous)
                }
            }
            try await session.subscribe(Self.request(), as: .anonymous)
            session.end()
        }
    }

    /// More records than are kept of a query.
    @Test func aQueryOfTooManyRecordsIsRefused() async throws {
        try await withLiveService(.logical) {
            $0.limits.members = 3
        } _: { fixture in
            let session = LiveSession(of: fixture.service, outlet: MemoryOutlet())
            try await fixture.change(
                "INSERT INTO note (_id, title) SELECT i::text, 'a' FROM generate_series(1, 4) AS i"
            )
            try await session.subscribe(Self.request { $0.name = "whole" }, as: .anonymous)
            try await fixture.psql(Self.byKey)
            try await expectError(.overloaded) { try await session.subscribe(Self.request(), as: .anonymous) }
            session.end()
        }
    }

    /// Psql takes the old records from the log while live queries are open.
    @Test func aLogThatLosesOldRecordsEndsLiveQueries() async throws {
        try await withLiveService(.logical) { fixture in
            try await fixture.change("INSERT INTO note (_id, title) VALUES ('1', 'a')")
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            try await session.subscribe(Self.request { $0.sendsInitial = true }, as: .anonymous)
            try await outlet.waitUntilReady("s")
            try await fixture.psql(Self.byKey)
            try await fixture.change("DELETE FROM note WHERE _id = '1'")
            try await waiting(until: "the subscription ends", hearing: [outlet]) { outlet.reset("s") != nil }
            #expect(outlet.reset("s")?["reason"] == "bulk")
            let token = try #require(outlet.reset("s")?["token"])
            let next = MemoryOutlet()
            next.hold(outlet.held("s"), "s")
            let again = LiveSession(of: fixture.service, outlet: next)
            try await again.subscribe(Self.request { $0.since = token }, as: .anonymous)
            try await next.waitUntilReady("s")
            #expect(next.held("s").isEmpty)
            session.end()
            again.end()
        }
    }
}
