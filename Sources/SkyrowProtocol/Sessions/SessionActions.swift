public import SkyrowModel

/// The sessions that `session:revoke` ends.
public enum SessionsToRevoke: Hashable, Sendable {
    /// These sessions; an id that is not of a session of the user is ignored.
    case ids([String])
    case all(exceptCurrent: Bool)

    fileprivate static let form = Form(
        SessionsToRevoke.init(ids:all:exceptCurrent:),
        Member(
            optional: "ids",
            \.ids,
            .list(of: .sessionID, atMost: WireLimits.batchCount),
            "The ids of sessions."
        ),
        Member("all", \.endsAll, .boolean, "Whether all sessions end, in place of ids.", absent: false),
        Member(
            "except_current",
            \.exceptsCurrent,
            .boolean,
            "Whether, of all, the session of the request goes on.",
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
        StepUpProof.init(password:code:provider:idToken:nonce:accessToken:),
        Member(
            optional: "password",
            \.password,
            .secret,
            "The password of the account; or a code, or the token of a provider."
        ),
        Member(optional: "code", \.code, .string(0...255), "A code of the second factor."),
        Member(
            optional: "provider",
            \.token?.provider,
            .string(1...255),
            "The name of a provider, as the settings of the service have it."
        ),
        Member(
            optional: "id_token",
            \.token?.idToken,
            .string(1...ProviderToken.maximumBytes),
            "The id token that the provider gave the application."
        ),
        Member(
            optional: "nonce",
            \.token?.nonce,
            .string(1...255),
            "What the application drew for this sign-in and sent to the provider, as it is or as the hexadecimal SHA-256 of it."
        ),
        Member(
            optional: "provider_access_token",
            \.token?.accessToken,
            .string(1...ProviderToken.maximumBytes),
            "The access token that came with the id token; it has to be the one that this names by at_hash."
        )
    )

    private init(
        password: String?,
        code: String?,
        provider: String?,
        idToken: String?,
        nonce: String?,
        accessToken: String?
    ) throws(SkyrowError) {
        switch (password, code, provider != nil || idToken != nil) {
        case (let password?, nil, false): self = .password(password)
        case (nil, let code?, false): self = .code(code)
        case (nil, nil, true):
            guard let provider else { throw .invalidArgument("\"provider\" is missing.", "provider") }
            guard let idToken else { throw .invalidArgument("\"id_token\" is missing.", "id_token") }
            guard let nonce else { throw .invalidArgument("\"nonce\" is missing.", "nonce") }
            self = .token(ProviderToken(provider: provider, idToken: idToken, nonce: nonce, accessToken: accessToken))
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
        .me,
        "Returns the account of the logged-in user and the access token that came along.",
        requires: .user,
        cost: .read,
        effect: .once,
        errors: [.userDisabled],
        .none,
        result: .authResult
    )

    /// Ends the session of the request.
    public static let authLogOut = Action<Void, Void>(
        .authLogOut,
        "Ends the session of the access token that comes with the request.",
        requires: .keyOrToken,
        cost: .write,
        effect: .repeatable,
        errors: [],
        .none,
        result: .status
    )

    /// The account of an access token.
    package static let authBecome = Action<String, AuthResult>(
        .authBecome,
        "Returns the account of an access token, with that token; no session is opened.",
        requires: .key,
        cost: .read,
        effect: .once,
        errors: [.userDisabled],
        Form({ $0 }, Member("token", \.self, .secret, "An access token.")),
        result: .authResult
    )

    /// Gives the session of the request another access token.
    package static let authRotate = Action<Void, AuthResult>(
        .authRotate,
        "Gives the session of the request another access token; the one before is accepted for 30 seconds more.",
        requires: .user,
        cost: .write,
        effect: .once,
        errors: [.userDisabled],
        .none,
        result: .authResult
    )

    /// Proves once more who the user is; returns until when that counts.
    package static let authStepUp = Action<StepUpProof, Timestamp>(
        .authStepUp,
        "Proves once more who the user is, for what takes that; it counts for ten minutes of this session.",
        requires: .user,
        cost: .password,
        effect: .once,
        errors: [.invalidCredentials, .userDisabled, .notSupported],
        StepUpProof.form,
        result: .object(Form({ $0 }, Member("elevated_until", \.self, .instant)))
    )

    /// The sessions of the user, those used last first.
    public static let sessionList = Action<Void, [AccountSession]>(
        .sessionList,
        "Returns the sessions of the user, those used last first.",
        requires: .user,
        cost: .read,
        effect: .reads,
        errors: [.userDisabled],
        .none,
        result: .list(of: .accountSession)
    )

    /// Ends sessions of the user; returns how many.
    public static let sessionRevoke = Action<SessionsToRevoke, Int>(
        .sessionRevoke,
        "Ends sessions of the user: some by their ids, or all.",
        requires: .user,
        stepUp: .when("with \"all\""),
        takesStepUp: { $0.endsAll },
        cost: .write,
        effect: .once,
        errors: [.userDisabled],
        SessionsToRevoke.form,
        result: .count("revoked")
    )

    /// A token that opens one event stream.
    public static let liveTicket = Action<Void, LiveTicket>(
        .liveTicket,
        "Returns a token that opens one event stream at GET /live, within a minute, where headers cannot be set.",
        requires: .keyOrToken,
        cost: .write,
        effect: .once,
        errors: [.notSupported],
        .none,
        result: .liveTicket
    )
}
