internal import Glibc
internal import Logging
internal import Synchronization

/// A queue of statements and the connections that drain it.
///
/// There are three: reads, which travel in batches; writes with a commit of their own, one at a time per connection,
/// so that one that waits for a lock holds up no other; and writes of group commits, on a single connection,
/// so that no two groups of them can lock each other out.
///
/// What happens is decided by ``ConnectionQueue``; this class holds it under a lock, and carries out its effects.
final class ConnectionPool: Sendable {
    struct State {
        var queue: ConnectionQueue
        /// By the slots of the queue.
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
    /// Where the writes of a group are tried by themselves.
    let fallback: ConnectionPool?
    /// libpq's reason why the last connection could not be opened.
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
        // Each worker sleeps by itself, under the number of its slot.
        monitor = Monitor(State(queue: ConnectionQueue(limits: limits)), sleepers: limits.maximumWorkers)
    }

    // MARK: The side of the callers

    /// Queues a request; it always finishes, at once when it is refused.
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

    /// Puts back requests that were taken and must be done again; they go first. None of them had any effect.
    func resubmit(_ retries: [(request: PostgresRequest, reason: ConnectionQueue.RetryReason)]) {
        let refused = change { $0.queue.resubmit(retries) }
        for request in refused { request.finish(.failure(PostgresError(code: .shutDown))) }
    }

    /// Where a request runs, if it is the one its server works on, and what the gate needs to cancel it.
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

    /// Changes the queue, and carries out what follows from it.
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

    /// Whether a worker still runs the batch that is to be cancelled.
    private func runs(_ cancel: Cancel) -> Bool {
        monitor.withLock { state in
            state.workers[cancel.worker.slot] === cancel.worker && state.queue.runs(cancel.cancellation)
        }
    }

    /// Starts a worker, or returns the one that has to be woken once the lock is free.
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
                logger.error("No thread for a database connection", metadata: ["error": "\(error)"])
            }
            return nil
        case .cancel:
            return nil
        }
    }

    // MARK: The side of the workers

    enum Assignment {
        case batch([PostgresRequest], takenAt: MonotonicTime)
        /// Something arrived on the idle connection.
        case check
        case stop
    }

    /// What a worker does next; sleeps until there is something.
    ///
    /// A pool of batches yields the processor once before it takes a batch: where every core is busy, what is
    /// about to be queued is queued first, and one pipeline carries it all; on an idle machine the call returns at
    /// once. Documentation/Decisions/0002-postgres-pipelines.md has the figures.
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

    /// - Parameter runs: How long each statement with a result took, in nanoseconds.
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

    /// Forgets a worker; another one takes over when something was queued in its last moment.
    func workerEnded(_ worker: PoolWorker) {
        change { state in
            state.workers[worker.slot] = nil
            return ((), state.queue.ended(worker.slot))
        }
    }

    /// Sleeps before the next attempt to connect; false when there is no point in one any more.
    func pause(_ worker: PoolWorker, _ duration: Duration) -> Bool {
        let shallSleep = change { $0.queue.backsOff(worker.slot) }
        guard shallSleep else { return false }
        _ = monitor.wait(until: .now + duration, as: worker.slot) { state -> Bool? in
            state.queue.isBackOffOver(worker.slot) ? true : nil
        }
        return true
    }

    /// Lets workers that wait before their next attempt to connect try at once.
    func endBackOffs() {
        change { ((), $0.queue.endBackOffs()) }
    }

    /// Whether a worker without a connection still has something to connect for.
    func mayConnect(_ worker: PoolWorker, isFirst: Bool) -> Bool {
        monitor.withLock { $0.queue.mayConnect(worker.slot, isFirst: isFirst) }
    }

    // MARK: The side of the client

    /// Opens the connections that are there from the beginning, and as many as already have work.
    func start() {
        change { ((), $0.queue.start()) }
    }

    func drain() {
        change { ((), $0.queue.drain()) }
    }

    /// Refuses what still waits and cuts off what runs.
    func close() {
        let (refused, workers) = change { state in
            let (refused, effects) = state.queue.close()
            return ((refused, state.workers), effects)
        }
        for request in refused { request.finish(.failure(PostgresError(code: .shutDown))) }
        for worker in workers { worker?.gate.abort() }
    }

    var isConnected: Bool { monitor.withLock { $0.queue.connectedCount > 0 } }

    /// How many connections were opened so far.
    var connects: Int { monitor.withLock { $0.queue.statistics.connects } }

    /// How many statements wait though connections are free, which are kept for other tables, rows or quick statements.
    var heldBackCount: Int { monitor.withLock { $0.queue.heldBackCount } }

    var statistics: PostgresStatistics.Queue {
        let now = MonotonicTime.now
        return monitor.withLock { $0.queue.statistics(at: now) }
    }
}
