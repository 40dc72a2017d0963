internal import Logging
internal import Synchronization

/// A thread with a connection that drains a lane.
///
/// What it runs is in its slot of the lane's ``ConnectionQueue``; the connection lives on the worker's thread alone.
final class LaneWorker: Sendable {
    let lane: Lane
    let slot: Int
    let gate: ConnectionGate
    /// What the worker sleeps on, so that it can be woken by itself.
    let condition = Condition()
    private let received = Atomic<Int>(0)

    init(lane: Lane, slot: Int) {
        self.lane = lane
        self.slot = slot
        gate = ConnectionGate(control: lane.control)
    }

    /// How many requests of the current batch were answered; the next one is what the server works on.
    var progress: Int {
        get { received.load(ordering: .relaxed) }
        set { received.store(newValue, ordering: .relaxed) }
    }

    /// Works until the lane is drained.
    func run() {
        work()
        lane.workerEnded(self)
    }

    private func work() {
        var backoff = ReconnectBackoff()
        var random = SystemRandomNumberGenerator()
        var isFirst = true
        while lane.mayConnect(self, isFirst: isFirst) {
            isFirst = false
            let connection: PostgresConnection
            do throws(PostgresError) {
                connection = try open()
            } catch {
                logFailure(error, isFirst: backoff.failures == 0)
                guard lane.pause(self, backoff.next(using: &random)) else { return }
                continue
            }
            lane.workerConnected(self)
            let hasWorked = serve(connection)
            lane.workerDisconnected(self)
            // A connection that dies before it did anything is as good as none.
            if hasWorked {
                backoff.reset()
            } else if connection.gate.isBroken, !lane.pause(self, backoff.next(using: &random)) {
                return
            }
        }
    }

    private func open() throws(PostgresError) -> PostgresConnection {
        let connection = try PostgresConnection(configuration: lane.configuration, role: lane.role, gate: gate)
        guard connection.enterPipeline() else {
            throw PostgresError(code: .cannotConnect, message: connection.lastMessage)
        }
        return connection
    }

    /// Runs batches until the connection is lost or nothing is left to do; returns whether any succeeded.
    private func serve(_ connection: PostgresConnection) -> Bool {
        var batch = PipelineBatch(worker: self, connection: connection)
        var hasWorked = false
        while connection.isUsable {
            switch lane.next(for: self) {
            case .stop:
                return hasWorked
            case .check:
                connection.checkWhileIdle()
            case .batch(let requests, let takenAt):
                batch.run(requests, takenAt: takenAt)
                if connection.isUsable { hasWorked = true }
            }
        }
        guard !gate.isSevered else { return hasWorked }
        lane.logger.warning("A database connection was lost", metadata: ["lane": "\(lane.role.rawValue)"])
        return hasWorked
    }

    private func logFailure(_ error: PostgresError, isFirst: Bool) {
        // A client that ends cuts off what still connects.
        guard !gate.isSevered else { return }
        let metadata: Logger.Metadata = [
            "lane": "\(lane.role.rawValue)", "error": "\(error)", "reason": "\(error.message ?? "")",
        ]
        lane.logger.log(level: isFirst ? .warning : .debug, "No database connection", metadata: metadata)
    }
}
