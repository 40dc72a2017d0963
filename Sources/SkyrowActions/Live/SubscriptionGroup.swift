import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// The subscriptions with the same query in the same form: their predicate is judged once for all of them, and the access of each
/// distinct audience once.
struct SubscriptionGroup {
    /// What subscriptions of a group have in common, apart from the caller.
    struct Key: Hashable, Sendable {
        let database: DatabaseScope
        let type: RecordTypeName
        let predicate: PredicateKey?
        /// The fields to send; nil for all.
        let asked: Set<FieldName>?
    }

    /// The access of a caller to the records of a type.
    struct AudienceKey: Hashable, Sendable {
        let read: AccessScope
        let fields: FieldAccess
    }

    /// The subscriptions of one audience.
    struct Audience {
        let audience: LiveAudience
        let encoding: RecordEncoding
        var subscribers: [LiveRegistry.Subscriber] = []
    }

    /// The matching records, for changes that lack the record before.
    enum Members {
        /// They were not requested.
        case unknown
        /// They are being read; ``MembersLoading`` keeps the changes meanwhile.
        case loading
        case known
    }

    let database: DatabaseScope
    let type: RecordTypeName
    /// nil for all records.
    let predicate: ResolvedPredicate?
    let asked: Set<FieldName>?
    /// The key by which the registry finds it.
    let digest: Int
    /// Whether the type's log has only the ids of records before their changes, so that members are kept also with the stream.
    var hasKeysAlone = false
    var audiences = GroupAudiences()
    var members = Members.unknown
    /// The client among its subscribers whose share it takes; nil for the operator.
    var payer: ClientKey?
    /// The bytes of that share that its members take.
    var memberBytes = 0

    init(_ key: Key, _ predicate: ResolvedPredicate?, digest: Int, payer: ClientKey?) {
        database = key.database
        type = key.type
        asked = key.asked
        self.predicate = predicate
        self.digest = digest
        self.payer = payer
    }

    func isOf(_ key: Key) -> Bool {
        type == key.type && database == key.database && asked == key.asked
            && predicate.map { PredicateKey($0) } == key.predicate
    }

    /// Whether its members were not requested.
    var lacksMembers: Bool { if case .unknown = members { true } else { false } }

    /// All subscriptions, of all callers.
    var subscribers: [LiveRegistry.Subscriber] { audiences.list.flatMap(\.subscribers) }
}

/// The callers with the same access to records of a type.
///
/// A class, which all groups and subscriptions of these callers share.
final class LiveAudience: Sendable {
    let key: SubscriptionGroup.AudienceKey
    /// Whether relations of users decide what it may read.
    let asksRelations: Bool

    init(_ key: SubscriptionGroup.AudienceKey) {
        self.key = key
        asksRelations = key.read.asksRelations
    }
}

/// The audiences of a group: mostly one, sometimes one for each user.
struct GroupAudiences {
    /// Up to this number the list is searched; above it, a dictionary has the indexes.
    private static let scanned = 8

    private(set) var list: [SubscriptionGroup.Audience] = []
    private var places: [ObjectIdentifier: Int] = [:]

    var isEmpty: Bool { list.isEmpty }

    func place(of audience: LiveAudience) -> Int? {
        places.isEmpty ? list.firstIndex { $0.audience === audience } : places[ObjectIdentifier(audience)]
    }

    subscript(place: Int) -> SubscriptionGroup.Audience {
        get { list[place] }
        _modify { yield &list[place] }
    }

    /// Adds a new audience; returns its index.
    mutating func append(_ audience: SubscriptionGroup.Audience) -> Int {
        list.append(audience)
        if !places.isEmpty {
            places[ObjectIdentifier(audience.audience)] = list.count - 1
        } else if list.count > Self.scanned {
            for (place, known) in list.enumerated() { places[ObjectIdentifier(known.audience)] = place }
        }
        return list.count - 1
    }

    /// Removes the audience at an index; the last one moves there.
    mutating func remove(at place: Int) {
        if !places.isEmpty { places[ObjectIdentifier(list[place].audience)] = nil }
        let last = list.removeLast()
        guard place < list.count else { return }
        list[place] = last
        if !places.isEmpty { places[ObjectIdentifier(last.audience)] = place }
    }
}

/// The relations of users that a query has found.
struct RelatedUsers: Sendable {
    /// A relation from one user to another, by the first one's doing.
    struct Pair: Hashable, Sendable {
        let user: UserID
        let relation: UserRelation
        let other: UserID
    }

    /// A user and the owner of a record, whose relations are queried.
    struct Question: Hashable, Sendable {
        let user: UserID
        let owner: UserID
    }

    /// The relations that exist.
    var pairs: Set<Pair> = []

    static let none = RelatedUsers()

    /// Returns whether a user has the relation to the relation's user.
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
