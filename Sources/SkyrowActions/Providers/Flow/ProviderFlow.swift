package import SkyrowRemote

/// What kind of provider it is: OpenID Connect, or one of those with ways of their own.
package enum ProviderKind: String, Hashable, Sendable, CaseIterable {
    /// Any provider of OpenID Connect.
    case openID = "oidc"
    case google
    /// Its client secret is a token that is made for each exchange, and it comes back with POST.
    case apple
    case facebook
    case github
    case twitter

    /// Whether it identifies users by id tokens, and not by what it responds about them.
    package var hasIDTokens: Bool {
        switch self {
        case .openID, .google, .apple: true
        case .facebook, .github, .twitter: false
        }
    }

    /// By which names a ready-made one calls itself; none for one that the settings have to name, or that has no id tokens.
    package var issuers: [String] {
        switch self {
        case .google: ["https://accounts.google.com", "accounts.google.com"]
        case .apple: ["https://appleid.apple.com"]
        case .openID, .facebook, .github, .twitter: []
        }
    }

    /// What it is asked for.
    package var scopes: [String] {
        switch self {
        case .openID, .google: ["openid", "email", "profile"]
        case .apple: ["name", "email"]
        case .facebook: ["public_profile", "email"]
        case .github: ["read:user", "user:email"]
        case .twitter: ["tweet.read", "users.read"]
        }
    }

    /// Where a ready-made one is that has no document that says so.
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

/// Where a provider is reached.
package struct ProviderEndpoints: Hashable, Sendable {
    /// What the browser of the user opens.
    package var authorization: WebAddress
    /// Where a code is exchanged.
    package var token: WebAddress
    /// What the provider says of the user of an access token.
    package var user: WebAddress?
    /// The mail addresses of that user, where they are elsewhere.
    package var emails: WebAddress?
    /// Whether each response names the provider (RFC 9207).
    package var namesIssuer: Bool
    /// Whether the secret of the client goes into the body, and not into a header field.
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

/// How the service proves to a provider that it is the client.
package enum ClientAuthentication: Sendable {
    /// By PKCE alone, for clients that keep no secret.
    case none
    case secret(Secret)
    /// Apple's: a token that is signed with the key of a team.
    case apple(AppleClientKey)
}

/// How users sign in with a provider by way of their browsers.
package struct ProviderFlow: Sendable {
    package var kind: ProviderKind
    /// By what the provider knows the service.
    package var clientID: String
    package var authentication: ClientAuthentication
    package var scopes: [String]
    /// Those that a sign-in may ask for beside them.
    package var furtherScopes: [String] = []
    /// Where users may go back to.
    package var redirects: [RegisteredRedirect]
    /// Where the provider sends users back to, `https://api.example.org/auth/callback/google`.
    package var callback: String
    /// Whether the tokens of the provider are kept.
    package var keepsTokens: Bool
    /// Says where the provider is reached.
    package var locate: @Sendable () async -> Result<ProviderEndpoints, WebFailure>
    /// Sends a request to it.
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

/// Why a sign-in by way of the browser came to nothing. The text is for the log; the application gets the code.
struct FlowFault: Error, Hashable, Sendable {
    /// What the application gets as `error` (RFC 6749, 4.1.2.1).
    enum Code: String, Hashable, Sendable {
        case accessDenied = "access_denied"
        case serverError = "server_error"
        case temporarilyUnavailable = "temporarily_unavailable"
    }

    let code: Code
    /// Without anything secret.
    let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}
