import SkyrowJSON
public import SkyrowModel

/// The sessions that `session:revoke` ends.
public enum SessionsToRevoke: Hashable, Sendable {
    /// These sessions; an id that is not of a session of the user is ignored.
    case ids([String])
    case all(exceptCurrent: Bool)

    fileprivate static let form = Form(
        SessionsToRevoke.init(ids:all:exceptCurrent:),
        Member(optional: "ids", \.ids, .list(of: .sessionID, atMost: WireLimits.batchCount), "The ids of sessions."),
        Member("all", \.endsAll, .boolean, "Whether to end all sessions, in place of `ids`.", absent: false),
        Member(
            "except_current",
            \.exceptsCurrent,
            .boolean,
            "With `all`, whether the session of the request stays open.",
            absent: false
        )
    )

    private init(ids: [String]?, all: Bool, exceptCurrent: Bool) throws(SkyrowError) {
        guard let ids else {
            guard all else { throw .invalidArgument("Send \"ids\", or \"all\": true.", "ids", "all") }
            self = .all(exceptCurrent: exceptCurrent)
            return
        }
        guard !all, !exceptCurrent else { throw .invalidArgument("Send either \"ids\" or \"all\".", "ids", "all") }
        self = .ids(ids)
    }

    private var ids: [String]? { if case .ids(let ids) = self { ids } else { nil } }

    fileprivate var endsAll: Bool { if case .all = self { true } else { false } }

    private var exceptsCurrent: Bool { self == .all(exceptCurrent: true) }
}

/// By what `auth:stepup` proves who the user is.
package enum StepUpProof: Hashable, Sendable {
    case password(String)
    /// The id token of a linked provider.
    case token(ProviderToken)
    /// A code of the second factor.
    case code(String)

    fileprivate static let form = Form(
        StepUpProof.init(password:code:token:),
        Member(
            optional: "password",
            \.password,
            .secret,
            "The password of the account, if neither a code nor the id token of a provider is sent."
        ),
        Member(optional: "code", \.code, .string(0...255), "A code of the second factor."),
        Member(\.token, members: ProviderToken.form.optional(by: "provider", "id_token"))
    )

    private init(password: String?, code: String?, token: ProviderToken?) throws(SkyrowError) {
        switch (password, code, token) {
        case (let password?, nil, nil): self = .password(password)
        case (nil, let code?, nil): self = .code(code)
        case (nil, nil, let token?): self = .token(token)
        default:
            throw .invalidArgument(
                "Send a password, a code, or the token of a provider.",
                "password",
                "code",
                "id_token"
            )
        }
    }

    private var password: String? { if case .password(let password) = self { password } else { nil } }

    private var code: String? { if case .code(let code) = self { code } else { nil } }

    private var token: ProviderToken? { if case .token(let token) = self { token } else { nil } }
}

extension Actions {
    /// The account of the logged-in user, with the access token of the request.
    package static let me = Action<Void, AuthResult>(
        "me",
        "Returns the account of the logged-in user with the access token of the request.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        effect: .once,
        .none,
        result: .authResult
    )

    /// Ends the session of the request.
    public static let authLogOut = Action<Void, Void>(
        "auth:logout",
        "Ends the session of the request's access token.",
        requires: .keyOrToken,
        scope: .none,
        cost: .write,
        effect: .repeatable,
        .none,
        result: .status
    )

    /// The account of an access token.
    package static let authBecome = Action<String, AuthResult>(
        "auth:become",
        "Returns the account of an access token, with that token; it opens no session.",
        requires: .key,
        scope: .account(.reading),
        cost: .read,
        effect: .once,
        errors: [.userDisabled],
        Form("token", .secret, "An access token."),
        result: .authResult
    )

    /// Gives the session of the request another access token.
    package static let authRotate = Action<Void, AuthResult>(
        "auth:rotate",
        "Replaces the access token of the request's session; the previous one is accepted for another 30 seconds.",
        requires: .user,
        scope: .account(.writing),
        cost: .write,
        .none,
        result: .authResult
    )

    /// Proves the user's identity again; returns when the proof expires.
    package static let authStepUp = Action<StepUpProof, Timestamp>(
        "auth:stepup",
        "Proves the user's identity again, for actions that require step-up; the proof lasts ten minutes in this session.",
        requires: .user,
        scope: .account(.writing),
        cost: .password,
        errors: [.invalidCredentials, .notSupported],
        StepUpProof.form,
        result: .object(Form("elevated_until", .instant, "When the proof expires."))
    )

    /// The sessions of the user, those used last first.
    public static let sessionList = Action<Void, [AccountSession]>(
        "session:list",
        "Returns the sessions of the user, the most recently used first.",
        requires: .user,
        scope: .account(.reading),
        cost: .read,
        .none,
        result: .list(of: .accountSession)
    )

    /// Ends sessions of the user; returns how many.
    public static let sessionRevoke = Action<SessionsToRevoke, Int>(
        "session:revoke",
        "Ends sessions of the user: some by their ids, or all.",
        requires: .user,
        scope: .account(.writing),
        stepUp: .when("with \"all\""),
        takesStepUp: { $0.endsAll },
        cost: .write,
        SessionsToRevoke.form,
        result: .count("revoked", "The number of sessions that ended.")
    )

    /// A token that opens one event stream.
    public static let liveTicket = Action<Void, LiveTicket>(
        "live:ticket",
        "Returns a token that opens one event stream at GET /live within a minute, for clients that cannot set headers.",
        requires: .keyOrToken,
        scope: .records(.reading),
        cost: .write,
        errors: [.notSupported],
        .none,
        result: .liveTicket
    )

    /// Says who calls from here on; the call has the credentials when it runs.
    package static let connectionAuthenticate = Action<Credentials, Void>(
        "connection:authenticate",
        "Sets the caller of a WebSocket from then on; it may be called again, for another session or a new token.",
        requires: .keyOrToken,
        scope: .none,
        cost: .read,
        needsConnection: true,
        errors: [.notSupported, .userDisabled],
        Form(
            { Credentials(key: $0, accessToken: $1) },
            Member(optional: "api_key", \.key, .secret, "An API key."),
            Member(optional: "access_token", \.accessToken, .secret, "An access token.")
        )
        .reading { json, _ throws(SkyrowError) in try Credentials(parameters: json) },
        result: .status
    )
}
