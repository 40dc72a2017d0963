/// The subject of an entry in an access list or a rule, which use the same vocabulary.
///
/// Tables store the ``key`` of a subject, messages an entry with a member for it:
///
/// ```swift
/// Subject.role("editor").key  // role:editor, on the wire {"role": "editor"}
/// ```
public enum Subject: Hashable, Sendable {
    /// `{"public": true}`: everyone for reading, every logged-in user for writing.
    case everyone
    /// `{"users": true}`: logged-in users.
    case users
    /// `{"registered": true}`: users who are logged in with an account that is not anonymous.
    case registered
    /// `{"verified": true}`: users who are logged in with a verified address.
    case verified
    /// `{"owner": true}`: the record's owner, who passes every access list anyway.
    case owner
    /// `{"user_id": "…"}`
    case user(UserID)
    /// `{"role": "…"}`
    case role(RoleName)
    /// `{"group": "…"}`: users with this tag.
    case group(GroupName)
    /// `{"key": "…"}`: requests with a key of this name.
    case apiKey(KeyName)
    /// `{"relation": "friend"}`: users with this relation to the record's owner.
    case relation(Relation)
    /// `{"field": "members"}`: users whose id is in that field of the record. Only rules contain it.
    case field(FieldName)

    /// The relation of a user to the owner of a record.
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
    /// The text that tables store: `public`, `user:<id>`, `role:<name>`.
    public var key: String {
        guard let name else { return word }
        return word + ":" + name
    }

    /// Parses a key; nil for a text that names no subject, as psql may have written.
    public init?(key: String) {
        guard let colon = key.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            guard let subject = Self.nameless.first(where: { $0.word.isSameText(as: key) }) else { return nil }
            self = subject
            return
        }
        // Split by bytes: a name may begin with a mark that would form one character with the colon.
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

    /// The subjects without a name.
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

    /// The part of the key after the colon.
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

/// The order in which access lists are sent: by case as above, then by the bytes of names.
extension Subject: Comparable {
    public static func < (a: Subject, b: Subject) -> Bool {
        let (first, second) = (a.rank, b.rank)
        guard first == second else { return first < second }
        guard let name = a.name, let other = b.name else { return false }
        return name.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
