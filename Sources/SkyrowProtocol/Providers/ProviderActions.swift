import SkyrowJSON
public import SkyrowModel

/// The tokens that a provider gave an application for a sign-in.
public struct ProviderToken: Hashable, Sendable {
    /// Upper bound on the bytes of an id token or access token.
    package static let maximumBytes = 16_384

    public var provider: String
    public var idToken: String
    /// The random text of the application.
    public var nonce: String
    /// The access token that came with the id token.
    public var accessToken: String?

    public init(provider: String, idToken: String, nonce: String, accessToken: String? = nil) {
        self.provider = provider
        self.idToken = idToken
        self.nonce = nonce
        self.accessToken = accessToken
    }

    static let form = Form(
        ProviderToken.init(provider:idToken:nonce:accessToken:),
        Member(\.provider, members: providerForm()),
        Member(
            "id_token",
            \.idToken,
            .string(1...maximumBytes),
            "The id token that the provider issued to the application."
        ),
        Member(
            "nonce",
            \.nonce,
            .string(1...255),
            "A random value that the application made for this sign-in; the token contains it, or its hexadecimal SHA-256."
        ),
        Member(
            optional: "provider_access_token",
            \.accessToken,
            .string(1...maximumBytes),
            "The access token that came with the id token, whose `at_hash` is of this access token."
        )
    )

    static func providerForm(_ codec: Codec<String> = .string(1...255)) -> Form<String> {
        Form("provider", codec, "The name of the provider in the settings.")
    }
}

/// The token with which `auth:provider:login` logs in.
package struct ProviderLogIn: Hashable, Sendable {
    package var token: ProviderToken
    package var device: SessionDevice

    package init(token: ProviderToken, device: SessionDevice = SessionDevice()) {
        self.token = token
        self.device = device
    }
}

/// The token with which `sso:custom_token:login` logs in.
package struct CustomTokenLogIn: Hashable, Sendable {
    /// Upper bound on the bytes of a token, which may contain a part of the profile.
    package static let maximumBytes = 65_536

    package var token: String
    package var device: SessionDevice

    package init(token: String, device: SessionDevice = SessionDevice()) {
        self.token = token
        self.device = device
    }
}

/// The sign-in that `auth:provider:start` starts.
package struct ProviderStartRequest: Hashable, Sendable {
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

    fileprivate static let form = Form(
        { provider, redirect, challenge, state, scopes, links, stepsUp throws(SkyrowError) in
            guard !links || !stepsUp else {
                throw .invalidArgument("Send either \"link\" or \"stepup\".", "link", "stepup")
            }
            return ProviderStartRequest(
                provider: provider,
                redirect: redirect,
                codeChallenge: challenge,
                state: state,
                purpose: links ? .link : stepsUp ? .stepUp : .logIn,
                scopes: scopes
            )
        },
        Member(\.provider, members: ProviderToken.providerForm()),
        Member(
            "redirect",
            \.redirect,
            .string(1...2000),
            "The address to which the user returns, one of those in the settings of the provider."
        ),
        Member(
            "code_challenge",
            \.codeChallenge,
            .codeChallenge,
            "The SHA-256 of a fresh `code_verifier` in base64url, 43 characters (RFC 7636, S256)."
        ),
        Member(optional: "state", \.state, .string(1...255), "A text that the redirect sends back."),
        Member(
            "scopes",
            \.scopes,
            .scopes,
            "Further scopes to request from the provider, of those that the settings allow.",
            absent: []
        ),
        Member("link", \.links, .boolean, "Whether to link the provider with the logged-in user.", absent: false),
        Member(
            "stepup",
            \.stepsUp,
            .boolean,
            "Whether the logged-in user proves their identity again, as with `auth:stepup`; not together with `link`.",
            absent: false
        )
    )

    private var links: Bool { purpose == .link }

    private var stepsUp: Bool { purpose == .stepUp }
}

/// The code with which `auth:provider:finish` ends a sign-in.
package struct ProviderFinishRequest: Hashable, Sendable {
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

extension Codec<String> {
    fileprivate static let codeChallenge = text(.string(maximum: 43)) {
        "\"\($0)\" must be the SHA-256 of the code_verifier in base64url, 43 characters."
    } isFit: {
        $0.utf8.count == 43 && Base64URL.decode($0)?.count == 32
    }

    fileprivate static let codeVerifier = text(.string(maximum: 128)) {
        "\"\($0)\" must be 43 to 128 letters, digits and characters of \"-._~\"."
    } isFit: {
        (43...128).contains($0.utf8.count) && $0.utf8.allSatisfy(isUnreserved)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

extension Codec<[String]> {
    fileprivate static let scopes: Codec = {
        let maximum = 20
        let list = Codec.list(of: .string(1...255))
        return Codec(.array(of: .string(maximum: 255), maximum: maximum)) { json, name throws(SkyrowError) in
            guard !json.isArray || json.count <= maximum else {
                throw .invalidArgument("A sign-in can request at most \(maximum) scopes.", name)
            }
            return try list.read(json, name)
        } write: { scopes, writer in
            list.write(scopes, writer)
        }
    }()
}

extension Actions {
    /// Logs in with the id token of a provider.
    package static let authProviderLogIn = Action<ProviderLogIn, AuthResult>(
        "auth:provider:login",
        "Logs in with the id token of a provider, and creates an account if the user has no account yet.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [.invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired],
        Form(
            ProviderLogIn.init(token:device:),
            Member(\.token, members: ProviderToken.form),
            Member(\.device, members: SessionDevice.parameters)
        ),
        result: .authResult
    )

    /// Links a provider to the user, who can then log in by it.
    public static let authProviderLink = Action<ProviderToken, Void>(
        "auth:provider:link",
        "Links a provider with the user, who can then log in with it; an anonymous account becomes a registered one.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .when("unless the account is anonymous"),
        cost: .password,
        errors: [.invalidCredentials, .duplicated],
        ProviderToken.form,
        result: .status
    )

    /// Unlinks a provider from the user; the parameter is its name.
    public static let authProviderUnlink = Action<String, Void>(
        "auth:provider:unlink",
        "Unlinks a provider from the user; refused if the user has no other way to log in.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .always,
        cost: .write,
        errors: [.resourceNotFound, .constraintViolated],
        ProviderToken.providerForm(),
        result: .status
    )

    /// The providers by which the user logs in.
    public static let authProviderList = Action<Void, [AccountIdentity]>(
        "auth:provider:list",
        "Returns the providers with which the user logs in.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        .none,
        result: .list(of: .accountIdentity)
    )

    /// Logs in with a token that the application's server has signed.
    package static let ssoCustomTokenLogIn = Action<CustomTokenLogIn, AuthResult>(
        "sso:custom_token:login",
        "Logs in with a token that the application's server has signed, and creates an account if the user has no account yet.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [
            .notConfigured, .invalidCredentials, .userDisabled, .verificationRequired, .secondFactorRequired,
            .incompatibleSchema,
        ],
        Form(
            CustomTokenLogIn.init(token:device:),
            Member(
                "token",
                \.token,
                .string(1...CustomTokenLogIn.maximumBytes),
                "A JSON Web Token with `sub`, `iat` and `exp`."
            ),
            Member(\.device, members: SessionDevice.parameters)
        ),
        result: .authResult
    )

    /// Starts a sign-in in the browser.
    package static let authProviderStart = Action<ProviderStartRequest, ProviderStart>(
        "auth:provider:start",
        "Starts a sign-in with a provider in the browser, and returns the address that the browser must open.",
        requires: .key,
        scope: .signUp,
        stepUp: .when("with link, unless the account is anonymous"),
        cost: .password,
        errors: [.notConfigured, .userDisabled, .stepUpRequired],
        ProviderStartRequest.form,
        result: .providerStart
    )

    /// Completes a sign-in in the browser.
    package static let authProviderFinish = Action<ProviderFinishRequest, AuthResult>(
        "auth:provider:finish",
        "Completes a sign-in in the browser with the code of the redirect.",
        requires: .key,
        scope: .signUp,
        cost: .password,
        errors: [
            .invalidToken, .invalidCredentials, .duplicated, .userDisabled, .verificationRequired,
            .secondFactorRequired,
        ],
        Form(
            ProviderFinishRequest.init(code:codeVerifier:device:),
            Member("code", \.code, .string(1...255), "The code of the redirect."),
            Member(
                "code_verifier",
                \.codeVerifier,
                .codeVerifier,
                "The text whose hash was sent to `auth:provider:start`, 43 to 128 characters."
            ),
            Member(\.device, members: SessionDevice.parameters)
        ),
        result: .authResult
    )

    /// The tokens that a provider issued for the user; the parameter is its name.
    public static let authProviderToken = Action<String, ProviderTokens>(
        "auth:provider:token",
        "Returns the tokens that a provider issued for the user, if they are kept.",
        requires: .user,
        scope: .account(.writing),
        cost: .read,
        errors: [.resourceNotFound],
        ProviderToken.providerForm(),
        result: .providerTokens
    )
}
