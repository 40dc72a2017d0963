internal import CLibpq
internal import Glibc

/// One libpq connection in replication mode. No call blocks but for the look-up of host names: whatever waits is ended
/// by the pipe, at which `isStopped` is asked, or by its deadline.
///
/// Not `Sendable`: it belongs to the thread that opened it. It is plain, without a pipeline, since a WAL sender takes
/// the simple query protocol only.
final class ReplicationConnection {
    /// What a session finds out before it makes a slot.
    private struct Session {
        let walLevel: String
        let isStandby: Bool
        let hasPublication: Bool
    }

    enum Interruption: Error {
        /// The thread was asked to end.
        case stopped
        case failed(ReplicationFailure)
    }

    /// What came of the stream.
    enum Input {
        case message(ReplicationBuffer)
        case nothingYet
    }

    private let handle: OpaquePointer
    private let gate: ConnectionGate
    private let waker: WakePipe
    private let isStopped: () -> Bool
    /// How long a command waits for its cancellation to have an effect.
    private let cancellationPatience: Duration

    /// Connects.
    init(
        configuration: PostgresConfiguration,
        gate: ConnectionGate,
        waker: WakePipe,
        isStopped: @escaping () -> Bool
    ) throws(Interruption) {
        let address = configuration.replicationConnection ?? configuration.connection
        let options = configuration.libpqOptions(address: address) + [("replication", "database")]
        let handle = withCStrings(options.map(\.0)) { keywords in
            withCStrings(options.map(\.1)) { values in
                PQconnectStartParams(keywords, values, 1)
            }
        }
        guard let handle else {
            throw .failed(ReplicationFailure(.cannotConnect, message: "No memory for a connection"))
        }
        self.handle = handle
        self.gate = gate
        self.waker = waker
        self.isStopped = isStopped
        cancellationPatience = min(configuration.cancellationTimeout, ConnectionGate.cancelPatience)
        PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        let hosts = PostgresConfiguration.hostCount(ofConnection: address)
        try connect(until: .now + max(.seconds(2), configuration.connectTimeout) * hosts)
        PQsetErrorVerbosity(handle, PQERRORS_DEFAULT)
        PQsetnonblocking(handle, 1)
        gate.open(descriptor: PQsocket(handle), handle: CancelHandle(PQgetCancel(handle)))
    }

    deinit {
        _ = gate.close()
        PQfinish(handle)
    }

    private func connect(until deadline: MonotonicTime) throws(Interruption) {
        var events = POLLOUT
        while true {
            switch PQstatus(handle) == CONNECTION_BAD ? PGRES_POLLING_FAILED : poll(events, until: deadline) {
            case PGRES_POLLING_OK:
                return
            case PGRES_POLLING_READING:
                events = POLLIN
            case PGRES_POLLING_WRITING:
                events = POLLOUT
            default:
                throw .failed(ReplicationFailure(connecting: String(cString: PQerrorMessage(handle))))
            }
            if isStopped() { throw .stopped }
            guard MonotonicTime.now < deadline else {
                throw .failed(ReplicationFailure(.cannotConnect, message: "The server did not respond in time"))
            }
        }
    }

    private func poll(_ events: Int32, until deadline: MonotonicTime) -> PostgresPollingStatusType {
        let isReady = waker.wait(for: PQsocket(handle), events: events, until: deadline)
        if isReady { return PQconnectPoll(handle) }
        return events == POLLIN ? PGRES_POLLING_READING : PGRES_POLLING_WRITING
    }

    // MARK: Commands

    /// Makes a temporary slot and starts to stream from it; returns where the stream begins. A slot is only made when
    /// all transactions that write at that moment have ended.
    ///
    /// - Parameter delayed: Called once when that takes longer than half a second.
    func start(
        publication: SQLIdentifier,
        slot: SQLIdentifier,
        timeout: Duration,
        delayed: @escaping () -> Void
    ) throws(Interruption) -> PostgresLSN {
        let session = try session(publication: publication, until: .now + timeout)
        if session.isStandby { throw .failed(ReplicationFailure(.standby)) }
        guard session.walLevel == "logical" else {
            throw .failed(ReplicationFailure(.walLevel, message: "wal_level is \(session.walLevel)"))
        }
        // Without it the stream would break at its first change, not before.
        guard session.hasPublication else {
            throw .failed(ReplicationFailure(.missingPublication, message: "There is no \(publication.quoted)"))
        }
        // The form of the options in parentheses came with PostgreSQL 15.
        let noSnapshot = PQserverVersion(handle) >= 150_000 ? "(SNAPSHOT 'nothing')" : "NOEXPORT_SNAPSHOT"
        let made = try run(
            "CREATE_REPLICATION_SLOT \(slot.quoted) TEMPORARY LOGICAL pgoutput \(noSnapshot)",
            until: .distantFuture,
            patience: (.milliseconds(500), delayed)
        )
        defer { PQclear(made) }
        guard PQntuples(made) == 1, PQnfields(made) >= 2, let text = PQgetvalue(made, 0, 1),
            let position = PostgresLSN(String(cString: text))
        else { throw .failed(ReplicationFailure(.undecodable, message: "The slot has no position")) }
        let names = try literal(publication.quoted)
        let started = try run(
            """
            START_REPLICATION SLOT \(slot.quoted) LOGICAL 0/0 \
            (proto_version '1', publication_names \(names), binary 'true')
            """,
            until: .now + timeout
        )
        PQclear(started)
        return position
    }

    private func session(
        publication: SQLIdentifier,
        until deadline: MonotonicTime
    ) throws(Interruption) -> Session {
        // A slot waits for other transactions by their locks, for which a role may have a time limit.
        let result = try run(
            """
            SELECT pg_catalog.current_setting('wal_level'), pg_catalog.pg_is_in_recovery(), \
            EXISTS (SELECT FROM pg_catalog.pg_publication WHERE pubname = \(try literal(publication.name))), \
            pg_catalog.set_config('lock_timeout', '0', false)
            """,
            until: deadline
        )
        defer { PQclear(result) }
        guard PQntuples(result) == 1, PQnfields(result) == 4 else {
            throw .failed(ReplicationFailure(.undecodable, message: "The session has no settings"))
        }
        func text(_ column: Int32) -> String { String(cString: PQgetvalue(result, 0, column)) }
        return Session(walLevel: text(0), isStandby: text(1) == "t", hasPublication: text(2) == "t")
    }

    private func literal(_ text: String) throws(Interruption) -> String {
        guard let quoted = PQescapeLiteral(handle, text, text.utf8.count) else { throw .failed(lastFailure) }
        defer { PQfreemem(quoted) }
        return String(cString: quoted)
    }

    /// Runs a command and returns its result, which the caller clears. The result of one that starts a stream is
    /// returned without waiting for more.
    private func run(
        _ command: String,
        until deadline: MonotonicTime,
        patience: (Duration, () -> Void)? = nil
    ) throws(Interruption) -> OpaquePointer {
        gate.begin(self, deadline: .distantFuture)
        defer { _ = gate.end() }
        guard PQsendQuery(handle, command) == 1 else { throw .failed(lastFailure) }
        var patience = patience.map { (end: MonotonicTime.now + $0.0, call: $0.1) }
        var success: OpaquePointer?
        var failure: PostgresError?
        while true {
            var events = POLLIN
            if PQflush(handle) == 1 { events |= POLLOUT }
            while PQisBusy(handle) == 0 {
                guard let result = PQgetResult(handle) else {
                    if let failure {
                        PQclear(success)
                        throw .failed(ReplicationFailure(failure))
                    }
                    guard let success else { throw .failed(lastFailure) }
                    return success
                }
                switch PQresultStatus(result) {
                case PGRES_COPY_BOTH:
                    PQclear(success)
                    return result
                case PGRES_TUPLES_OK, PGRES_COMMAND_OK:
                    PQclear(success)
                    success = result
                default:
                    failure = failure ?? PostgresError(result: result)
                    PQclear(result)
                }
            }
            if isStopped() {
                PQclear(success)
                cancelAndWait()
                throw .stopped
            }
            let now = MonotonicTime.now
            guard now < deadline else {
                PQclear(success)
                throw .failed(ReplicationFailure(.silent))
            }
            if let over = patience, over.end <= now {
                patience = nil
                over.call()
            }
            let isReady = waker.wait(
                for: PQsocket(handle),
                events: events,
                until: min(deadline, patience?.end ?? deadline)
            )
            if isReady, PQconsumeInput(handle) != 1 {
                PQclear(success)
                throw .failed(lastFailure)
            }
        }
    }

    /// Has the server give up what runs, and waits a moment until it has. A session that waits for the transactions of
    /// others sees neither that its client is gone nor that its slot is of no use.
    private func cancelAndWait() {
        gate.cancelFinally()
        let deadline = MonotonicTime.now + cancellationPatience
        while MonotonicTime.now < deadline {
            while PQisBusy(handle) == 0 {
                guard let result = PQgetResult(handle) else { return }
                let isStream = PQresultStatus(result) == PGRES_COPY_BOTH
                PQclear(result)
                if isStream { return }
            }
            if waker.wait(for: PQsocket(handle), events: POLLIN, until: deadline), PQconsumeInput(handle) != 1 {
                return
            }
        }
    }

    // MARK: The stream

    /// The next message, if one has arrived.
    func receive() throws(Interruption) -> Input {
        var start: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(handle, &start, 1)
        if count > 0, let start { return .message(ReplicationBuffer(takingOver: start, count: Int(count))) }
        if count == 0 {
            // libpq says so, too, when it has read the end of the connection.
            guard PQstatus(handle) == CONNECTION_OK else { throw .failed(lastFailure) }
            return .nothingYet
        }
        // The stream is over: its end, or the error that ended it, follows.
        if count == -1, let result = PQgetResult(handle) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR {
                throw .failed(ReplicationFailure(PostgresError(result: result)))
            }
            throw .failed(ReplicationFailure(.connectionLost, message: "The server ended the stream"))
        }
        throw .failed(lastFailure)
    }

    /// Sends a message of this side as far as the socket takes it; the rest goes with later calls of
    /// ``wait(until:reads:)``.
    func send(_ bytes: [UInt8]) throws(Interruption) {
        let status = bytes.withUnsafeBytes {
            PQputCopyData(handle, $0.bindMemory(to: CChar.self).baseAddress, Int32($0.count))
        }
        // 0: the buffer is full of messages that the server does not take, and one more is of no use.
        guard status >= 0, PQflush(handle) >= 0 else { throw .failed(lastFailure) }
    }

    /// Waits until there is something to read, the pipe was woken or the time has come.
    ///
    /// - Parameter reads: Whether to read; otherwise what the server sends stays where it is, and it waits.
    func wait(until deadline: MonotonicTime, reads: Bool) throws(Interruption) {
        let unsent = PQflush(handle)
        guard unsent >= 0 else { throw .failed(lastFailure) }
        var events: Int32 = reads ? POLLIN : 0
        if unsent == 1 { events |= POLLOUT }
        guard waker.wait(for: events == 0 ? -1 : PQsocket(handle), events: events, until: deadline), reads else {
            return
        }
        guard PQconsumeInput(handle) == 1 else { throw .failed(lastFailure) }
    }

    private var lastFailure: ReplicationFailure {
        ReplicationFailure(.connectionLost, message: String(cString: PQerrorMessage(handle)))
    }
}
