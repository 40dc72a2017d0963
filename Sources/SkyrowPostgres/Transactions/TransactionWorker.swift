internal import Logging
internal import Synchronization

/// A thread with a connection that is lent to one transaction at a time.
///
/// The connection lives in the ``TransactionSession``, which never leaves the thread.
final class TransactionWorker: Sendable {
    private typealias Work = @Sendable (TransactionSession) -> Void

    private struct State: Sendable {
        var jobs: [Work] = []
        var isStopped = false
        /// The thread takes no further job.
        var hasEnded = false
    }

    let configuration: PostgresConfiguration
    let canceller: StatementCanceller
    let gate: ConnectionGate
    private let times: TransactionTimes
    private let monitor = Monitor(State())

    init(
        configuration: PostgresConfiguration,
        canceller: StatementCanceller,
        control: BackendControl,
        times: TransactionTimes
    ) {
        self.configuration = configuration
        self.canceller = canceller
        gate = ConnectionGate(control: control)
        self.times = times
    }

    /// The thread's work, until ``stop()``.
    func run() {
        let session = TransactionSession(of: self)
        while true {
            let jobs = monitor.wait { state -> [Work]? in
                if state.jobs.isEmpty {
                    state.hasEnded = state.isStopped
                    return state.isStopped ? [] : nil
                }
                defer { state.jobs = [] }
                return state.jobs
            }
            guard let jobs, !jobs.isEmpty else { break }
            for job in jobs { job(session) }
        }
    }

    func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.broadcast()
    }

    /// Does something with the connection on the worker's thread.
    ///
    /// - Parameters:
    ///   - statement: What is timed and reported, if anything.
    ///   - isCancellable: Whether cancelling the calling task cancels the statement that runs; a ROLLBACK or COMMIT has
    ///     to be seen through.
    ///   - isTimed: Whether it is cut off when the server does not end it at its time limit.
    ///   - patience: How long a cancelled statement may go on until its connection is cut off; nil is without end.
    /// - Throws: What `body` throws, or `CancellationError`.
    func perform<Success: Sendable>(
        _ statement: SQL? = nil,
        isCancellable: Bool = true,
        isTimed: Bool = true,
        patience: Duration? = nil,
        _ body: @escaping @Sendable (TransactionSession) throws(PostgresError) -> Success
    ) async throws -> Success {
        let job = TransactionJob(isTimed: isTimed)
        // No `Deferred`, which would be one more object and lock for each statement.
        let (result, timing) = await withTaskCancellationHandler {
            await withUnsafeContinuation {
                (continuation: UnsafeContinuation<(Result<Success, any Error>, StatementTiming), Never>) in
                let hasEnded = monitor.withLock { state -> Bool in
                    guard !state.hasEnded else { return true }
                    state.jobs.append { [times] session in
                        let takenAt = MonotonicTime.now
                        let result = session.run(job, body)
                        let timing = StatementTiming(takenAt: takenAt, completedAt: .now)
                        if statement != nil { times.ran(timing.run) }
                        continuation.resume(returning: (result, timing))
                    }
                    return false
                }
                if hasEnded {
                    // Such as a ROLLBACK after the connection was cut off: the server has seen to it.
                    let timing = StatementTiming(takenAt: .now, completedAt: .now)
                    continuation.resume(returning: (.failure(PostgresError(code: .shutDown)), timing))
                } else {
                    monitor.signal()
                }
            }
        } onCancel: {
            guard isCancellable else { return }
            job.isCancelled.store(true, ordering: .sequentiallyConsistent)
            monitor.broadcast()
            canceller.submit { [gate] in gate.cancel(ObjectIdentifier(job), patience: patience) }
        }
        if let statement, let reporting = configuration.reporting {
            let failure: (any Error)? =
                switch result {
                case .success: nil
                case .failure(let error): error
                }
            reporting.note(
                statement.text,
                queue: .transaction,
                queuedAt: timing.takenAt,
                timing: timing,
                failure: failure
            )
        }
        return try result.get()
    }

    /// Sleeps; false when the outcome is no longer awaited.
    fileprivate func pause(until deadline: MonotonicTime, for job: TransactionJob?) -> Bool {
        let isStopped = monitor.wait(until: deadline) { state -> Bool? in
            state.isStopped || job?.isCancelled.load(ordering: .sequentiallyConsistent) == true ? true : nil
        }
        return isStopped == nil
    }
}

/// Something that is done with the connection of a transaction, and whether it is still wanted.
final class TransactionJob: Sendable {
    let isCancelled = Atomic<Bool>(false)
    /// Whether it has to end in the time that statements have.
    let isTimed: Bool

    init(isTimed: Bool) {
        self.isTimed = isTimed
    }
}

/// The connection of a ``TransactionWorker``, on the worker's own thread.
final class TransactionSession {
    private let worker: TransactionWorker
    private let gate: ConnectionGate
    private var connection: PostgresConnection?
    private var currentJob: TransactionJob?

    fileprivate init(of worker: TransactionWorker) {
        self.worker = worker
        gate = worker.gate
    }

    fileprivate func run<Success>(
        _ job: TransactionJob,
        _ body: (TransactionSession) throws(PostgresError) -> Success
    ) -> Result<Success, any Error> {
        // After a first look whether the idle connection has ended, which is free of doubt only while nothing runs.
        _ = gate.suspectIfReadable()
        gate.begin(job, deadline: job.isTimed ? hangDeadline : .distantFuture)
        defer { _ = gate.end() }
        currentJob = job
        defer { currentJob = nil }
        guard !job.isCancelled.load(ordering: .sequentiallyConsistent) else {
            return .failure(CancellationError())
        }
        do throws(PostgresError) {
            return .success(try body(self))
        } catch {
            let wasCancelled = job.isCancelled.load(ordering: .sequentiallyConsistent)
            let isItsEffect = error.sqlState == .queryCanceled || error.code == .cannotConnect
            if wasCancelled && isItsEffect { return .failure(CancellationError()) }
            guard gate.wasOverdue else { return .failure(error) }
            // Closes it, and has its server process ended.
            connection = nil
            // What was cut off because it did not end in time would do the same again.
            return .failure(error.code == .connectionLost ? PostgresError(code: .statementTimeout) : error)
        }
    }

    /// A server that does not respond long after its own time limit is cut off.
    private var hangDeadline: MonotonicTime {
        let configuration = worker.configuration
        return configuration.statementTimeout.map { .now + $0 + configuration.cancellationTimeout } ?? .distantFuture
    }

    /// The connection, opened if it is not there yet or any more.
    ///
    /// While the server is away it tries again until the acquire timeout has passed or the task is cancelled.
    func openConnection() throws(PostgresError) -> PostgresConnection {
        if let connection {
            if connection.gate.isSuspect { connection.checkWhileIdle() }
            if connection.isUsable { return connection }
        }
        connection = nil
        let configuration = worker.configuration
        let deadline = MonotonicTime.now + configuration.acquireTimeout
        var backoff = ReconnectBackoff()
        var random = SystemRandomNumberGenerator()
        while true {
            do throws(PostgresError) {
                let new = try PostgresConnection(configuration: configuration, role: .transaction, gate: gate)
                connection = new
                // Opening made the gate forget what runs.
                if let currentJob { gate.begin(currentJob, deadline: hangDeadline) }
                return new
            } catch {
                let next = MonotonicTime.now + backoff.next(using: &random)
                guard next < deadline, worker.pause(until: next, for: currentJob) else { throw error }
            }
        }
    }

    /// The connection a transaction was begun on.
    func currentConnection() throws(PostgresError) -> PostgresConnection {
        guard let connection, connection.isUsable else {
            throw PostgresError(code: .connectionLost)
        }
        return connection
    }
}
