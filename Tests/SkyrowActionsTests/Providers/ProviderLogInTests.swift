import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct ProviderLogInTests {
    @Test func theFirstLoginMakesAnAccountAndTheNextFindsIt() async throws {
        try await withProviderService { providers in
            let first = try await providers.logIn("ann")
            #expect(first.isNew == true && first.lastLoginAt == nil)
            let (caller, _) = try await providers.caller(first)
            #expect(caller.userID == first.userID && caller.isRegistered)
            let second = try await providers.logIn("ann")
            #expect(second.userID == first.userID && second.isNew == false && second.lastLoginAt != nil)
            #expect(second.accessToken != first.accessToken)
            let other = try await providers.logIn("bob")
            #expect(other.userID != first.userID && other.isNew == true)
            let rows = try await providers.fixture.psql(
                """
                SELECT event, outcome, user_id = '\(first.userID)', data ->> 'provider', session_id IS NOT NULL FROM _audit
                WHERE user_id = '\(first.userID)' ORDER BY id
                """
            )
            #expect(rows == "signup|ok|t|test|t\nlogin|ok|t|test|t")
            #expect(
                try await providers.fixture.psql(
                    "SELECT DISTINCT created_with FROM _session WHERE user_id = '\(first.userID)'"
                ) == "provider"
            )
            // Without a password, and without login keys.
            #expect(
                try await providers.fixture.psql(
                    """
                    SELECT password_hash IS NULL, username IS NULL, email IS NULL FROM _user JOIN "user" ON _id = id
                    WHERE id = '\(first.userID)'
                    """
                ) == "t|t|t"
            )
        }
    }

    /// A hostile token: how it is made, and why it does not count.
    struct Hostile: Sendable, CustomTestStringConvertible {
        var name: String
        var fault: TokenFault
        var algorithm = "RS256"
        var key = "k1"
        var header = "{}"
        var changes: [String: String?] = [:]

        var testDescription: String { name }
    }

    static let hostile = [
        Hostile(name: "another issuer", fault: .issuer, changes: ["iss": #""https://accounts.example.org""#]),
        Hostile(name: "another client", fault: .audience, changes: ["aud": #""app-2""#]),
        Hostile(name: "another party", fault: .authorizedParty, changes: ["azp": #""app-2""#]),
        Hostile(name: "another nonce", fault: .nonce, changes: ["nonce": #""other""#]),
        Hostile(name: "no nonce", fault: .nonce, changes: ["nonce": nil]),
        Hostile(name: "none", fault: .algorithm, algorithm: "none"),
        Hostile(name: "None", fault: .algorithm, header: #"{"alg":"None"}"#),
        Hostile(name: "HS256 with the public key", fault: .algorithm, algorithm: "HS256"),
        Hostile(name: "an algorithm that is not allowed", fault: .algorithm, algorithm: "PS256"),
        Hostile(
            name: "the algorithm of another signature",
            fault: .signature,
            algorithm: "PS256",
            header: #"{"alg":"RS256"}"#
        ),
        Hostile(
            name: "another key of the provider",
            fault: .key,
            algorithm: "ES256",
            key: "k2",
            header: #"{"alg":"RS256"}"#
        ),
        Hostile(name: "the name of another key", fault: .signature, key: "k9", header: #"{"kid":"k1"}"#),
        Hostile(name: "a key that it has no more", fault: .key, key: "k9"),
        Hostile(name: "the address of a key", fault: .undecodable, header: #"{"jku":"http://127.0.0.1/elsewhere"}"#),
        Hostile(
            name: "the address of a certificate",
            fault: .undecodable,
            header: #"{"x5u":"http://127.0.0.1/elsewhere"}"#
        ),
        Hostile(name: "a key of its own", fault: .undecodable, header: #"{"jwk":{"kty":"oct","k":"AAAA"}}"#),
        Hostile(name: "an extension", fault: .undecodable, header: #"{"crit":["exp"]}"#),
    ]

    @Test(arguments: hostile)
    func hostileTokensDoNotCount(_ row: Hostile) async throws {
        try await withProviderService { providers in
            let good = try await providers.logIn("ann")
            let token = try await providers.provider.token(
                providers.claims("ann", nonce: "n-\(row.name)", row.changes),
                row.algorithm,
                key: row.key,
                header: row.header
            )
            let error = try await expectError(.invalidCredentials) {
                try await providers.logIn(by: ProviderToken(provider: "test", idToken: token, nonce: "n-\(row.name)"))
            }
            // Whatever is wrong, the caller gets one text.
            #expect(error?.message == TokenFault.signature.idTokenError.message && error?.info.isEmpty == true)
            let observed = providers.fixture.observations.count { $0 == .tokenRefused("test", row.fault) }
            #expect(observed == 1)
            let count = try await providers.fixture.psql(
                "SELECT count(*) FROM _session WHERE user_id = '\(good.userID)'"
            )
            #expect(count == "1")
        }
    }

    @Test(
        arguments: [
            ("exp", -59, nil), ("exp", -61, TokenFault.expired), ("iat", 59, nil), ("iat", 61, .early),
            ("nbf", 59, nil),
            ("nbf", 61, .early),
        ] as [(String, Int, TokenFault?)]
    )
    func clocksMayDifferByAMinute(_ claim: String, _ seconds: Int, _ fault: TokenFault?) async throws {
        try await withProviderService { providers in
            let now = Int(providers.fixture.clock.clock.now().secondsSince1970)
            // The clock of the test stands at a fraction of the second.
            var changes: [String: String?] = ["iat": "\(now - 200)"]
            changes[claim] = "\(now + seconds + (claim == "exp" ? 1 : 0))"
            let token = try await providers.provider.token(providers.claims("ann", nonce: "skew", changes))
            let request = ProviderToken(provider: "test", idToken: token, nonce: "skew")
            if fault == nil {
                _ = try await providers.logIn(by: request)
            } else {
                try await expectError(.invalidCredentials) { try await providers.logIn(by: request) }
            }
        }
    }

    @Test(arguments: [
        (SignatureAlgorithm.rs256, "k1"), (.ps256, "k1"), (.es256, "k2"), (.edDSA, "k3"),
    ])
    func everyAlgorithmCountsWhereItIsAllowed(_ algorithm: SignatureAlgorithm, _ key: String) async throws {
        try await withProviderService(algorithms: [algorithm]) { providers in
            let hash = IDTokenRules.hash(ofAccessToken: "at", algorithm)
            let claims = providers.claims("ann", nonce: "n", ["at_hash": "\"\(hash)\""])
            let token = try await providers.provider.token(claims, algorithm.rawValue, key: key)
            var sent = ProviderToken(provider: "test", idToken: token, nonce: "n", accessToken: "other")
            try await expectError(.invalidCredentials) {
                try await providers.logIn(by: sent)
            }
            sent.accessToken = "at"
            let result = try await providers.logIn(by: sent)
            #expect(result.isNew == true)
        }
    }

    @Test func aTokenCountsOnce() async throws {
        try await withProviderService { providers in
            let token = try await providers.token("ann")
            _ = try await providers.logIn(by: token)
            try await expectError(.invalidCredentials) {
                try await providers.logIn(by: token)
            }
            // Also another token of the same nonce, and one that has the hash of a nonce and is sent with the hash.
            let hash = Hexadecimal.text(SHA256.hash(of: "secret").bytes)
            for (sent, isFirst) in [("secret", true), (hash, false), ("secret", false)] {
                let again = try await providers.provider.token(providers.claims("ann", nonce: hash))
                let request = ProviderToken(provider: "test", idToken: again, nonce: sent)
                if isFirst {
                    _ = try await providers.logIn(by: request)
                } else {
                    try await expectError(.invalidCredentials) { try await providers.logIn(by: request) }
                }
            }
            // What is remembered goes when the token has ended by itself.
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _used_token") == "2")
            try await providers.service.store.identities.purgeUsedTokens()
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _used_token") == "2")
            try await providers.fixture.psql("UPDATE _used_token SET expires_at = now() - interval '61 min'")
            await providers.service.purge()
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _used_token") == "0")
        }
    }

    @Test func ofLoginsWithOneTokenAtOnceOneSucceeds() async throws {
        try await withProviderService { providers in
            for round in 0..<min(10, seededCases(3)) {
                let token = try await providers.token("user-\(round % 3)")
                let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            do {
                                _ = try await providers.logIn(by: token)
                                return true
                            } catch let error as SkyrowError where error.code == .invalidCredentials {
                                return false
                            }
                        }
                    }
                    return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(successes == 1)
            }
        }
    }

    @Test func ofFirstLoginsAtOnceOneMakesTheAccount() async throws {
        try await withProviderService { providers in
            for round in 0..<5 {
                var tokens: [ProviderToken] = []
                for _ in 0..<6 { tokens.append(try await providers.token("new-\(round)")) }
                let results = try await withThrowingTaskGroup(of: AuthResult.self) { group in
                    for token in tokens {
                        group.addTask { try await providers.logIn(by: token) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(Set(results.map(\.userID)).count == 1)
                #expect(results.count { $0.isNew == true } == 1)
            }
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _user") == "5")
        }
    }

    @Test func providersThatAreSwitchedOffAreNot() async throws {
        try await withProviderService { providers in
            for name in ["off", "unknown", "TEST", AccountIdentity.customToken] {
                try await expectError(.invalidArgument) {
                    try await providers.logIn(by: try await providers.token("ann", of: name))
                }
            }
            // One that makes no accounts lets those in that are linked.
            try await expectError(.invalidCredentials) {
                try await providers.logIn(by: try await providers.token("ann", of: "closed"))
            }
            let account = try await providers.logIn("ann")
            try await providers.link("ann", with: account, of: "closed")
            let again = try await providers.logIn(by: try await providers.token("ann", of: "closed"))
            #expect(again.userID == account.userID && again.isNew == false)
        }
    }

    @Test func aDisabledUserIsRefusedOnlyWithAToken() async throws {
        try await withProviderService { providers in
            let account = try await providers.logIn("ann")
            try await providers.service.run(
                Actions.authDisableSet,
                DisabledState(userID: account.userID, isDisabled: true, message: "Be nice."),
                by: ServiceFixture.masterCaller
            )
            let error = try await expectError(.userDisabled) { try await providers.logIn("ann") }
            #expect(error?.info["message"] == .string("Be nice."))
            // The session is revoked with it, as those of accounts with a password are.
            #expect(
                try await providers.fixture.psql(
                    """
                    SELECT bool_and(session.epoch <> account.epoch)
                    FROM _session AS session JOIN _user AS account ON account.id = user_id WHERE user_id = '\(account.userID)'
                    """
                ) == "t"
            )
            try await providers.service.run(
                Actions.authDisableSet,
                DisabledState(userID: account.userID, isDisabled: false),
                by: ServiceFixture.masterCaller
            )
            let again = try await providers.logIn("ann")
            #expect(again.userID == account.userID)
            await providers.service.storeAudit()
            #expect(
                try await providers.fixture.psql(
                    "SELECT count(*) FROM _audit WHERE event = 'login' AND outcome = 'UserDisabled' AND user_id = '\(account.userID)'"
                ) == "1"
            )
        }
    }

    @Test func anAddressLinksNothing() async throws {
        try await withProviderService { providers in
            let owner = try await providers.service.signUp(
                SignUpRequest(authData: ["email": "ann@example.org"], password: "a long secret")
            )
            let token = try await providers.provider.token(
                providers.claims("ann", nonce: "n", ["email": #""ann@example.org""#, "email_verified": "true"])
            )
            let other = try await providers.logIn(by: ProviderToken(provider: "test", idToken: token, nonce: "n"))
            #expect(other.userID != owner.userID && other.isNew == true)
            #expect(
                try await providers.fixture.psql(
                    "SELECT email IS NULL FROM \"user\" WHERE _id = '\(other.userID)'"
                ) == "t"
            )
        }
    }

    @Test func whatAClientTriesInVainIsCounted() async throws {
        try await withProviderService { configuration in
            configuration.passwords.guesses = GuessLimits(client: nil, account: nil, total: 3)
        } _: { providers in
            let client = ClientKey(high: 1, low: 2)
            // Those that count take back their own.
            for _ in 0..<5 { _ = try await providers.logIn(by: try await providers.token("ann"), from: client) }
            let wrong = ProviderToken(provider: "test", idToken: "a.b.c", nonce: "n")
            for _ in 0..<3 {
                try await expectError(.invalidCredentials) { try await providers.logIn(by: wrong, from: client) }
            }
            let good = try await providers.token("ann")
            try await expectError(.rateLimited) { try await providers.logIn(by: good, from: client) }
            _ = try await providers.logIn(by: good, from: ClientKey(high: 1, low: 3))
        }
    }

    // MARK: Keys

    @Test func unknownKeysAreAskedForOnceAMinute() async throws {
        try await withProviderService { providers in
            _ = try await providers.logIn("ann")
            #expect(try await providers.provider.requests() == 1)
            // A flood of them.
            for number in 0..<20 {
                let token = try await providers.provider.token(
                    providers.claims("ann", nonce: "flood-\(number)"),
                    key: "k9",
                    header: #"{"kid":"k\#(100 + number)"}"#
                )
                try await expectError(.invalidCredentials) {
                    try await providers.logIn(
                        by: ProviderToken(provider: "test", idToken: token, nonce: "flood-\(number)")
                    )
                }
            }
            #expect(try await providers.provider.requests() == 1)
            // The provider has other keys, which are found once the minute is over.
            try await providers.provider.set(.rotated)
            let token = try await providers.provider.token(providers.claims("ann", nonce: "new"), key: "k9")
            let request = ProviderToken(provider: "test", idToken: token, nonce: "new")
            try await expectError(.invalidCredentials) { try await providers.logIn(by: request) }
            providers.fixture.clock.advance(by: .seconds(61))
            _ = try await providers.logIn(by: request)
            #expect(try await providers.provider.requests() == 2)
            // The one from before is not among them any more.
            let old = try await providers.provider.token(providers.claims("ann", nonce: "old"))
            try await expectError(.invalidCredentials) {
                try await providers.logIn(by: ProviderToken(provider: "test", idToken: old, nonce: "old"))
            }
        }
    }

    @Test(arguments: [TemporaryIdentityProvider.Mode.failing, .garbled, .redirect, .otherPort, .large, .impostor])
    func aProviderThatIsAwayIsNoReasonToForgetItsKeys(_ mode: TemporaryIdentityProvider.Mode) async throws {
        try await withProviderService { providers in
            try await providers.provider.set(mode)
            let error = try await expectError(.unexpectedUnableToOpenDatabase) { try await providers.logIn("ann") }
            #expect(error?.info["retry_after"] == .integer(5))
            // The token was not judged, so it is not used and counts for no limit.
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _used_token") == "0")
            let failures = providers.fixture.observations.count {
                if case .providerKeysFetched("test", failure: .some(_)) = $0 { true } else { false }
            }
            #expect(failures == 1)
            try await providers.provider.set(.normal)
            providers.fixture.clock.advance(by: .seconds(6))
            _ = try await providers.logIn("ann")
            // An hour later the keys would be fetched again, and serve as they are where that fails.
            try await providers.provider.set(mode)
            providers.fixture.clock.advance(by: .seconds(3601))
            _ = try await providers.logIn("ann")
            providers.fixture.clock.advance(by: .seconds(86_400))
            try await expectError(.unexpectedUnableToOpenDatabase) { try await providers.logIn("ann") }
            // What it leads to is not asked, so no key from there counts.
            #expect(try await providers.provider.requestsElsewhere() == 0)
        }
    }

    @Test func aSlowProviderHoldsUpItsOwnLoginsAlone() async throws {
        try await withIdentityProvider { slow in
            try await slow.set(.slow)
            let source = ProviderKeySource(
                issuer: slow.issuer,
                address: nil,
                allowsLoopback: true,
                fetcher: try WebFetcher(timeout: .milliseconds(500))
            )
            try await withProviderService(configure: {
                $0.providers.append(
                    ProviderConfiguration(
                        name: "slow",
                        issuers: [slow.issuer],
                        clientIDs: ["app-1"],
                        fetchKeys: { await source.keys() }
                    )
                )
            }) { providers in
                let request = try await providers.token("ann", of: "slow")
                let held = Task { try await providers.logIn(by: request) }
                _ = try await providers.logIn("ann")
                try await expectError(.unexpectedUnableToOpenDatabase) { try await held.value }
            }
        }
    }

    @Test func whereUsersMakeNoAccountsProvidersMakeNoneEither() async throws {
        try await withProviderService { configuration in
            configuration.accountLife.admitsSelfSignUp = false
        } _: { providers in
            try await expectError(.invalidCredentials) { try await providers.logIn("stranger") }
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _user") == "0")
        }
    }
}
