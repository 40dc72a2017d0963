internal import Logging
internal import Synchronization

/// A thread with a connection that is lent to one transaction at a time.
///
/// `@unchecked Sendable`: `connection` is touched by the worker's own thread only.
final class TransactionWorker: @unchecked Sendable {
    private struct State: Sendable {
        var jobs: [@Sendable () -> Void] = []
        var isStopped = false
    }

    let configuration: PostgresConfiguration
    let canceller: StatementCanceller
    let gate = ConnectionGate()
    private let monitor = Monitor(State())
    private var connection: PostgresConnection?

    init(configuration: PostgresConfiguration, canceller: StatementCanceller) {
        self.configuration = configuration
        self.canceller = canceller
    }

    /// The thread's work, until ``stop()``.
    func run() {
        while true {
            let jobs = monitor.wait { state -> [@Sendable () -> Void]? in
                if state.jobs.isEmpty { return state.isStopped ? [] : nil }
                defer { state.jobs = [] }
                return state.jobs
            }
            guard let jobs, !jobs.isEmpty else { break }
            for job in jobs { job() }
        }
        connection = nil
    }

    func stop() {
        monitor.withLock { $0.isStopped = true }
        monitor.broadcast()
    }

    /// Does something with the connection on the worker's thread.
    ///
    /// - Parameter isCancellable: Whether cancelling the calling task cancels the statement that runs; a ROLLBACK or
    ///   COMMIT has to be seen through.
    /// - Throws: What `body` throws, or `CancellationError`.
    func perform<Success: Sendable>(
        isCancellable: Bool = true,
        _ body: @escaping @Sendable (TransactionWorker) throws(PostgresError) -> Success
    ) async throws -> Success {
        let job = Job()
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                monitor.withLock { state in
                    state.jobs.append { [self] in
                        continuation.resume(with: run(job, isCancellable: isCancellable, body))
                    }
                }
                monitor.signal()
            }
        } onCancel: {
            guard isCancellable else { return }
            job.isCancelled.store(true, ordering: .sequentiallyConsistent)
            canceller.submit { [gate] in gate.cancel(ObjectIdentifier(job)) }
        }
    }

    private func run<Success>(
        _ job: Job,
        isCancellable: Bool,
        _ body: (TransactionWorker) throws(PostgresError) -> Success
    ) -> Result<Success, any Error> {
        // After a first look whether the idle connection has ended, which is free of doubt only while nothing runs.
        _ = gate.suspectIfReadable()
        gate.begin(job, deadline: configuration.statementTimeout.map { .now + $0 + .seconds(5) } ?? .distantFuture)
        defer { _ = gate.end() }
        guard !job.isCancelled.load(ordering: .sequentiallyConsistent) else {
            return .failure(CancellationError())
        }
        do throws(PostgresError) {
            return .success(try body(self))
        } catch {
            let wasCancelled = job.isCancelled.load(ordering: .sequentiallyConsistent)
            return .failure(wasCancelled && error.sqlState == .queryCanceled ? CancellationError() : error)
        }
    }

    /// The connection, opened if it is not there yet or any more; on the worker's thread only.
    func openConnection() throws(PostgresError) -> PostgresConnection {
        if let connection {
            if connection.gate.isSuspect { connection.checkWhileIdle() }
            if connection.isUsable { return connection }
        }
        connection = nil
        let new = try PostgresConnection(configuration: configuration, role: .transaction, gate: gate)
        connection = new
        return new
    }

    /// The connection a transaction was begun on; on the worker's thread only.
    func currentConnection() throws(PostgresError) -> PostgresConnection {
        guard let connection, connection.isUsable else {
            throw PostgresError(code: .connectionLost)
        }
        return connection
    }

    private final class Job: Sendable {
        let isCancelled = Atomic<Bool>(false)
    }
}
