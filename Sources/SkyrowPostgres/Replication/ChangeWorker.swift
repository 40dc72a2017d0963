internal import Glibc
internal import Logging
internal import Synchronization

/// The thread and the connection of one change stream.
final class ChangeWorker: Sendable {
    private struct State: Sendable {
        var isStopped = false
        var wantsPosition = false
    }

    /// The longest pause between attempts when only a change of settings helps.
    private static let longestPause: Duration = .seconds(30)
    /// A stream that ends sooner counts as another failure, so that the pauses also
    /// grow for a stream that breaks at its first change.
    private static let lifeOfSuccess: Duration = .seconds(10)

    private let configuration: PostgresConfiguration
    private let publication: SQLIdentifier
    private let logger: Logger
    private let gate: ConnectionGate
    private let waker: WakePipe
    let queue: ChangeQueue
    private let state = Mutex(State())

    init(configuration: PostgresConfiguration, publication: SQLIdentifier, control: BackendControl, logger: Logger) {
        self.configuration = configuration
        self.publication = publication
        self.logger = logger
        gate = ConnectionGate(control: control)
        let waker = WakePipe(logger: logger)
        self.waker = waker
        queue = ChangeQueue(capacity: configuration.maximumChangeBytes) { waker.wake() }
    }

    func stop() {
        state.withLock { $0.isStopped = true }
        queue.finish()
        waker.wake()
    }

    func requestPosition() {
        state.withLock { $0.wantsPosition = true }
        waker.wake()
    }

    private var isStopped: Bool { state.withLock(\.isStopped) }

    /// The thread's work, until ``stop()``.
    func run() {
        var backoff = ReconnectBackoff()
        var lastingBackoff = ReconnectBackoff(longest: Self.longestPause)
        var random = SystemRandomNumberGenerator()
        var lastReason: ReplicationFailure.Reason?
        var establishedAt: MonotonicTime?
        while !isStopped {
            do throws(ReplicationConnection.Interruption) {
                try stream {
                    establishedAt = .now
                    if lastReason != nil { logger.notice("Changes from PostgreSQL are streamed again") }
                    lastReason = nil
                }
            } catch {
                guard case .failed(let failure) = error, !isStopped else { return }
                if let time = establishedAt, time + Self.lifeOfSuccess < .now {
                    backoff.reset()
                    lastingBackoff.reset()
                }
                establishedAt = nil
                if failure.reason != lastReason {
                    // The server's message may quote values of a row.
                    logger.warning(
                        "Changes from PostgreSQL are not streamed",
                        metadata: ["error": "\(failure)", "sqlstate": "\(failure.sqlState?.rawValue ?? "none")"]
                    )
                    logger.debug(
                        "The reason why changes are not streamed",
                        metadata: ["message": "\(failure.message ?? "")"]
                    )
                    lastReason = failure.reason
                    _ = queue.offer(.interrupted(failure))
                }
                // An unread stream is useless, and it would make the server retain its WAL again.
                while failure.reason == .slowReader, !isStopped, !queue.isEmpty { waker.sleep(until: .distantFuture) }
                let pause = failure.isLasting ? lastingBackoff.next(using: &random) : backoff.next(using: &random)
                let end = MonotonicTime.now + pause
                while !isStopped, MonotonicTime.now < end { waker.sleep(until: end) }
            }
        }
    }

    /// Streams until the connection is lost or the thread must end.
    private func stream(established: () -> Void) throws(ReplicationConnection.Interruption) {
        let connection = try ReplicationConnection(
            configuration: configuration,
            gate: gate,
            waker: waker,
            isStopped: { [self] in isStopped }
        )
        let start = try connection.start(
            publication: publication,
            // A unique name.
            slot: SQLIdentifier(slotOf: publication.name, .random(in: .min ... .max)),
            timeout: max(.seconds(2), configuration.connectTimeout),
            delayed: { [self] in _ = queue.offer(.delayed) }
        )
        established()
        _ = queue.offer(.connected(at: start))
        var stream = ReplicationStream(start: start, limits: configuration.changeLimits, at: .now)
        while true {
            if isStopped { throw .stopped }
            try sendStatus(of: &stream, on: connection)
            try takeInput(of: connection, into: &stream)
            try connection.wait(until: stream.nextDeadline, reads: true)
            if stream.isSilent(at: .now) { throw .failed(ReplicationFailure(.silent)) }
        }
    }

    /// Reads everything that has arrived.
    private func takeInput(
        of connection: ReplicationConnection,
        into stream: inout ReplicationStream
    ) throws(ReplicationConnection.Interruption) {
        while case .message(let buffer) = try connection.receive() {
            let output: ReplicationStream.Output
            do throws(PgOutputError) {
                output = try stream.receive(buffer, at: .now)
            } catch {
                throw .failed(ReplicationFailure(.undecodable, message: "\(error)"))
            }
            switch output {
            case .nothing: break
            case .position(let position): _ = queue.offer(.position(position))
            case .transaction(let transaction): try handOn(transaction, from: &stream, on: connection)
            }
            if stream.nextDeadline <= .now { try sendStatus(of: &stream, on: connection) }
            if isStopped { throw .stopped }
        }
    }

    /// Adds a transaction to the queue. Nothing is read while the queue is full, which blocks the WAL sender but not the server's
    /// writers; status updates keep the connection alive meanwhile.
    private func handOn(
        _ transaction: ChangeTransaction,
        from stream: inout ReplicationStream,
        on connection: ReplicationConnection
    ) throws(ReplicationConnection.Interruption) {
        defer { stream.handedOn(transaction) }
        guard !queue.offer(.transaction(transaction)) else { return }
        let deadline = MonotonicTime.now + configuration.changeReaderTimeout
        while true {
            if isStopped { throw .stopped }
            if queue.offer(.transaction(transaction)) { break }
            // The server retains its WAL for this stream; a stuck reader must not fill the server's disk.
            guard MonotonicTime.now < deadline else { throw .failed(ReplicationFailure(.slowReader)) }
            try sendStatus(of: &stream, on: connection)
            try connection.wait(until: min(deadline, stream.nextDeadline), reads: false)
        }
        stream.resumed(at: .now)
    }

    private func sendStatus(
        of stream: inout ReplicationStream,
        on connection: ReplicationConnection
    ) throws(ReplicationConnection.Interruption) {
        let wantsPosition = state.withLock { state in
            defer { state.wantsPosition = false }
            return state.wantsPosition
        }
        let now = MonotonicTime.now
        if wantsPosition { stream.askForPosition(at: now) }
        if let status = stream.status(at: now, clock: .now) { try connection.send(status) }
    }
}

extension PostgresTimestamp {
    fileprivate static var now: PostgresTimestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let microseconds = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
        return PostgresTimestamp(microsecondsSince1970: microseconds) ?? .negativeInfinity
    }
}
