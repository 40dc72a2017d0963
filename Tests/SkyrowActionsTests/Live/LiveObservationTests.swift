import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What is counted of live queries and of the change feed.
@Suite(.timeLimit(.minutes(60))) struct LiveObservationTests {
    private func request(_ predicate: RecordPredicate?, _ name: String) -> LiveSubscribeRequest {
        LiveSubscribeRequest(name: name, type: type("note"), predicate: predicate)
    }

    @Test func liveQueriesAreCounted() async throws {
        try await withLiveService(.logical) {
            $0.limits.transactionRows = 5
        } _: { fixture in
            let outlet = MemoryOutlet()
            let session = LiveSession(of: fixture.service, outlet: outlet)
            let keyed = RecordPredicate.comparison(.eq, .keyPath(FieldPath(unchecked: "title")), .value(.string("a")))
            for (name, predicate) in [("all", nil), ("keyed", keyed), ("again", keyed)] as [(String, RecordPredicate?)]
            {
                try await session.subscribe(request(predicate, name), as: .anonymous)
                try await outlet.waitUntilReady(name)
            }
            try await fixture.observations.wait(for: "the count of queries") { observation in
                guard case .liveQueries(let count) = observation else { return false }
                return count.subscriptions == 3 && count.keyedGroups == 1 && count.unkeyedGroups == 1
                    && count.lag < patience
            }
            try await fixture.change("INSERT INTO note (_id) VALUES ('1')")
            try await fixture.observations.wait(for: "the age of a transaction") { observation in
                guard case .changesDispatched(1, let events, let candidates, let age?) = observation else {
                    return false
                }
                return events == [.created: 1] && candidates == [1] && age >= .zero && age < patience
            }
            try await fixture.change("INSERT INTO note (_id) SELECT 'b' || i FROM generate_series(1, 6) AS i")
            try await fixture.observations.wait(for: "the reset") { $0 == .liveReset("bulk") }
            session.end()
            try await fixture.observations.wait(for: "the end of all") { observation in
                if case .liveQueries(let count) = observation { count == LiveCount() } else { false }
            }
        }
    }

    @Test func pagesOfTheFeedAreCounted() async throws {
        try await withLiveService(.off) { fixture in
            try await fixture.change("INSERT INTO note (_id) VALUES ('1'), ('2')")
            let query = ChangeQuery(type: type("note"))
            func fetch(_ position: ChangesRequest.Position) async throws -> ChangesResult {
                try await fixture.service.run(
                    Actions.changesFetch,
                    ChangesRequest(database: .everyone, query: query, position: position),
                    Call(by: .anonymous)
                )
            }
            let token = try #require(try await fetch(.start).token)
            try await fixture.observations.wait(for: "a page") { $0 == .feedFetched(rows: 2) }
            try await fixture.psql("ALTER TABLE note DROP title")
            try await fixture.service.store.cache.reload()
            #expect(try await fetch(.since(token)).reset == .schema)
            try await fixture.observations.wait(for: "the reset") { $0 == .feedReset(.schema) }
        }
    }
}
