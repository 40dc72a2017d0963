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
        let audience: LiveAudience
        let encoding: RecordEncoding
        var subscribers: [LiveRegistry.Subscriber] = []
    }

    /// Which records match, where the changes come without the records before.
    enum Members {
        /// Nothing has asked for them.
        case unknown
        /// They are being read; what has changed meanwhile waits in ``MembersLoading``.
        case loading
        case known
    }

    let database: DatabaseScope
    let type: RecordTypeName
    /// nil for all records.
    let predicate: ResolvedPredicate?
    let asked: Set<FieldName>?
    /// By which the registry finds it.
    let digest: Int
    /// Whether the log of the type has of records before their changes the ids alone, so that members are kept beside it too.
    var hasKeysAlone = false
    var audiences = GroupAudiences()
    var members = Members.unknown
    /// The client, one of those with a subscription of the group, whose share it takes; nil for the operator.
    var payer: ClientKey?
    /// What its members take of that share.
    var memberBytes = 0

    init(_ key: Key, _ predicate: ResolvedPredicate?, digest: Int, payer: ClientKey?) {
        database = key.database
        type = key.type
        asked = key.asked
        self.predicate = predicate
        self.digest = digest
        self.payer = payer
    }

    /// Whether it is the group of a key.
    func isOf(_ key: Key) -> Bool {
        type == key.type && database == key.database && asked == key.asked
            && predicate.map { PredicateKey($0) } == key.predicate
    }

    /// Whether nothing has asked for its members.
    var lacksMembers: Bool { if case .unknown = members { true } else { false } }

    /// All subscriptions, of all callers.
    var subscribers: [LiveRegistry.Subscriber] { audiences.list.flatMap(\.subscribers) }
}

/// Who asks for the changes of some type.
///
/// An object, which all groups and subscriptions of those who may read the same have in common.
final class LiveAudience: Sendable {
    let key: SubscriptionGroup.AudienceKey
    /// Whether relations of users decide what it may read.
    let asksRelations: Bool

    init(_ key: SubscriptionGroup.AudienceKey) {
        self.key = key
        asksRelations = key.read.asksRelations
    }
}

/// The audiences of a group: mostly one, and sometimes one for each user.
struct GroupAudiences {
    /// As many are looked through; of more a table says where each is.
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

    /// Adds an audience that it does not have; returns its place.
    mutating func append(_ audience: SubscriptionGroup.Audience) -> Int {
        list.append(audience)
        if !places.isEmpty {
            places[ObjectIdentifier(audience.audience)] = list.count - 1
        } else if list.count > Self.scanned {
            for (place, known) in list.enumerated() { places[ObjectIdentifier(known.audience)] = place }
        }
        return list.count - 1
    }

    /// Takes the audience of a place out; the last one takes its place.
    mutating func remove(at place: Int) {
        if !places.isEmpty { places[ObjectIdentifier(list[place].audience)] = nil }
        let last = list.removeLast()
        guard place < list.count else { return }
        list[place] = last
        if !places.isEmpty { places[ObjectIdentifier(last.audience)] = place }
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
