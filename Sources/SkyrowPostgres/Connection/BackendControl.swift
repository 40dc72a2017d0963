internal import Logging
internal import Synchronization

/// What a client does about the statements of its connections from outside of them: it cancels them, and ends the
/// server processes of connections that it gave up.
///
/// libpq's call that sends a cancel has no time limit, so each runs on a thread that may be left behind. There are a few
/// of them at most; while a silent server holds them all, further cancels wait, or are taken back.
final class BackendControl: Sendable {
    private struct State {
        var cancels: [@Sendable () -> Void] = []
        var threads = 0
        var abandoned: AbandonedBackends
        var hasTerminator = false
        var isDraining = false
    }

    static let maximumCancelThreads = 4
    /// How long a thread waits before it looks again whether the abandoned server processes have ended.
    static let terminationInterval: Duration = .seconds(1)

    private let configuration: PostgresConfiguration
    private let logger: Logger
    /// Threads that the shutdown does not wait for.
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

    /// Whether a pooler hands the sessions of connections to other clients, as far as any connection has found.
    var sharesSessions: Bool { seesSharedSessions.load(ordering: .relaxed) }

    func noteSharedSessions() {
        seesSharedSessions.store(true, ordering: .relaxed)
    }

    // MARK: Cancels

    /// Runs a call that sends a cancel, soon and on another thread; false when there is none to run it on.
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
            // Another thread, if there is one, still comes to it.
            return state.withLock { state in
                state.threads -= 1
                if state.threads == 0 { state.cancels = [] }
                return state.threads > 0
            }
        }
    }

    /// How many threads send cancels now.
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

    /// Whether one more connection may be opened: while too many abandoned statements run, each further one would
    /// take away more of the server.
    var admitsConnection: Bool { state.withLock { !$0.abandoned.isFull } }

    /// How many server processes of connections that were given up have not been seen to end.
    var abandonedCount: Int { state.withLock { $0.abandoned.backends.count } }

    /// Has a server process ended whose connection was given up while its statement ran.
    func abandon(_ backend: Backend) {
        let needsTerminator = state.withLock { state in
            state.abandoned.add(backend)
            defer { state.hasTerminator = true }
            return !state.hasTerminator && !state.isDraining
        }
        logger.warning(
            "A database connection was given up because its statement did not end in time",
            metadata: ["process": "\(backend.processID)"]
        )
        guard needsTerminator else { return }
        do throws(PostgresError) {
            try threads.start(named: "pg-terminate") { [self] in terminateAbandoned() }
        } catch {
            state.withLock { $0.hasTerminator = false }
        }
    }

    /// The thread's work: asks for the end of the abandoned processes until none of them is left.
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

    /// Asks for the end of no process once more.
    func drain() {
        state.withLock { $0.isDraining = true }
        state.broadcast()
    }

    func close() {
        // Cancels that wait are still sent: a replication slot that waits for other transactions is given up by nothing else. Those of
        // connections that are cut off take themselves back.
        state.withLock { $0.isDraining = true }
        state.broadcast()
        gate.abort()
    }
}

/// A server process: its id alone may be that of another one later.
struct Backend: Hashable, Sendable {
    let processID: Int32
    let startedAt: PostgresTimestamp
}

/// The server processes of connections that were given up while a statement ran, and that have not been seen to end.
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

    /// Forgets those of `asked` that are not among `alive`.
    mutating func keep(_ alive: Set<Backend>, of asked: [Backend]) {
        backends.subtract(Set(asked).subtracting(alive))
    }
}

extension PostgresConnection {
    /// Asks these server processes to end, and returns those that were still there. PostgreSQL heeds it at the next
    /// row or the like; a process inside of one long call ends when the call does.
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
