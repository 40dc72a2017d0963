import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Sign-ins by way of the browser, with a provider that is a process of its own.
@Suite(.timeLimit(.minutes(60))) struct ProviderFlowTests {
    // MARK: What goes well

    @Test func aUserSignsInAndComesBackToTheSameAccount() async throws {
        try await withFlows { flows in
            let start = try await flows.start(state: "a b&c")
            let asked = FlowFixture.fields(of: start.url)
            #expect(start.url.hasPrefix("\(flows.provider.issuer)/authorize?"))
            #expect(asked["client_id"] == "app-1" && asked["scope"] == "openid email profile")
            #expect(asked["redirect_uri"] == "https://api.example.org/auth/callback/test")
            #expect(asked["code_challenge_method"] == "S256" && asked["code_challenge"]?.utf8.count == 43)
            // What the table has opens nothing: neither the state nor the verifier is in it.
            let row = try await flows.fixture.psql("SELECT * FROM _flow")
            #expect(!row.contains(try #require(asked["state"])))
            let back = try await flows.signIn(start)
            guard case .redirect(let address)? = try await flows.back(back) else {
                Issue.record("The browser is not sent on.")
                return
            }
            #expect(address.hasPrefix("\(FlowFixture.redirect)?code=") && address.hasSuffix("&state=a%20b%26c"))
            let first = try await flows.finish(FlowFixture.fields(of: address)["code"])
            #expect(first.isNew == true)
            let again = try await flows.logIn()
            #expect(again.isNew == false && again.userID == first.userID)
            // The secret of the client went along, encoded twice as RFC 6749 says.
            let exchange = try JSONDocument(Array(try await flows.provider.lastExchange().utf8))
            let header = exchange.withRoot { $0["authorization"]?.string }
            #expect(header == "Basic " + encodeBase64(Array("app-1:s%3Ae%2Fc%20r".utf8)))
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _flow") == "0")
            #expect(
                try await flows.fixture.psql("SELECT provider, subject, profile ->> 'name' FROM _identity")
                    == "test|ann|Ann"
            )
        }
    }

    @Test func aProviderWithoutIDTokensSaysWhoTheUserIs() async throws {
        try await withFlows { flows in
            let person = #"{"id":583231,"login":"octocat","name":"Octo Cat","email":"shown@example.org"}"#
            let emails =
                #"[{"email":"old@example.org","primary":false,"verified":true},{"email":"octo@example.org","primary":true,"verified":true}]"#
            try await flows.provider.set(user: person, emails: emails)
            #expect(try await flows.logIn("hub").isNew == true)
            #expect(
                try await flows.fixture.psql("SELECT subject, profile ->> 'email', profile ->> 'name' FROM _identity")
                    == "583231|octo@example.org|Octo Cat"
            )
            // A name may change hands, an id does not.
            try await flows.provider.set(user: #"{"id":583231,"login":"renamed"}"#, emails: emails)
            #expect(try await flows.logIn("hub").isNew == false)
            try await flows.provider.set(user: #"{"login":"octocat"}"#)
            #expect(try await flows.code("hub") == nil)
            // It has no id tokens, so none is taken for one of its.
            let token = ProviderToken(provider: "hub", idToken: "a.b.c", nonce: "n")
            try await expectError(.invalidArgument) {
                try await flows.service.run(Actions.authProviderLogIn, ProviderLogIn(token: token))
            }
        }
    }

    @Test func anAnonymousAccountIsLinkedAndKeepsEverything() async throws {
        try await withFlows { flows in
            let anonymous = try await flows.service.signUp(SignUpRequest())
            let linked = try await flows.finish(try await flows.code(purpose: .link, as: anonymous), as: anonymous)
            #expect(linked.userID == anonymous.userID && linked.accessToken == anonymous.accessToken)
            let again = try await flows.logIn()
            #expect(again.userID == anonymous.userID && again.isNew == false)
        }
    }

    @Test func aLinkTakesAProofAndTheSessionThatBegan() async throws {
        try await withFlows { flows in
            let ann = try await flows.service.signUp(SignUpRequest(authData: ["username": "ann"], password: "secret"))
            let bob = try await flows.service.signUp(SignUpRequest(authData: ["username": "bob"], password: "secret"))
            // Another user, another session of the user, and none.
            let other = try await flows.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            for (result, code) in [(bob, ErrorCode.invalidToken), (other, .accessTokenNotAccepted)] {
                let brought = try await flows.code(purpose: .link, as: ann)
                try await expectError(code) { try await flows.finish(brought, as: result) }
            }
            let brought = try await flows.code(purpose: .link, as: ann)
            try await expectError(.notAuthenticated) { try await flows.finish(brought) }
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _identity") == "0")
            // A log-in is no proof.
            try await expectError(.stepUpRequired) { try await flows.start(purpose: .link, as: other) }
            try await expectError(.notAuthenticated) { try await flows.start(purpose: .link) }
            // One whose session ends while the user is at the provider.
            let late = try await flows.start(purpose: .link, as: ann)
            let fields = try await flows.signIn(late)
            try await flows.service.run(Actions.authLogOut, with: .token(ann.accessToken))
            #expect(try await flows.back(fields) == .unknown)
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _flow") == "0")
        }
    }

    @Test func aUserStepsUpByTheProviderOfTheAccountAlone() async throws {
        try await withFlows { flows in
            let ann = try await flows.logIn("hub")
            try await flows.fixture.psql("UPDATE _session SET elevated_until = NULL")
            func steps() async throws -> AuthResult {
                try await flows.finish(try await flows.code("hub", purpose: .stepUp, as: ann), as: ann)
            }
            try await flows.provider.set(user: #"{"id":8}"#)
            try await expectError(.invalidCredentials) { try await steps() }
            #expect(try await flows.fixture.psql("SELECT elevated_until IS NULL FROM _session") == "t")
            try await flows.provider.set(user: #"{"id":7}"#)
            #expect(try await steps().accessToken == ann.accessToken)
            #expect(try await flows.fixture.psql("SELECT elevated_until > now() FROM _session") == "t")
        }
    }

    /// What the id token says of the sign-in, and whether that steps up: nil leaves it out.
    @Test(
        arguments: [("0", true), ("-659", true), ("-661", false), ("-2592000", false), (nil, false)]
            as [(String?, Bool)]
    )
    func anIDTokenStepsUpThatIsOfASignInLately(age: String?, counts: Bool) async throws {
        try await withFlows { flows in
            let ann = try await flows.logIn()
            try await flows.fixture.psql("UPDATE _session SET elevated_until = NULL")
            let now = Int(flows.fixture.clock.clock.now().secondsSince1970)
            let claims = age.flatMap(Int.init).map { "{\"auth_time\":\(now + $0)}" } ?? #"{"auth_time":null}"#
            try await flows.provider.set(tokens: claims)
            let code = try await flows.code(purpose: .stepUp, as: ann)
            #expect((code != nil) == counts)
            if counts { _ = try await flows.finish(code, as: ann) }
            let isElevated = try await flows.fixture.psql("SELECT elevated_until IS NOT NULL FROM _session")
            #expect(isElevated == (counts ? "t" : "f"))
            // A log-in asks for no time.
            _ = try await flows.logIn()
        }
    }

    @Test func aSecondFactorIsAskedForAndTokensAreKeptMeanwhile() async throws {
        try await withFlows(keepsTokens: true) { flows in
            let ann = try await flows.logIn()
            try await flows.fixture.psql(
                """
                INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at)
                VALUES ('\(ann.userID)', 'totp', '\\x00', now());
                UPDATE _identity SET token_sealed = NULL
                """
            )
            try await expectError(.secondFactorRequired) { try await flows.logIn() }
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _session") == "1")
            #expect(try await flows.fixture.psql("SELECT token_sealed IS NOT NULL FROM _identity") == "t")
        }
    }

    // MARK: What does not

    @Test(arguments: [
        (TemporaryIdentityProvider.Mode.wrongIssuer, "server_error"), (.namelessIssuer, "server_error"),
        (.denied, "access_denied"), (.wrongNonce, "server_error"), (.tokenless, "server_error"),
        (.largeTokens, "temporarily_unavailable"), (.failingTokens, "temporarily_unavailable"),
        (.otherPortTokens, "server_error"), (.errorTokens, "server_error"),
    ])
    func whatTheProviderDoesWrongEndsAtTheApplication(
        _ mode: TemporaryIdentityProvider.Mode,
        _ error: String
    ) async throws {
        try await withFlows { flows in
            let start = try await flows.start(state: "s1")
            try await flows.provider.set(mode)
            let back = try await flows.signIn(start)
            #expect(try await flows.redirected(back) == ["error": error, "state": "s1"])
            // The state is used, whatever came of it.
            #expect(try await flows.back(back) == .unknown)
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _flow") == "0")
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _user") == "0")
            #expect(try await flows.provider.requestsElsewhere() == 0)
            #expect(
                flows.fixture.observations.count {
                    if case .signInFailed("test", let reason) = $0 { !reason.contains("at-") } else { false }
                } == 1
            )
        }
    }

    /// What does not count with `auth:provider:login` does not count here either.
    @Test func hostileIDTokensOfAnExchangeOpenNothing() async throws {
        try await withFlows { flows in
            func outcome() async throws -> [String: String] {
                try await flows.redirected(try await flows.signIn(try await flows.start()))
            }
            for row in ProviderLogInTests.hostile {
                let claims = row.changes.map { "\"\($0.key)\":\($0.value ?? "null")" }.joined(separator: ",")
                try await flows.provider.set(tokens: "{\(claims)}", row.algorithm, key: row.key, header: row.header)
                #expect(try await outcome() == ["error": "server_error"], "\(row.name)")
            }
            let now = Int(flows.fixture.clock.clock.now().secondsSince1970)
            // The clock of the test stands, and that of the provider goes on.
            for (claim, time, counts) in [
                ("exp", now - 58, true), ("exp", now - 61, false), ("iat", now + 59, true), ("iat", now + 62, false),
                ("nbf", now + 59, true), ("nbf", now + 62, false),
            ] {
                try await flows.provider.set(tokens: #"{"iat":\#(now - 200),"\#(claim)":\#(time)}"#)
                #expect(try await outcome().keys.contains("code") == counts, "\(claim) at \(time - now)")
            }
            try await flows.provider.set(tokens: "{}")
            #expect(try await outcome()["code"] != nil)
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _identity") == "0")
        }
    }

    @Test func aSlowProviderIsWaitedForWithinBounds() async throws {
        // Long enough for a provider that is not slow, on a busy machine.
        try await withFlows(timeout: .seconds(10)) { flows in
            let start = try await flows.start()
            let other = try await flows.start("second")
            try await flows.provider.set(.slowTokens)
            let back = try await flows.signIn(start)
            // One who waited a minute would get the tokens.
            #expect(try await flows.redirected(back) == ["error": "temporarily_unavailable"])
            // While as many exchanges are under way as may be, a further one is to come again, and loses nothing.
            let signIn = try #require(flows.service.providers.first { $0.configuration.name == "second" }?.signIn)
            let fields = try await flows.signIn(other)
            func nested(_ depth: Int) async throws {
                guard depth > 0 else {
                    #expect(try await flows.back(fields, from: "second") == .busy)
                    return
                }
                _ = try await signIn.exchanging { () async throws in try await nested(depth - 1) }
            }
            try await nested(BrowserSignIn.maximumExchanges)
            try await flows.provider.set(.normal)
            #expect(try await flows.redirected(fields, from: "second")["code"] != nil)
        }
    }

    @Test func aStateIsOfItsProviderAndCountsOnce() async throws {
        try await withFlows { flows in
            let start = try await flows.start()
            let back = try await flows.signIn(start)
            // At the address of another provider it is none, and is not used.
            #expect(try await flows.back(back, from: "second") == .unknown)
            #expect(try await flows.back(back, from: "nowhere") == nil)
            for wrong in [["state": "x", "code": "y"], ["code": "y"], [:], ["error": "access_denied"]] {
                #expect(try await flows.back(wrong) == .unknown)
            }
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _flow") == "1")
            let codes = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<8 { group.addTask { try await flows.redirected(back)["code"] } }
                return try await group.reduce(into: []) { if let code = $1 { $0.append(code) } }
            }
            #expect(codes.count == 1)
            // The code of one flow with the state of another is one of which the provider has other proofs.
            let mine = try await flows.signIn(try await flows.start())
            var theirs = try await flows.signIn(try await flows.start())
            theirs["code"] = mine["code"]
            #expect(try await flows.redirected(theirs)["error"] == "server_error")
        }
    }

    @Test func aCodeCountsOnceAndWithItsVerifier() async throws {
        try await withFlows { flows in
            let code = try await flows.code()
            let sessions = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            _ = try await flows.finish(code)
                            return true
                        } catch let error as SkyrowError where error.code == .invalidToken {
                            return false
                        }
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(sessions == 1)
            // Another verifier uses it up.
            let other = try await flows.code()
            try await expectError(.invalidToken) {
                try await flows.finish(other, verifier: String(repeating: "w", count: 43))
            }
            try await expectError(.invalidToken) { try await flows.finish(other) }
            // A state is no code.
            let start = try await flows.start()
            try await expectError(.invalidToken) {
                try await flows.finish(FlowFixture.fields(of: start.url)["state"])
            }
        }
    }

    @Test func bothExpire() async throws {
        try await withFlows { flows in
            let back = try await flows.signIn(try await flows.start())
            try await flows.fixture.psql("UPDATE _flow SET expires_at = now()")
            #expect(try await flows.back(back) == .unknown)
            let code = try await flows.code()
            #expect(
                try await flows.fixture.psql(
                    "SELECT bool_and(expires_at <= now() + interval '60 s') FROM _flow WHERE kind = 'code'"
                ) == "t"
            )
            try await flows.fixture.psql("UPDATE _flow SET expires_at = now()")
            try await expectError(.invalidToken) { try await flows.finish(code) }
            // The service purges too, when it starts and every ten minutes.
            _ = try await flows.service.store.flows.purge()
            #expect(try await flows.fixture.psql("SELECT count(*) FROM _flow") == "0")
        }
    }

    @Test(
        arguments: [
            ([], "", nil), (["calendar.read"], " calendar.read", nil), (["openid"], "", nil),
            (
                ["https://x.example/drive", "calendar.read", "calendar.read"], " https://x.example/drive calendar.read",
                nil
            ),
            (["calendar.write"], "", "scopes[0]"), (["calendar.read", ""], "", "scopes[1]"),
            (["calendar.read calendar.write"], "", "scopes[0]"), (["Calendar.read"], "", "scopes[0]"),
        ] as [([String], String, String?)]
    )
    func aSignInAsksForScopesOfTheSettings(_ scopes: [String], _ added: String, _ path: String?) async throws {
        try await withFlows { flows in
            if let path {
                let error = try await expectError(.invalidArgument) { try await flows.start(scopes: scopes) }
                #expect(error?.path == path)
            } else {
                let plain = FlowFixture.fields(of: try await flows.start().url)["scope"] ?? "none"
                let start = try await flows.start(scopes: scopes)
                #expect(FlowFixture.fields(of: start.url)["scope"] == plain + added)
                #expect(try await flows.redirected(try await flows.signIn(start))["code"] != nil)
            }
        }
    }

    @Test func redirectsAreThoseOfTheSettings() async throws {
        try await withFlows { flows in
            for fit in [
                FlowFixture.redirect, "http://127.0.0.1:52431/in", "http://127.0.0.1/in", "org.example.app:/in",
            ] {
                _ = try await flows.start(redirect: fit)
            }
            for wrong in [
                "https://app.example.org/in/", "https://app.example.org/in?x", "https://app.example.org:444/in",
                "https://app.example.org.evil.example/in", "http://app.example.org/in", "https://evil.example/in",
                "http://127.0.0.1:52431/other", "http://localhost:52431/in", "http://127.0.0.1:99999/in",
                "http://127.0.0.1:1@evil.example/in", "org.example.app:/in#x", "org.example.app2:/in",
                "https://APP.example.org/in", "javascript:alert(1)",
            ] {
                let error = try await expectError(.invalidArgument) { try await flows.start(redirect: wrong) }
                #expect(error?.info["arguments"] == .list([.string("redirect")]), "\(wrong)")
            }
            // What a redirect has of its own stays.
            let start = try await flows.start(redirect: "https://app.example.org/in?from=browser")
            guard case .redirect(let address)? = try await flows.back(try await flows.signIn(start)) else {
                Issue.record("The browser is not sent on.")
                return
            }
            #expect(address.hasPrefix("https://app.example.org/in?from=browser&code="))
        }
    }

    @Test func aClientHasABoundedNumberUnderWay() async throws {
        try await withFlows { flows in
            for _ in 0..<FlowTable.maximumOfClient { _ = try await flows.start() }
            let error = try await expectError(.rateLimited) { try await flows.start() }
            #expect(error?.info["retry_after"] == .integer(60))
            _ = try await flows.start(from: ClientKey(high: 2, low: 2))
            // Those of all are bounded, too.
            try await flows.fixture.psql(
                """
                INSERT INTO _flow (hash, kind, purpose, provider, challenge, redirect, expires_at)
                SELECT sha256(number::text::bytea), 'state', 'login', 'test', repeat('c', 43), 'x', now() + interval '1 minute'
                FROM generate_series(1, \(FlowTable.maximumCount)) AS number
                """
            )
            try await expectError(.rateLimited) { try await flows.start(from: ClientKey(high: 3, low: 3)) }
        }
    }

    @Test func aProviderThatIsOffOrHasNoRedirectsBeginsNothing() async throws {
        try await withFlows(off: "second", unregistered: "hub") { flows in
            try await expectError(.invalidArgument) { try await flows.start("second") }
            try await expectError(.notConfigured) { try await flows.start("hub") }
            try await expectError(.invalidArgument) { try await flows.start("none") }
            #expect(try await flows.back(["state": "x"], from: "second") == nil)
        }
    }

    @Test func domainsAreThoseOfVerifiedAddresses() async throws {
        try await withFlows(domains: ["example.org"]) { flows in
            for (user, isAdmitted) in [
                (#"{"sub":"a","email":"a@example.org","email_verified":true}"#, true),
                (#"{"sub":"b","email":"b@Example.ORG","email_verified":"true"}"#, true),
                (#"{"sub":"c","email":"c@example.org","email_verified":false}"#, false),
                (#"{"sub":"d","email":"d@example.org.evil.example","email_verified":true}"#, false),
                (#"{"sub":"e","email":"e@sub.example.org","email_verified":true}"#, false), (#"{"sub":"f"}"#, false),
            ] {
                try await flows.provider.set(user: user)
                let back = try await flows.signIn(try await flows.start())
                let fields = try await flows.redirected(back)
                #expect((fields["code"] != nil) == isAdmitted, "\(user)")
                if !isAdmitted { #expect(fields["error"] == "access_denied") }
            }
        }
    }
}
