import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct CustomTokenTests {
    private static let secret = [UInt8](repeating: 7, count: 32)
    private static let setting = "HS256:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="

    /// Signs claims with a secret.
    private static func token(
        _ claims: String,
        header: String = #"{"alg":"HS256","typ":"JWT"}"#,
        secret: [UInt8] = secret
    ) -> String {
        let message = [header, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
        return message + "." + Base64URL.encode(HMACSHA256(key: secret).code(of: Array(message.utf8)).bytes)
    }

    /// A service that has keys, and what signs tokens for it.
    private struct Signing: Sendable {
        let service: ActionService
        let fixture: ServiceFixture

        var now: Int { Int(fixture.clock.clock.now().secondsSince1970) }

        func token(_ subject: String = "ann", _ changes: [String: String?] = [:]) -> String {
            var claims = ["sub": "\"\(subject)\"", "iat": "\(now)", "exp": "\(now + 600)"]
            for (name, value) in changes { claims[name] = value }
            return CustomTokenTests.token("{" + claims.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}")
        }

        @discardableResult
        func logIn(_ token: String) async throws -> AuthResult {
            try await service.run(Actions.ssoCustomTokenLogIn, CustomTokenLogIn(token: token))
        }
    }

    private func withSigning(
        _ mode: SchemaMode = .development,
        _ settings: String...,
        test: String = #function,
        _ body: (Signing) async throws -> Void
    ) async throws {
        let keys = settings.isEmpty ? [Self.setting] : settings
        try await withService(mode, test: test) { fixture in
            let service = fixture.configured { $0.customTokenKeys = keys.compactMap { CustomTokenKey($0) } }
            #expect(service.configuration.customTokenKeys.count == keys.count)
            try await body(Signing(service: service, fixture: fixture))
        }
    }

    @Test func theFirstLoginMakesAnAccountAndTheNextFindsIt() async throws {
        try await withSigning { signing in
            let first = try await signing.logIn(signing.token())
            let second = try await signing.logIn(signing.token())
            #expect(first.isNew == true && second.isNew == false && first.userID == second.userID)
            let other = try await signing.logIn(signing.token("bob"))
            #expect(other.userID != first.userID)
            let rows = try await signing.fixture.psql(
                "SELECT DISTINCT provider, created_with FROM _identity JOIN _session USING (user_id)"
            )
            #expect(rows == "custom-token|custom_token")
        }
    }

    @Test func withoutKeysItIsNotConfigured() async throws {
        try await withService { fixture in
            try await expectError(.notConfigured) {
                try await fixture.service.run(Actions.ssoCustomTokenLogIn, CustomTokenLogIn(token: "x"))
            }
        }
    }

    /// What is changed of the claims, and the code that it is refused with; nil where it counts.
    static let rows: [(String, String, ErrorCode?)] = [
        ("sub", "remove", .invalidCredentials), ("iat", "remove", .invalidCredentials),
        ("exp", "remove", .invalidCredentials), ("sub", #""""#, .invalidCredentials), ("sub", "1", .invalidCredentials),
        ("exp", #""x""#, .invalidCredentials), ("exp", "-58", nil), ("exp", "-60", .badRequest), ("iat", "59", nil),
        ("iat", "62", .badRequest), ("exp", "3600", nil), ("exp", "3601", .invalidCredentials),
        ("nbf", "-600", nil), ("nbf", "59", nil), ("nbf", "62", .badRequest), ("nbf", #""x""#, .invalidCredentials),
        ("jti", "1", .invalidCredentials), ("jti", #""""#, .invalidCredentials), ("jti", #""t-1""#, nil),
        ("skyprofile", "1", nil), ("more", "{}", nil),
    ]

    @Test(arguments: rows)
    func claimsAreJudged(_ claim: String, _ value: String, _ code: ErrorCode?) async throws {
        try await withSigning { signing in
            var changes: [String: String?] = [claim: value == "remove" ? nil : value]
            if claim != "jti", let seconds = Int(value), ["exp", "iat", "nbf"].contains(claim) {
                changes[claim] = "\(signing.now + seconds)"
                // So that the lifetime is not what is wrong.
                if claim == "iat" { changes["exp"] = "\(signing.now + 600)" }
                if seconds < 0 { changes["iat"] = "\(signing.now - 600)" }
            }
            let token = signing.token("ann", changes)
            if let code {
                try await expectError(code) { try await signing.logIn(token) }
                let accounts = try await signing.fixture.psql("SELECT count(*) FROM _user")
                #expect(accounts == "0")
            } else {
                try await signing.logIn(token)
            }
        }
    }

    @Test func onlyItsKeysSign() async throws {
        try await withSigning { signing in
            let claims = #"{"sub":"ann","iat":\#(signing.now),"exp":\#(signing.now + 60)}"#
            let whole = Self.token(claims)
            for wrong in [
                Self.token(claims, secret: [UInt8](repeating: 8, count: 32)),
                Self.token(claims, header: #"{"alg":"none"}"#), Self.token(claims, header: #"{"alg":"hs256"}"#),
                Self.token(claims, header: #"{"alg":"RS256"}"#),
                Self.token(claims, header: #"{"alg":"HS256","crit":["x"]}"#),
                String(whole.dropLast(3)), whole + "A", "a.b.c", whole.replacing(".", with: ""),
            ] {
                try await expectError(.badRequest) { try await signing.logIn(wrong) }
            }
            try await signing.logIn(whole)
        }
    }

    @Test func aPublicKeyIsNoSecret() async throws {
        // The key on P-256 of RFC 7515, A.3, as the setting has it; its bytes and its text are known to everyone.
        let key =
            "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ=="
        try await withSigning(.development, "ES256:\(key)") { signing in
            let claims = #"{"sub":"ann","iat":\#(signing.now),"exp":\#(signing.now + 60)}"#
            for secret in [Array(key.utf8), decodeBase64(Array(key.utf8)) ?? []] {
                for algorithm in ["HS256", "ES256"] {
                    let token = Self.token(claims, header: #"{"alg":"\#(algorithm)"}"#, secret: secret)
                    try await expectError(.badRequest) { try await signing.logIn(token) }
                }
            }
        }
    }

    @Test func keysRotate() async throws {
        let new = "new=HS256:" + "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="
        try await withSigning(.development, Self.setting, new) { signing in
            let claims = #"{"sub":"ann","iat":\#(signing.now),"exp":\#(signing.now + 60)}"#
            let other = [UInt8](repeating: 8, count: 32)
            try await signing.logIn(Self.token(claims))
            try await signing.logIn(Self.token(claims, secret: other))
            try await signing.logIn(Self.token(claims, header: #"{"alg":"HS256","kid":"new"}"#, secret: other))
            // One that names its key is signed with no other that has a name.
            try await expectError(.badRequest) {
                try await signing.logIn(Self.token(claims, header: #"{"alg":"HS256","kid":"old"}"#, secret: other))
            }
        }
    }

    @Test func aTokenWithAnIDCountsOnce() async throws {
        try await withSigning { signing in
            for round in 0..<min(10, seededCases(3)) {
                let token = signing.token("ann", ["jti": #""t-\#(round)""#])
                let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            do {
                                try await signing.logIn(token)
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
            // Without one it counts until it ends, as in Skygear.
            let token = signing.token()
            try await signing.logIn(token)
            try await signing.logIn(token)
        }
    }

    @Test func theProfileIsMergedExceptForWhatIsNotTheServers() async throws {
        try await withSigning { signing in
            func log(_ profile: String) async throws -> AuthResult {
                try await signing.logIn(signing.token("ann", ["skyprofile": profile]))
            }
            let first = try await log(
                #"{"name":"Ann","age":33,"username":"root","email":"root@example.org","last_login_at":"x","_owner":"bob"}"#
            )
            let columns = "name, age, username, email, _owner = _id"
            let row = "SELECT \(columns) FROM \"user\" WHERE _id = '\(first.userID)'"
            #expect(try await signing.fixture.psql(row) == "Ann|33|||t")
            let second = try await log(#"{"age":34,"username":"root","city":"Graz"}"#)
            #expect(second.userID == first.userID)
            #expect(try await signing.fixture.psql(row) == "Ann|34|||t")
            #expect(try await signing.fixture.psql("SELECT city FROM \"user\"") == "Graz")
        }
    }

    @Test func rulesOfFieldsHoldForItsProfile() async throws {
        try await withSigning { signing in
            let service = signing.service
            _ = try await service.run(
                Actions.schemaCreate,
                [
                    RecordType(
                        name: .user,
                        fields: [
                            try FieldName("name"): .string, try FieldName("rank"): .string,
                            try FieldName("badge"): .string,
                        ]
                    )
                ],
                by: ServiceFixture.masterCaller
            )
            try await signing.fixture.psql(
                """
                INSERT INTO _field_rule (type, field, action, allow) VALUES
                    ('user', 'rank', 'create', '{role:staff}'), ('user', 'rank', 'update', '{role:staff}'),
                    ('user', 'badge', 'update', '{}')
                """
            )
            try await waiting(until: "the rules are known") {
                guard let table = try await service.store.table(of: .user) else { return false }
                let ann = FieldAccess.audience(Audience(user: "ann"))
                return table.rules.fields.standing(.update, of: try FieldName("badge"), for: ann).isNever
            }
            let profile: [String: String?] = ["skyprofile": #"{"name":"Ann","rank":"general","badge":"gold"}"#]
            let result = try await signing.logIn(signing.token("ann", profile))
            let row = "SELECT name, rank, badge FROM \"user\" WHERE _id = '\(result.userID)'"
            // The badge may be given once, the rank by the staff alone.
            #expect(try await signing.fixture.psql(row) == "Ann||gold")
            _ = try await signing.logIn(
                signing.token("ann", ["skyprofile": #"{"name":"Anna","rank":"general","badge":"silver"}"#])
            )
            #expect(try await signing.fixture.psql(row) == "Anna||gold")
            try await signing.fixture.psql(
                "INSERT INTO _role (name) VALUES ('staff'); INSERT INTO _user_role VALUES ('\(result.userID)', 'staff')"
            )
            _ = try await signing.logIn(signing.token("ann", profile))
            #expect(try await signing.fixture.psql(row) == "Ann|general|gold")
        }
    }

    @Test func aDisabledUserGetsNoSessionAndNoProfile() async throws {
        try await withSigning { signing in
            let ann = try await signing.logIn(signing.token("ann", ["skyprofile": #"{"name":"Ann"}"#]))
            try await signing.service.run(
                Actions.authDisableSet,
                DisabledState(userID: ann.userID, isDisabled: true),
                by: ServiceFixture.masterCaller
            )
            try await expectError(.userDisabled) {
                try await signing.logIn(signing.token("ann", ["skyprofile": #"{"name":"Bob"}"#]))
            }
            #expect(try await signing.fixture.psql("SELECT name FROM \"user\"") == "Ann")
        }
    }
}
