internal import CLibpq
internal import Glibc

/// One libpq connection in replication mode. Only host name lookup blocks: every other wait ends when the pipe is woken, which
/// checks `isStopped`, or at its deadline.
///
/// Not `Sendable`: it belongs to the thread that opened it. It uses no pipeline, since a WAL sender accepts the simple query
/// protocol only.
final class ReplicationConnection {
    /// What a session checks before it creates a slot.
    private struct Session {
        let walLevel: String
        let isStandby: Bool
        let hasPublication: Bool
    }

    enum Interruption: Error {
        /// The thread must end.
        case stopped
        case failed(ReplicationFailure)
    }

    /// The result of reading the stream.
    enum Input {
        case message(ReplicationBuffer)
        case nothingYet
    }

    private let handle: OpaquePointer
    private let gate: ConnectionGate
    private let waker: WakePipe
    private let isStopped: () -> Bool
    /// How long to wait until a cancelled command has ended.
    private let cancellationPatience: Duration

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
            throw .failed(ReplicationFailure(.cannotConnect, message: "There is not enough memory for a connection"))
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
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: events = POLLIN
            case PGRES_POLLING_WRITING: events = POLLOUT
            default: throw .failed(ReplicationFailure(connecting: String(cString: PQerrorMessage(handle))))
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

    /// Creates a temporary slot and starts streaming from it; returns the start position. The server creates a slot only after
    /// all transactions that are writing at that time have ended.
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
        // Without the publication the stream would break only at its first change.
        guard session.hasPublication else {
            throw .failed(ReplicationFailure(.missingPublication, message: "There is no \(publication.quoted)"))
        }
        // Options in parentheses came with PostgreSQL 15.
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

    private func session(publication: SQLIdentifier, until deadline: MonotonicTime) throws(Interruption) -> Session {
        // Creating a slot waits for the locks of other transactions, for which a role may have a lock timeout.
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

    /// Runs a command and returns its result, which the caller clears. A command that starts a stream returns without waiting for
    /// further results.
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

    /// Cancels the running command and waits briefly for its end. A session that waits for other transactions does not notice
    /// that its client has gone, and would keep its slot.
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

    /// Returns the next message, if one has arrived.
    func receive() throws(Interruption) -> Input {
        var start: UnsafeMutablePointer<CChar>?
        let count = PQgetCopyData(handle, &start, 1)
        if count > 0, let start { return .message(ReplicationBuffer(takingOver: start, count: Int(count))) }
        if count == 0 {
            // libpq also returns 0 after the connection was closed.
            guard PQstatus(handle) == CONNECTION_OK else { throw .failed(lastFailure) }
            return .nothingYet
        }
        // The stream has ended; the final result or the error follows.
        if count == -1, let result = PQgetResult(handle) {
            defer { PQclear(result) }
            if PQresultStatus(result) == PGRES_FATAL_ERROR {
                throw .failed(ReplicationFailure(PostgresError(result: result)))
            }
            throw .failed(ReplicationFailure(.connectionLost, message: "The server ended the stream"))
        }
        throw .failed(lastFailure)
    }

    /// Sends a message as far as the socket accepts it; later calls of ``wait(until:reads:)`` send the rest.
    func send(_ bytes: [UInt8]) throws(Interruption) {
        let status = bytes.withUnsafeBytes {
            PQputCopyData(handle, $0.bindMemory(to: CChar.self).baseAddress, Int32($0.count))
        }
        // 0: the buffer is full of messages that the server does not read; one more is useless.
        guard status >= 0, PQflush(handle) >= 0 else { throw .failed(lastFailure) }
    }

    /// Waits until there is input, the pipe is woken or the deadline passes.
    ///
    /// - Parameter reads: Whether to read the input; otherwise it stays in the socket and the server waits.
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
