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

/// The tokens that a provider issued for a user.
public struct ProviderTokens: Hashable, Sendable {
    public var provider: String
    public var subject: String
    /// The object of the provider's response: `access_token`, `refresh_token`, `expires_in` and the like.
    public var response: JSONText
    public var receivedAt: Timestamp

    package init(provider: String, subject: String, response: JSONText, receivedAt: Timestamp) {
        self.provider = provider
        self.subject = subject
        self.response = response
        self.receivedAt = receivedAt
    }
}

/// The purpose of a sign-in with a provider in the browser.
package enum ProviderFlowPurpose: String, Hashable, Sendable, CaseIterable {
    case logIn = "login"
    /// The provider is linked to the user, who can then log in by it.
    case link
    /// The user proves their identity again.
    case stepUp = "stepup"
}
