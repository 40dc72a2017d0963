import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// One subscription of a connection, as the registry has it.
///
/// There may be 100,000 of them, so what several have in common is in objects that they share, and what few have is apart.
struct LiveSubscriber {
    /// Where it stands between its beginning and the present.
    enum State {
        /// The records at its beginning are being sent; events wait.
        case loading(LiveBuffer)
        /// Events are sent but those of transactions that the records at its beginning have shown.
        case starting(LiveStart)
        /// Events are sent.
        case live
        /// The connection is behind; nothing is sent until it resumes.
        case paused
    }

    /// Where it begins.
    enum Position {
        /// With what comes.
        case now
        /// With all that matches.
        case initial
        /// Behind a change token that the client has brought.
        indirect case since(String)
        /// Behind a moment.
        case mark(LiveMark)
    }

    let name: String
    let connection: LiveRegistry.Connection
    let group: SubscriptionIndex.Group
    let audience: LiveAudience
    let holder: LiveHolder
    let question: LiveQuestion
    /// nil for all events without old values.
    let filter: LiveFilter?
    var state: State
    var position: Position
    /// nil before it has begun for the first time.
    var template: LiveTemplate?
    /// The moment of what the client got first, since when it may hold records.
    var began: LiveMark?
    /// The bytes that its connection had got when it became live; more than any while it is not.
    var beganAtBytes = Int.max
    /// Its place among the subscriptions of its audience.
    var place: UInt32
    /// Which attempt to begin it counts; those before are given up.
    var attempt: UInt32 = 0
    /// Whether it was begun again because too much had changed meanwhile.
    var hasRestarted = false

    var isLive: Bool {
        switch state {
        case .starting, .live: true
        case .loading, .paused: false
        }
    }

    /// Keeps an event until it is live.
    mutating func keep(_ event: [[UInt8]], of mark: CommittedMark, limit: Int) {
        guard case .loading(var buffer) = state else { return }
        // Without it the buffer would be copied.
        state = .paused
        buffer.append(event, of: mark, limit: limit)
        state = .loading(buffer)
    }

    /// Its token at a moment; nil before it has begun.
    func token(at mark: LiveMark) -> String? { template?.text(at: mark) }

    /// The moment of a token that differs from its own ones in nothing else; nil for any other.
    func mark(ofToken text: String) -> LiveMark? {
        guard let template, let token = ChangeToken(text: text), template.isSame(as: LiveTemplate(token)) else {
            return nil
        }
        return LiveMark(token)
    }

    /// The token behind which it begins at a position; nil where that is not behind one.
    func token(of position: Position) -> String? {
        switch position {
        case .now, .initial: nil
        case .since(let text): text
        case .mark(let mark): token(at: mark)
        }
    }
}

/// Whose subscriptions are counted together.
enum LiveShare: Hashable, Sendable {
    case user(UserID)
    case client(ClientKey)
}

/// Which old values come along.
enum PreviousFields: Hashable, Sendable {
    case none
    case all
    case some(Set<FieldName>)

    /// Those of the fields that have changed; nil for none.
    func among(_ changed: Set<FieldName>) -> Set<FieldName>? {
        switch self {
        case .none: nil
        case .all: changed
        case .some(let fields): changed.intersection(fields)
        }
    }
}

/// The moment from which a subscription is live: what was read up to it need not be sent again.
///
/// An object, which all subscriptions have in common that begin while nothing is written.
final class LiveStart: Sendable {
    /// When those who read began to.
    let moment: ChangeMoment

    init(moment: ChangeMoment) {
        self.moment = moment
    }

    /// Whether it covers the same transactions.
    func isSame(as other: LiveStart) -> Bool {
        position == other.position && moment.place.branch == other.moment.place.branch
            && moment.snapshot == other.moment.snapshot && moment.transactions == other.moment.transactions
    }

    /// Every transaction that was visible ends at or before this position of the log.
    var position: UInt64 { moment.walPosition }

    /// Whether a transaction was visible.
    func covers(_ transaction: CommittedMark) -> Bool {
        if let end = transaction.end, end > position { return false }
        return moment.hasSeen(transaction.id)
    }
}

/// What distinguishes one transaction from others.
struct CommittedMark: Hashable, Sendable {
    let id: CommittedTransaction.ID
    let end: UInt64?
}

/// Events that wait for a subscription to become live.
struct LiveBuffer {
    private struct Contents {
        var events: [(mark: CommittedMark, event: [[UInt8]])] = []
        var bytes = 0
        var isOverflown = false
    }

    /// nil where nothing has come, as for most: thousands may begin at once.
    private var contents: Boxed<Contents>?

    var events: [(mark: CommittedMark, event: [[UInt8]])] { contents?.events ?? [] }
    /// Whether there were too many, so that the records at the beginning have to be read again.
    var isOverflown: Bool { contents?.isOverflown ?? false }

    mutating func append(_ event: [[UInt8]], of mark: CommittedMark, limit: Int) {
        var contents = contents ?? Boxed(Contents())
        self.contents = nil
        defer { self.contents = contents }
        guard !contents.isOverflown else { return }
        contents.bytes += event.reduce(0) { $0 + $1.count }
        if contents.bytes <= limit {
            contents.value.events.append((mark, event))
        } else {
            contents.isOverflown = true
            contents.events = []
        }
    }

    mutating func overflow() {
        contents = Boxed(Contents(isOverflown: true))
    }
}
