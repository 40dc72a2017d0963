import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// The subscriptions that ask for the same records in the same form: their predicate is judged once for all of them, and the
/// access of each distinct audience once.
struct SubscriptionGroup {
    /// What makes two subscriptions the same, but for who asks.
    struct Key: Hashable, Sendable {
        let database: DatabaseScope
        let type: RecordTypeName
        let predicate: PredicateKey?
        /// The fields to send; nil for all.
        let asked: Set<FieldName>?
    }

    /// Who asks, as far as access to records of a type goes.
    struct AudienceKey: Hashable, Sendable {
        let read: AccessScope
        let fields: FieldAccess
    }

    /// The subscriptions of one audience.
    struct Audience {
        let key: AudienceKey
        let encoding: RecordEncoding
        var subscribers: [LiveRegistry.Subscriber] = []
    }

    /// Which records match, where the changes come without the records before.
    enum Members {
        /// Nothing has asked for them.
        case unknown
        /// They are being read; what has changed meanwhile waits.
        case loading([CommittedTransaction], bytes: Int)
        case known
    }

    let key: Key
    let query: ResolvedQuery
    /// Whether the log of the type has of records before their changes the ids alone, so that members are kept beside it too.
    var hasKeysAlone = false
    var audiences: [AudienceKey: Audience] = [:]
    var members = Members.unknown

    init(_ key: Key, _ query: ResolvedQuery) {
        self.key = key
        self.query = query
    }

    /// Whether nothing has asked for its members.
    var lacksMembers: Bool { if case .unknown = members { true } else { false } }

    /// Whether the predicate is true of a record.
    func matches(_ record: StoredRecord) -> Bool {
        query.predicate == nil || MemoryInterpreter(query).truth(of: record) == .yes
    }
}

/// What users are to each other, as far as it was asked for.
struct RelatedUsers: Sendable {
    /// One user and another to whom it is something by its own doing.
    struct Pair: Hashable, Sendable {
        let user: UserID
        let relation: UserRelation
        let other: UserID
    }

    /// Whether a user is related to the owner of a record, in any way.
    struct Question: Hashable, Sendable {
        let user: UserID
        let owner: UserID
    }

    /// Those that there are.
    var pairs: Set<Pair> = []

    static let none = RelatedUsers()

    /// Whether a user is something to the one of the relation.
    func isRelated(_ other: UserID, _ relation: ResolvedUserRelation) -> Bool {
        let out = pairs.contains(Pair(user: relation.user, relation: relation.relation, other: other))
        let back = pairs.contains(Pair(user: other, relation: relation.relation, other: relation.user))
        return switch relation.direction {
        case .outward: out
        case .inward: back
        case .mutual: out && back
        }
    }
}
