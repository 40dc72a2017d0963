import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Login keys that look alike, and what new ones and new passwords must be.
@Suite(.timeLimit(.minutes(10))) struct LoginFormTests {
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
        ("zoe", "zo\u{EB}", false), ("zoe", "zoe ", false), ("zoe", "z0e", false), ("zoe", "z\u{43E}e", false),
    ]

    @Test(arguments: pairs)
    func namesThatLookAlikeAreOneAccount(_ first: String, _ second: String, _ isAlike: Bool) async throws {
        try await withService { fixture in
            let service = service(fixture, AccountPolicy(loginScripts: .any))
            let (result, _) = try await service.signUp(first, password: Self.password)
            let login = LogInRequest(authData: ["username": second], password: Self.password)
            if isAlike {
                let error = try await expectError(.duplicated) {
                    try await service.signUp(second, password: Self.password)
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
