internal import Synchronization

/// A connection that is lent to the closure of ``PostgresClient/withSession(_:)`` while the closure runs: for statements that
/// cannot run in a transaction, such as `CREATE INDEX CONCURRENTLY`, and for session locks.
///
/// Its statements run one after another. It must not be used after the closure has returned.
package final class PostgresSession: Sendable {
    private let worker: TransactionWorker
    private let patience: Duration
    private let isOpen = Atomic(false)

    fileprivate init(worker: TransactionWorker, patience: Duration) {
        self.worker = worker
        self.patience = patience
    }

    /// Runs a statement, which commits by itself and has no time limit.
    ///
    /// Cancelling the task cancels the statement; when it does not end soon after, the connection is aborted.
    ///
    /// - Throws: ``PostgresError`` or `CancellationError`. With the code `connectionLost` the session and its locks are gone;
    ///   later statements fail, and never run in another session.
    package func query(_ sql: SQL) async throws -> PostgresResult {
        let isFirst = !isOpen.exchange(true, ordering: .relaxed)
        return try await worker.perform(
            sql,
            isTimed: false,
            patience: patience
        ) { session throws(PostgresError) in
            let connection = try isFirst ? session.openConnection() : session.currentConnection()
            return try connection.runAlone(sql)
        }
    }
}

extension PostgresClient {
    /// Whether a session belongs to PostgreSQL itself. Behind a pooler it does only when a direct address is configured too, or
    /// when notifications arrive, which means that the pooler keeps sessions.
    package var hasSessions: Bool {
        switch configuration.preparedStatements {
        case .always: true
        case .whereKept where !control.sharesSessions: true
        case .whereKept, .never: configuration.listenConnection != nil || probe.verdict == .arriving
        }
    }

    /// Runs `body` with a dedicated connection, which is closed afterwards.
    ///
    /// - Throws: The error of `body` unchanged; ``PostgresError`` with the code `misuse` when there are no sessions
    ///   (``hasSessions``), and `shutDown` when the client shuts down.
    package func withSession<Success>(_ body: (PostgresSession) async throws -> Success) async throws -> Success {
        guard hasSessions else {
            throw PostgresError(code: .misuse, message: "A pooler shares the sessions of this database between clients")
        }
        let worker = try sessions.open()
        defer { sessions.close(worker) }
        return try await body(PostgresSession(worker: worker, patience: configuration.cancellationTimeout))
    }
}

/// The connections that are lent as sessions, each with its own thread.
final class SessionPool: Sendable {
    private struct State: Sendable {
        var workers: [TransactionWorker] = []
        var isDraining = false
    }

    private let configuration: PostgresConfiguration
    private let threads: ThreadGroup
    private let canceller: StatementCanceller
    private let control: BackendControl
    private let times = TransactionTimes()
    private let state = Mutex(State())

    init(
        configuration: PostgresConfiguration,
        threads: ThreadGroup,
        canceller: StatementCanceller,
        control: BackendControl
    ) {
        var configuration = configuration
        if let address = configuration.listenConnection { configuration.connection = address }
        // Its statements run outside of transactions, so settings cannot be applied per transaction.
        configuration.preparedStatements = .always
        configuration.statementTimeout = nil
        // Overrides what the role or the database sets.
        configuration.sessionSettings["statement_timeout"] = "0"
        configuration.sessionSettings["lock_timeout"] = "0"
        self.configuration = configuration
        self.threads = threads
        self.canceller = canceller
        self.control = control
    }

    func open() throws(PostgresError) -> TransactionWorker {
        let worker = TransactionWorker(
            configuration: configuration,
            canceller: canceller,
            control: control,
            times: times
        )
        let isAdmitted = state.withLock { state in
            if !state.isDraining { state.workers.append(worker) }
            return !state.isDraining
        }
        guard isAdmitted else { throw PostgresError(code: .shutDown) }
        do throws(PostgresError) {
            try threads.start(named: "pg-session") { worker.run() }
        } catch {
            close(worker)
            throw error
        }
        return worker
    }

    func close(_ worker: TransactionWorker) {
        state.withLock { state in state.workers.removeAll { $0 === worker } }
        worker.stop()
    }

    /// Lends no more connections; lent ones end when they are returned.
    func drain() {
        state.withLock { $0.isDraining = true }
    }

    /// Aborts running statements.
    func close() {
        let workers = state.withLock { state in
            state.isDraining = true
            return state.workers
        }
        for worker in workers {
            worker.gate.abort()
            worker.stop()
        }
    }

    func enforceTimeLimits(at time: MonotonicTime) {
        for worker in state.withLock({ $0.workers }) { worker.gate.abortIfOverdue(at: time) }
    }
}
