internal import Logging
internal import Synchronization

/// A thread with a connection that drains a lane.
///
/// `@unchecked Sendable`: `taken` and `takenAt` are touched under the lane's lock; the connection lives on the
/// worker's thread alone.
final class LaneWorker: @unchecked Sendable {
    let lane: Lane
    let gate = ConnectionGate()
    var taken: [PostgresRequest] = []
    var takenAt = MonotonicTime.distantFuture
    private let received = Atomic<Int>(0)

    init(lane: Lane) {
        self.lane = lane
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
        while lane.needsConnection {
            let connection: PostgresConnection
            do throws(PostgresError) {
                connection = try open()
            } catch {
                logFailure(error, isFirst: backoff.failures == 0)
                guard lane.pause(backoff.next(using: &random)) else { return }
                continue
            }
            lane.workerConnected()
            let hasWorked = serve(connection)
            lane.workerDisconnected()
            // A connection that dies before it did anything is as good as none.
            if hasWorked {
                backoff.reset()
            } else if connection.gate.isBroken, !lane.pause(backoff.next(using: &random)) {
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
            case .batch(let requests):
                batch.run(requests)
                if connection.isUsable { hasWorked = true }
            }
        }
        lane.logger.warning("A database connection was lost", metadata: ["lane": "\(lane.role.rawValue)"])
        return hasWorked
    }

    private func logFailure(_ error: PostgresError, isFirst: Bool) {
        let metadata: Logger.Metadata = [
            "lane": "\(lane.role.rawValue)", "error": "\(error)", "reason": "\(error.message ?? "")",
        ]
        lane.logger.log(level: isFirst ? .warning : .debug, "No database connection", metadata: metadata)
    }
}
