internal import Logging
internal import Synchronization

/// A thread that drains a pool through its connection.
///
/// The batch it runs is in its slot of the pool's ``ConnectionQueue``; only this thread uses the connection.
final class PoolWorker: Sendable {
    let pool: ConnectionPool
    let slot: Int
    let gate: ConnectionGate
    private let received = Atomic<Int>(0)

    init(pool: ConnectionPool, slot: Int) {
        self.pool = pool
        self.slot = slot
        gate = ConnectionGate(control: pool.control)
    }

    /// How many requests of the current batch have results; the server runs the next one.
    var progress: Int {
        get { received.load(ordering: .relaxed) }
        set { received.store(newValue, ordering: .relaxed) }
    }

    /// Runs until the pool is drained.
    func run() {
        work()
        pool.workerEnded(self)
    }

    private func work() {
        var backoff = ReconnectBackoff()
        var random = SystemRandomNumberGenerator()
        var isFirst = true
        while pool.mayConnect(self, isFirst: isFirst) {
            isFirst = false
            let connection: PostgresConnection
            do throws(PostgresError) {
                connection = try open()
            } catch {
                logFailure(error, isFirst: backoff.failures == 0)
                guard pool.pause(self, backoff.next(using: &random)) else { return }
                continue
            }
            pool.workerConnected(self)
            let hasWorked = serve(connection)
            pool.workerDisconnected(self)
            // A connection that dies before it ran anything counts as a failed attempt.
            if hasWorked {
                backoff.reset()
            } else if connection.gate.isBroken, !pool.pause(self, backoff.next(using: &random)) {
                return
            }
        }
    }

    private func open() throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(configuration: pool.configuration, role: pool.role, gate: gate)
        guard connection.enterPipeline() else {
            throw PostgresError(code: .cannotConnect, message: connection.lastMessage)
        }
        return connection
    }

    /// Runs batches until the connection is lost or no work is left; returns whether any succeeded.
    private func serve(_ connection: PostgresConnection) -> Bool {
        var batch = PipelineBatch(worker: self, connection: connection)
        var hasWorked = false
        while connection.isUsable {
            switch pool.next(for: self) {
            case .stop:
                return hasWorked
            case .check:
                connection.checkWhileIdle()
            case .batch(let requests, let takenAt):
                batch.run(requests, takenAt: takenAt)
                if connection.isUsable { hasWorked = true }
            }
        }
        guard !gate.isAborted else { return hasWorked }
        pool.logger.warning("A database connection was lost", metadata: ["queue": "\(pool.role.rawValue)"])
        return hasWorked
    }

    private func logFailure(_ error: PostgresError, isFirst: Bool) {
        // A client that shuts down aborts connections that are still being opened.
        guard !gate.isAborted else { return }
        pool.lastRefusal.withLock { $0 = error.message }
        let metadata: Logger.Metadata = [
            "queue": "\(pool.role.rawValue)", "error": "\(error)", "reason": "\(error.message ?? "")",
        ]
        pool.logger.log(
            level: isFirst ? .warning : .debug,
            "A database connection could not be opened",
            metadata: metadata
        )
    }
}
