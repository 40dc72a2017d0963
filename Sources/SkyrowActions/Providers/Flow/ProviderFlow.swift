package import SkyrowRemote

/// The kind of a provider: OpenID Connect, or one with its own protocol.
package enum ProviderKind: String, Hashable, Sendable, CaseIterable {
    /// Any provider of OpenID Connect.
    case openID = "oidc"
    case google
    /// Its client secret is a token generated for each exchange, and its response comes as POST.
    case apple
    case facebook
    case github
    case twitter

    /// Whether it identifies users by ID tokens instead of a userinfo response.
    package var hasIDTokens: Bool {
        switch self {
        case .openID, .google, .apple: true
        case .facebook, .github, .twitter: false
        }
    }

    /// The issuer names of a predefined provider; empty for one that the settings have to name, or without ID tokens.
    package var issuers: [String] {
        switch self {
        case .google: ["https://accounts.google.com", "accounts.google.com"]
        case .apple: ["https://appleid.apple.com"]
        case .openID, .facebook, .github, .twitter: []
        }
    }

    /// The scopes that are requested.
    package var scopes: [String] {
        switch self {
        case .openID, .google: ["openid", "email", "profile"]
        case .apple: ["name", "email"]
        case .facebook: ["public_profile", "email"]
        case .github: ["read:user", "user:email"]
        case .twitter: ["tweet.read", "users.read"]
        }
    }

    /// The endpoints of a predefined provider without a metadata document.
    package var addresses: (authorization: String, token: String, user: String, emails: String?)? {
        switch self {
        case .openID, .google, .apple: nil
        case .facebook:
            (
                "https://www.facebook.com/v23.0/dialog/oauth", "https://graph.facebook.com/v23.0/oauth/access_token",
                "https://graph.facebook.com/v23.0/me?fields=id,name,first_name,last_name,email,picture", nil
            )
        case .github:
            (
                "https://github.com/login/oauth/authorize", "https://github.com/login/oauth/access_token",
                "https://api.github.com/user", "https://api.github.com/user/emails"
            )
        case .twitter:
            (
                "https://x.com/i/oauth2/authorize", "https://api.x.com/2/oauth2/token",
                "https://api.x.com/2/users/me?user.fields=profile_image_url", nil
            )
        }
    }
}

/// The endpoints of a provider.
package struct ProviderEndpoints: Hashable, Sendable {
    /// The endpoint that the user's browser opens.
    package var authorization: WebAddress
    /// The endpoint that exchanges codes.
    package var token: WebAddress
    /// The endpoint that describes the user of an access token.
    package var user: WebAddress?
    /// The endpoint for the mail addresses of that user, if it is a separate one.
    package var emails: WebAddress?
    /// Whether each response names the provider (RFC 9207).
    package var namesIssuer: Bool
    /// Whether the client secret goes into the body instead of a header field.
    package var postsSecret: Bool

    package init(
        authorization: WebAddress,
        token: WebAddress,
        user: WebAddress? = nil,
        emails: WebAddress? = nil,
        namesIssuer: Bool = false,
        postsSecret: Bool = false
    ) {
        self.authorization = authorization
        self.token = token
        self.user = user
        self.emails = emails
        self.namesIssuer = namesIssuer
        self.postsSecret = postsSecret
    }
}

/// How the service authenticates itself to a provider as the client.
package enum ClientAuthentication: Sendable {
    /// By PKCE alone, for clients without a secret.
    case none
    case secret(Secret)
    /// Apple's way: a token signed with the key of a team.
    case apple(AppleClientKey)
}

/// The configuration of sign-ins with a provider through the browser.
package struct ProviderFlow: Sendable {
    package var kind: ProviderKind
    /// The provider's id for the service.
    package var clientID: String
    package var authentication: ClientAuthentication
    package var scopes: [String]
    /// Further scopes that a sign-in may request.
    package var furtherScopes: [String] = []
    /// The addresses that users may return to.
    package var redirects: [RegisteredRedirect]
    /// The URL to which the provider sends users back, `https://api.example.org/auth/callback/google`.
    package var callback: String
    /// Whether the provider's tokens are stored.
    package var keepsTokens: Bool
    /// Finds the provider's endpoints.
    package var locate: @Sendable () async -> Result<ProviderEndpoints, WebFailure>
    /// Sends a request to the provider.
    package var send: @Sendable (WebRequest) async -> Result<WebResponse, WebFailure>

    package init(
        kind: ProviderKind,
        clientID: String,
        authentication: ClientAuthentication,
        scopes: [String]? = nil,
        redirects: [RegisteredRedirect],
        callback: String,
        keepsTokens: Bool = false,
        locate: @escaping @Sendable () async -> Result<ProviderEndpoints, WebFailure>,
        send: @escaping @Sendable (WebRequest) async -> Result<WebResponse, WebFailure>
    ) {
        self.kind = kind
        self.clientID = clientID
        self.authentication = authentication
        self.scopes = scopes ?? kind.scopes
        self.redirects = redirects
        self.callback = callback
        self.keepsTokens = keepsTokens
        self.locate = locate
        self.send = send
    }
}

/// Why a sign-in through the browser failed. The text is for the log; the application gets the code.
struct FlowFault: Error, Hashable, Sendable {
    /// The application gets it as `error` (RFC 6749, 4.1.2.1).
    enum Code: String, Hashable, Sendable {
        case accessDenied = "access_denied"
        case serverError = "server_error"
        case temporarilyUnavailable = "temporarily_unavailable"
    }

    let code: Code
    /// A text without secrets.
    let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
