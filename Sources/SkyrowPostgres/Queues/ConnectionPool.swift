internal import Glibc
internal import Logging
internal import Synchronization

/// A queue of statements and the connections that drain it.
///
/// There are three pools: reads, which are sent in batches; writes that are committed alone, one at a time per connection, so
/// that a write waiting for a lock delays no other; and writes of group commits, on a single connection, so that two groups
/// cannot deadlock each other.
///
/// ``ConnectionQueue`` makes the decisions; this class holds it under a lock and performs its effects.
final class ConnectionPool: Sendable {
    struct State {
        var queue: ConnectionQueue
        /// Indexed by the slots of the queue.
        var workers: [PoolWorker?] = []
    }

    let role: ConnectionRole
    let configuration: PostgresConfiguration
    let logger: Logger
    let threads: ThreadGroup
    let canceller: StatementCanceller
    let times: StatementTimes
    let control: BackendControl
    let monitor: Monitor<State>
    /// The pool in which the writes of a failed group are retried alone.
    let fallback: ConnectionPool?
    /// libpq's message for the last failed attempt to connect.
    let lastRefusal = Mutex<String?>(nil)

    init(
        role: ConnectionRole,
        configuration: PostgresConfiguration,
        logger: Logger,
        threads: ThreadGroup,
        canceller: StatementCanceller,
        times: StatementTimes,
        control: BackendControl,
        fallback: ConnectionPool? = nil
    ) {
        self.role = role
        self.configuration = configuration
        self.logger = logger
        self.threads = threads
        self.canceller = canceller
        self.times = times
        self.control = control
        self.fallback = fallback
        let limits = QueueLimits(role: role, configuration: configuration)
        // Each worker sleeps on its own condition, numbered by its slot.
        monitor = Monitor(State(queue: ConnectionQueue(limits: limits)), sleepers: limits.maximumWorkers)
    }

    // MARK: Calls of tasks

    /// Queues a request. Every request finishes; a refused one finishes at once.
    func submit(_ request: PostgresRequest) {
        let (refusal, worker) = monitor.withLock { state -> ((any Error)?, PoolWorker?) in
            guard request.begin() else { return (CancellationError(), nil) }
            switch state.queue.submit(request) {
            case .refused(let error): return (error, nil)
            case .queued(let effect): return (nil, effect.flatMap { perform($0, &state) })
            }
        }
        if let worker { monitor.signal(worker.slot) }
        if let refusal { request.finish(.failure(refusal)) }
    }

    /// Requeues requests that were taken, had no effect and must run again; they go first.
    func resubmit(_ retries: [(request: PostgresRequest, reason: ConnectionQueue.RetryReason)]) {
        let refused = change { $0.queue.resubmit(retries) }
        for request in refused { request.finish(.failure(PostgresError(code: .shutDown))) }
    }

    /// The gate of the worker whose server currently runs a request, and the batch by which the gate cancels it.
    func runningPlace(of request: PostgresRequest) -> (gate: ConnectionGate, batch: PostgresRequest)? {
        monitor.withLock { state in
            for case let worker? in state.workers {
                let batch = state.queue.batch(of: request, workedOnBy: worker.slot, progress: worker.progress)
                if let batch { return (worker.gate, batch) }
            }
            return nil
        }
    }

    // MARK: Effects

    /// Changes the queue and performs the resulting effects.
    @discardableResult
    func change<Success>(_ body: (inout State) -> (Success, [ConnectionQueue.Effect])) -> Success {
        let (success, woken, cancels) = monitor.withLock { state -> (Success, [PoolWorker], [Cancel]) in
            let (success, effects) = body(&state)
            var woken: [PoolWorker] = []
            var cancels: [Cancel] = []
            for effect in effects {
                if let worker = perform(effect, &state) { woken.append(worker) }
                if let cancellation = state.queue.cancellation(for: effect),
                    let worker = state.workers[cancellation.slot]
                {
                    cancels.append(Cancel(worker: worker, cancellation: cancellation))
                }
            }
            return (success, woken, cancels)
        }
        for worker in woken { monitor.signal(worker.slot) }
        for cancel in cancels {
            canceller.submit { [self] in
                runs(cancel) && cancel.worker.gate.cancel(cancel.cancellation.work)
            }
        }
        return success
    }

    private struct Cancel: Sendable {
        var worker: PoolWorker
        var cancellation: ConnectionQueue.Cancellation
    }

    /// Whether a worker still runs the batch of a cancellation.
    private func runs(_ cancel: Cancel) -> Bool {
        monitor.withLock { state in
            state.workers[cancel.worker.slot] === cancel.worker && state.queue.runs(cancel.cancellation)
        }
    }

    /// Starts a worker, or returns the worker to wake after the lock is released.
    private func perform(_ effect: ConnectionQueue.Effect, _ state: inout State) -> PoolWorker? {
        switch effect {
        case .wake(let slot):
            return state.workers[slot]
        case .start(let slot):
            let worker = PoolWorker(pool: self, slot: slot)
            while state.workers.count <= slot { state.workers.append(nil) }
            do throws(PostgresError) {
                try threads.start(named: "pg-\(role.threadName)-\(slot)") { worker.run() }
                state.workers[slot] = worker
            } catch {
                state.queue.vacate(slot)
                logger.error(
                    "The thread of a database connection could not be started",
                    metadata: ["error": "\(error)"]
                )
            }
            return nil
        case .cancel:
            return nil
        }
    }

    // MARK: Calls of workers

    enum Assignment {
        case batch([PostgresRequest], takenAt: MonotonicTime)
        /// Something arrived on the idle connection.
        case check
        case stop
    }

    /// Returns what a worker does next; sleeps until there is something to do.
    ///
    /// A pool of batches yields the processor once before it takes a batch. Where every core is busy, tasks that are about to
    /// queue statements then do so first, and one pipeline carries them all; on an idle machine the call returns at once.
    /// Documentation/Decisions/postgres-client.md has the figures.
    func next(for worker: PoolWorker) -> Assignment {
        var hasYielded = false
        while true {
            var woken: [PoolWorker] = []
            let step = monitor.wait(as: worker.slot) { state -> ConnectionQueue.Step? in
                let step = state.queue.next(worker.slot, at: .now, hasYielded: hasYielded) { worker.gate.isSuspect }
                switch step {
                case .sleep:
                    hasYielded = false
                    return nil
                case .run(_, _, let effects):
                    worker.progress = 0
                    for effect in effects { perform(effect, &state).map { woken.append($0) } }
                case .yield, .check, .stop: break
                }
                return step
            }
            for other in woken { monitor.signal(other.slot) }
            switch step {
            case .run(let batch, let takenAt, _): return .batch(batch, takenAt: takenAt)
            case .check: return .check
            case .stop, .sleep, nil: return .stop
            case .yield:
                sched_yield()
                hasYielded = true
            }
        }
    }

    /// - Parameter runs: The duration of each statement with a result, in nanoseconds.
    func finished(_ worker: PoolWorker, runs: [Int64] = []) {
        monitor.withLock { $0.queue.finished(worker.slot, runs: runs) }
    }

    func noteGroup(_ change: (inout GroupCommitLimit) -> Void, hasFailed: Bool) {
        monitor.withLock { $0.queue.noteGroup(change, hasFailed: hasFailed) }
    }

    func workerConnected(_ worker: PoolWorker) {
        monitor.withLock { $0.queue.connected(worker.slot) }
    }

    func workerDisconnected(_ worker: PoolWorker) {
        change { ((), $0.queue.disconnected(worker.slot)) }
    }

    /// Removes a worker; another one is started when a statement was queued just before the end.
    func workerEnded(_ worker: PoolWorker) {
        change { state in
            state.workers[worker.slot] = nil
            return ((), state.queue.ended(worker.slot))
        }
    }

    /// Sleeps before the next attempt to connect; returns false when no connection is needed any more.
    func pause(_ worker: PoolWorker, _ duration: Duration) -> Bool {
        let shallSleep = change { $0.queue.backsOff(worker.slot) }
        guard shallSleep else { return false }
        _ = monitor.wait(until: .now + duration, as: worker.slot) { state -> Bool? in
            state.queue.isBackOffOver(worker.slot) ? true : nil
        }
        return true
    }

    /// Makes all workers in back-off try to connect at once.
    func endBackOffs() {
        change { ((), $0.queue.endBackOffs()) }
    }

    /// Whether a worker without a connection still has a reason to connect.
    func mayConnect(_ worker: PoolWorker, isFirst: Bool) -> Bool {
        monitor.withLock { $0.queue.mayConnect(worker.slot, isFirst: isFirst) }
    }

    // MARK: Calls of the client

    /// Opens the minimum of connections, and more for statements that already wait.
    func start() {
        change { ((), $0.queue.start()) }
    }

    func drain() {
        change { ((), $0.queue.drain()) }
    }

    /// Refuses waiting requests and aborts running ones.
    func close() {
        let (refused, workers) = change { state in
            let (refused, effects) = state.queue.close()
            return ((refused, state.workers), effects)
        }
        for request in refused { request.finish(.failure(PostgresError(code: .shutDown))) }
        for worker in workers { worker?.gate.abort() }
    }

    var isConnected: Bool { monitor.withLock { $0.queue.connectedCount > 0 } }

    /// The number of connections opened so far.
    var connects: Int { monitor.withLock { $0.queue.statistics.connects } }

    /// The number of statements that wait although connections are free, because those are reserved for other tables, rows or
    /// quick statements.
    var heldBackCount: Int { monitor.withLock { $0.queue.heldBackCount } }

    var statistics: PostgresStatistics.Queue {
        let now = MonotonicTime.now
        return monitor.withLock { $0.queue.statistics(at: now) }
    }
}
