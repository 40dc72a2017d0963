import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Live queries whose predicates take long, beside others that are served meanwhile.
@Suite(.timeLimit(.minutes(60))) struct LiveCostTests {
    private static func request(_ name: String, _ predicate: RecordPredicate?) -> LiveSubscribeRequest {
        var request = LiveSubscribeRequest(name: name, type: type("note"))
        request.predicate = predicate
        return request
    }

    private static let costly = RecordPredicate.regex(
        .keyPath(FieldPath(unchecked: "title")),
        "([0-9a-f]{1,20}){20}z",
        ignoresCase: false
    )

    @Test(arguments: [LiveConfiguration.Source.logical, .polling])
    func aQueryThatTakesTooManyStepsEndsAlone(_ source: LiveConfiguration.Source) async throws {
        try await withLiveService(source) { fixture in
            let ann = try await fixture.user("ann")
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            for request in [Self.request("costly", Self.costly), Self.request("all", nil)] {
                try await session.subscribe(request, as: ann)
                try await outlet.waitUntilReady(request.name)
            }
            // What takes little is judged.
            try await fixture.change("INSERT INTO note (_id, title) VALUES ('1', repeat('0123456789abcdef', 4) || 'z')")
            try await waiting(until: "both have the record", hearing: [outlet]) {
                outlet.held("all")["note/1"] != nil && outlet.held("costly")["note/1"] != nil
            }
            try await fixture.change("INSERT INTO note (_id, title) VALUES ('2', repeat('0123456789abcdef', 56000))")
            try await waiting(until: "the costly one ends", hearing: [outlet]) { outlet.reset("costly") != nil }
            #expect(outlet.reset("costly")?["reason"] == "gap")
            try await waiting(until: "the other has the record", hearing: [outlet]) {
                outlet.held("all")["note/2"] != nil
            }
            #expect(outlet.reset("all") == nil)
            session.end()
        }
    }

    /// The steps of a client are those of all its queries together.
    @Test func aClientThatHasSpentItsStepsLosesItsOwnQueries() async throws {
        try await withLiveService(.logical) {
            $0.limits.steps.burst = 100_000
            $0.limits.steps.perSecond = 1
        } _: { fixture in
            let attacker = ClientKey(high: 0, low: 1)
            let other = ClientKey(high: 0, low: 2)
            let ann = try await fixture.user("ann")
            let outlets = [MemoryOutlet(), MemoryOutlet()]
            let sessions = outlets.map { LiveSession(of: fixture.service, outlet: $0) }
            let shared = Self.request("s", Self.costly)
            try await sessions[0].subscribe(shared, as: ann, from: attacker)
            try await outlets[0].waitUntilReady("s")
            try await sessions[1].subscribe(shared, as: ann, from: other)
            try await outlets[1].waitUntilReady("s")
            for round in 1... {
                // Each takes a part of the steps of the client that came first.
                let title = "repeat('0123456789abcdef', 4) || 'z'"
                try await fixture.change("INSERT INTO note (_id, title) VALUES ('n\(round)', \(title))")
                try await waiting(until: "the other client has the record", hearing: [outlets[1]]) {
                    outlets[1].held("s")["note/n\(round)"] != nil
                }
                if outlets[0].reset("s") != nil { break }
                try #require(round < 1_000)
            }
            #expect(outlets[0].reset("s")?["reason"] == "gap" && outlets[1].reset("s") == nil)
            for session in sessions { session.end() }
        }
    }
}
