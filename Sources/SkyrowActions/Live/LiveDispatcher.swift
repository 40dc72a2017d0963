import Logging
import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowSystem
import Synchronization

/// Follows committed changes while there are subscriptions, and sends each connection its events.
///
/// ``LiveRegistry`` makes the decisions. This class does what waits: it reads the source of changes, loads the records of new
/// subscriptions, and checks the rights of callers.
final class LiveDispatcher: Sendable {
    let configuration: LiveConfiguration
    let store: RecordStore
    let observe: @Sendable (Observation) -> Void
    let state: Mutex<LiveState>
    let judging: LiveJudging
    /// Wakes the task that follows changes.
    let demand = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The subscriptions to load.
    let loads = AsyncStream.makeStream(of: Load.self)
    /// The connections that accept messages again after they have dropped some.
    let recoveries = AsyncStream.makeStream(of: LiveRegistry.Connection.self)
    /// Requests a check of the rights of all sessions.
    let rightsSignals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// Wakes the task that runs queries again.
    let watchSignals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    /// The polling source, while there is one; writes of this process wake it.
    let polling = Mutex<PollingChangeSource?>(nil)
    let logical = Mutex<LogicalChangeSource?>(nil)
    let isPolling = Atomic(false)
    /// Handles events one after the other, from either source.
    let turns = TaskGate()
    /// The tasks that wait for a change of the state.
    let waiting: WaitingTasks<LiveState.Aspect>
    let rightsLooks = Mutex(RightsLooks())
    let clock: ServiceClock
    let links: FileLinks?
    let sources: Mutex<SourceSwitch>

    /// The load of one subscription.
    struct Load: Sendable {
        let subscriber: LiveRegistry.Subscriber
        let attempt: UInt32
    }

    /// How many subscriptions load concurrently.
    static let loaders = 8

    /// - Parameter links: makes the addresses of files in messages; nil for messages without addresses.
    init(
        _ configuration: LiveConfiguration,
        store: RecordStore,
        clock: ServiceClock,
        links: FileLinks? = nil,
        observe: @escaping @Sendable (Observation) -> Void
    ) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.links = links
        self.observe = observe
        judging = LiveJudging(configuration.limits.steps)
        sources = Mutex(SourceSwitch(hasQuestions: configuration.source != .logical))
        let waiting = WaitingTasks<LiveState.Aspect>()
        self.waiting = waiting
        state = Mutex(
            LiveState(
                limits: configuration.limits,
                outletBuffer: configuration.outletBuffer,
                links: links,
                waiting: waiting
            )
        )
    }

    /// Serves subscriptions until the task is cancelled.
    func run(_ service: ActionService) async {
        guard configuration.source != .off else { return }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.followOnDemand() }
            group.addTask { await self.readBeginnings(service) }
            group.addTask { for await connection in self.recoveries.stream { self.caughtUp(connection) } }
            group.addTask { await self.keepRights(service) }
            group.addTask { await self.keepCheckpoints() }
            group.addTask { await self.keepWatches(service) }
        }
        state.withLock { $0.hasEnded = true }
        waiting.wake()
    }

    // MARK: Connections

    func open(_ outlet: any LiveOutlet) -> LiveRegistry.Connection {
        state.withLock { state in
            state.nextConnection += 1
            state.connections[state.nextConnection] = LiveState.Connection(
                outlet: outlet,
                generation: outlet.generation,
                lastCheckpoint: .now
            )
            return state.nextConnection
        }
    }

    func close(_ connection: LiveRegistry.Connection) {
        state.withLock { state in
            for subscriber in state.registry.subscribers(of: connection) { state.registry.remove(subscriber) }
            for watcher in state.watches.watchers(of: connection) { state.watches.remove(watcher) }
            state.connections[connection] = nil
        }
    }

    func unsubscribe(_ name: String, of connection: LiveRegistry.Connection) throws(SkyrowError) {
        let isKnown = state.withLock { state in
            // The response says that the subscription has ended.
            state.forgetEnd(of: name, on: connection)
            if let watcher = state.watches.watcher(name, of: connection) {
                state.watches.remove(watcher)
                return true
            }
            guard let subscriber = state.registry.subscriber(name, of: connection) else { return false }
            state.registry.remove(subscriber)
            return true
        }
        guard isKnown else { throw .noSuchSubscription }
    }

    private func caughtUp(_ connection: LiveRegistry.Connection) {
        let loads = state.withLock { $0.caughtUp(connection) }
        for load in loads { self.loads.continuation.yield(load) }
        watchSignals.continuation.yield()
    }

    // MARK: Waiting

    /// Waits until a condition on the state holds, the time is over, or the task is cancelled.
    ///
    /// - Parameter sleep: sleeps for the longest time to wait.
    func wait(
        for aspect: LiveState.Aspect,
        during sleep: (@Sendable () async throws -> Void)? = nil,
        until isSo: @Sendable (inout LiveState) -> Bool
    ) async {
        let isLate = Deferred<Void>()
        let timer = sleep.map { sleep in
            Task {
                try await sleep()
                isLate.settle()
                waiting.wake { $0 == aspect }
            }
        }
        defer { timer?.cancel() }
        func isOver() -> Bool { isLate.settled != nil || state.withLock { isSo(&$0) } }
        while !Task.isCancelled, !isOver() { await waiting.wait(for: aspect) { isOver() } }
    }

    /// Waits until changes are followed; returns false after the time limit, or when its task is cancelled.
    func waitForSource(atMost limit: Duration) async -> Bool {
        if state.withLock({ $0.mode != .none }) { return true }
        state.withLock { $0.awaitingSource += 1 }
        defer { state.withLock { $0.awaitingSource -= 1 } }
        demand.continuation.yield()
        await wait(
            for: .mode,
            during: { try await ServiceTimer.sleep(for: limit) },
            until: { $0.mode != .none || $0.hasEnded }
        )
        return state.withLock { $0.mode != .none }
    }

    // MARK: Checkpoints

    /// Sends checkpoints every few seconds, and heartbeats when there is nothing new; only the time decides when.
    private func keepCheckpoints() async {
        var lastMoment = ContinuousClock.now
        var publication = PublicationLook()
        while (try? await ServiceTimer.sleep(for: .seconds(1))) != nil {
            let (mode, isDue) = state.withLock { state in
                (state.mode, !state.registry.isEmpty && (state.hasStreamed || .now - lastMoment > .seconds(20)))
            }
            let isUsed = mode == .logical && state.withLock { !$0.isUnused }
            let moment = isUsed && isDue ? try? await store.changeMoment() : nil
            var isPublished = true
            if isUsed, moment != nil || .now - publication.lookedAt > Self.publicationInterval {
                // If the publication is complete after the snapshot, everything visible to the snapshot was published.
                isPublished = await lookAtPublication(&publication)
            }
            if let moment, isPublished {
                lastMoment = .now
                state.withLock { state in
                    guard state.mode == .logical else { return }
                    state.hasStreamed = false
                    state.pending.append(moment)
                    if state.pending.count > 64 { state.pending.removeFirst(32) }
                }
                logical.withLock { $0 }?.requestPosition()
            }
            let now = ServiceClock.system.now()
            let count = state.withLock { state in
                state.sendCheckpoints(at: .now)
                return state.count(at: (now.microseconds + Timestamp.unixEpochOffset) / 1_000_000)
            }
            observe(.liveQueries(count))
            observeResets()
            await wait(for: .use) { !$0.isUnused }
        }
    }

    /// Emits an observation for each subscription that has ended.
    func observeResets() {
        let endings = state.withLock { state in
            defer { state.endings = [] }
            return state.endings
        }
        for reason in endings { observe(.liveReset(reason.rawValue)) }
    }
}
