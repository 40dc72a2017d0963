internal import Logging
internal import Synchronization

/// Controls the server processes of a client's connections from outside: cancels their statements, and terminates the processes
/// of abandoned connections.
///
/// libpq's cancel call has no time limit, so each runs on a thread that a shutdown may leave behind. Their number is bounded;
/// while an unresponsive server blocks all of them, further cancels wait or are withdrawn.
final class BackendControl: Sendable {
    private struct State {
        var cancels: [@Sendable () -> Void] = []
        var threads = 0
        var abandoned: AbandonedBackends
        var hasTerminator = false
        var isDraining = false
    }

    static let maximumCancelThreads = 4
    /// The pause between two checks whether the abandoned server processes have ended.
    static let terminationInterval: Duration = .seconds(1)

    private let configuration: PostgresConfiguration
    private let logger: Logger
    /// Threads that a shutdown does not wait for.
    private let cancelThreads = ThreadGroup()
    private let threads: ThreadGroup
    private let gate = ConnectionGate()
    private let state: Monitor<State>
    private let seesSharedSessions = Atomic(false)

    init(configuration: PostgresConfiguration, logger: Logger, threads: ThreadGroup) {
        self.configuration = configuration
        self.logger = logger
        self.threads = threads
        state = Monitor(State(abandoned: AbandonedBackends(limit: configuration.maximumAbandonedBackends)))
    }

    /// Whether a pooler assigns the sessions of connections to other clients, as far as any connection has detected.
    var sharesSessions: Bool { seesSharedSessions.load(ordering: .relaxed) }

    func noteSharedSessions() {
        seesSharedSessions.store(true, ordering: .relaxed)
    }

    // MARK: Cancels

    /// Queues a call that sends a cancel for another thread; returns false when no thread is available.
    func send(_ cancel: @escaping @Sendable () -> Void) -> Bool {
        let needsThread = state.withLock { state in
            state.cancels.append(cancel)
            guard state.threads < Self.maximumCancelThreads else { return false }
            state.threads += 1
            return true
        }
        guard needsThread else { return true }
        do throws(PostgresError) {
            try cancelThreads.start(named: "pg-cancel") { [self] in sendCancels() }
            return true
        } catch {
            // Another cancel thread, if there is one, still runs it.
            return state.withLock { state in
                state.threads -= 1
                if state.threads == 0 { state.cancels = [] }
                return state.threads > 0
            }
        }
    }

    /// The number of threads that send cancels now.
    var cancelThreadCount: Int { state.withLock(\.threads) }

    private func sendCancels() {
        while true {
            let next = state.withLock { state -> (@Sendable () -> Void)? in
                if state.cancels.isEmpty {
                    state.threads -= 1
                    return nil
                }
                return state.cancels.removeFirst()
            }
            guard let next else { return }
            next()
        }
    }

    // MARK: Abandoned server processes

    /// Whether another connection may be opened. While too many abandoned statements run, each further one would take more
    /// resources of the server.
    var admitsConnection: Bool { state.withLock { !$0.abandoned.isFull } }

    /// The number of server processes of abandoned connections that have not been seen to end.
    var abandonedCount: Int { state.withLock { $0.abandoned.backends.count } }

    /// Terminates a server process whose connection was abandoned while its statement ran.
    func abandon(_ backend: Backend) {
        let needsTerminator = state.withLock { state in
            state.abandoned.add(backend)
            defer { state.hasTerminator = true }
            return !state.hasTerminator && !state.isDraining
        }
        logger.warning(
            "A database connection was abandoned because its statement did not end in time",
            metadata: ["process": "\(backend.processID)"]
        )
        guard needsTerminator else { return }
        do throws(PostgresError) {
            try threads.start(named: "pg-terminate") { [self] in terminateAbandoned() }
        } catch {
            state.withLock { $0.hasTerminator = false }
        }
    }

    /// The thread's work: terminates the abandoned processes until none is left.
    private func terminateAbandoned() {
        var connection: PostgresConnection?
        while let backends = state.withLock({ state in remaining(&state) }) {
            do throws(PostgresError) {
                let open = try reopened(connection)
                connection = open
                gate.begin(self, deadline: .now + .seconds(5))
                defer { _ = gate.end() }
                let alive = try open.terminate(backends)
                state.withLock { $0.abandoned.keep(alive, of: backends) }
            } catch {
                logger.debug("Abandoned statements cannot be ended", metadata: ["error": "\(error)"])
                connection = nil
            }
            _ = state.wait(until: .now + Self.terminationInterval) { state in
                state.isDraining || state.abandoned.backends.isEmpty ? true : nil
            }
        }
    }

    private func reopened(_ connection: PostgresConnection?) throws(PostgresError) -> PostgresConnection {
        if let connection { return connection }
        return try PostgresConnection(configuration: configuration, role: .transaction, gate: gate)
    }

    private func remaining(_ state: inout State) -> [Backend]? {
        guard !state.isDraining, !state.abandoned.backends.isEmpty else {
            state.hasTerminator = false
            return nil
        }
        return Array(state.abandoned.backends)
    }

    func enforceTimeLimits(at time: MonotonicTime) {
        gate.abortIfOverdue(at: time)
    }

    /// Stops terminating processes.
    func drain() {
        state.withLock { $0.isDraining = true }
        state.broadcast()
    }

    func close() {
        // Waiting cancels are still sent, because only a cancel ends a replication slot's creation that waits for other
        // transactions. Cancels of aborted connections withdraw themselves.
        state.withLock { $0.isDraining = true }
        state.broadcast()
        gate.abort()
    }
}

/// A server process. Its id alone may later be that of another process.
struct Backend: Hashable, Sendable {
    let processID: Int32
    let startedAt: PostgresTimestamp
}

/// The server processes of connections that were abandoned while a statement ran, and that have not been seen to end.
struct AbandonedBackends {
    private(set) var backends: Set<Backend> = []
    private let limit: Int

    init(limit: Int) {
        self.limit = max(1, limit)
    }

    var isFull: Bool { backends.count >= limit }

    mutating func add(_ backend: Backend) {
        backends.insert(backend)
    }

    /// Removes those of `asked` that are not in `alive`.
    mutating func keep(_ alive: Set<Backend>, of asked: [Backend]) {
        backends.subtract(Set(asked).subtracting(alive))
    }
}

extension PostgresConnection {
    /// Terminates these server processes and returns those that still existed. PostgreSQL reacts at the next row or a similar
    /// point; a process inside one long call ends after that call.
    fileprivate func terminate(_ backends: [Backend]) throws(PostgresError) -> Set<Backend> {
        let result = try runAlone(
            """
            SELECT a.pid, a.backend_start, pg_terminate_backend(a.pid)
            FROM pg_stat_activity AS a
            JOIN unnest(\(backends.map { Int64($0.processID) }), \(backends.map(\.startedAt))) AS b (pid, started)
                ON b.pid = a.pid AND b.started = a.backend_start
            """
        )
        var alive: Set<Backend> = []
        for row in 0..<result.rowCount {
            alive.insert(
                Backend(
                    processID: try result.decode(row: row, column: 0),
                    startedAt: try result.decode(row: row, column: 1)
                )
            )
        }
        return alive
    }
}
