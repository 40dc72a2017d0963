/// All subjects of access lists and rules that apply to one caller, regardless of the record.
///
/// It is computed once for a caller and cached: statements send it as a text, which PostgreSQL compares with the keys of lists.
/// Subjects that depend on the record, such as its owner and its fields, are not part of it.
///
/// A class, since rights of many types refer to it.
public final class Audience: Sendable {
    public let user: UserID?
    public let roles: [RoleName]
    public let groups: [GroupName]
    /// The name of the request's key, with or without a login.
    public let keyName: KeyName?
    /// Whether the user has an account that is not anonymous.
    public let isRegistered: Bool
    /// Whether the address of the user's account is verified.
    public let isVerified: Bool
    /// Whether the user is an administrator, who sees the access lists of all roles.
    let isAdministrator: Bool
    /// The keys of the subjects as a PostgreSQL array, sorted by their bytes: `{"public","role:editor","user:ann","users"}`.
    package let text: String

    /// - Parameters:
    ///   - user: nil without a login.
    ///   - roles: the user's roles and all roles that contain them; ignored without a login.
    ///   - groups: the user's groups; ignored without a login.
    ///   - isRegistered: whether the user's account is not anonymous; ignored without a login.
    ///   - isVerified: whether the address of that account is verified; ignored without a login.
    ///   - isAdministrator: whether the user is an administrator; ignored without a login.
    ///   - keyName: the name of the request's key; nil for a key without a name.
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

    package convenience init(of caller: Caller) {
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

    /// Whether the audience includes a subject.
    ///
    /// The access of the owner is a separate rule, so `owner` adds nothing here.
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

    /// Leaves out keys with NUL, since PostgreSQL stores no text that equals them.
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

extension Audience: Hashable {
    public static func == (a: Audience, b: Audience) -> Bool {
        a === b
            || a.text == b.text && a.user == b.user && a.roles == b.roles && a.groups == b.groups
                && a.keyName == b.keyName && a.isAdministrator == b.isAdministrator
                && a.isRegistered == b.isRegistered && a.isVerified == b.isVerified
    }

    /// Hashes the keys of the subjects at once; audiences with the same keys are compared in full.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
    }
}
