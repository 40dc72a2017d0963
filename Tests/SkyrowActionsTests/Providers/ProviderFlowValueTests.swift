import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions
@testable import SkyrowRemote

/// What is decided about sign-ins by way of the browser, without a service.
@Suite struct ProviderFlowValueTests {
    @Test(arguments: [
        "https://app.example.org/in", "https://app.example.org", "https://app.example.org:8443/in?x=y",
        "http://127.0.0.1/in", "http://127.0.0.1:8080/in", "http://[::1]/", "org.example.app:/in",
        "org.example.app://in",
    ])
    func addressesToGoBackToAreRead(_ text: String) {
        #expect(RegisteredRedirect(text)?.admits(text) == true)
    }

    @Test(arguments: [
        "", "https://", "https://:443/in", "https://a@b.example/", "https://app.example.org/#x",
        "http://app.example.org/",
        "http://localhost/in", "http://127.0.0.2/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/",
        "http://127.0.0.1.evil.example/",
        "javascript:alert(1)", "data:text/html,x", "myapp:/in", ".app:/in", "org.example.app:", "ORG.example.app:/in",
        "https://app.example.org/ x", "https://app.example.org/\u{e4}", "in", "/in",
    ])
    func othersAreNone(_ text: String) {
        #expect(RegisteredRedirect(text) == nil)
    }

    /// A key that was made for this test.
    private static let privateKey =
        "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxd3mdsG/75gXaTfG881KDmKQOs8toQ+E/ohID1dZMzOhRANCAASu"
        + "YQLFrZHh8dCzaNCcHQ21WNskrUnqZCyQgMcH6KPsC4iAwmAF1E+dIqGoNyN14QSd4+27ofE01SmZq+txk1cI"
    private static let publicKey =
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAErmECxa2R4fHQs2jQnB0NtVjbJK1J6mQskIDHB+ij7AuIgMJgBdRPnSKhqDcjdeEE"
        + "nePtu6HxNNUpmavrcZNXCA=="

    private func flow(
        _ kind: ProviderKind,
        _ authentication: ClientAuthentication = .none,
        keepsTokens: Bool = false
    ) -> ProviderFlow {
        ProviderFlow(
            kind: kind,
            clientID: "a&b",
            authentication: authentication,
            redirects: [],
            callback: "https://api.example.org/auth/callback/x",
            keepsTokens: keepsTokens,
            locate: { .failure(WebFailure("none")) },
            send: { _ in .failure(WebFailure("none")) }
        )
    }

    @Test func whatTheBrowserAsksForIsOfTheKind() throws {
        let address = try #require(WebAddress("https://id.example.org/authorize?tenant=1"))
        for kind in ProviderKind.allCases {
            let request = AuthorizationRequest(for: kind)
            let url = request.url(at: address, of: flow(kind, keepsTokens: true), .stepUp)
            #expect(url.hasPrefix("https://id.example.org/authorize?tenant=1&response_type=code&client_id=a%26b&"))
            #expect(url.contains("&state=\(request.state)&") && !url.contains(request.verifier))
            #expect(url.contains("code_challenge=\(FlowSecret.challenge(of: request.verifier))"))
            #expect((request.nonce != nil) == kind.hasIDTokens)
            #expect(url.contains("response_mode=form_post") == (kind == .apple))
            #expect(url.contains("access_type=offline") == (kind == .google))
            #expect(url.contains("prompt=login&max_age=600") == kind.hasIDTokens)
            #expect(url.contains("claims=") == (kind == .google))
            let logIn = request.url(at: address, of: flow(kind), .logIn)
            #expect(!logIn.contains("prompt=") && !logIn.contains("max_age") && !logIn.contains("claims="))
        }
        #expect(Set((0..<100).map { _ in FlowSecret.draw() }).count == 100)
        // The example of RFC 7636, appendix B.
        #expect(
            FlowSecret.challenge(of: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
                == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        )
    }

    @Test(
        arguments: [
            (["code": "c", "iss": "https://a.example"], true, nil), (["code": "c"], false, nil),
            (["code": "c"], true, FlowFault.Code.serverError),
            (["code": "c", "iss": "https://b.example"], false, .serverError),
            (["code": "c", "iss": "https://a.example/"], false, .serverError),
            (["code": "c", "error": "access_denied", "iss": "https://a.example"], true, .accessDenied),
            (["error": "temporarily_unavailable", "iss": "https://a.example"], true, .temporarilyUnavailable),
            (["error": "<script>", "iss": "https://a.example"], true, .serverError),
            (["error": "access_denied", "iss": "https://b.example"], true, .serverError),
            (["iss": "https://a.example"], true, .serverError),
            (["code": String(repeating: "c", count: 4097), "iss": "https://a.example"], true, .serverError),
        ] as [([String: String], Bool, FlowFault.Code?)]
    )
    func responsesAreJudged(_ fields: [String: String], _ namesIssuer: Bool, _ fault: FlowFault.Code?) {
        let response = AuthorizationResponse { fields[$0] }
        let issuers = ["https://a.example"]
        if let fault {
            let thrown = #expect(throws: FlowFault.self) { try response.code(from: issuers, namesIssuer: namesIssuer) }
            #expect(thrown?.code == fault)
        } else {
            #expect(throws: Never.self) { try response.code(from: issuers, namesIssuer: namesIssuer) }
        }
    }

    @Test(arguments: [
        (200, #"{"access_token":"t","token_type":"bearer","id_token":"a.b.c"}"#, true),
        (200, #"{"access_token":"t"}"#, true),
        (201, #"{"access_token":"t"}"#, false), (400, #"{"access_token":"t"}"#, false), (200, "{}", false),
        (200, #"{"access_token":"t","error":"x"}"#, false), (200, #"{"access_token":"a\r\nb"}"#, false),
        (200, #"{"access_token":"t","token_type":"mac"}"#, false),
        (200, #"{"access_token":"a","access_token":"b"}"#, false),
        (200, "access_token=t", false), (200, #"["access_token"]"#, false), (200, #"{"access_token":""}"#, false),
    ])
    func responsesWithTokensAreRead(_ status: Int, _ body: String, _ isFit: Bool) {
        let tokens = try? TokenResponse(WebResponse(status: status, bytes: Array(body.utf8)))
        #expect((tokens != nil) == isFit)
    }

    @Test func theClientIsAuthenticatedAsTheProviderTakesIt() throws {
        let place = try #require(WebAddress("https://id.example.org/token"))
        let endpoints = ProviderEndpoints(authorization: place, token: place)
        var posting = endpoints
        posting.postsSecret = true
        let request = TokenRequest(code: "c", verifier: "v")
        func value(_ name: String, _ fields: [(name: String, value: String)]?) -> String? {
            fields?.first { $0.name == name }?.value
        }
        let none = try request.request(of: flow(.openID), to: endpoints, at: 0)
        #expect(value("client_id", none.form) == "a&b" && value("Authorization", none.fields) == nil)
        let basic = try request.request(of: flow(.openID, .secret(Secret("s"))), to: endpoints, at: 0)
        #expect(value("client_secret", basic.form) == nil)
        #expect(value("Authorization", basic.fields) == "Basic " + encodeBase64(Array("a%26b:s".utf8)))
        let posted = try request.request(of: flow(.github, .secret(Secret("s"))), to: posting, at: 0)
        #expect(value("client_secret", posted.form) == "s" && value("Authorization", posted.fields) == nil)
        for made in [none, basic, posted] {
            #expect(value("grant_type", made.form) == "authorization_code" && value("code", made.form) == "c")
            #expect(value("code_verifier", made.form) == "v" && value("redirect_uri", made.form)?.isEmpty == false)
        }
    }

    @Test func applesSecretIsATokenThatItsKeySigns() throws {
        let der = try #require(decodeBase64(Array(Self.privateKey.utf8)))
        #expect(ES256SigningKey(pkcs8: Array(der.dropLast())) == nil && ES256SigningKey(pkcs8: der + [0]) == nil)
        let key = try #require(ES256SigningKey(pkcs8: der))
        let apple = AppleClientKey(team: "T1", keyID: "K1", key: key)
        let secret = try #require(apple.secret(of: "org.example.app", at: 1_700_000_000))
        let token = try #require(SignedToken(secret, maximumBytes: 4096))
        #expect(token.algorithm == "ES256" && token.keyID == "K1")
        let claims = token.withClaims { String(decoding: $0.jsonText.utf8, as: UTF8.self) }
        #expect(
            claims
                == #"{"iss":"T1","iat":1700000000,"exp":1700000300,"aud":"https://appleid.apple.com","sub":"org.example.app"}"#
        )
        let info = try #require(decodeBase64(Array(Self.publicKey.utf8)))
        let verifier = try #require(VerificationKey(subjectPublicKeyInfo: info))
        #expect(verifier.isSignature(token.signature, of: token.message, .es256))
        #expect(!verifier.isSignature(token.signature, of: token.message + [0], .es256))
    }

    @Test func usersAreReadByTheirKind() throws {
        func user(_ kind: ProviderKind, _ text: String, emails: String? = nil) throws -> ProviderUser {
            try ProviderUser(
                try JSONDocument(Array(text.utf8)),
                emails: try emails.map { try JSONDocument(Array($0.utf8)) },
                of: kind
            )
        }
        let twitter = try user(.twitter, #"{"data":{"id":"2244994945","name":"Dev","username":"dev"}}"#)
        #expect(twitter.subject == "2244994945" && twitter.verifiedEmail == nil)
        let facebook = try user(.facebook, #"{"id":"7","name":"Ann","email":"a@example.org","email_verified":true}"#)
        #expect(facebook.subject == "7" && facebook.verifiedEmail == nil)
        for (emails, address) in [
            (#"[{"email":"a@example.org","primary":true,"verified":true}]"#, "a@example.org"),
            (#"[{"email":"a@example.org","primary":true,"verified":false}]"#, nil),
            (#"[{"email":"a@example.org","primary":false,"verified":true}]"#, nil), ("{}", nil), ("[]", nil),
        ] {
            #expect(try user(.github, #"{"id":1}"#, emails: emails).verifiedEmail == address)
        }
        for (kind, text) in [(ProviderKind.github, "{}"), (.twitter, #"{"data":{}}"#), (.facebook, #"{"id":""}"#)] {
            #expect(throws: FlowFault.self) { try user(kind, text) }
        }
        // Apple's name comes with the form alone.
        let profile = JSONText(validated: Array(#"{"email":"a@example.org"}"#.utf8))
        let named = ProviderUser.profile(profile, withNameOf: #"{"name":{"firstName":"Ann","lastName":"Lee"}}"#)
        #expect(String(decoding: named.utf8, as: UTF8.self) == #"{"email":"a@example.org","name":"Ann Lee"}"#)
        for text in ["", "x", #"{"name":{}}"#, #"{"name":1}"#] {
            #expect(ProviderUser.profile(profile, withNameOf: text) == profile)
        }
    }

    @Test func fieldsAreEncoded() {
        #expect(WebForm.encoded([("a b", "c&d=é~")]) == "a%20b=c%26d%3D%C3%A9~")
        #expect(WebForm.appending([("a", "1")], to: "app:/in") == "app:/in?a=1")
        #expect(WebForm.appending([("a", "1")], to: "https://x?b=2") == "https://x?b=2&a=1")
        #expect(encodeBase64([1]) == "AQ==" && encodeBase64([251, 255]) == "+/8=")
    }
}
