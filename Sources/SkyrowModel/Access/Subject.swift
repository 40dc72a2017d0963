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

/// The table of kinds: what names a subject in tables and messages, and what decides about it. A new kind needs a row of each switch
/// here, a test of a caller (``Audience/includes(_:)``) or of a record (``AccessCondition/Test``), and the SQL of the latter.
extension Subject {
    /// The kinds of subjects in the order of access lists.
    package enum Kind: Int, Hashable, Sendable, CaseIterable {
        case everyone, users, registered, verified, owner, user, role, group, apiKey, relation, field

        package static let all = allCases

        /// The part of a key before the colon.
        package var word: StaticString {
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

        /// The member by which an entry of a message names a subject.
        package var member: StaticString { self == .user ? "user_id" : word }

        package var hasName: Bool { rawValue >= Kind.user.rawValue }
    }

    package var kind: Kind {
        switch self {
        case .everyone: .everyone
        case .users: .users
        case .registered: .registered
        case .verified: .verified
        case .owner: .owner
        case .user: .user
        case .role: .role
        case .group: .group
        case .apiKey: .apiKey
        case .relation: .relation
        case .field: .field
        }
    }

    /// The name of a user, role, group, key, relation or field.
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

    /// nil for a name that no subject of the kind can have.
    package init?(_ kind: Kind, name: String = "") {
        switch kind {
        case .everyone: self = .everyone
        case .users: self = .users
        case .registered: self = .registered
        case .verified: self = .verified
        case .owner: self = .owner
        case .user: self = .user(UserID(name))
        case .role: self = .role(RoleName(name))
        case .group: self = .group(GroupName(name))
        case .apiKey: self = .apiKey(KeyName(name))
        case .relation:
            guard let relation = Relation(rawValue: name) else { return nil }
            self = .relation(relation)
        case .field:
            guard let field = try? FieldName(name) else { return nil }
            self = .field(field)
        }
    }

    /// Whether the record decides who is the subject, not the caller alone.
    package var dependsOnRecord: Bool {
        switch self {
        case .everyone, .users, .registered, .verified, .user, .role, .group, .apiKey: false
        case .owner, .relation, .field: true
        }
    }
}

extension Subject {
    /// The text that tables store: `public`, `user:<id>`, `role:<name>`.
    public var key: String {
        guard let name else { return kind.word.description }
        return kind.word.description + ":" + name
    }

    /// Parses a key; nil for a text that names no subject, as psql may have written.
    public init?(key: String) {
        // Split by bytes: a name may begin with a mark that would form one character with the colon.
        let word = key.utf8.prefix { $0 != UInt8(ascii: ":") }
        let hasName = word.endIndex < key.utf8.endIndex
        guard let kind = Kind.all.first(where: { $0.hasName == hasName && $0.word.isSame(as: word) }) else {
            return nil
        }
        self.init(kind, name: String(decoding: key.utf8[word.endIndex...].dropFirst(), as: UTF8.self))
    }

    /// The member by which an entry of a message names the subject.
    package var member: String { kind.member.description }

    /// The subjects without a name.
    package static let nameless = Kind.all.filter { !$0.hasName }.compactMap { Subject($0) }
}

/// The order in which access lists are sent: by kind, then by the bytes of names.
extension Subject: Comparable {
    public static func < (a: Subject, b: Subject) -> Bool {
        let (first, second) = (a.kind, b.kind)
        guard first == second else { return first.rawValue < second.rawValue }
        guard let name = a.name, let other = b.name else { return false }
        return name.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension StaticString {
    fileprivate func isSame(as text: some Sequence<UInt8>) -> Bool {
        withUTF8Buffer { $0.elementsEqual(text) }
    }
}
