/// The unchecked credentials of a caller, from headers or body.
package struct Credentials: Sendable, Hashable {
    /// An API key or the master key.
    package var key: String?
    package var accessToken: String?
    /// `_user_id`: the user on whose behalf the master key acts.
    package var actingUserID: UserID?
    /// Whether the master key is accepted from the origin of the request; elsewhere it is as wrong as any other key.
    package var admitsMasterKey: Bool
    /// The address of the client; nil for the machine itself.
    package var address: ClientAddress?
    /// Whether a connection has kept them since it was opened. A token that was replaced since then is outdated, not stolen.
    package var isHeld = false
    /// The SHA-256 of an access token, when the token itself is not available.
    package var sessionHash: [UInt8]?

    package init(
        key: String? = nil,
        accessToken: String? = nil,
        actingUserID: UserID? = nil,
        admitsMasterKey: Bool = true,
        address: ClientAddress? = nil
    ) {
        self.key = key
        self.accessToken = accessToken
        self.actingUserID = actingUserID
        self.admitsMasterKey = admitsMasterKey
        self.address = address
    }
}

/// The common result of `auth:signup`, `auth:login`, `auth:password`, `auth:become`, `auth:rotate`, `me`, and logins by a
/// provider or a custom token.
package struct AuthResult: Sendable {
    package var userID: UserID
    package var profile: OwnProfile
    /// Left out of the result when empty.
    package var roles: [RoleName]
    package var accessToken: String
    /// 2 when a second factor was given, otherwise 1.
    package var level = 1
    /// The values before this call, so both are absent at signup.
    package var lastLoginAt: Timestamp?
    package var lastSeenAt: Timestamp?
    /// Whether a login by a provider or a custom token has created the account; nil for other logins.
    package var isNew: Bool?
    /// Whether the access token is the account's only credential; left out of the result when false.
    package var isAnonymous = false

    package init(
        userID: UserID,
        profile: OwnProfile,
        roles: [RoleName],
        accessToken: String,
        lastLoginAt: Timestamp? = nil,
        lastSeenAt: Timestamp? = nil,
        isNew: Bool? = nil
    ) {
        self.userID = userID
        self.profile = profile
        self.roles = roles
        self.accessToken = accessToken
        self.lastLoginAt = lastLoginAt
        self.lastSeenAt = lastSeenAt
        self.isNew = isNew
    }
}
