internal import Logging
internal import Synchronization

/// A thread with a connection that is lent to one transaction at a time.
///
/// The connection is held by the ``TransactionSession``, which never leaves the thread.
final class TransactionWorker: Sendable {
    private typealias Work = @Sendable (TransactionSession) -> Void

    private struct State: Sendable {
        var jobs: [Work] = []
        var isStopped = false
        /// Whether the thread takes no further job.
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

    /// Runs `body` with the connection on the worker's thread.
    ///
    /// - Parameters:
    ///   - statement: The statement that is timed and reported, if any.
    ///   - isCancellable: Whether cancelling the calling task cancels the running statement; a ROLLBACK or COMMIT must complete.
    ///   - isTimed: Whether the connection is aborted when the server does not end the statement at its time limit.
    ///   - patience: How long a cancelled statement may run on before its connection is aborted; nil is without limit.
    /// - Throws: The error of `body`, or `CancellationError`.
    func perform<Success: Sendable>(
        _ statement: SQL? = nil,
        isCancellable: Bool = true,
        isTimed: Bool = true,
        patience: Duration? = nil,
        _ body: @escaping @Sendable (TransactionSession) throws(PostgresError) -> Success
    ) async throws -> Success {
        let job = TransactionJob(isTimed: isTimed)
        // A `Deferred` would be one more object and lock for each statement.
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
                    // For example a ROLLBACK after the connection was aborted, which the server has already done.
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

    /// Sleeps until the deadline; returns false when the job was cancelled or the worker stopped.
    fileprivate func pause(until deadline: MonotonicTime, for job: TransactionJob?) -> Bool {
        let isStopped = monitor.wait(until: deadline) { state -> Bool? in
            state.isStopped || job?.isCancelled.load(ordering: .sequentiallyConsistent) == true ? true : nil
        }
        return isStopped == nil
    }
}

/// One use of a transaction's connection, and whether it was cancelled.
final class TransactionJob: Sendable {
    let isCancelled = Atomic<Bool>(false)
    /// Whether the time limit of statements applies to it.
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
        // Checks first whether the idle connection was closed; the check works only while nothing runs.
        _ = gate.suspectIfReadable()
        gate.begin(job, deadline: job.isTimed ? hangDeadline : .distantFuture)
        defer { _ = gate.end() }
        currentJob = job
        defer { currentJob = nil }
        guard !job.isCancelled.load(ordering: .sequentiallyConsistent) else { return .failure(CancellationError()) }
        do throws(PostgresError) {
            return .success(try body(self))
        } catch {
            let wasCancelled = job.isCancelled.load(ordering: .sequentiallyConsistent)
            let isItsEffect = error.sqlState == .queryCanceled || error.code == .cannotConnect
            if wasCancelled && isItsEffect { return .failure(CancellationError()) }
            guard gate.wasOverdue else { return .failure(error) }
            // Closes the connection and terminates its server process.
            connection = nil
            // A retry would exceed the time limit again.
            return .failure(error.code == .connectionLost ? PostgresError(code: .statementTimeout) : error)
        }
    }

    /// The deadline after which an unresponsive server's connection is aborted.
    private var hangDeadline: MonotonicTime {
        let configuration = worker.configuration
        return configuration.statementTimeout.map { .now + $0 + configuration.cancellationTimeout } ?? .distantFuture
    }

    /// Returns the connection, opening it if necessary.
    ///
    /// While the server is unavailable it retries until the acquire timeout has passed or the task is cancelled.
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
                // Opening the connection reset the gate.
                if let currentJob { gate.begin(currentJob, deadline: hangDeadline) }
                return new
            } catch {
                let next = MonotonicTime.now + backoff.next(using: &random)
                guard next < deadline, worker.pause(until: next, for: currentJob) else { throw error }
            }
        }
    }

    /// Returns the connection on which the transaction began.
    func currentConnection() throws(PostgresError) -> PostgresConnection {
        guard let connection, connection.isUsable else { throw PostgresError(code: .connectionLost) }
        return connection
    }
}
