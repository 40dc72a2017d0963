import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Requests that wait for the first change: woken, given up, bounded, ended.
@Suite(.timeLimit(.minutes(60))) struct FeedWaitingTests {
    private static let client = ClientKey(high: 0, low: 1)

    private struct Fixture {
        let f: ServiceFixture
        let ann: Caller

        func request(_ position: ChangesRequest.Position = .start) -> ChangesRequest {
            ChangesRequest(
                database: .everyone,
                query: ChangeQuery(type: type("note")),
                position: position,
                wait: .seconds(30)
            )
        }

        func fetch(
            _ position: ChangesRequest.Position = .start,
            of client: ClientKey = FeedWaitingTests.client,
            on service: ActionService
        ) async throws -> ChangesResult {
            try await service.run(Actions.changesFetch, request(position), Call(by: ann, client: client))
        }

        /// A request that waits, since nothing has changed.
        func waiter(
            of client: ClientKey = FeedWaitingTests.client,
            on service: ActionService? = nil
        ) async throws -> Task<ChangesResult, any Error> {
            let service = service ?? f.service
            let token = try #require(try await fetch(of: client, on: service).token)
            let before = service.feedWaiting.count
            let task = Task { try await fetch(.since(token), of: client, on: service) }
            try await waiting(until: "the request waits") { service.feedWaiting.count == before + 1 }
            return task
        }
    }

    private func withNote(test: String = #function, _ body: (Fixture) async throws -> Void) async throws {
        try await withService(test: test) { f in
            let (_, ann) = try await f.service.signUp("ann")
            _ = try await f.service.save(SaveRequest(draft("note/1", ["title": .string("x")])), by: ann)
            try await body(Fixture(f: f, ann: ann))
        }
    }

    @Test func aWriteOfTheServiceWakes() async throws {
        try await withNote { fixture in
            let waiter = try await fixture.waiter()
            _ = try await fixture.f.service.save(SaveRequest(draft("note/2", ["title": .string("y")])), by: fixture.ann)
            let page = try await waiting(for: "the response") { try await waiter.value }
            #expect(page.changed.count == 1 && page.removed == [] && page.token != nil)
            #expect(fixture.f.service.feedWaiting.count == 0)
        }
    }

    @Test(arguments: [
        ("UPDATE note SET title = 'psql'", 1, 0),
        ("DELETE FROM note", 0, 1),
    ])
    func aWriteOfPsqlWakes(_ statement: String, _ changed: Int, _ removed: Int) async throws {
        try await withNote { fixture in
            let waiter = try await fixture.waiter()
            try await fixture.f.psql(statement)
            let page = try await waiting(for: "the response") { try await waiter.value }
            #expect(page.changed.count == changed && page.removed.count == removed)
        }
    }

    /// What changes elsewhere leaves a request waiting, and it is not lost to what comes then.
    @Test func aWriteOfAnotherTypeDoesNotWake() async throws {
        try await withNote { fixture in
            let waiter = try await fixture.waiter()
            let service = fixture.f.service
            _ = try await service.save(SaveRequest(draft("task/1", ["title": .string("x")])), by: fixture.ann)
            #expect(service.feedWaiting.count == 1)
            try await fixture.f.psql("INSERT INTO note (_id) VALUES ('2')")
            let page = try await waiting(for: "the response") { try await waiter.value }
            #expect(page.changed.count == 1)
        }
    }

    @Test func aClientThatLeavesGivesItsPlaceUp() async throws {
        try await withNote { fixture in
            let waiter = try await fixture.waiter()
            waiter.cancel()
            let error = await #expect(throws: SkyrowError.self) { try await waiter.value }
            #expect(error?.code == .responseTimeout)
            #expect(fixture.f.service.feedWaiting.count == 0)
        }
    }

    @Test func theTimeIsUp() async throws {
        let waits = FeedWaiting(limit: 4, share: ClientShare(percent: 50))
        let subject = FeedWaits.Subject(type: type("note"), database: .everyone)
        // Its time is over before and after it is suspended.
        try await waits.wait(for: subject, since: TransactionSet(end: 1), of: Self.client) {}
        let time = AsyncStream.makeStream(of: Void.self)
        let waiter = Task {
            try await waits.wait(for: subject, since: TransactionSet(end: 1), of: Self.client) {
                for await _ in time.stream {}
            }
        }
        try await waiting(until: "the request waits") { waits.count == 1 }
        time.continuation.finish()
        try await waiting(for: "the wait to end") { try await waiter.value }
        #expect(waits.count == 0)
    }

    @Test func aRequestWaitsForAsLongAsItSaysAndNoLonger() async throws {
        try await withNote { fixture in
            let asked = AsyncStream.makeStream(of: Duration.self)
            let time = AsyncStream.makeStream(of: Void.self)
            let clock = fixture.f.clock
            var sleeping = clock.clock
            sleeping.sleep = { duration in
                asked.continuation.yield(duration)
                for await _ in time.stream {}
                clock.advance(by: duration)
            }
            let service = ActionService(
                store: fixture.f.service.store,
                configuration: fixture.f.service.configuration,
                clock: sleeping,
                logger: .quiet,
                observe: { _ in }
            )
            let waiter = try await fixture.waiter(on: service)
            let duration = try await waiting(for: "a sleep") { await asked.stream.first { _ in true } }
            #expect(duration == .seconds(30))
            #expect(service.feedWaiting.count == 1)
            time.continuation.finish()
            let page = try await waiting(for: "the response") { try await waiter.value }
            #expect(page.isEmpty && page.token != nil)
            #expect(service.feedWaiting.count == 0)
        }
    }

    @Test func waitsHaveABoundAndAShareByClient() async throws {
        let waits = FeedWaiting(limit: 4, share: ClientShare(percent: 50))
        let subject = FeedWaits.Subject(type: type("note"), database: .everyone)
        let never: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(3600)) }
        func start(_ client: ClientKey) -> Task<Void, any Error> {
            Task { try await waits.wait(for: subject, since: TransactionSet(end: 1), of: client, never) }
        }
        // Networks of one site are one client.
        let site = (0..<3).map { ClientKey(high: 0x2001_0db8_0001_0000 | $0 << 8, low: 0) }
        var running = [start(site[0]), start(site[1])]
        try await waiting(until: "two wait") { waits.count == 2 }
        let share = await #expect(throws: SkyrowError.self) { try await start(site[2]).value }
        #expect(share?.code == .rateLimited)
        let others = (1...3).map { ClientKey(high: 0, low: UInt64($0)) }
        running += [start(others[0]), start(others[1])]
        try await waiting(until: "four wait") { waits.count == 4 }
        let all = await #expect(throws: SkyrowError.self) { try await start(others[2]).value }
        #expect(all?.code == .overloaded)
        waits.end()
        for task in running { try await waiting(for: "a wait to end") { try await task.value } }
        #expect(waits.count == 0 && waits.hasEnded)
        try await start(others[2]).value
    }

    @Test func aShutdownAnswersAtOnceWithAToken() async throws {
        try await withNote { fixture in
            let waiter = try await fixture.waiter()
            fixture.f.service.endWaits()
            let page = try await waiting(for: "the response") { try await waiter.value }
            #expect(page.isEmpty && page.token != nil)
            let after = try await waiting(for: "a later response") {
                try await fixture.fetch(.since(page.token ?? ""), on: fixture.f.service)
            }
            #expect(after.isEmpty && after.token != nil)
        }
    }

    /// The retention of the configuration is that of tokens and of what is swept.
    @Test func tokensAreGoodForAsLongAsIsConfigured() async throws {
        try await withNote { fixture in
            let service = fixture.f.configured { $0.feedRetention = .seconds(-1) }
            let token = try #require(try await fixture.fetch(on: service).token)
            let page = try await fixture.fetch(.since(token), on: service)
            #expect(page.reset == .expired)
            try await fixture.f.psql("DELETE FROM note; UPDATE _tombstone SET deleted_at = now() - interval '25 hours'")
            await fixture.f.service.sweepFeed()
            #expect(try await fixture.f.psql("SELECT count(*) FROM _tombstone WHERE type = 'note'") == "1")
            await service.sweepFeed()
            #expect(try await fixture.f.psql("SELECT count(*) FROM _tombstone WHERE type = 'note'") == "0")
        }
    }
}
