import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import Testing

@testable import SkyrowActions

/// What claims have to be, one at a time: a token that counts, and what is changed of it.
@Suite struct IDTokenTests {
    static let now = 1_800_000_000.0
    static let rules = IDTokenRules(issuers: ["https://id.example.org"], clientIDs: ["app", "phone"])

    /// Members of the claims that a row changes; nil removes one.
    struct Row: Sendable, CustomTestStringConvertible {
        var name: String
        var changes: [String: String?]
        var fault: TokenFault?
        var nonce = "n-1"
        var accessToken: String?
        /// How long ago the user may have signed in.
        var signInAge: Double?

        var testDescription: String { name }

        init(
            _ name: String,
            _ changes: [String: String?] = [:],
            _ fault: TokenFault? = nil,
            nonce: String = "n-1",
            accessToken: String? = nil,
            signInAge: Double? = nil
        ) {
            self.signInAge = signInAge
            self.name = name
            self.changes = changes
            self.fault = fault
            self.nonce = nonce
            self.accessToken = accessToken
        }
    }

    private static func at(_ seconds: Double) -> String { "\(Int(now + seconds))" }

    private static let hashedNonce = Hexadecimal.text(SHA256.hash(of: "n-1").bytes)
    /// OpenID Connect Core 1.0, A.3, has it for this token.
    private static let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"

    static let rows: [Row] = [
        Row("counts"),
        Row("another issuer", ["iss": #""https://id.example.com""#], .issuer),
        Row("the issuer with a slash", ["iss": #""https://id.example.org/""#], .issuer),
        Row("no issuer", ["iss": nil], .claim), Row("an issuer that is none", ["iss": "1"], .claim),
        Row("one of two clients", ["aud": #""phone""#]), Row("another client", ["aud": #""other""#], .audience),
        Row("a list of one", ["aud": #"["app"]"#]), Row("an empty list", ["aud": "[]"], .claim),
        Row("a list with another", ["aud": #"["app","other"]"#, "azp": #""app""#], .audience),
        Row("two of ours without a party", ["aud": #"["app","phone"]"#], .authorizedParty),
        Row("two of ours with one", ["aud": #"["app","phone"]"#, "azp": #""phone""#]),
        Row("a party of ours", ["azp": #""phone""#]), Row("another party", ["azp": #""other""#], .authorizedParty),
        Row("no audience", ["aud": nil], .claim), Row("an audience of numbers", ["aud": "[1]"], .claim),
        Row("no subject", ["sub": nil], .claim), Row("an empty subject", ["sub": #""""#], .claim),
        Row("a subject of 255 bytes", ["sub": "\"\(String(repeating: "x", count: 255))\""]),
        Row("a longer subject", ["sub": "\"\(String(repeating: "x", count: 256))\""], .claim),
        Row("a subject with NUL", ["sub": #""a\u0000b""#], .claim),
        Row("ended 59 s ago", ["exp": at(-59)]), Row("ended 60 s ago", ["exp": at(-60)], .expired),
        Row("ended 61 s ago", ["exp": at(-61)], .expired), Row("no end", ["exp": nil], .claim),
        Row("an end in words", ["exp": #""tomorrow""#], .claim), Row("an end beyond numbers", ["exp": "1e999"], .claim),
        Row("issued 59 s ahead", ["iat": at(59)]), Row("issued 61 s ahead", ["iat": at(61)], .early),
        Row("issued a day ago", ["iat": at(-86_400)]), Row("issued long ago", ["iat": at(-86_461)], .age),
        Row("not issued", ["iat": nil], .claim),
        Row("from 59 s ahead", ["nbf": at(59)]), Row("from 61 s ahead", ["nbf": at(61)], .early),
        Row("no nonce", ["nonce": nil], .nonce), Row("another nonce", ["nonce": #""n-2""#], .nonce),
        Row("a hashed nonce", ["nonce": "\"\(hashedNonce)\""]),
        Row("the hash in the place of the nonce", [:], .nonce, nonce: hashedNonce),
        Row("an empty nonce", ["nonce": #""""#], .nonce, nonce: ""),
        Row("an access token", ["at_hash": #""77QmUPtjPfzWtF2AnpK9RQ""#], accessToken: token),
        Row("another access token", ["at_hash": #""77QmUPtjPfzWtF2AnpK9RQ""#], .accessToken, accessToken: "other"),
        Row("an access token that it does not name", [:], .accessToken, accessToken: token),
        Row("a hash without an access token", ["at_hash": #""77QmUPtjPfzWtF2AnpK9RQ""#]),
        Row("a sign-in of any time", ["auth_time": at(-2_592_000)]),
        Row("a sign-in in words", ["auth_time": #""now""#], .claim),
        Row("signed in 10 min ago", ["auth_time": at(-659)], signInAge: 600),
        Row("signed in longer ago", ["auth_time": at(-661)], .age, signInAge: 600),
        Row("signed in 59 s ahead", ["auth_time": at(59)], signInAge: 600),
        Row("signed in 61 s ahead", ["auth_time": at(61)], .age, signInAge: 600),
        Row("a sign-in that it does not tell", [:], .age, signInAge: 600),
    ]

    private static func fault(_ row: Row) throws -> TokenFault? {
        var claims: [String: String] = [
            "iss": #""https://id.example.org""#, "aud": #""app""#, "sub": #""ann""#, "exp": at(600), "iat": at(-5),
            "nonce": #""n-1""#,
        ]
        for (name, value) in row.changes { claims[name] = value }
        let text = "{" + claims.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        return try JSONDocument(Array(text.utf8)).withRoot { json -> TokenFault? in
            do throws(TokenFault) {
                let claims = try IDTokenClaims(json)
                try rules.check(
                    claims,
                    nonce: row.nonce,
                    accessToken: row.accessToken,
                    .rs256,
                    signedInWithin: row.signInAge,
                    at: now
                )
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(arguments: rows)
    func claimsAreJudged(_ row: Row) throws {
        #expect(try Self.fault(row) == row.fault)
    }

    @Test func theProfileIsBounded() throws {
        let long = String(repeating: "x", count: 1001)
        let text = #"""
            {"iss":"i","aud":"a","sub":"s","exp":1,"iat":1,"name":"Ann","email":"ann@example.org","email_verified":true,
             "picture":"\#(long)","locale":"d\u0000e","address":{"street":"x"},"password":"no"}
            """#
        let profile = try JSONDocument(Array(text.utf8)).withRoot { json in try IDTokenClaims(json).profile }
        #expect(
            String(decoding: profile.utf8, as: UTF8.self)
                == #"{"name":"Ann","email":"ann@example.org","email_verified":true}"#
        )
    }

    // MARK: The form of tokens

    private static func token(_ header: String, _ payload: String = "{}") -> String {
        [header, payload, "sig"].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
    }

    @Test func aTokenIsTakenApart() throws {
        let token = try #require(SignedToken(Self.token(#"{"alg":"RS256","kid":"k1"}"#), maximumBytes: 1000))
        #expect(token.algorithm == "RS256" && token.keyID == "k1")
        #expect(token.message.count(where: { $0 == UInt8(ascii: ".") }) == 1)
        #expect(token.signature == Array("sig".utf8))
    }

    @Test(arguments: [
        "", ".", "..", "a.b", token(#"{"alg":"RS256"}"#) + ".x", token(#"{"alg":"RS256"}"#) + "=",
        token("[]"), token("{}"), token(#"{"alg":1}"#), token(#"{"alg":"RS256"}"#, "[]"),
        token(#"{"alg":"RS256"}"#, "x"),
        token(#"{"alg":"RS256","kid":1}"#), token(#"{"alg":"RS256","crit":["b64"],"b64":false}"#),
        token(#"{"alg":"RS256","jku":"https://evil.example/keys"}"#),
        token(#"{"alg":"RS256","x5u":"https://evil.example"}"#),
        token(#"{"alg":"RS256","jwk":{"kty":"oct","k":"AAAA"}}"#), token(#"{"alg":"RS256","x5c":["AAAA"]}"#),
        token(#"{"alg":"RS256","alg":"none"}"#), token(#"{"alg":"RS256"}"#, #"{"sub":"a","sub":"b"}"#),
        token(#"{"alg":"RS256"}"#, "{\"a\":\"\(String(repeating: "x", count: 1000))\"}"),
    ])
    func whatIsNoTokenIsNotRead(_ text: String) {
        #expect(SignedToken(text, maximumBytes: 1000) == nil)
    }
}
