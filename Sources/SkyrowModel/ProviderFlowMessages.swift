/// The purpose of a sign-in with a provider in the browser.
package enum ProviderFlowPurpose: String, Hashable, Sendable, CaseIterable {
    case logIn = "login"
    /// The provider is linked to the user, who can then log in by it.
    case link
    /// The user proves their identity again.
    case stepUp = "stepup"
}

/// `auth:provider:start`, decoded.
package struct ProviderStartRequest: Hashable, Sendable {
    /// Upper bound on the bytes of a redirect address.
    package static let maximumRedirectBytes = 2000
    /// The number of characters of a SHA-256 in base64url.
    package static let challengeLength = 43
    /// Upper bound on the additional scopes of a sign-in.
    package static let maximumScopes = 20

    package var provider: String
    /// The address to which the user returns.
    package var redirect: String
    /// SHA-256 of the application's verifier in base64url (RFC 7636, S256).
    package var codeChallenge: String
    /// A text that is returned to the application.
    package var state: String?
    package var purpose: ProviderFlowPurpose
    /// The scopes that are requested from the provider besides those that every sign-in requests.
    package var scopes: [String]

    package init(
        provider: String,
        redirect: String,
        codeChallenge: String,
        state: String? = nil,
        purpose: ProviderFlowPurpose = .logIn,
        scopes: [String] = []
    ) {
        self.provider = provider
        self.redirect = redirect
        self.codeChallenge = codeChallenge
        self.state = state
        self.purpose = purpose
        self.scopes = scopes
    }
}

/// A sign-in with a provider that has started.
public struct ProviderStart: Hashable, Sendable {
    /// The address of the provider, which the user's browser must open.
    public var url: String
    /// When the user must have returned.
    public var expiresAt: Timestamp

    package init(url: String, expiresAt: Timestamp) {
        self.url = url
        self.expiresAt = expiresAt
    }
}

/// `auth:provider:finish`, decoded.
package struct ProviderFinishRequest: Hashable, Sendable {
    package static let verifierLength = 43...128

    /// The code with which the user returned.
    package var code: String
    /// The text whose hash was sent to `auth:provider:start`.
    package var codeVerifier: String
    package var device: SessionDevice

    package init(code: String, codeVerifier: String, device: SessionDevice = SessionDevice()) {
        self.code = code
        self.codeVerifier = codeVerifier
        self.device = device
    }
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

/// `sso:oauth:login`, `sso:oauth:signup` and `sso:oauth:link`, decoded: a user whom the application's server has authenticated.
package struct OAuthIdentityRequest: Sendable {
    /// Upper bound on the bytes of `token_response` and of `provider_profile`.
    package static let maximumBytes = 16_384
    package static let maximumNameBytes = 64

    package var provider: String
    /// The provider's id of the user.
    package var principalID: String
    /// The tokens, as an object.
    package var tokenResponse: JSONText?
    /// The provider's data about the user, as an object.
    package var providerProfile: JSONText
    /// The user whose account is linked, for `sso:oauth:link`.
    package var user: UserID?
    /// Further fields of the `user` record, for `sso:oauth:signup`.
    package var profile: [(name: FieldName, value: RecordValue)]
    package var device: SessionDevice

    package init(
        provider: String,
        principalID: String,
        tokenResponse: JSONText? = nil,
        providerProfile: JSONText,
        user: UserID? = nil,
        profile: [(name: FieldName, value: RecordValue)] = [],
        device: SessionDevice = SessionDevice()
    ) {
        self.provider = provider
        self.principalID = principalID
        self.tokenResponse = tokenResponse
        self.providerProfile = providerProfile
        self.user = user
        self.profile = profile
        self.device = device
    }
}
