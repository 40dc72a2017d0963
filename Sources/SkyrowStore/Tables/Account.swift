package import SkyrowModel

/// What signing up stores.
package struct NewAccount: Sendable {
    package var id: UserID
    /// nil for an account without a password.
    package var passwordHash: String?
    /// The fields of the `user` record, login keys among them.
    package var profile: [(name: FieldName, value: RecordValue)]
    /// By which account of a provider the user logs in, if by any.
    package var identity: ProvenIdentity?
    /// The address among the login keys that is proved already.
    package var verifiedEmail: String?
    /// Whether a mail asks for a proof of the address as soon as the account is there.
    package var verifies = false

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

    /// Whether it is not anonymous.
    var isRegistered: Bool { passwordHash != nil || identity != nil }
}

/// A session to be stored; its token is known by its hash alone.
package struct NewSession: Sendable {
    package var tokenHash: [UInt8]
    /// nil means never.
    package var expiresAt: Timestamp?
    /// How many sessions the user may have with this one; those unused for longest end.
    package var limit: Int
    /// 2 after a second factor, else 1.
    package var level: Int
    /// What opens it; nil where it does not matter.
    package var createdWith: SessionOpening?
    /// By whose word, for the audit log.
    package var provider: String?
    package var device: SessionDevice
    package var origin: RequestOrigin
    /// The session in whose place it comes: its device is that of the new one, unless that has one of its own.
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

/// What opens a session.
package enum SessionOpening: String, Hashable, Sendable {
    case signUp = "signup"
    case logIn = "login"
    /// An anonymous account that got login keys and a password.
    case register
    /// A change of the password.
    case password
    /// A new password, set by a code of a mail.
    case reset
    /// A code of a mail.
    case link
    /// The id token of a provider.
    case provider
    /// A token of the application's own server.
    case customToken = "custom_token"
    /// The master key, for a user.
    case master
}

/// What a log-in compares with.
package struct AccountCredentials: Hashable, Sendable {
    package var id: UserID
    package var passwordHash: String?
    /// Moves with every revocation of the account's tokens.
    package var epoch: Int64
    package var suspension: AccountSuspension?
    /// Whether a log-in takes a second factor.
    package var hasSecondFactor = false
    /// Whether something has proved the address of the account.
    package var hasProvedAddress = false
    /// Whether a log-in by a code of a mail takes the second factor: one from before the first proof of the address ends with that.
    package var asksForFactorAfterMail: Bool { hasSecondFactor && hasProvedAddress }
    /// How long ago the password was set, in seconds of PostgreSQL's clock.
    package var passwordAge = 0.0
}

/// A disabled account.
package struct AccountSuspension: Hashable, Sendable {
    /// The message for the user.
    package var message: String?
    /// When it ends by itself; nil means never.
    package var until: Timestamp?

    package init(message: String? = nil, until: Timestamp? = nil) {
        self.message = message
        self.until = until
    }
}

/// An account as the result of logging in shows it.
package struct SignedInAccount: Sendable {
    package var profile: any RecordSource
    /// The roles that were given to the user, sorted.
    package var roles: [RoleName]
    /// The same with those that contain them, sorted.
    package var heldRoles: [RoleName]
    /// Sorted.
    package var groups: [GroupName]
    package var isAdministrator: Bool
    /// Whether the account is not anonymous.
    package var isRegistered: Bool
    /// Whether the address of the account is verified.
    package var isVerified: Bool
    /// What the user sees of that: nil where it has not begun, or is hidden.
    package var verified: Bool?
    /// The times before this call; nil at signup.
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
}
