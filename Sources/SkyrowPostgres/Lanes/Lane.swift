internal import Glibc
internal import Logging

/// A queue of statements and the connections that drain it.
///
/// There are three: reads, which travel in batches; writes with a commit of their own, one at a time per connection,
/// so that one that waits for a lock holds up no other; and writes that may share a commit, on a single connection,
/// so that no two groups of them can lock each other out.
final class Lane: Sendable {
    enum Phase: Sendable {
        case running
        /// Nothing new is accepted; what waits is still done.
        case draining
        /// What waits was refused.
        case closed
    }

    struct State {
        var phase = Phase.running
        /// Whether the client runs; before, statements wait.
        var isStarted = false
        var queue = RequestQueue()
        var workers: [LaneWorker] = []
        var idleWorkers = 0
        var connectedWorkers = 0
        var groupLimit: SharedGroupLimit
        var statistics = PostgresStatistics.Lane()
    }

    let role: ConnectionRole
    let configuration: PostgresConfiguration
    let logger: Logger
    let threads: ThreadGroup
    let minimumWorkers: Int
    let maximumWorkers: Int
    private let maximumBatch: Int
    let monitor: Monitor<State>
    /// Where the writes of a failed group are tried one by one.
    let fallback: Lane?

    init(
        role: ConnectionRole,
        configuration: PostgresConfiguration,
        logger: Logger,
        threads: ThreadGroup,
        fallback: Lane? = nil
    ) {
        self.role = role
        self.configuration = configuration
        self.logger = logger
        self.threads = threads
        self.fallback = fallback
        switch role {
        case .read:
            minimumWorkers = max(1, configuration.readConnections)
            maximumWorkers = max(minimumWorkers, configuration.maximumReadConnections)
            maximumBatch = max(1, configuration.maximumReadBatch)
        case .write, .transaction, .listen:
            minimumWorkers = 0
            maximumWorkers = max(1, configuration.maximumWriteConnections)
            maximumBatch = 1
        case .shared:
            minimumWorkers = 0
            maximumWorkers = 1
            maximumBatch = max(1, configuration.maximumSharedWrites)
        }
        monitor = Monitor(State(groupLimit: SharedGroupLimit(maximum: maximumBatch)))
    }

    // MARK: The side of the callers

    /// Queues a request; it is answered in any case, at once when it is refused.
    func submit(_ request: PostgresRequest) {
        let refusal = monitor.withLock { state -> (any Error)? in
            guard request.begin() else { return CancellationError() }
            guard state.phase == .running else { return PostgresError(code: .shutDown) }
            if state.queue.count >= configuration.maximumQueueLength {
                _ = state.queue.removeAll(where: \.isFinished)
                guard state.queue.count < configuration.maximumQueueLength else {
                    return PostgresError(code: .overloaded)
                }
            }
            state.queue.append(request)
            wakeOrAddWorker(&state)
            return nil
        }
        if let refusal { request.finish(.failure(refusal)) }
    }

    /// Why a request is done again.
    enum Repetition {
        /// A neighbour's failure or a statement that had to be prepared again.
        case innocent
        case connectionLost
        /// A deadlock or the like, which is over now.
        case conflict
    }

    /// Puts back requests that were taken and must be done again; they go first. None of them had any effect.
    func resubmit(_ requests: [PostgresRequest], because repetition: Repetition) {
        let isClosed = monitor.withLock { state -> Bool in
            var again: [PostgresRequest] = []
            for request in requests {
                switch repetition {
                case .innocent: break
                case .connectionLost: request.losses += 1
                case .conflict: request.conflicts += 1
                }
                request.copies -= 1
                guard request.copies == 0 else { continue }
                request.copies = 1
                if request.release() { again.append(request) }
            }
            guard state.phase != .closed else { return true }
            state.queue.prepend(again)
            for _ in again { wakeOrAddWorker(&state) }
            return false
        }
        guard isClosed else { return }
        for request in requests { request.finish(.failure(PostgresError(code: .shutDown))) }
    }

    /// Where a request runs, if it is the one its server works on, and what to tell the gate to cancel it.
    func runningPlace(of request: PostgresRequest) -> (gate: ConnectionGate, batch: PostgresRequest)? {
        monitor.withLock { state in
            for worker in state.workers {
                let progress = worker.progress
                guard worker.taken.indices.contains(progress), worker.taken[progress] === request else { continue }
                return (worker.gate, worker.taken[0])
            }
            return nil
        }
    }

    private func wakeOrAddWorker(_ state: inout State) {
        if state.idleWorkers > 0 {
            monitor.signal()
        } else if state.isStarted, state.workers.count < maximumWorkers, role != .read {
            addWorker(&state)
        }
    }

    // MARK: The side of the workers

    enum Assignment {
        case batch([PostgresRequest])
        /// Something arrived on the idle connection.
        case check
        case stop
    }

    /// What a worker does next; sleeps until there is something.
    ///
    /// A lane that gathers gives the processor away once before it takes a batch: where every core is busy, whoever is
    /// about to queue a request gets to do so first, and one pipeline carries them all; on an idle machine the call
    /// returns at once. Documentation/Decisions/0002-postgres-pipelines.md has the figures.
    func next(for worker: LaneWorker) -> Assignment {
        while true {
            let pause = pauseBeforeNext(for: worker)
            guard pause == .workWaits else { return pause == .suspicion ? .check : .stop }
            if maximumBatch > 1 { sched_yield() }
            let batch = monitor.withLock { takeBatch(for: worker, &$0) }
            if !batch.isEmpty { return .batch(batch) }
        }
    }

    /// Why a worker's sleep ended.
    private enum Awakening {
        case workWaits
        case suspicion
        case shutdown
    }

    private func pauseBeforeNext(for worker: LaneWorker) -> Awakening {
        var isIdle = false
        let awakening = monitor.wait { state -> Awakening? in
            if isIdle {
                state.idleWorkers -= 1
                isIdle = false
            }
            if !state.queue.isEmpty { return .workWaits }
            if state.phase != .running { return .shutdown }
            if worker.gate.isSuspect { return .suspicion }
            state.idleWorkers += 1
            isIdle = true
            return nil
        }
        return awakening ?? .shutdown
    }

    private func takeBatch(for worker: LaneWorker, _ state: inout State) -> [PostgresRequest] {
        var batch: [PostgresRequest] = []
        var keys: Set<Int> = []
        let limit = role == .shared ? state.groupLimit.current : maximumBatch
        while batch.count < limit, let request = state.queue.peek() {
            switch request.sharing {
            case .never, .allowed:
                break
            case .allowedExcept(let key):
                guard role != .shared || keys.insert(key).inserted else { return noted(batch, worker, &state) }
            }
            _ = state.queue.pop()
            if request.take() { batch.append(request) }
        }
        return noted(role == .read ? GatheringPlan.arranged(batch, by: \.gathering) : batch, worker, &state)
    }

    private func noted(_ batch: [PostgresRequest], _ worker: LaneWorker, _ state: inout State) -> [PostgresRequest] {
        guard !batch.isEmpty else { return batch }
        worker.taken = batch
        worker.progress = 0
        worker.takenAt = .now
        state.statistics.batches += 1
        state.statistics.statements += batch.count
        state.statistics.largestBatch = max(state.statistics.largestBatch, batch.count)
        state.statistics.batchSize.record(Int64(batch.count))
        for request in batch {
            state.statistics.wait.record(worker.takenAt.nanoseconds - request.queuedAt.nanoseconds)
        }
        return batch
    }

    /// - Parameter runs: How long each statement that was answered took, in nanoseconds.
    func finished(_ worker: LaneWorker, runs: [Int64] = []) {
        monitor.withLock { state in
            worker.taken = []
            for run in runs { state.statistics.run.record(run) }
        }
    }

    func groupEnded(well: Bool) {
        monitor.withLock { state in
            if well {
                state.groupLimit.groupSucceeded()
            } else {
                state.groupLimit.groupFailed()
                state.statistics.failedGroups += 1
            }
        }
    }

    /// Forgets a worker; another one takes over when something was queued in its last moment.
    func workerEnded(_ worker: LaneWorker) {
        monitor.withLock { state in
            state.workers.removeAll { $0 === worker }
            if !state.queue.isEmpty, state.phase != .closed { addWorker(&state) }
        }
    }

    func workerConnected() {
        monitor.withLock { state in
            state.connectedWorkers += 1
            state.statistics.connects += 1
        }
    }

    func workerDisconnected() {
        monitor.withLock { $0.connectedWorkers -= 1 }
    }

    /// Sleeps before the next attempt to connect; false when there is no point in one any more.
    func pause(_ duration: Duration) -> Bool {
        let isOver = monitor.wait(until: .now + duration) { state -> Bool? in
            switch state.phase {
            case .running: nil
            case .draining: state.queue.isEmpty ? true : nil
            case .closed: true
            }
        }
        return isOver != true
    }

    /// Whether a worker without a connection still has something to connect for.
    var needsConnection: Bool {
        monitor.withLock { $0.phase == .running || ($0.phase == .draining && !$0.queue.isEmpty) }
    }

    // MARK: The side of the client

    /// Opens the connections that are there from the beginning, and as many as already have work.
    func start() {
        monitor.withLock { state in
            state.isStarted = true
            let wanted = max(minimumWorkers, min(maximumWorkers, state.queue.count))
            while state.workers.count < (role == .read ? minimumWorkers : wanted), addWorker(&state) {}
        }
    }

    @discardableResult
    func addWorker(_ state: inout State) -> Bool {
        let worker = LaneWorker(lane: self)
        do throws(PostgresError) {
            try threads.start(named: "pg-\(role.rawValue)-\(state.workers.count)") { worker.run() }
        } catch {
            logger.error("No thread for a database connection", metadata: ["error": "\(error)"])
            return false
        }
        state.workers.append(worker)
        return true
    }

    func drain() {
        monitor.withLock { state in
            if state.phase == .running { state.phase = .draining }
        }
        monitor.broadcast()
    }

    /// Refuses what still waits and cuts off what runs.
    func close() {
        let (refused, workers) = monitor.withLock { state in
            state.phase = .closed
            return (state.queue.removeAll { _ in true }, state.workers)
        }
        monitor.broadcast()
        for request in refused { request.finish(.failure(PostgresError(code: .shutDown))) }
        for worker in workers { worker.gate.sever() }
    }

    var isConnected: Bool { monitor.withLock { $0.connectedWorkers > 0 } }

    var statistics: PostgresStatistics.Lane {
        monitor.withLock { state in
            var statistics = state.statistics
            statistics.queueDepth = state.queue.count
            statistics.connections = state.connectedWorkers
            statistics.busyConnections = state.workers.count { !$0.taken.isEmpty }
            return statistics
        }
    }
}
