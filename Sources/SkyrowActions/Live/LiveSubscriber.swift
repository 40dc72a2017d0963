import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// One subscription of a connection, as the registry has it.
struct LiveSubscriber {
    /// Where it stands between its beginning and the present.
    enum State {
        /// The records at its beginning are being sent; events wait.
        case loading(LiveBuffer)
        /// Events are sent. Those of transactions that the records at its beginning have shown are dropped.
        case live(since: LiveStart?)
        /// The connection is behind; nothing is sent until it resumes.
        case paused
    }

    let name: String
    /// What each of its events begins with.
    let head: [UInt8]
    let connection: LiveRegistry.Connection
    let group: SubscriptionIndex.Group
    let audience: SubscriptionGroup.AudienceKey
    let share: LiveShare?
    let events: Set<LiveEventKind>
    let watched: Set<FieldName>?
    let previous: PreviousFields
    var state: State
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
struct LiveStart: Sendable {
    /// When those who read began to.
    let moment: ChangeMoment

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
    private(set) var events: [(mark: CommittedMark, event: [[UInt8]])] = []
    private(set) var bytes = 0
    /// Whether there were too many, so that the records at the beginning have to be read again.
    private(set) var isOverflown = false

    mutating func append(_ event: [[UInt8]], of mark: CommittedMark, limit: Int) {
        guard !isOverflown else { return }
        bytes += event.reduce(0) { $0 + $1.count }
        guard bytes <= limit else {
            overflow()
            return
        }
        events.append((mark, event))
    }

    mutating func overflow() {
        isOverflown = true
        events = []
    }
}
