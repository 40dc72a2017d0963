/// The streaming replication protocol after START_REPLICATION, without a connection or a clock: what came goes in,
/// transactions and what is to be sent come out.
struct ReplicationStream {
    /// What a message of the server amounts to.
    enum Output {
        case nothing
        case transaction(ChangeTransaction)
        /// Every transaction that ended up to here has been handed on.
        case position(PostgresLSN)
    }

    /// How often the server hears how far this side is.
    static let statusInterval: Duration = .seconds(1)
    /// After this time without a message the server is asked for one, and when none has come by the second, it is gone.
    static let silenceUntilQuestion: Duration = .seconds(10)
    static let silenceLimit: Duration = .seconds(60)

    private let decoder = PgOutputDecoder()
    private var assembler: TransactionAssembler
    /// Everything before this position is done with: the server may forget it.
    private(set) var confirmed: PostgresLSN
    /// The furthest position that the server has spoken of.
    private(set) var received: PostgresLSN
    /// A transaction was put out and ``handedOn(_:)`` has not been called for it.
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

    /// Takes the content of one CopyData message.
    mutating func receive(_ buffer: ReplicationBuffer, at now: MonotonicTime) throws(PgOutputError) -> Output {
        lastMessage = now
        var reader = ReplicationReader(buffer: buffer, offset: 0)
        guard reader.rest > 0 else { throw .empty }
        let kind = try reader.byte()
        switch kind {
        case UInt8(ascii: "w"):
            let start = try reader.position()
            // The end of the log and the time of sending: of no use here.
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
            // In the middle of a transaction the server is beyond what was handed on.
            guard !assembler.isInTransaction, !isHolding, end >= confirmed else { return .nothing }
            confirmed = end
            return .position(end)
        default:
            throw .unknownKind(kind)
        }
    }

    /// Says that a transaction was passed on, so that the server need not keep it.
    mutating func handedOn(_ transaction: ChangeTransaction) {
        isHolding = false
        confirmed = max(confirmed, transaction.endPosition)
    }

    /// Has the next status be sent at once and ask for a keepalive, whose position is then put out.
    mutating func askForPosition(at now: MonotonicTime) {
        asksForReply = true
        nextStatus = now
    }

    /// Says that nothing was read for a while on purpose, so that the silence is not the server's.
    mutating func resumed(at now: MonotonicTime) {
        lastMessage = now
    }

    /// When ``status(at:clock:)`` or ``isSilent(at:)`` has to be asked next.
    var nextDeadline: MonotonicTime { nextStatus }

    func isSilent(at now: MonotonicTime) -> Bool { lastMessage + Self.silenceLimit < now }

    /// The standby status update that is due; nil when none is.
    ///
    /// - Parameter clock: The time of this machine, which the server shows and does not act on.
    mutating func status(at now: MonotonicTime, clock: PostgresTimestamp) -> [UInt8]? {
        guard nextStatus <= now else { return nil }
        nextStatus = now + Self.statusInterval
        let asks = asksForReply || lastMessage + Self.silenceUntilQuestion <= now
        asksForReply = false
        var bytes: [UInt8] = [UInt8(ascii: "r")]
        bytes.reserveCapacity(34)
        // Written, flushed and applied: a transaction that was not passed on is no more than received.
        for position in [max(received, confirmed), confirmed, confirmed] {
            withUnsafeBytes(of: position.rawValue.bigEndian) { bytes.append(contentsOf: $0) }
        }
        withUnsafeBytes(of: clock.microsecondsSince2000.bigEndian) { bytes.append(contentsOf: $0) }
        bytes.append(asks ? 1 : 0)
        return bytes
    }
}
