/// The sender of a request, after credentials were checked.
public struct Caller: Hashable, Sendable {
    /// The kind of caller.
    public enum Kind: Hashable, Sendable {
        case anonymous
        case user(UserID)
        /// The master key, which passes every rule; it may act as a user, who then owns the created records.
        case master(actingAs: UserID?)
    }

    public var kind: Kind
    /// The user's roles and all roles that contain them, sorted.
    public var roles: [RoleName]
    /// The groups of the user, sorted.
    public var groups: [GroupName]
    /// True when one of the roles is an administrator's.
    public var isAdministrator: Bool
    /// True when the user's account is not anonymous.
    public var isRegistered: Bool
    /// True when the address of the user's account is verified.
    public var isVerified: Bool
    /// True when the user has proved their identity within the last minutes, as step-up requires.
    package var isElevated = false
    /// The request's key with scopes, if it has one that limits it.
    package var key: KeyGrant?
    /// The name of the request's key with scopes, including a key that limits nothing.
    package var keyName: KeyName?

    public init(
        kind: Kind,
        roles: [RoleName] = [],
        groups: [GroupName] = [],
        isAdministrator: Bool = false,
        isRegistered: Bool = false,
        isVerified: Bool = false
    ) {
        self.kind = kind
        self.roles = roles
        self.groups = groups
        self.isAdministrator = isAdministrator
        self.isRegistered = isRegistered
        self.isVerified = isVerified
    }

    public static let anonymous = Caller(kind: .anonymous)

    /// The acting user, if any.
    public var userID: UserID? {
        switch kind {
        case .anonymous: nil
        case .user(let id): id
        case .master(let id): id
        }
    }

    public var isMaster: Bool {
        switch kind {
        case .anonymous, .user: false
        case .master: true
        }
    }

    /// Whether the caller is the operator, who has no limits; a server key passes rules, but is one of many clients.
    package var isOperator: Bool { isMaster && key == nil }
}
