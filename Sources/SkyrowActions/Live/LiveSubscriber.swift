import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// One subscription of a connection, as in the registry.
///
/// There may be 100,000 of them, so common parts are in shared objects, and rare parts are stored separately.
struct LiveSubscriber {
    /// The progress from the load to live events.
    enum State {
        /// The records of its load are being sent; events are buffered.
        case loading(LiveBuffer)
        /// Events are sent, except those of transactions that the load has shown.
        case starting(LiveStart)
        /// Events are sent.
        case live
        /// The connection is behind; nothing is sent until it resumes.
        case paused
    }

    /// The position at which a subscription begins.
    enum Position {
        /// With the next changes.
        case now
        /// With all matching records.
        case initial
        /// After a change token from the client.
        indirect case since(String)
        /// After a position in the change feed.
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
    /// nil before its first load.
    var template: LiveTemplate?
    /// The position of its first load, from which on the client may hold records.
    var began: LiveMark?
    /// The bytes sent to its connection when it became live; `Int.max` while it is not.
    var beganAtBytes = Int.max
    /// Its index among the subscriptions of its audience.
    var place: UInt32
    /// The number of the current attempt to load; earlier ones are discarded.
    var attempt: UInt32 = 0
    /// Whether it loads again because too much had changed meanwhile.
    var hasRestarted = false

    var isLive: Bool {
        switch state {
        case .starting, .live: true
        case .loading, .paused: false
        }
    }

    /// Buffers an event until it is live.
    mutating func keep(_ event: [[UInt8]], of mark: CommittedMark, limit: Int) {
        guard case .loading(var buffer) = state else { return }
        // Releases the buffer, which would otherwise be copied.
        state = .paused
        buffer.append(event, of: mark, limit: limit)
        state = .loading(buffer)
    }

    /// Returns its token at a position; nil before its first load.
    func token(at mark: LiveMark) -> String? { template?.text(at: mark) }

    /// Returns the position of a token that otherwise equals its own ones; nil for any other.
    func mark(ofToken text: String) -> LiveMark? {
        guard let template, let token = ChangeToken(text: text), template.isSame(as: LiveTemplate(token)) else {
            return nil
        }
        return LiveMark(token)
    }

    /// Returns the token after which it begins at a position; nil for a position without one.
    func token(of position: Position) -> String? {
        switch position {
        case .now, .initial: nil
        case .since(let text): text
        case .mark(let mark): token(at: mark)
        }
    }
}

/// The unit in which subscriptions are limited: a user, or a client without one.
enum LiveShare: Hashable, Sendable {
    case user(UserID)
    case client(ClientKey)
}

/// Which old values an event includes.
enum PreviousFields: Hashable, Sendable {
    case none
    case all
    case some(Set<FieldName>)

    /// Returns those of the fields that have changed; nil for none.
    func among(_ changed: Set<FieldName>) -> Set<FieldName>? {
        switch self {
        case .none: nil
        case .all: changed
        case .some(let fields): changed.intersection(fields)
        }
    }
}

/// The snapshot from which a subscription is live: changes visible to it are not sent.
///
/// A class, which all subscriptions share that begin while nothing is written.
final class LiveStart: Sendable {
    /// The snapshot at which reading the records began.
    let moment: ChangeMoment

    init(moment: ChangeMoment) {
        self.moment = moment
    }

    /// Returns whether it covers the same transactions.
    func isSame(as other: LiveStart) -> Bool {
        position == other.position && moment.place.branch == other.moment.place.branch
            && moment.snapshot == other.moment.snapshot && moment.transactions == other.moment.transactions
    }

    /// The position in the log (an LSN) at or before which every visible transaction ends.
    var position: UInt64 { moment.walPosition }

    /// Returns whether a transaction was visible.
    func covers(_ transaction: CommittedMark) -> Bool {
        if let end = transaction.end, end > position { return false }
        return moment.hasSeen(transaction.id)
    }
}

/// The identity of a transaction.
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

    /// nil without events, as in most subscriptions: thousands may begin at once.
    private var contents: Boxed<Contents>?

    var events: [(mark: CommittedMark, event: [[UInt8]])] { contents?.events ?? [] }
    /// Whether there were too many, so that the records have to be loaded again.
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
