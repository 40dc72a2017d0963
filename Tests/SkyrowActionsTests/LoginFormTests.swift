import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Login keys that look alike, and what new ones and new passwords must be.
@Suite(.timeLimit(.minutes(60))) struct LoginFormTests {
    private static let password = "correct horse"

    private func service(_ fixture: ServiceFixture, _ policy: AccountPolicy) -> ActionService {
        var configuration = fixture.service.configuration
        configuration.accounts = policy
        return ActionService(
            store: fixture.service.store,
            configuration: configuration,
            logger: .quiet,
            observe: { _ in }
        )
    }

    /// A name, and another one for which people take it or not.
    static let pairs: [(String, String, isAlike: Bool)] = [
        ("zoe", "zo\u{200B}e", true), ("zoe", "\u{FEFF}zoe\u{AD}", true), ("zoe", "z\u{E0061}oe\u{FE0F}", true),
        ("zoe", "\u{FF3A}\u{FF2F}\u{FF25}", true), ("fin", "\u{FB01}n", true), ("Kate", "\u{212A}ate", true),
        ("Zo\u{EB}", "zoe\u{200D}\u{308}", true), ("stra\u{DF}e", "STRASSE", true), ("stra\u{1E9E}e", "strasse", true),
        ("\u{3BF}\u{3B4}\u{3BF}\u{3C2}", "\u{39F}\u{394}\u{39F}\u{3A3}", true),
        ("\u{3BF}\u{3B4}\u{3BF}\u{3C2}", "\u{3BF}\u{3B4}\u{3BF}\u{3C3}", true),
        ("zoe", "zoe ", true), ("zoe", "\tzoe\n", true), ("zoe", "\u{2800}zoe\u{A0}", true),
        ("zoe", "zo\u{1}e\u{7F}", true),
        ("zoe lee", "zoe\u{3000} \tlee", true), ("zoe lee", "zoelee", false),
        ("zoe", "zo\u{EB}", false), ("zoe", "z0e", false), ("zoe", "z\u{43E}e", false),
    ]

    /// A mail address, and another text for the same mailbox or another.
    static let addresses: [(String, String, isAlike: Bool)] = [
        ("ann@m\u{FC}nchen.de", "ann@xn--mnchen-3ya.de", true), ("ann@xn--mnchen-3ya.de", "ANN@M\u{DC}NCHEN.DE", true),
        ("ann@xn--mnchen-3ya.de", "ann@XN--MNCHEN-3YA.DE", true),
        ("ann@m\u{FC}nchen.de", "ann@mu\u{308}nchen\u{3002}de", true),
        ("ann@\u{65E5}\u{672C}\u{8A9E}.jp", "ann@xn--wgv71a119e.jp", true),
        ("ann@a.xn--mnchen-3ya.de", "ann@a.m\u{FC}nchen.de", true),
        ("ann@example.org", "ann@example.org\u{2800}", true),
        ("ann@munchen.de", "ann@xn--mnchen-3ya.de", false), ("xn--mnchen-3ya", "m\u{FC}nchen", false),
        ("xn--mnchen-3ya@b.de", "m\u{FC}nchen@b.de", false), ("ann@xn--.de", "ann@.de", false),
        ("ann@xn--99999999.de", "ann@xn--99999998.de", false),
    ]

    @Test(arguments: addresses)
    func addressesOfOneMailboxAreOneAccount(_ first: String, _ second: String, _ isAlike: Bool) async throws {
        try await withService { fixture in
            func signUp(_ email: String) async throws -> UserID {
                let user = UserID("u\(email.utf8.count)\(email.hashValue)")
                // As an older version, or psql, has it.
                let account = NewAccount(id: user, passwordHash: nil, profile: [(field("email"), .string(email))])
                _ = try await fixture.service.store.users.create(account, session: nil)
                return user
            }
            let user = try await signUp(first)
            let found = try await fixture.service.store.users.credentials(of: [field("email"): second])?.id
            #expect(found == (isAlike ? user : nil))
            if isAlike {
                let error = try await expectError(.duplicated) { try await signUp(second) }
                #expect(error?.info["arguments"] == .list([.string("email")]))
            } else {
                _ = try await signUp(second)
            }
        }
    }

    /// What is compared in SQL and what is refused here are the same code points.
    @Test func whatShowsNothingIsTheSameInBothPlaces() async throws {
        try await withService { fixture in
            let found = try await fixture.psql(
                """
                SELECT string_agg(point::text, ',' ORDER BY point)
                FROM (
                    SELECT * FROM generate_series(1, 55295) UNION ALL SELECT * FROM generate_series(57344, 131071)
                    UNION ALL SELECT * FROM generate_series(917504, 921600)
                ) AS points (point)
                WHERE _login_canonical('x' || chr(point)) = 'x'
                """
            )
            let points = [1...0xD7FF, 0xE000...0x1FFFF, 0xE0000...0xE1000].joined()
            let expected = points.filter { Unicode.Scalar(UInt32($0))?.showsNothing ?? false }
            #expect(found == expected.map(String.init).joined(separator: ","))
        }
    }

    /// What a new login key may not have, whatever it is compared with; accounts that have it go on.
    @Test(arguments: [
        ("zoe ", true), (" zoe", true), ("zoe\t", true), ("zoe\u{2800}", true), ("\u{2800}zoe", true),
        ("zo\u{1}e", true), ("zo\te", true), ("zoe\u{85}", true), ("zoe\u{200B}", true), ("zoe lee", false),
        ("zo\u{2800}e", false), ("zoe", false),
    ])
    func aNewLoginKeyHasNoBlankAtAnEnd(_ name: String, isRefused: Bool) async throws {
        try await withService { fixture in
            let service = fixture.service
            let (bob, caller) = try await service.signUp("bob")
            let anonymous = try await service.signUp(SignUpRequest())
            let own = Credentials.token(anonymous.accessToken)
            let guest = try await service.authenticate(own, for: .user)
            let rename = SaveRequest(draft("user/\(bob.userID)", ["username": .string(name)]))
            guard isRefused else {
                #expect(try await service.save(rename, by: caller).summaries == ["saved"])
                return
            }
            for key in ["username", "email"] {
                try await expectError(.invalidArgument) {
                    try await service.signUp(SignUpRequest(authData: [key: name], password: Self.password))
                }
            }
            try await expectError(.invalidArgument) {
                try await service.register(
                    RegisterRequest(authData: ["username": name], password: Self.password),
                    by: guest,
                    with: own
                )
            }
            #expect(try await service.save(rename, by: caller).summaries == ["InvalidArgument"])
            // One that has it already, as from an older version.
            let account = NewAccount(id: "old", passwordHash: nil, profile: [(field("username"), .string(name))])
            _ = try await service.store.users.create(account, session: nil)
            let whole = SaveRequest(draft("user/old", ["username": .string(name), "city": "Bern"]))
            let old = Caller(kind: .user("old"), isRegistered: true)
            #expect(try await service.save(whole, by: old).summaries == ["saved"])
            #expect(try await service.store.users.credentials(of: [field("username"): name])?.id == "old")
        }
    }

    @Test(arguments: pairs)
    func namesThatLookAlikeAreOneAccount(_ first: String, _ second: String, _ isAlike: Bool) async throws {
        try await withService { fixture in
            let service = service(fixture, AccountPolicy(loginScripts: .any))
            let (result, _) = try await service.signUp(first, password: Self.password)
            let login = LogInRequest(authData: ["username": second], password: Self.password)
            if isAlike {
                let other = NewAccount(id: "other", passwordHash: nil, profile: [(field("username"), .string(second))])
                let error = try await expectError(.duplicated) {
                    try await service.store.users.create(other, session: nil)
                }
                #expect(error?.info["arguments"] == .list([.string("username")]))
                #expect(try await service.logIn(login).userID == result.userID)
            } else {
                try await expectError(.invalidCredentials) { try await service.logIn(login) }
                _ = try await service.signUp(second, password: Self.password)
            }
        }
    }

    @Test(arguments: [
        ("\u{200B}", AccountPolicy.Scripts.any, ErrorCode?.some(.invalidArgument)),
        (" \u{3164} ", .any, .invalidArgument),
        ("z\u{43E}e", .single, .invalidArgument), ("z\u{43E}e", .any, nil),
        ("\u{438}\u{432}\u{430}\u{43D}", .single, nil), ("zoe", .single, nil),
    ])
    func aNewNameKeepsToTheScriptsThatAreAllowed(
        _ name: String,
        _ scripts: AccountPolicy.Scripts,
        _ code: ErrorCode?
    ) async throws {
        try await withService { fixture in
            let service = service(fixture, AccountPolicy(loginScripts: scripts))
            let (_, bob) = try await service.signUp("bob", password: Self.password)
            let user = try #require(bob.userID)
            let rename = SaveRequest(draft("user/\(user)", ["username": .string(name)]))
            guard let code else {
                _ = try await service.signUp(name, password: Self.password)
                #expect(try await service.save(rename, by: bob).summaries == ["Duplicated"])
                return
            }
            try await expectError(code) { try await service.signUp(name, password: Self.password) }
            #expect(try await service.save(rename, by: bob).summaries == [code.name])
            #expect(try await fixture.psql("SELECT username FROM \"user\"") == "bob")
        }
    }

    @Test func anOlderNameOfMixedScriptsGoesOn() async throws {
        try await withService { fixture in
            let lax = service(fixture, AccountPolicy(loginScripts: .any))
            let strict = service(fixture, AccountPolicy())
            let (result, caller) = try await lax.signUp("z\u{43E}e", password: Self.password)
            let login = LogInRequest(authData: ["username": "Z\u{43E}E"], password: Self.password)
            #expect(try await strict.logIn(login).userID == result.userID)
            // A client that sends back the whole record.
            let whole = draft("user/\(result.userID)", ["username": .string("z\u{43E}e"), "city": .string("Bern")])
            #expect(try await strict.save(SaveRequest(whole), by: caller).summaries == ["saved"])
            let other = draft("user/\(result.userID)", ["username": .string("zo\u{435}")])
            #expect(try await strict.save(SaveRequest(other), by: caller).summaries == ["InvalidArgument"])
        }
    }

    @Test func aNewPasswordHasSoManyCharactersAndAnOlderOneGoesOn() async throws {
        try await withService { fixture in
            let lax = service(fixture, AccountPolicy(passwords: PasswordPolicy(minimumLength: 1)))
            let strict = service(fixture, AccountPolicy())
            let (_, caller) = try await lax.signUp("ann", password: "short")
            _ = try await strict.logIn(LogInRequest(authData: ["username": "ann"], password: "short"))
            // Eight characters are more bytes; seven are too few.
            for (password, passes) in [("1234567", false), ("\u{E4}\u{F6}\u{FC}\u{E4}\u{F6}\u{FC}\u{E4}", false)] {
                let error = try await expectError(.passwordPolicyViolated) {
                    try await strict.signUp("bob", password: password)
                }
                #expect(error?.info["min_length"] == .integer(8) && !passes)
                try await expectError(.passwordPolicyViolated) {
                    try await strict.changePassword(
                        ChangePasswordRequest(oldPassword: "short", password: password),
                        by: caller
                    )
                }
            }
            _ = try await strict.signUp("bob", password: "12345678")
            _ = try await strict.changePassword(
                ChangePasswordRequest(oldPassword: "short", password: "\u{E4}2345678"),
                by: caller
            )
        }
    }
}
