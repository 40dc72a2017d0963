internal import Logging
internal import SkyrowConcurrency
internal import Synchronization

/// The connections lent to transactions, and the tasks that wait for one.
final class TransactionPool: Sendable {
    private enum Phase: Sendable {
        /// The client does not run yet, so all requests wait.
        case notStarted
        case running
        case draining
        case closed
    }

    private struct State: Sendable {
        var phase = Phase.notStarted
        var workers: [TransactionWorker] = []
        /// The idle workers, most recently used last, and since when each has been seen idle.
        var idle: [(worker: TransactionWorker, since: MonotonicTime?)] = []
        var waiters = WaiterLine<Waiter>()
    }

    /// A task that waits for a connection.
    private struct Waiter: Sendable {
        let deadline: MonotonicTime
        let outcome = Deferred<Result<TransactionWorker, any Error>>()
    }

    private enum Entry {
        case served(TransactionWorker)
        case waits(WaiterLine<Waiter>.Ticket, Waiter)
    }

    private let configuration: PostgresConfiguration
    private let threads: ThreadGroup
    private let canceller: StatementCanceller
    private let control: BackendControl
    private let state = Mutex(State())
    private let times = TransactionTimes()

    init(
        configuration: PostgresConfiguration,
        threads: ThreadGroup,
        canceller: StatementCanceller,
        control: BackendControl
    ) {
        self.configuration = configuration
        self.threads = threads
        self.canceller = canceller
        self.control = control
    }

    /// Waits for an idle connection, which must be returned with ``release(_:)``.
    ///
    /// - Throws: ``PostgresError`` with `overloaded`, `acquireTimeout` or `shutDown`, or `CancellationError`.
    func acquire() async throws -> TransactionWorker {
        try Task.checkCancellation()
        let now = MonotonicTime.now
        let worker: TransactionWorker
        switch try state.withLock({ state in try enter(&state, at: now) }) {
        case .served(let served):
            worker = served
        case .waits(let ticket, let waiter):
            let outcome = await waiter.outcome.value { _ in
                let waiter = self.state.withLock { $0.waiters.leave(ticket) }
                waiter?.outcome.settle(.failure(CancellationError()))
            }
            worker = try outcome.get()
        }
        times.waited(MonotonicTime.now.nanoseconds - now.nanoseconds)
        return worker
    }

    private func enter(_ state: inout State, at time: MonotonicTime) throws -> Entry {
        switch state.phase {
        case .notStarted: break
        case .running:
            if let (worker, _) = state.idle.popLast() { return .served(worker) }
            if state.workers.count < maximumWorkers { return .served(try addWorker(&state).get()) }
        case .draining, .closed:
            throw PostgresError(code: .shutDown)
        }
        guard state.waiters.count < configuration.maximumQueueLength else { throw PostgresError(code: .overloaded) }
        let waiter = Waiter(deadline: time + configuration.acquireTimeout)
        return .waits(state.waiters.enter(waiter), waiter)
    }

    private var maximumWorkers: Int { max(1, configuration.maximumTransactionConnections) }

    /// Serves the tasks that have waited for the client to run.
    func start() {
        let served = state.withLock { state in
            guard case .notStarted = state.phase else { return [(Waiter, Result<TransactionWorker, any Error>)]() }
            state.phase = .running
            var served: [(Waiter, Result<TransactionWorker, any Error>)] = []
            while state.workers.count < maximumWorkers, let waiter = state.waiters.serve() {
                served.append((waiter, addWorker(&state)))
            }
            return served
        }
        for (waiter, outcome) in served { waiter.outcome.settle(outcome) }
    }

    func release(_ worker: TransactionWorker) {
        let waiter = state.withLock { state -> Waiter? in
            if state.phase != .closed, let waiter = state.waiters.serve() { return waiter }
            switch state.phase {
            case .notStarted, .running:
                state.idle.append((worker, since: nil))
            case .draining, .closed:
                state.workers.removeAll { $0 === worker }
                worker.stop()
            }
            return nil
        }
        waiter?.outcome.settle(.success(worker))
    }

    private func addWorker(_ state: inout State) -> Result<TransactionWorker, any Error> {
        let worker = TransactionWorker(
            configuration: configuration,
            canceller: canceller,
            control: control,
            times: times
        )
        do throws(PostgresError) {
            try threads.start(named: "pg-tx-\(state.workers.count)") { worker.run() }
        } catch {
            return .failure(error)
        }
        state.workers.append(worker)
        return .success(worker)
    }

    /// Refuses tasks that waited too long, closes idle connections and aborts overdue ones.
    func enforceTimeLimits(at time: MonotonicTime) {
        let (expired, workers, retired) = state.withLock { state in
            let retired = retireIdle(&state, at: time)
            let expired = state.waiters.leave { $0.deadline <= time }
            return (expired, state.workers, retired)
        }
        for worker in retired { worker.stop() }
        for waiter in expired { waiter.outcome.settle(.failure(PostgresError(code: .acquireTimeout))) }
        for worker in workers { worker.gate.abortIfOverdue(at: time) }
    }

    /// Removes the connections that have been idle for long; those that were lent last stay.
    private func retireIdle(_ state: inout State, at time: MonotonicTime) -> [TransactionWorker] {
        for place in state.idle.indices where state.idle[place].since == nil { state.idle[place].since = time }
        let retired = state.idle.prefix { idle in
            idle.since.map { $0 + configuration.idleConnectionTimeout <= time } ?? false
        }
        state.idle.removeFirst(retired.count)
        let workers = retired.map(\.worker)
        state.workers.removeAll { worker in workers.contains { $0 === worker } }
        return workers
    }

    /// Accepts no new tasks; waiting ones are still served.
    func drain() {
        let idle = state.withLock { state in
            switch state.phase {
            case .notStarted, .running: state.phase = .draining
            case .draining, .closed: break
            }
            let idle = state.idle.map(\.worker)
            state.idle = []
            state.workers.removeAll { worker in idle.contains { $0 === worker } }
            return idle
        }
        for worker in idle { worker.stop() }
    }

    /// Refuses all waiting tasks and aborts running statements.
    func close() {
        drain()
        let (waiting, workers) = state.withLock { state in
            state.phase = .closed
            return (state.waiters.close(), state.workers)
        }
        for waiter in waiting { waiter.outcome.settle(.failure(PostgresError(code: .shutDown))) }
        for worker in workers {
            worker.gate.abort()
            worker.stop()
        }
    }

    func addStatistics(to statistics: inout PostgresStatistics) {
        state.withLock { state in
            statistics.transactionsInUse = state.workers.count - state.idle.count
            statistics.transactionConnections = state.workers.count(where: { $0.gate.isOpen })
            statistics.transactionsWaiting = state.waiters.count
        }
        (statistics.transactionWait, statistics.transactionRun) = times.histograms
    }
}
