import SkyrowConcurrency
import SkyrowModel
import SkyrowStore
import SkyrowSystem
import Synchronization

/// Lets requests wait for changes, and queries the database for all of them together.
///
/// A write of this process triggers a query at once. Writes of others are found by comparing snapshots, every 20 ms while there
/// is something new, and every 200 ms after ten seconds without.
final class FeedWaiting: Sendable {
    private struct State {
        var waits: FeedWaits
        var waiters: [FeedWaits.Ticket: Deferred<Void>] = [:]
        var lastTicket: FeedWaits.Ticket = 0

        /// Removes the waiters of ended waits.
        mutating func take(_ tickets: [FeedWaits.Ticket]) -> [Deferred<Void>] {
            tickets.compactMap { waiters.removeValue(forKey: $0) }
        }
    }

    private static let shortPause = Duration.milliseconds(20)
    private static let longPause = Duration.milliseconds(200)
    private static let quiet = Duration.seconds(10)

    private let state: Mutex<State>
    /// The number of waiting requests, which every write checks.
    private let waiting = Atomic(0)
    private let signals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(limit: Int, share: ClientShare) {
        let limits = FeedWaits.Limits(all: limit, ofClient: share.client(of: limit))
        state = Mutex(State(waits: FeedWaits(limits)))
    }

    var count: Int { waiting.load(ordering: .relaxed) }

    /// Whether waiting has ended for good.
    var hasEnded: Bool { state.withLock { $0.waits.hasEnded } }

    /// Triggers a query, since this process has written something.
    func noteWrite() {
        if waiting.load(ordering: .relaxed) > 0 { signals.continuation.yield() }
    }

    /// Ends all waits; later ones end at once.
    func end() {
        for waiter in state.withLock({ state in state.take(state.waits.end()) }) { waiter.settle() }
    }

    /// Waits until something may have changed, or until the time is over.
    ///
    /// Throws `131 RateLimited` or `135 Overloaded` when too many wait.
    ///
    /// - Parameters:
    ///   - seen: the transactions that the request has seen.
    ///   - sleep: sleeps for as long as the request waits.
    func wait(
        for subject: FeedWaits.Subject,
        since seen: TransactionSet,
        of client: ClientKey,
        _ sleep: @escaping @Sendable () async throws -> Void
    ) async throws(SkyrowError) {
        // The networks of one site count as one client.
        let key = client.site ?? client
        let waiter = Deferred<Void>()
        let (arrival, ticket) = state.withLock { state in
            state.lastTicket += 1
            let arrival = state.waits.arrive(state.lastTicket, of: key, for: subject, since: seen)
            if arrival == .waits { state.waiters[state.lastTicket] = waiter }
            return (arrival, state.lastTicket)
        }
        switch arrival {
        case .hasEnded:
            return
        case .clientIsFull:
            throw SkyrowError(
                .rateLimited,
                "Too many requests of this client are waiting for changes; try again in a moment.",
                info: ["retry_after": .integer(1)]
            )
        case .isFull:
            throw SkyrowError(.overloaded, "Too many requests are waiting for changes; try again in a moment.")
        case .waits:
            break
        }
        waiting.add(1, ordering: .relaxed)
        defer { waiting.subtract(1, ordering: .relaxed) }
        signals.continuation.yield()
        await waiter.value(during: sleep) { _ in self.giveUp(ticket) }
    }

    private func giveUp(_ ticket: FeedWaits.Ticket) {
        let waiters = state.withLock { state in state.waits.leave(ticket) ? state.take([ticket]) : [] }
        for waiter in waiters { waiter.settle() }
    }

    /// Queries the database for the waiting requests until the task is cancelled; then ends all waits.
    func run(on store: RecordStore) async {
        defer { end() }
        var last: TransactionSet?
        var lastMove = ContinuousClock.now
        // One timer at a time: otherwise each signal of a write would add one.
        var nextLook: Task<Void, Never>?
        defer { nextLook?.cancel() }
        for await _ in signals.stream {
            let began = ContinuousClock.now
            guard count > 0, !Task.isCancelled else { continue }
            // An unavailable database is reported elsewhere.
            if let moment = try? await store.changeMoment() {
                if moment.transactions != last {
                    last = moment.transactions
                    lastMove = .now
                }
                await ask(store, at: moment.transactions)
            }
            guard count > 0 else { continue }
            let now = ContinuousClock.now
            let pause = now - lastMove > Self.quiet ? Self.longPause : Self.shortPause
            // At most a twentieth of the time is spent on queries.
            let next = max(pause, (now - began) * 20)
            nextLook?.cancel()
            // PostgreSQL does not signal commits of others.
            nextLook = Task {
                guard (try? await ServiceTimer.sleep(for: next)) != nil else { return }
                signals.continuation.yield()
            }
            // Writes in such a short interval share a query.
            try? await ServiceTimer.sleep(for: .milliseconds(2))
        }
    }

    private func ask(_ store: RecordStore, at present: TransactionSet) async {
        for (subject, seen) in state.withLock({ $0.waits.questions }) {
            guard seen != present,
                let hasChanged = try? await store.hasChanges(of: subject.type, in: subject.database, since: seen)
            else { continue }
            let woken = state.withLock { state in
                state.take(state.waits.answered(subject, since: seen, hasChanged: hasChanged, at: present))
            }
            for waiter in woken { waiter.settle() }
        }
    }
}
