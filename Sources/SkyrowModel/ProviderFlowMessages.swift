/// What a sign-in with a provider by way of the browser is for.
package enum ProviderFlowPurpose: String, Hashable, Sendable, CaseIterable {
    case logIn = "login"
    /// The user logs in by the provider too from then on.
    case link
    /// The user proves once more who they are.
    case stepUp = "stepup"
}

/// `auth:provider:start`, decoded.
package struct ProviderStartRequest: Hashable, Sendable {
    /// The longest address to go back to, in bytes.
    package static let maximumRedirectBytes = 2000
    /// The characters of SHA-256 in base64url.
    package static let challengeLength = 43
    /// How many scopes a sign-in asks for beside those that each does.
    package static let maximumScopes = 20

    package var provider: String
    /// Where the user goes back to.
    package var redirect: String
    /// SHA-256 of the application's verifier in base64url (RFC 7636, S256).
    package var codeChallenge: String
    /// What the application gets back with it.
    package var state: String?
    package var purpose: ProviderFlowPurpose
    /// What the provider is asked for beside what each sign-in asks for.
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

/// A sign-in with a provider that has begun.
public struct ProviderStart: Hashable, Sendable {
    /// The address of the provider that the browser of the user is to open.
    public var url: String
    /// Until when the user has to be back.
    public var expiresAt: Timestamp

    package init(url: String, expiresAt: Timestamp) {
        self.url = url
        self.expiresAt = expiresAt
    }
}

/// `auth:provider:finish`, decoded.
package struct ProviderFinishRequest: Hashable, Sendable {
    package static let verifierLength = 43...128

    /// What the user came back with.
    package var code: String
    /// That of which `auth:provider:start` had the hash.
    package var codeVerifier: String
    package var device: SessionDevice

    package init(code: String, codeVerifier: String, device: SessionDevice = SessionDevice()) {
        self.code = code
        self.codeVerifier = codeVerifier
        self.device = device
    }
}

/// The tokens that a provider gave for a user.
public struct ProviderTokens: Hashable, Sendable {
    public var provider: String
    public var subject: String
    /// The object that the provider responded with: `access_token`, `refresh_token`, `expires_in` and the like.
    public var response: JSONText
    public var receivedAt: Timestamp

    package init(provider: String, subject: String, response: JSONText, receivedAt: Timestamp) {
        self.provider = provider
        self.subject = subject
        self.response = response
        self.receivedAt = receivedAt
    }
}

/// `sso:oauth:login`, `sso:oauth:signup` and `sso:oauth:link`, decoded: a user whom a server of the application has had identified.
package struct OAuthIdentityRequest: Sendable {
    /// The longest `token_response` and `provider_profile`, in bytes.
    package static let maximumBytes = 16_384
    /// The longest name of a provider, in bytes.
    package static let maximumNameBytes = 64

    package var provider: String
    /// What the provider calls the user.
    package var principalID: String
    /// The tokens, an object.
    package var tokenResponse: JSONText?
    /// What the provider says of the user, an object.
    package var providerProfile: JSONText
    /// Whose account is linked, for `sso:oauth:link`.
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
