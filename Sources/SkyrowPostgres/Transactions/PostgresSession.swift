internal import Synchronization

/// A connection of its own, lent to the closure of ``PostgresClient/withSession(_:)`` for as long as that runs: for what no
/// transaction may contain, such as `CREATE INDEX CONCURRENTLY`, and for locks of a session.
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
    /// A task that is cancelled cancels it; when it does not end soon after, the connection is cut off.
    ///
    /// - Throws: ``PostgresError`` or `CancellationError`. With the code `connectionLost` the session has ended, and its locks
    ///   with it; no later statement is run on another one.
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
    /// Whether a session is one of PostgreSQL's: behind a pooler only where the address of PostgreSQL itself is configured too, or
    /// where notifications arrive, as they do through one that swaps no sessions.
    package var hasSessions: Bool {
        switch configuration.preparedStatements {
        case .always: true
        case .whereKept where !control.sharesSessions: true
        case .whereKept, .never: configuration.listenConnection != nil || probe.verdict == .arriving
        }
    }

    /// Runs `body` with a connection of its own, which is closed afterwards.
    ///
    /// - Throws: `body`'s own error as it is; ``PostgresError`` with the code `misuse` where there are no sessions
    ///   (``hasSessions``), and `shutDown` when the client shuts down.
    package func withSession<Success>(_ body: (PostgresSession) async throws -> Success) async throws -> Success {
        guard hasSessions else {
            throw PostgresError(code: .misuse, message: "A pooler swaps the sessions of this database")
        }
        let worker = try sessions.open()
        defer { sessions.close(worker) }
        return try await body(PostgresSession(worker: worker, patience: configuration.cancellationTimeout))
    }
}

/// The connections that are lent as sessions, each with a thread of its own.
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
        // Its statements run in no transaction that settings could be made for.
        configuration.preparedStatements = .always
        configuration.statementTimeout = nil
        // What the role or the database says otherwise does not hold here.
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

    /// Lends nothing more; what is lent comes back when it is no longer used.
    func drain() {
        state.withLock { $0.isDraining = true }
    }

    /// Cuts off what runs.
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
