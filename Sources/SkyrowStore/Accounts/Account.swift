package import SkyrowModel

/// A new account, as signing up stores it.
package struct NewAccount: Sendable {
    package var id: UserID
    /// nil for an account without a password.
    package var passwordHash: String?
    /// The fields of the `user` record, login keys among them.
    package var profile: [(name: FieldName, value: RecordValue)]
    /// The account of an identity provider by which the user logs in, if any.
    package var identity: ProvenIdentity?
    /// The address among the login keys that is verified already.
    package var verifiedEmail: String?
    /// Whether a mail requests a verification of the address as soon as the account exists.
    package var verifies = false
    /// The fields that hooks have set.
    package var trusted: Set<FieldName> = []

    package init(
        id: UserID,
        passwordHash: String?,
        profile: [(name: FieldName, value: RecordValue)],
        identity: ProvenIdentity? = nil,
        verifiedEmail: String? = nil
    ) {
        self.verifiedEmail = verifiedEmail
        self.id = id
        self.passwordHash = passwordHash
        self.profile = profile
        self.identity = identity
    }

    /// Whether the account is not anonymous.
    var isRegistered: Bool { passwordHash != nil || identity != nil }

    /// Returns the fields that a profile may not get from its creator, or from hooks; sorted.
    func refusedFields(of rules: FieldRules, by creator: FieldAccess) -> [FieldName] {
        let given = profile.filter { $0.value != .null }.map(\.name)
        let own = rules.refusedInNew(given.filter { !trusted.contains($0) }, by: creator)
        return (own + rules.refusedInNew(given.filter { trusted.contains($0) }, by: .unrestricted)).sorted()
    }
}

/// A session to store; its token is stored as a hash only.
package struct NewSession: Sendable {
    package var tokenHash: [UInt8]
    /// When the session expires; nil means never.
    package var expiresAt: Timestamp?
    /// Upper bound on the user's sessions including this one; those unused for longest end.
    package var limit: Int
    /// 2 after a second factor, else 1.
    package var level: Int
    /// How the session was created; nil if it does not matter.
    package var createdWith: SessionOpening?
    /// The identity provider, for the audit log.
    package var provider: String?
    package var device: SessionDevice
    package var origin: RequestOrigin
    /// The session that this one replaces. Its device is kept, unless the new session has one.
    package var replaced: [UInt8]?

    package init(
        tokenHash: [UInt8],
        expiresAt: Timestamp?,
        limit: Int = .max,
        level: Int = 1,
        createdWith: SessionOpening? = nil,
        provider: String? = nil,
        device: SessionDevice = SessionDevice(),
        origin: RequestOrigin = RequestOrigin(),
        replaced: [UInt8]? = nil
    ) {
        self.tokenHash = tokenHash
        self.expiresAt = expiresAt
        self.limit = limit
        self.level = level
        self.createdWith = createdWith
        self.provider = provider
        self.device = device
        self.origin = origin
        self.replaced = replaced
    }
}

/// How a session was created.
package enum SessionOpening: String, Hashable, Sendable {
    case signUp = "signup"
    case logIn = "login"
    /// An anonymous account that got login keys and a password.
    case register
    /// A change of the password.
    case password
    /// A new password, set with a code from a mail.
    case reset
    /// A code from a mail.
    case link
    /// The id token of a provider.
    case provider
    /// A token of the application's own server.
    case customToken = "custom_token"
    /// The master key, for a user.
    case master
}

/// The credentials of an account that a login is compared with.
package struct AccountCredentials: Hashable, Sendable {
    package var id: UserID
    package var passwordHash: String?
    /// Changes with every revocation of the account's tokens.
    package var epoch: Int64
    package var suspension: AccountSuspension?
    /// Whether a login requires a second factor.
    package var hasSecondFactor = false
    /// Whether the address of the account has been verified.
    package var hasProvedAddress = false
    /// Whether a login by a mailed code requires the second factor: a factor from before the address was verified ends.
    package var asksForFactorAfterMail: Bool { hasSecondFactor && hasProvedAddress }
    /// The age of the password in seconds, by PostgreSQL's clock.
    package var passwordAge = 0.0
}

/// A disabled account.
package struct AccountSuspension: Hashable, Sendable {
    /// The message for the user.
    package var message: String?
    /// When the suspension ends; nil means never.
    package var until: Timestamp?

    package init(message: String? = nil, until: Timestamp? = nil) {
        self.message = message
        self.until = until
    }
}

/// An account as the result of a login shows it.
package struct SignedInAccount: Sendable {
    package var profile: any RecordSource
    /// The roles that were given to the user, sorted.
    package var roles: [RoleName]
    /// These roles and those that contain them, sorted.
    package var heldRoles: [RoleName]
    /// Sorted.
    package var groups: [GroupName]
    package var isAdministrator: Bool
    /// Whether the account is not anonymous.
    package var isRegistered: Bool
    /// Whether the address of the account is verified.
    package var isVerified: Bool
    /// The same as the user sees it: nil if verification has not begun, or is hidden.
    package var verified: Bool?
    /// The times before this call; nil at sign-up.
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
}
