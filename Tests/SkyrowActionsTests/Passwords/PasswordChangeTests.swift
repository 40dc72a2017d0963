import Foundation
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The rules of passwords on every way on which one is set.
@Suite struct PasswordChangeTests {
    /// How a password gets into an account.
    enum Way: String, CaseIterable, Sendable {
        case signUp, register, change, expired, reset, resetOnPage, invitation, master, desk
    }

    /// Sets a password on one way in a new account `ann` whose present password is "first secret".
    private func set(_ password: String, on way: Way, _ mailing: MailingFixture, _ service: ActionService) async throws
    {
        let fixture = mailing.fixture
        let authData = ["username": "ann", "email": "ann@example.org"]
        if ![.signUp, .register, .invitation, .desk].contains(way) {
            _ = try await fixture.service.signUp(SignUpRequest(authData: authData, password: "first secret"))
        }
        switch way {
        case .signUp:
            _ = try await service.signUp(SignUpRequest(authData: authData, password: password))
        case .register:
            let anonymous = try await service.signUp(SignUpRequest(authData: [:], password: nil))
            let credentials = Credentials.token(anonymous.accessToken)
            let caller = try await service.authenticate(credentials, for: .user)
            let request = RegisterRequest(authData: authData, password: password, profile: [])
            _ = try await service.register(request, by: caller, with: credentials)
        case .change:
            let result = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "first secret"))
            let caller = try await service.authenticate(.token(result.accessToken), for: .user)
            let request = ChangePasswordRequest(oldPassword: "first secret", password: password)
            _ = try await service.changePassword(request, by: caller)
        case .expired:
            let request = LogInRequest(authData: ["username": "ann"], password: "first secret", newPassword: password)
            _ = try await service.logIn(request)
        case .reset, .resetOnPage, .invitation:
            if way == .invitation {
                _ = try await service.run(
                    Actions.authInvite,
                    CodeRequest(email: "ann@example.org"),
                    by: ServiceFixture.masterCaller
                )
            } else {
                _ = try await service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            }
            let code = try await mailing.lastMail().linkCode
            let request = ResetConfirmation(code: CodeConfirmation(code: code, handle: nil), password: password)
            if way == .resetOnPage {
                try await service.resetPasswordOnPage(request, Call(by: .anonymous))
            } else {
                _ = try await service.run(Actions.authResetConfirm, request)
            }
        case .master:
            let id = try await fixture.psql("SELECT _id FROM \"user\" WHERE username = 'ann'")
            let request = NewPassword(userID: UserID(id), password: password)
            _ = try await service.run(Actions.authResetPassword, request, by: ServiceFixture.masterCaller)
        case .desk:
            _ = try await service.createAccount(SignUpRequest(authData: authData, password: password))
        }
    }

    @Test(arguments: Way.allCases)
    func theRulesHoldOnEveryWay(_ way: Way) async throws {
        let lines = ["leaked once more"].map { BreachedPasswordsTests.line($0) }
        try await BreachedPasswordsTests.withFile(lines.joined()) { path in
            let list = try BreachedPasswords(path: path)
            let rows: [(password: String, reason: String?)] = [
                ("short", "PasswordTooShort"), ("wrong-horse 7", "PasswordUppercaseRequired"),
                ("Skyrow-horse 7", "PasswordContainingExcludedKeywords"),
                // It holds the address.
                ("Ann@Example.org 7", "PasswordContainingExcludedKeywords"),
                ("Password-1", "PasswordBelowGuessableLevel"),
                ("Leaked once more", nil), ("leaked once more", "PasswordUppercaseRequired"),
            ]
            for (password, reason) in rows {
                try await withMailingService { mailing in
                    let strict = mailing.fixture.configured {
                        $0 = mailing.service.configuration
                        $0.accounts.passwords = PasswordPolicy(
                            minimumLength: 8,
                            classes: [.upper],
                            excludedWords: ["skyrow"],
                            excludedFields: [field("email")],
                            minimumStrength: 2
                        )
                    }
                    let error = try await self.refusal { try await self.set(password, on: way, mailing, strict) }
                    // The address of an invitation is the account's only text, as of all others.
                    #expect(error?.info["reason"] == reason.map { .string($0) }, "\(way) \(password)")
                }
            }
            try await withMailingService { mailing in
                let strict = mailing.fixture.configured {
                    $0 = mailing.service.configuration
                    $0.passwords.breached = list
                }
                let error = try await self.refusal { try await self.set("leaked once more", on: way, mailing, strict) }
                #expect(error?.info["reason"] == .string("PasswordBreached"), "\(way)")
            }
        }
    }

    private func refusal(_ body: () async throws -> Void) async throws -> SkyrowError? {
        do {
            try await body()
            return nil
        } catch let error as SkyrowError {
            #expect(error.code == .passwordPolicyViolated, "\(error)")
            return error
        }
    }

    private func withHistory(_ size: Int, _ body: (MailingFixture, ActionService) async throws -> Void) async throws {
        try await withMailingService { mailing in
            let service = mailing.fixture.configured {
                $0 = mailing.service.configuration
                $0.accounts.passwords.historySize = size
            }
            try await body(mailing, service)
        }
    }

    @Test(arguments: [Way.change, .expired, .reset, .resetOnPage, .master])
    func theLastPasswordsAreNotTakenAgain(_ way: Way) async throws {
        try await withHistory(3) { mailing, service in
            let fixture = mailing.fixture
            _ = try await service.signUp(
                SignUpRequest(authData: ["username": "ann", "email": "ann@example.org"], password: "secret 0")
            )
            let id = UserID(try await fixture.psql("SELECT _id FROM \"user\""))
            for number in 1...5 {
                let request = NewPassword(userID: id, password: "secret \(number)")
                _ = try await service.run(Actions.authResetPassword, request, by: ServiceFixture.masterCaller)
            }
            // Two besides the present one.
            #expect(try await fixture.psql("SELECT count(*) FROM _password_history") == "2")
            func change(to password: String, from old: String) async throws {
                switch way {
                case .change:
                    let result = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: old))
                    let caller = try await service.authenticate(.token(result.accessToken), for: .user)
                    _ = try await service.changePassword(
                        ChangePasswordRequest(oldPassword: old, password: password),
                        by: caller
                    )
                case .expired:
                    _ = try await service.logIn(
                        LogInRequest(authData: ["username": "ann"], password: old, newPassword: password)
                    )
                case .reset, .resetOnPage:
                    try await fixture.psql("DELETE FROM _mail")
                    _ = try await service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
                    let code = CodeConfirmation(code: try await mailing.lastMail().linkCode, handle: nil)
                    let request = ResetConfirmation(code: code, password: password)
                    if way == .reset {
                        _ = try await service.run(Actions.authResetConfirm, request)
                    } else {
                        try await service.resetPasswordOnPage(request, Call(by: .anonymous))
                    }
                default:
                    _ = try await service.run(
                        Actions.authResetPassword,
                        NewPassword(userID: id, password: password),
                        by: ServiceFixture.masterCaller
                    )
                }
            }
            for password in ["secret 5", "secret 4", "secret 3"] {
                let error = try await refusal { try await change(to: password, from: "secret 5") }
                #expect(error?.info["reason"] == .string("PasswordReused"), "\(password)")
                #expect(error?.info["history_size"] == .integer(3))
            }
            try await change(to: "secret 2", from: "secret 5")
            _ = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret 2"))
            #expect(try await fixture.psql("SELECT count(*) FROM _password_history") == "2")
        }
    }

    @Test func noHistoryIsKeptWhereNoneIsCompared() async throws {
        for size in [0, 1] {
            try await withHistory(size) { mailing, service in
                _ = try await service.signUp("ann", password: "secret 0")
                let request = LogInRequest(authData: ["username": "ann"], password: "secret 0", newPassword: "secret 1")
                _ = try await service.logIn(request)
                #expect(try await mailing.fixture.psql("SELECT count(*) FROM _password_history") == "0")
                let again = LogInRequest(authData: ["username": "ann"], password: "secret 1", newPassword: "secret 1")
                let error = try await refusal { _ = try await service.logIn(again) }
                #expect((error == nil) == (size == 0))
            }
        }
    }

    @Test func thePasswordsOfADeletedAccountGo() async throws {
        try await withHistory(3) { mailing, service in
            _ = try await service.signUp("ann", password: "secret 0")
            let request = LogInRequest(authData: ["username": "ann"], password: "secret 0", newPassword: "secret 1")
            _ = try await service.logIn(request)
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _password_history") == "1")
            try await mailing.fixture.psql("DELETE FROM \"user\"")
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _password_history") == "0")
        }
    }

    @Test func aPasswordThatIsTooOldIsChangedWithTheLogin() async throws {
        try await withService { fixture in
            let before = try await fixture.service.signUp("ann", password: "secret 0").0
            let strict = fixture.configured { $0.accounts.passwords.maximumAge = .seconds(86_400) }
            func logIn(_ password: String, new: String? = nil) async throws -> AuthResult {
                try await strict.logIn(
                    LogInRequest(authData: ["username": "ann"], password: password, newPassword: new)
                )
            }
            _ = try await logIn("secret 0")
            try await fixture.psql("UPDATE _user SET password_changed_at = now() - interval '1 day'")
            let sessions = try await fixture.psql("SELECT count(*) FROM _session")
            let error = try await expectError(.passwordPolicyViolated) { try await logIn("secret 0") }
            #expect(error?.info["reason"] == .string("PasswordExpired"))
            // A wrong password learns nothing of it, nor changes anything.
            try await expectError(.invalidCredentials) { try await logIn("wrong") }
            try await expectError(.invalidCredentials) { try await logIn("wrong", new: "secret 1") }
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == sessions)
            // The sessions that there are go on.
            _ = try await strict.authenticate(.token(before.accessToken), for: .user)
            let result = try await logIn("secret 0", new: "secret 1")
            _ = try await strict.authenticate(.token(result.accessToken), for: .user)
            try await expectError(.accessTokenNotAccepted) {
                try await strict.authenticate(.token(before.accessToken), for: .user)
            }
            _ = try await logIn("secret 1")
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "2")
            let events =
                "SELECT string_agg(event || ':' || outcome, ',' ORDER BY id) FROM _audit WHERE event = 'password'"
            #expect(try await fixture.psql(events) == "password:ok")
        }
    }

    /// A password that one has learnt opens nothing there, and must not keep its user out.
    @Test func aSecondFactorIsNotPassedByWithANewPassword() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann", password: "secret 0")
            try await fixture.psql(
                "INSERT INTO _factor (user_id, kind, secret_sealed, confirmed_at) SELECT id, 'totp', 's', now() FROM _user"
            )
            let request = LogInRequest(authData: ["username": "ann"], password: "secret 0", newPassword: "secret 1")
            try await expectError(.invalidArgument) { try await fixture.service.logIn(request) }
            try await expectError(.secondFactorRequired) {
                try await fixture.service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret 0"))
            }
        }
    }
}
