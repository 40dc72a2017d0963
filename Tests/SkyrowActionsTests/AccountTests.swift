import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct AccountTests {
    @Test func signingUpMakesAnAccountWithAProfileAndASession() async throws {
        try await withService { fixture in
            let result = try await fixture.service.signUp(
                SignUpRequest(
                    authData: ["username": "ann", "email": "ann@example.org"],
                    password: "secret",
                    profile: [(field("age"), .integer(3))]
                )
            )
            #expect(result.lastLoginAt == nil && result.lastSeenAt == nil && result.roles.isEmpty)
            let caller = try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            var expected = Caller(kind: .user(result.userID), isRegistered: true)
            expected.isElevated = true
            #expect(caller == expected)
            #expect(
                try await fixture.psql("SELECT username, email, age, _owner = _id, _access IS NULL FROM \"user\"")
                    == "ann|ann@example.org|3|t|t"
            )
            #expect(try await fixture.psql("SELECT password_hash LIKE '$scrypt$ln=1,r=1,p=1,n=1$%' FROM _user") == "t")
        }
    }

    @Test func nothingStoredIsAPasswordOrAToken() async throws {
        try await withService { fixture in
            let result = try await fixture.service.signUp("ann", password: "correct horse").result
            let dump = try await fixture.psql(
                "SELECT * FROM _session; SELECT * FROM _user; SELECT encode(token_hash, 'escape') FROM _session;"
            )
            #expect(!dump.contains(result.accessToken) && !dump.contains("correct horse"))
        }
    }

    struct SignUpRow: Sendable, CustomTestStringConvertible {
        var authData: [String: String] = [:]
        var password: String?
        var profile: [String: RecordValue] = [:]
        var code: ErrorCode?
        var arguments: [String] = []
        var testDescription: String {
            "\(authData) \(password?.prefix(12) ?? "-") \(profile.keys) → \(code?.name ?? "OK")"
        }
    }

    @Test(arguments: [
        SignUpRow(),
        SignUpRow(profile: ["name": .string("nobody")]),
        SignUpRow(authData: ["username": "ann"], password: "p"),
        SignUpRow(authData: ["email": "a@b"], password: "p", profile: ["name": .string("Ann")]),
        SignUpRow(authData: ["username": "ann"], password: "p", profile: ["email": .string("a@b")]),
        SignUpRow(authData: ["username": "ann"], password: String(repeating: "p", count: 1024)),
        SignUpRow(authData: ["username": "ann"], code: .invalidArgument, arguments: ["password"]),
        SignUpRow(authData: ["username": "ann"], password: "", code: .invalidArgument, arguments: ["password"]),
        SignUpRow(
            authData: ["username": "ann"],
            password: String(repeating: "p", count: 1025),
            code: .invalidArgument,
            arguments: ["password"]
        ),
        SignUpRow(password: "p", code: .invalidArgument, arguments: ["auth_data"]),
        SignUpRow(authData: ["nickname": "ann"], password: "p", code: .invalidArgument, arguments: ["auth_data"]),
        SignUpRow(
            authData: ["username": "ann", "nickname": "a"],
            password: "p",
            code: .invalidArgument,
            arguments: ["auth_data"]
        ),
        SignUpRow(authData: ["username": ""], password: "p", code: .invalidArgument, arguments: ["auth_data"]),
        SignUpRow(authData: ["username": "a\0"], password: "p", code: .invalidArgument, arguments: ["auth_data"]),
        SignUpRow(
            authData: ["username": "ann"],
            password: "p",
            profile: ["username": .string("bob")],
            code: .invalidArgument,
            arguments: ["auth_data", "profile"]
        ),
        SignUpRow(profile: ["username": .string("bob")], code: .invalidArgument, arguments: ["profile"]),
        SignUpRow(
            authData: ["username": "ann"],
            password: "p",
            profile: ["email": .integer(1)],
            code: .invalidArgument,
            arguments: ["profile"]
        ),
    ])
    func signingUpTakesALoginKeyAndAPasswordOrNeither(row: SignUpRow) async throws {
        try await withService { fixture in
            let request = SignUpRequest(
                authData: row.authData,
                password: row.password,
                profile: row.profile.map { (field($0.key), $0.value) }
            )
            if let code = row.code {
                let error = try await expectError(code) { try await fixture.service.signUp(request) }
                #expect(error?.info["arguments"] == .list(row.arguments.map { .string($0) }))
                #expect(try await fixture.psql("SELECT count(*) FROM _user") == "0")
            } else {
                let result = try await fixture.service.signUp(request)
                #expect(try await fixture.psql("SELECT id FROM _user") == result.userID.rawValue)
            }
        }
    }

    @Test(arguments: ["ann", "ANN", "Ann", "\u{e1}nn", "a\u{301}nn", "\u{c1}NN"])
    func loginKeysIgnoreCaseAndNormalisation(name: String) async throws {
        let isAccented = !name.unicodeScalars.allSatisfy(\.isASCII)
        try await withService { fixture in
            let result = try await fixture.service.signUp(isAccented ? "a\u{301}nn" : "ann").result
            let login = try await fixture.service.logIn(LogInRequest(authData: ["username": name], password: "secret"))
            #expect(login.userID == result.userID)
            try await expectError(.duplicated) { try await fixture.service.signUp(name) }
        }
    }

    @Test(arguments: [
        (RecordValue.string("anna"), "saved"), (.string("ANN"), "saved"), (.null, "saved"),
        (.string("BOB"), "Duplicated"), (.string("b\u{301}ob"), "saved"), (.string(""), "InvalidArgument"),
        (.string(String(repeating: "a", count: 256)), "InvalidArgument"), (.string("a\0"), "InvalidArgument"),
        (.integer(1), "InvalidArgument"),
    ])
    func aSavedLoginKeyKeepsTheRulesOfSigningUp(value: RecordValue, expected: String) async throws {
        try await withService { fixture in
            let (ann, caller) = try await fixture.service.signUp("ann")
            _ = try await fixture.service.signUp("bob")
            let result = try await fixture.service.save(
                SaveRequest(draft("user/\(ann.userID)", ["username": value])),
                by: caller
            )
            #expect(result.summaries == [expected])
            let name = if case .string(let name) = value, expected == "saved" { name } else { "ann" }
            let request = LogInRequest(authData: ["username": name], password: "secret")
            if value == .null {
                try await expectError(.invalidCredentials) { try await fixture.service.logIn(request) }
            } else {
                #expect(try await fixture.service.logIn(request).userID == ann.userID)
            }
        }
    }

    @Test func exactlyOneOfManyRacingSignUpsGetsTheName() async throws {
        try await withService { fixture in
            let outcomes = await withTaskGroup(of: ErrorCode?.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        do throws(SkyrowError) {
                            _ = try await fixture.service.signUp(number.isMultiple(of: 2) ? "ann" : "ANN")
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.count { $0 == nil } == 1)
            #expect(outcomes.count { $0 == .duplicated } == 19)
            let stored = try await fixture.psql("SELECT count(*), (SELECT count(*) FROM \"user\") FROM _user")
            #expect(stored == "1|1")
        }
    }

    struct LogInRow: Sendable {
        var authData: [String: String]
        var password: String
        var code: ErrorCode?
        var hashes: Int
    }

    @Test(arguments: [
        LogInRow(authData: ["username": "ann"], password: "secret", hashes: 1),
        LogInRow(authData: ["email": "ann@example.org"], password: "secret", hashes: 1),
        LogInRow(authData: ["username": "ann", "email": "ann@example.org"], password: "secret", hashes: 1),
        LogInRow(authData: ["username": "ann"], password: "Secret", code: .invalidCredentials, hashes: 1),
        LogInRow(authData: ["username": "nobody"], password: "secret", code: .invalidCredentials, hashes: 1),
        LogInRow(
            authData: ["username": "ann", "email": "bob@example.org"],
            password: "secret",
            code: .invalidCredentials,
            hashes: 1
        ),
        LogInRow(
            authData: ["username": "ann", "email": "no@example.org"],
            password: "secret",
            code: .invalidCredentials,
            hashes: 1
        ),
        LogInRow(authData: [:], password: "secret", code: .invalidArgument, hashes: 0),
        LogInRow(authData: ["nickname": "ann"], password: "secret", code: .invalidArgument, hashes: 0),
        LogInRow(authData: ["username": "ann"], password: "", code: .invalidArgument, hashes: 0),
    ])
    func loggingInTellsNobodyWhoHasAnAccount(row: LogInRow) async throws {
        try await withService { fixture in
            for name in ["ann", "bob"] {
                _ = try await fixture.service.signUp(
                    SignUpRequest(authData: ["username": name, "email": "\(name)@example.org"], password: "secret")
                )
            }
            fixture.observations.clear()
            let request = LogInRequest(authData: row.authData, password: row.password)
            if let code = row.code {
                let error = try await expectError(code) { try await fixture.service.logIn(request) }
                // The same words for the unknown user and the wrong password.
                if code == .invalidCredentials {
                    #expect(error?.message == "No account has this login key and password; check both.")
                }
            } else {
                let result = try await fixture.service.logIn(request)
                _ = try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            }
            #expect(fixture.observations.count { $0 == .passwordHashed } == row.hashes)
        }
    }

    @Test func anAnonymousAccountHasNoPassword() async throws {
        try await withService { fixture in
            let result = try await fixture.service.signUp(SignUpRequest())
            let caller = try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            for password in ["x", "null"] {
                try await expectError(.invalidCredentials) {
                    try await fixture.service.changePassword(
                        ChangePasswordRequest(oldPassword: password, password: "new"),
                        by: caller
                    )
                }
            }
        }
    }

    @Test func theTimesOfTheAnswerAreThoseBeforeTheCall() async throws {
        try await withService { fixture in
            let (signUp, caller) = try await fixture.service.signUp("ann")
            #expect(signUp.lastLoginAt == nil)
            let request = LogInRequest(authData: ["username": "ann"], password: "secret")
            let first = try await fixture.service.logIn(request)
            #expect(first.lastLoginAt != nil)
            let second = try await fixture.service.logIn(request)
            #expect(second.lastLoginAt != nil && second.lastSeenAt == second.lastLoginAt)
            let me = try await fixture.service.run(Actions.me, by: caller, with: .token(signUp.accessToken))
            #expect(me.lastLoginAt.map { $0 > second.lastLoginAt ?? .infinity } ?? false)
        }
    }

    @Test func meAnswersTheTokenItCameWith() async throws {
        try await withService { fixture in
            let (signUp, caller) = try await fixture.service.signUp("ann")
            let token = Credentials.token(signUp.accessToken)
            let me = try await fixture.service.run(Actions.me, by: caller, with: token)
            #expect(me.userID == signUp.userID && me.accessToken == signUp.accessToken)
            #expect(try await fixture.service.authenticate(token, for: .user) == caller)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            try await fixture.service.run(Actions.authLogOut, with: token)
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.run(Actions.me, by: caller, with: token)
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "0")
        }
    }

    @Test func meOpensASessionForTheMasterKey() async throws {
        try await withService { fixture in
            let (signUp, caller) = try await fixture.service.signUp("ann")
            let (service, master) = (fixture.service, ServiceFixture.master)
            try await expectError(.notAuthenticated) { try await service.run(Actions.me, with: ServiceFixture.key) }
            try await expectError(.notAuthenticated) {
                try await service.run(Actions.me, by: ServiceFixture.masterCaller, with: master)
            }
            let acting = try await service.run(
                Actions.me,
                by: Caller(kind: .master(actingAs: signUp.userID)),
                with: master
            )
            #expect(acting.userID == signUp.userID && acting.accessToken != signUp.accessToken)
            #expect(try await service.authenticate(.token(acting.accessToken), for: .user) == caller.unproved)
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.me, by: Caller(kind: .master(actingAs: "nobody")), with: master)
            }
        }
    }

    @Test func aChangedPasswordEndsEverySession() async throws {
        try await withService { fixture in
            let (first, caller) = try await fixture.service.signUp("ann")
            let second = try await fixture.service.logIn(
                LogInRequest(authData: ["username": "ann"], password: "secret")
            )
            try await expectError(.invalidCredentials) {
                try await fixture.service.changePassword(
                    ChangePasswordRequest(oldPassword: "wrong", password: "new"),
                    by: caller
                )
            }
            try await expectError(.invalidArgument) {
                try await fixture.service.changePassword(
                    ChangePasswordRequest(oldPassword: "secret", password: ""),
                    by: caller
                )
            }
            let changed = try await fixture.service.changePassword(
                ChangePasswordRequest(oldPassword: "secret", password: "new"),
                by: caller
            )
            #expect(try await fixture.service.authenticate(.token(changed.accessToken), for: .user) == caller.unproved)
            for token in [first.accessToken, second.accessToken] {
                try await expectError(.accessTokenNotAccepted) {
                    try await fixture.service.authenticate(.token(token), for: .keyOrToken)
                }
            }
            try await expectError(.invalidCredentials) {
                try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            _ = try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "new"))
        }
    }

    @Test func ofTwoRacingChangesOfThePasswordOneWins() async throws {
        try await withService { fixture in
            let caller = try await fixture.service.signUp("ann").caller
            let codes = await withTaskGroup(of: ErrorCode?.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        do throws(SkyrowError) {
                            _ = try await fixture.service.changePassword(
                                ChangePasswordRequest(oldPassword: "secret", password: "new \(number)"),
                                by: caller
                            )
                            return nil
                        } catch {
                            return error.code
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.count { $0 == nil } == 1)
            #expect(codes.count { $0 == .invalidCredentials } == 7)
        }
    }

    @Test func aDisabledAccountIsToldSoAfterTheRightPasswordOnly() async throws {
        try await withService { fixture in
            let (result, _) = try await fixture.service.signUp("ann")
            try await fixture.psql(
                "UPDATE _user SET disabled = true, disabled_message = 'be nice', disabled_until = now() + interval '1 hour'"
            )
            try await expectError(.invalidCredentials) {
                try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "wrong"))
            }
            let error = try await expectError(.userDisabled) {
                try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            #expect(error?.info["message"] == .string("be nice"))
            // The trigger's notice reaches the service by itself.
            try await fixture.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.users(1)) }
            try await expectError(.userDisabled) {
                try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            }
            #expect(try await fixture.service.authenticate(.token(result.accessToken), for: .keyOrToken) == .anonymous)
            fixture.clock.advance(by: .seconds(3700))
            _ = try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            _ = try await fixture.service.authenticate(.token(result.accessToken), for: .user)
        }
    }

    @Test func aHashOfALowerCostIsReplacedAtTheNextLogin() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            let weak = try await PasswordHasher(
                PasswordConfiguration(cost: ScryptCost(logN: 1, r: 1, p: 1)),
                observe: { _ in }
            ).hash("secret")
            try await fixture.psql("UPDATE _user SET password_hash = '\(weak)'")
            _ = try await withRunningServiceOfHigherCost(fixture) { service in
                try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            #expect(try await fixture.psql("SELECT password_hash LIKE '$scrypt$ln=3,r=2,p=1,n=1$%' FROM _user") == "t")
        }
    }

    private func withRunningServiceOfHigherCost<Success>(
        _ fixture: ServiceFixture,
        _ body: (ActionService) async throws -> Success
    ) async throws -> Success {
        try await body(
            ActionService(
                store: fixture.service.store,
                configuration: ServiceConfiguration(
                    keys: GivenKeys(api: Secret("api"), master: Secret("master")),
                    passwords: PasswordConfiguration(cost: ScryptCost(logN: 3, r: 2, p: 1))
                ),
                logger: .quiet,
                observe: { _ in }
            )
        )
    }

    @Test func profileFieldsAppearInDevelopmentAndAreRefusedInProduction() async throws {
        let request = SignUpRequest(
            authData: ["username": "ann"],
            password: "secret",
            profile: [(field("nickname"), .string("a"))]
        )
        try await withService(.development) { fixture in
            _ = try await fixture.service.signUp(request)
            #expect(try await fixture.psql("SELECT nickname FROM \"user\"") == "a")
        }
        try await withService(.production) { fixture in
            try await expectError(.incompatibleSchema) { try await fixture.service.signUp(request) }
            #expect(try await fixture.psql("SELECT count(*) FROM _user") == "0")
        }
    }
}
