/// All the subjects of access lists and rules that one caller is, whatever the record.
///
/// It is made once for a caller and kept: statements send it as a text, and PostgreSQL compares the keys of lists with
/// that. What depends on the record, its owner and the fields of it, is not part of it.
public struct Audience: Hashable, Sendable {
    public let user: UserID?
    public let roles: [RoleName]
    public let groups: [GroupName]
    /// The name of the key that the request comes with, with a login or without.
    public let keyName: KeyName?
    /// Whether the user has an account that is not anonymous.
    public let isRegistered: Bool
    /// Whether the address of the user's account is verified.
    public let isVerified: Bool
    /// Whether the user is an administrator, who sees the lists of all roles.
    let isAdministrator: Bool
    /// The keys of the subjects as an array of PostgreSQL, sorted by their bytes: `{"public","role:editor","user:ann","users"}`.
    package let text: String

    /// - Parameters:
    ///   - user: nil for one who is not logged in.
    ///   - roles: those that the user has, with those that contain them; one who is not logged in has none.
    ///   - groups: those that the user carries; likewise.
    ///   - isRegistered: whether the user's account is not anonymous; likewise.
    ///   - isVerified: whether the address of that account is verified; likewise.
    ///   - isAdministrator: whether the user is an administrator; likewise.
    ///   - keyName: that of the key of the request; nil for one without a name.
    public init(
        user: UserID?,
        roles: [RoleName] = [],
        groups: [GroupName] = [],
        isRegistered: Bool = false,
        isVerified: Bool = false,
        isAdministrator: Bool = false,
        keyName: KeyName? = nil
    ) {
        self.user = user
        self.isRegistered = user != nil && isRegistered
        self.isVerified = user != nil && isVerified
        self.isAdministrator = user != nil && isAdministrator
        self.roles = user == nil ? [] : roles
        self.groups = user == nil ? [] : groups
        self.keyName = keyName
        var subjects: [Subject] = self.groups.sorted().map { .group($0) }
        if let keyName { subjects.append(.apiKey(keyName)) }
        subjects.append(.everyone)
        if let user {
            if isRegistered { subjects.append(.registered) }
            subjects += self.roles.sorted().map { .role($0) }
            subjects += [.user(user), .users]
            if isVerified { subjects.append(.verified) }
        }
        text = Self.text(of: subjects)
    }

    package init(of caller: Caller) {
        self.init(
            user: caller.userID,
            roles: caller.roles,
            groups: caller.groups,
            isRegistered: caller.isRegistered,
            isVerified: caller.isVerified,
            isAdministrator: caller.isAdministrator,
            keyName: caller.keyName
        )
    }

    /// A caller without a login, whose key has no name.
    package static let anonymous = Audience(user: nil)

    /// Whether the audience is a subject.
    ///
    /// The owner's free pass is a rule of its own, so `owner` adds nothing here.
    public func includes(_ subject: Subject) -> Bool {
        switch subject {
        case .everyone: true
        case .users: user != nil
        case .registered: isRegistered
        case .verified: isVerified
        case .user(let id): user == id
        case .role(let name): roles.contains(name)
        case .group(let name): groups.contains(name)
        case .apiKey(let name): keyName == name
        case .owner, .relation, .field: false
        }
    }

    /// Hashes the keys of the subjects in one go; what has the same keys is compared in full.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }

    /// Keys with NUL are left out: PostgreSQL holds none that equal them.
    private static func text(of subjects: [Subject]) -> String {
        var bytes: [UInt8] = [UInt8(ascii: "{")]
        for key in subjects.lazy.map(\.key) where !key.hasNUL {
            if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            for byte in key.utf8 {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            bytes.append(UInt8(ascii: "\""))
        }
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
