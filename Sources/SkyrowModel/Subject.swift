/// Whom an access list or a rule means: the one vocabulary of both.
///
/// Tables hold the ``key`` of a subject, messages an entry with a member for it:
///
/// ```swift
/// Subject.role("editor").key  // role:editor, on the wire {"role": "editor"}
/// ```
public enum Subject: Hashable, Sendable {
    /// `{"public": true}`: everyone for reading, every logged-in user for writing.
    case everyone
    /// `{"users": true}`: who is logged in.
    case users
    /// `{"registered": true}`: who is logged in with an account that is not anonymous.
    case registered
    /// `{"verified": true}`: who is logged in with a verified address.
    case verified
    /// `{"owner": true}`: the record's owner, who passes any record list anyway.
    case owner
    /// `{"user_id": "…"}`
    case user(UserID)
    /// `{"role": "…"}`
    case role(RoleName)
    /// `{"group": "…"}`: who carries the tag.
    case group(GroupName)
    /// `{"key": "…"}`: whose request comes with a key of this name.
    case apiKey(KeyName)
    /// `{"relation": "friend"}`: who has this relation to the record's owner.
    case relation(Relation)
    /// `{"field": "members"}`: whose id stands in that field of the record. Rules have it, lists do not.
    case field(FieldName)

    /// What a user is to the owner of a record.
    public enum Relation: String, Hashable, Sendable, CaseIterable {
        /// Each has added the other.
        case friend
        /// The caller follows the owner.
        case follower
        /// The owner follows the caller.
        case followed
    }
}

extension Subject {
    /// What tables hold: `public`, `user:<id>`, `role:<name>`.
    public var key: String {
        guard let name else { return word }
        return word + ":" + name
    }

    /// The subject of a key; nil for one that means no subject, as psql may have written.
    public init?(key: String) {
        guard let colon = key.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            guard let subject = Self.nameless.first(where: { $0.word.isSameText(as: key) }) else { return nil }
            self = subject
            return
        }
        // Not by characters: a name may begin with a mark that would be one with the colon.
        let name = String(decoding: key.utf8[key.utf8.index(after: colon)...], as: UTF8.self)
        switch String(decoding: key.utf8[..<colon], as: UTF8.self) {
        case "user": self = .user(UserID(name))
        case "role": self = .role(RoleName(name))
        case "group": self = .group(GroupName(name))
        case "key": self = .apiKey(KeyName(name))
        case "relation":
            guard let relation = Relation(rawValue: name) else { return nil }
            self = .relation(relation)
        case "field":
            guard let field = try? FieldName(name) else { return nil }
            self = .field(field)
        default: return nil
        }
    }

    /// Those that name no one and nothing.
    package static let nameless: [Subject] = [.everyone, .users, .registered, .verified, .owner]

    private var word: String {
        switch self {
        case .everyone: "public"
        case .users: "users"
        case .registered: "registered"
        case .verified: "verified"
        case .owner: "owner"
        case .user: "user"
        case .role: "role"
        case .group: "group"
        case .apiKey: "key"
        case .relation: "relation"
        case .field: "field"
        }
    }

    /// What stands behind the colon of the key.
    package var name: String? {
        switch self {
        case .everyone, .users, .registered, .verified, .owner: nil
        case .user(let id): id.rawValue
        case .role(let name): name.rawValue
        case .group(let name): name.rawValue
        case .apiKey(let name): name.rawValue
        case .relation(let relation): relation.rawValue
        case .field(let name): name.rawValue
        }
    }

    /// The member by which an entry of a message names the subject.
    package var member: String {
        if case .user = self { "user_id" } else { word }
    }

    private var rank: Int {
        switch self {
        case .everyone: 0
        case .users: 1
        case .registered: 2
        case .verified: 3
        case .owner: 4
        case .user: 5
        case .role: 6
        case .group: 7
        case .apiKey: 8
        case .relation: 9
        case .field: 10
        }
    }
}

/// The order in which lists are sent: of the cases above, and by the bytes of their names.
extension Subject: Comparable {
    public static func < (a: Subject, b: Subject) -> Bool {
        let (first, second) = (a.rank, b.rank)
        guard first == second else { return first < second }
        guard let name = a.name, let other = b.name else { return false }
        return name.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
