/// The tokens that a provider gave an application, as sent with `auth:provider:login` and `auth:provider:link`.
package struct ProviderToken: Hashable, Sendable {
    /// Upper bound on the bytes of an id token or access token.
    package static let maximumBytes = 16_384

    package var provider: String
    package var idToken: String
    /// The random text of the application.
    package var nonce: String
    /// The access token that came with the id token.
    package var accessToken: String?

    package init(provider: String, idToken: String, nonce: String, accessToken: String? = nil) {
        self.provider = provider
        self.idToken = idToken
        self.nonce = nonce
        self.accessToken = accessToken
    }
}

/// `auth:provider:login`, decoded.
package struct ProviderLogInRequest: Hashable, Sendable {
    package var token: ProviderToken
    package var device: SessionDevice

    package init(token: ProviderToken, device: SessionDevice = SessionDevice()) {
        self.token = token
        self.device = device
    }
}

/// `sso:custom_token:login`, decoded.
package struct CustomTokenRequest: Hashable, Sendable {
    /// Upper bound on the bytes of a token, which may contain a part of the profile.
    package static let maximumBytes = 65_536

    package var token: String
    package var device: SessionDevice

    package init(token: String, device: SessionDevice = SessionDevice()) {
        self.token = token
        self.device = device
    }
}

/// The account at a provider by which a user logs in.
public struct AccountIdentity: Hashable, Sendable {
    /// The name of the provider in the settings of the service; `custom-token` for tokens of the application's own server.
    public var provider: String
    /// The provider's id of the user.
    public var subject: String
    /// The provider's data about the user: `name`, `email` and the like. The service has verified none of it.
    public var profile: JSONText
    public var createdAt: Timestamp
    /// When the user last logged in by this provider.
    public var lastUsedAt: Timestamp?

    package init(
        provider: String,
        subject: String,
        profile: JSONText,
        createdAt: Timestamp,
        lastUsedAt: Timestamp? = nil
    ) {
        self.provider = provider
        self.subject = subject
        self.profile = profile
        self.createdAt = createdAt
        self.lastUsedAt = lastUsedAt
    }

    /// Upper bound on the identities of a user.
    package static let maximumCount = 20
    /// The name under which identities of custom tokens are stored.
    package static let customToken = "custom-token"
}
