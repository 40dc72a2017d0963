import SkyrowConcurrency
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// What waits for a state of live queries is woken by what changes the state, by its time and by the end of its task; nothing is asked of
/// a database.
@Suite(.timeLimit(.minutes(60))) struct LiveWaitingTests {
    private static let never: @Sendable () async throws -> Void = { await Deferred<Void>().value(ifCancelled: ()) }

    private static func dispatcher() -> LiveDispatcher {
        let client = PostgresClient(configuration: PostgresConfiguration(connection: "host=/nowhere"), logger: .quiet)
        let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
        return LiveDispatcher(LiveConfiguration(), store: store, clock: TestClock().clock) { _ in }
    }

    /// Two subscriptions of one group; nothing is streamed, so that it needs members.
    private static func scene() throws -> (state: LiveState, subscribers: [LiveRegistry.Subscriber]) {
        var scene = LiveScene()
        scene.state.mode = .polling
        let subscribers = [
            try scene.subscribe("first", on: 1, group: 1), try scene.subscribe("second", on: 1, group: 1),
        ]
        return (scene.state, subscribers)
    }

    /// Something that happens to the state, and what it is to those who wait.
    enum Event: CaseIterable, Sendable {
        case sourceBegins, sourceEnds, someoneWaits, subscriptionComes, lastOneGoes, readingEnds, readingIsForgotten

        fileprivate var aspects: [LiveState.Aspect] {
            switch self {
            case .sourceBegins, .sourceEnds: [.mode, .members]
            case .someoneWaits: [.use]
            case .subscriptionComes, .lastOneGoes: [.use, .rights]
            case .readingEnds, .readingIsForgotten: [.members]
            }
        }
    }

    @Test(arguments: Event.allCases)
    func whatChangesTheStateWakesThoseWhomItConcerns(_ event: Event) async throws {
        for aspect in event.aspects {
            let live = Self.dispatcher()
            let (known, subscribers) = try Self.scene()
            let group = try #require(known.registry.subscribers[subscribers[0]]?.group)
            var reading: MembersLoading.Reading?
            switch event {
            case .sourceEnds: live.state.withLock { $0.mode = .polling }
            case .lastOneGoes, .readingEnds, .readingIsForgotten:
                live.state.withLock { $0.registry = known.registry }
                reading = live.state.withLock { $0.registry.beginMembers(of: group) }
            case .sourceBegins, .someoneWaits, .subscriptionComes: break
            }
            let (waits, hasHappened) = (Deferred<Void>(), Deferred<Void>())
            let looks = Counter()
            let task = Task {
                await live.wait(for: aspect, during: Self.never) { _ in
                    looks.increment()
                    // The second look is that of one who counts as waiting.
                    if looks.value == 2 { waits.settle() }
                    return hasHappened.settled != nil
                }
            }
            await waits.value()
            hasHappened.settle()
            live.state.withLock { state in
                switch event {
                case .sourceBegins: state.mode = .logical
                case .sourceEnds: state.mode = .none
                case .someoneWaits: state.awaitingSource += 1
                case .subscriptionComes: state.registry = known.registry
                case .lastOneGoes: for subscriber in subscribers { state.registry.remove(subscriber) }
                case .readingEnds: if let reading { state.registry.endMembers(of: group, reading) }
                case .readingIsForgotten: state.registry.forgetAllMembers()
                }
            }
            try await waiting(for: "\(aspect) to be woken by \(event)") { await task.value }
        }
    }

    @Test func aWaitEndsWithItsTimeAndWithItsTask() async throws {
        let live = Self.dispatcher()
        try await waiting(for: "the time to be over") { await live.wait(for: .mode, during: {}) { _ in false } }
        let task = Task { await live.wait(for: .mode, during: Self.never) { _ in false } }
        task.cancel()
        try await waiting(for: "the task to end") { await task.value }
    }

    /// How the wait for a source ends.
    enum Ending: CaseIterable, Sendable {
        case sourceBegins, serviceEnds, taskEnds, timeIsOver
    }

    @Test(arguments: Ending.allCases)
    func oneWhoWaitsForASourceIsWoken(_ ending: Ending) async throws {
        let live = Self.dispatcher()
        let limit: Duration = ending == .timeIsOver ? .zero : .seconds(3600)
        let task = Task { await live.waitForSource(atMost: limit) }
        if ending != .timeIsOver {
            try await waiting(until: "it waits") { live.state.withLock { $0.awaitingSource == 1 } }
        }
        switch ending {
        case .sourceBegins: live.state.withLock { $0.mode = .polling }
        case .serviceEnds:
            live.state.withLock { $0.hasEnded = true }
            live.waiting.wake()
        case .taskEnds: task.cancel()
        case .timeIsOver: break
        }
        let isFollowed = try await waiting(for: "the wait to end") { await task.value }
        #expect(isFollowed == (ending == .sourceBegins))
        #expect(live.state.withLock { $0.awaitingSource == 0 && !$0.isWanted })
    }

    @Test func rightsAreWaitedForUntilALookHasSucceededOrNothingNeedsThem() async throws {
        let live = Self.dispatcher()
        // There is no live query.
        await live.rightsKnown()
        let (known, subscribers) = try Self.scene()
        live.state.withLock { $0.registry = known.registry }
        let judging = Task { await live.rightsKnown() }
        live.noteRights(known: live.rightsLooks.withLock { $0.begin(at: live.clock.instant()) })
        try await waiting(for: "the rights to be known") { await judging.value }
        let cancelled = Task { await live.rightsLookedAt() }
        cancelled.cancel()
        try await waiting(for: "the task to end") { await cancelled.value }
        let isLookedAt = Deferred<Void>()
        let reading = Task {
            await live.rightsLookedAt()
            isLookedAt.settle()
        }
        try await waiting(until: "a later look is enough") {
            live.noteRights(known: live.rightsLooks.withLock { $0.begin(at: live.clock.instant()) })
            return isLookedAt.settled != nil
        }
        await reading.value
        live.state.withLock { state in
            for subscriber in subscribers { state.registry.remove(subscriber) }
        }
        await live.rightsKnown()
    }

    /// What reads the members of a group reads them for all of its subscriptions.
    @Test func aBeginningWaitsForMembersThatAnotherOneReads() async throws {
        let live = Self.dispatcher()
        let (known, subscribers) = try Self.scene()
        live.state.withLock { state in
            state.mode = .polling
            state.registry = known.registry
        }
        let group = try #require(known.registry.subscribers[subscribers[0]]?.group)
        let reading = try #require(live.state.withLock { $0.registry.beginMembers(of: group) })
        let second = Task { try await live.loadMembers(of: subscribers[1]) }
        let given = Task { try await live.loadMembers(of: subscribers[1]) }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await given.value }
        let dispatch = live.state.withLock { state in
            state.registry.setMembers(of: group, reading, [], readAt: LiveStart(moment: LiveScene.moment(1, at: 0)), [])
        }
        #expect(dispatch != nil)
        try await waiting(for: "the members to be known") { try await second.value }
        #expect(live.state.withLock { $0.registry.hasMembers(group) })
    }
}
