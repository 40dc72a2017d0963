package import SkyrowModel

/// What signing up stores.
package struct NewAccount: Sendable {
    package var id: UserID
    /// nil for an account without a password.
    package var passwordHash: String?
    /// The fields of the `user` record, login keys among them.
    package var profile: [(name: FieldName, value: RecordValue)]

    package init(id: UserID, passwordHash: String?, profile: [(name: FieldName, value: RecordValue)]) {
        self.id = id
        self.passwordHash = passwordHash
        self.profile = profile
    }
}

/// A session to be stored; its token is known by its hash alone.
package struct NewSession: Sendable {
    package var tokenHash: [UInt8]
    /// nil means never.
    package var expiresAt: Timestamp?
    /// How many sessions the user may have with this one; those unused for longest end.
    package var limit: Int

    package init(tokenHash: [UInt8], expiresAt: Timestamp?, limit: Int = .max) {
        self.tokenHash = tokenHash
        self.expiresAt = expiresAt
        self.limit = limit
    }
}

/// What a log-in compares with.
package struct AccountCredentials: Hashable, Sendable {
    package var id: UserID
    package var passwordHash: String?
    /// Moves with every revocation of the account's tokens.
    package var epoch: Int64
    package var suspension: AccountSuspension?
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
    /// Sorted.
    package var roles: [RoleName]
    package var isAdministrator: Bool
    /// The times before this call; nil at signup.
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
}
