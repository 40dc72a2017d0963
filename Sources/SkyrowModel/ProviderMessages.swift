/// What a provider gave an application, as it comes with `auth:provider:login` and `auth:provider:link`.
package struct ProviderToken: Hashable, Sendable {
    /// The longest id token or access token, in bytes.
    package static let maximumBytes = 16_384

    package var provider: String
    package var idToken: String
    /// What the application drew.
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
    /// The longest token, in bytes; a part of the profile may be in it.
    package static let maximumBytes = 65_536

    package var token: String
    package var device: SessionDevice

    package init(token: String, device: SessionDevice = SessionDevice()) {
        self.token = token
        self.device = device
    }
}

/// By which account of a provider a user logs in.
public struct AccountIdentity: Hashable, Sendable {
    /// The name of the provider in the settings of the service; `custom-token` for tokens of the application's own server.
    public var provider: String
    /// What the provider calls the user.
    public var subject: String
    /// What the provider said of the user: `name`, `email` and the like. None of it was verified by the service.
    public var profile: JSONText
    public var createdAt: Timestamp
    /// When the user last logged in by it.
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

    /// How many of them a user has at most.
    package static let maximumCount = 20
    /// The name under which those of custom tokens are stored.
    package static let customToken = "custom-token"
}
