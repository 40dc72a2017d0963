import SkyrowModel
import SkyrowStore
import Testing

@testable import SkyrowActions

/// Rows of what comes with a request and what becomes of it (skygear.md 1.2), grant and refusal side by side.
@Suite struct CredentialCheckTests {
    static let keys = AccessKeys(given: GivenKeys(api: Secret("api"), master: Secret("master")))
    static let ann = StoredSession(userID: "ann", roles: ["writer"], isAdministrator: false)
    static let root = StoredSession(userID: "root", roles: ["Admin"], isAdministrator: true)
    static let now = Timestamp(microseconds: 1_000_000)
    static let expired = StoredSession(userID: "ann", roles: [], isAdministrator: false, expiresAt: now)
    static let disabled = StoredSession(
        userID: "ann",
        roles: [],
        isAdministrator: false,
        suspension: .init(message: "be nice")
    )
    static let disabledUntilNow = StoredSession(
        userID: "ann",
        roles: [],
        isAdministrator: false,
        suspension: .init(until: now)
    )
    static let revoked = StoredSession(
        userID: "ann",
        roles: [],
        isAdministrator: false,
        suspension: .init(message: "be nice"),
        isRevoked: true
    )
    static let revokedUntilNow = StoredSession(
        userID: "ann",
        roles: [],
        isAdministrator: false,
        suspension: .init(until: now),
        isRevoked: true
    )
    static let annCaller = Caller(kind: .user("ann"), roles: ["writer"])
    static let rootCaller = Caller(kind: .user("root"), roles: ["Admin"], isAdministrator: true)

    struct Row: Sendable, CustomTestStringConvertible {
        var requirement: ActionRequirement
        var key: String?
        var token: String?
        var acting: UserID?
        var isDevelopment = false
        var caller: Caller?
        var code: ErrorCode?

        var testDescription: String {
            "\(requirement) key=\(key ?? "-") token=\(token ?? "-") as=\(acting ?? "-") dev=\(isDevelopment)"
        }

        static func grant(
            _ requirement: ActionRequirement,
            key: String? = nil,
            token: String? = nil,
            as acting: UserID? = nil,
            development: Bool = false,
            _ caller: Caller
        ) -> Row {
            Row(
                requirement: requirement,
                key: key,
                token: token,
                acting: acting,
                isDevelopment: development,
                caller: caller
            )
        }

        static func refuse(
            _ requirement: ActionRequirement,
            key: String? = nil,
            token: String? = nil,
            as acting: UserID? = nil,
            development: Bool = false,
            _ code: ErrorCode
        ) -> Row {
            Row(
                requirement: requirement,
                key: key,
                token: token,
                acting: acting,
                isDevelopment: development,
                code: code
            )
        }
    }

    static let sessions = [
        "ann": ann, "root": root, "expired": expired, "disabled": disabled, "disabled-until-now": disabledUntilNow,
        "revoked": revoked, "revoked-until-now": revokedUntilNow,
    ]

    static let rows: [Row] = [
        // Nothing
        .grant(.nothing, .anonymous),
        .grant(.nothing, key: "", token: "", .anonymous),
        .grant(.nothing, key: "api", .anonymous),
        .grant(.nothing, token: "ann", annCaller),
        .grant(.nothing, token: "disabled", .anonymous),
        .grant(.nothing, key: "master", as: "ann", Caller(kind: .master(actingAs: "ann"))),
        .refuse(.nothing, key: "wrong", .accessKeyNotAccepted),
        .refuse(.nothing, token: "stale", .accessTokenNotAccepted),
        .refuse(.nothing, key: "api", token: "expired", .accessTokenNotAccepted),
        // Key only
        .grant(.key, key: "api", .anonymous),
        .grant(.key, key: "master", Caller(kind: .master(actingAs: nil))),
        .refuse(.key, .notAuthenticated),
        .refuse(.key, key: "", .notAuthenticated),
        .refuse(.key, key: "wrong", .accessKeyNotAccepted),
        .refuse(.key, token: "ann", .notAuthenticated),
        .grant(.key, key: "api", token: "stale", .anonymous),
        // Key or token
        .grant(.keyOrToken, key: "api", .anonymous),
        .grant(.keyOrToken, token: "ann", annCaller),
        .grant(.keyOrToken, key: "api", token: "ann", annCaller),
        .refuse(.keyOrToken, .notAuthenticated),
        .refuse(.keyOrToken, key: "", token: "", .notAuthenticated),
        .refuse(.keyOrToken, key: "wrong", .accessKeyNotAccepted),
        .refuse(.keyOrToken, key: "wrong", token: "ann", .accessKeyNotAccepted),
        .refuse(.keyOrToken, token: "stale", .accessTokenNotAccepted),
        .refuse(.keyOrToken, key: "api", token: "stale", .accessTokenNotAccepted),
        .refuse(.keyOrToken, key: "api", token: "expired", .accessTokenNotAccepted),
        .refuse(.keyOrToken, key: "master", token: "stale", .accessTokenNotAccepted),
        // A user
        .grant(.user, key: "api", token: "ann", annCaller),
        .refuse(.user, key: "api", .notAuthenticated),
        .refuse(.user, key: "master", .notAuthenticated),
        .grant(.user, key: "master", as: "ann", Caller(kind: .master(actingAs: "ann"))),
        .grant(.user, key: "master", token: "ann", Caller(kind: .master(actingAs: "ann"))),
        .grant(.userOrMaster, key: "master", Caller(kind: .master(actingAs: nil))),
        .grant(.userOrMaster, token: "ann", annCaller),
        .refuse(.userOrMaster, key: "api", .notAuthenticated),
        // Acting as somebody
        .grant(.keyOrToken, key: "api", as: "bob", .anonymous),
        .grant(.keyOrToken, key: "api", token: "ann", as: "bob", annCaller),
        .grant(.keyOrToken, key: "master", token: "ann", as: "bob", Caller(kind: .master(actingAs: "bob"))),
        .refuse(.keyOrToken, key: "master", as: "", .invalidArgument),
        .refuse(.keyOrToken, key: "master", as: "b\0b", .invalidArgument),
        // An administrator
        .grant(.administrator, token: "root", rootCaller),
        .grant(.administrator, key: "master", Caller(kind: .master(actingAs: nil))),
        .refuse(.administrator, token: "ann", .permissionDenied),
        .refuse(.administrator, key: "api", .notAuthenticated),
        // The master key or development mode
        .grant(.master, key: "master", Caller(kind: .master(actingAs: nil))),
        .refuse(.master, key: "api", .permissionDenied),
        .refuse(.master, key: "api", development: true, .permissionDenied),
        .refuse(.master, key: "api", token: "root", .permissionDenied),
        .refuse(.master, token: "root", .notAuthenticated),
        .grant(.masterOrDevelopment, key: "master", Caller(kind: .master(actingAs: nil))),
        .grant(.masterOrDevelopment, key: "api", development: true, .anonymous),
        .refuse(.masterOrDevelopment, key: "api", .permissionDenied),
        .refuse(.masterOrDevelopment, key: "api", token: "root", .permissionDenied),
        .refuse(.masterOrDevelopment, token: "root", .notAuthenticated),
        // The master key alone
        .grant(.master, key: "master", Caller(kind: .master(actingAs: nil))),
        .refuse(.master, key: "api", .permissionDenied),
        .refuse(.master, key: "api", token: "root", .permissionDenied),
        .refuse(.master, token: "root", .notAuthenticated),
        .refuse(.master, .notAuthenticated),
        // A disabled user is refused where a user is needed, and nobody elsewhere.
        .refuse(.user, token: "disabled", .userDisabled),
        .refuse(.userOrMaster, token: "disabled", .userDisabled),
        .refuse(.administrator, token: "disabled", .userDisabled),
        .grant(.keyOrToken, token: "disabled", .anonymous),
        .grant(.user, token: "disabled-until-now", Caller(kind: .user("ann"))),
        // A revoked token tells of the suspension while it lasts, and is none afterwards.
        .refuse(.user, token: "revoked", .userDisabled),
        .grant(.keyOrToken, token: "revoked", .anonymous),
        .refuse(.user, token: "revoked-until-now", .accessTokenNotAccepted),
        .refuse(.keyOrToken, token: "revoked-until-now", .accessTokenNotAccepted),
        .refuse(.keyOrToken, key: "master", token: "revoked-until-now", .accessTokenNotAccepted),
    ]

    @Test(arguments: rows)
    func credentialsAreJudged(row: Row) {
        let check = CredentialCheck(requirement: row.requirement, isDevelopment: row.isDevelopment)
        let credentials = Credentials(key: row.key, accessToken: row.token, actingUserID: row.acting)
        let result = Result { () throws(SkyrowError) -> Caller in
            let step = try check.start(credentials, keys: Self.keys)
            switch step {
            case .settled(let caller):
                return caller
            case .session(let token, let key):
                guard let session = Self.sessions.first(where: { TokenHash(of: $0.key) == token })?.value else {
                    throw CredentialCheck.tokenNotAccepted
                }
                return try check.judge(session, key: key, at: Self.now)
            }
        }
        switch result {
        case .success(let caller): #expect(caller == row.caller)
        case .failure(let error): #expect(error.code == row.code)
        }
    }

    @Test(arguments: [
        ("api", AccessKeys.Kind.api), ("master", .master), ("", .neither), ("Api", .neither), ("api ", .neither),
        ("apimaster", .neither),
    ])
    func aKeyIsTheAPIKeyTheMasterKeyOrNeither(candidate: String, kind: AccessKeys.Kind) {
        #expect(Self.keys.kind(of: candidate, at: .negativeInfinity) == kind)
    }

    @Test func theRefusalOfADisabledUserTellsWhyAndForHowLong() {
        let suspension = AccountSuspension(message: "be nice", until: Timestamp(microseconds: 5))
        #expect(
            suspension.error.info == ["message": .string("be nice"), "expiry": .datetime(Timestamp(microseconds: 5))]
        )
        #expect(AccountSuspension().error.info.isEmpty)
    }
}
