/// The streaming replication protocol after START_REPLICATION, without a connection or a clock: messages go in; transactions and
/// status updates come out.
struct ReplicationStream {
    /// The result of one server message.
    enum Output {
        case nothing
        case transaction(ChangeTransaction)
        /// Every transaction that ended before this position has been handed on.
        case position(PostgresLSN)
    }

    /// How often the server gets a status update.
    static let statusInterval: Duration = .seconds(1)
    /// After the first time without a message the server must send a reply; after the second it counts as gone.
    static let silenceUntilQuestion: Duration = .seconds(10)
    static let silenceLimit: Duration = .seconds(60)

    private let decoder = PgOutputDecoder()
    private var assembler: TransactionAssembler
    /// Everything before this position was handed on, so the server may discard it.
    private(set) var confirmed: PostgresLSN
    /// The furthest position that the server has reported.
    private(set) var received: PostgresLSN
    /// Whether a transaction was returned for which ``handedOn(_:)`` has not been called.
    private var isHolding = false
    private var nextStatus: MonotonicTime
    private var lastMessage: MonotonicTime
    private var asksForReply = false

    init(start: PostgresLSN, limits: ChangeTransactionLimits, at now: MonotonicTime) {
        assembler = TransactionAssembler(limits: limits)
        confirmed = start
        received = start
        nextStatus = now
        lastMessage = now
    }

    /// Processes the content of one CopyData message.
    mutating func receive(_ buffer: ReplicationBuffer, at now: MonotonicTime) throws(PgOutputError) -> Output {
        lastMessage = now
        var reader = ReplicationReader(buffer: buffer, offset: 0)
        guard reader.rest > 0 else { throw .empty }
        let kind = try reader.byte()
        switch kind {
        case UInt8(ascii: "w"):
            let start = try reader.position()
            // The end of the log and the time of sending are not used here.
            _ = try reader.position()
            _ = try reader.time()
            received = max(received, start)
            guard let transaction = try assembler.take(decoder.message(in: buffer, at: reader.offset)) else {
                return .nothing
            }
            received = max(received, transaction.endPosition)
            isHolding = true
            return .transaction(transaction)
        case UInt8(ascii: "k"):
            let end = try reader.position()
            _ = try reader.time()
            let wantsReply = try reader.byte()
            guard reader.rest == 0 else { throw .trailingBytes(reader.rest) }
            guard wantsReply <= 1 else { throw .unknownTag(wantsReply) }
            received = max(received, end)
            if wantsReply == 1 { nextStatus = now }
            // Within a transaction the server's position is ahead of what was handed on.
            guard !assembler.isInTransaction, !isHolding, end >= confirmed else { return .nothing }
            confirmed = end
            return .position(end)
        default:
            throw .unknownKind(kind)
        }
    }

    /// Notes that a transaction was handed on, so that the server may discard it.
    mutating func handedOn(_ transaction: ChangeTransaction) {
        isHolding = false
        confirmed = max(confirmed, transaction.endPosition)
    }

    /// Makes the next status update due at once and request a keepalive, whose position is then returned.
    mutating func askForPosition(at now: MonotonicTime) {
        asksForReply = true
        nextStatus = now
    }

    /// Notes that reading was paused on purpose, so that the silence does not count against the server.
    mutating func resumed(at now: MonotonicTime) {
        lastMessage = now
    }

    /// When to call ``status(at:clock:)`` or ``isSilent(at:)`` next.
    var nextDeadline: MonotonicTime { nextStatus }

    func isSilent(at now: MonotonicTime) -> Bool { lastMessage + Self.silenceLimit < now }

    /// The standby status update that is due; nil when none is due.
    ///
    /// - Parameter clock: This machine's time, which the server displays but does not use.
    mutating func status(at now: MonotonicTime, clock: PostgresTimestamp) -> [UInt8]? {
        guard nextStatus <= now else { return nil }
        nextStatus = now + Self.statusInterval
        let asks = asksForReply || lastMessage + Self.silenceUntilQuestion <= now
        asksForReply = false
        var bytes: [UInt8] = [UInt8(ascii: "r")]
        bytes.reserveCapacity(34)
        // Written, flushed and applied: a transaction that was not handed on counts as received only.
        for position in [max(received, confirmed), confirmed, confirmed] {
            withUnsafeBytes(of: position.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        }
        withUnsafeBytes(of: clock.microsecondsSince2000.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(asks ? 1 : 0)
        return bytes
    }
}
