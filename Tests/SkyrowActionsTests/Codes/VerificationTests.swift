import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct VerificationTests {
    private func verified(_ mailing: MailingFixture) async throws -> String {
        try await mailing.fixture.psql("SELECT coalesce(verified_email, '-') FROM _user ORDER BY created_at")
    }

    @Test func signingUpMailsACodeAndTheAccountWorksWithoutIt() async throws {
        try await withMailingService(.optional) { mailing in
            let result = try await mailing.signUp("ann")
            _ = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
            let mail = try await mailing.lastMail()
            #expect(mail.text.contains("/auth/verify?code="))
            #expect(try await verified(mailing) == "-")
            _ = try await mailing.logIn("ann", "a long secret")
            try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: mail.linkCode))
            #expect(try await verified(mailing) == "ann@example.org")
            // Sessions go on.
            _ = try await mailing.service.authenticate(.token(result.accessToken), for: .user)
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: mail.linkCode))
            }
        }
    }

    @Test func whereItIsRequiredALogInWaitsForIt() async throws {
        try await withMailingService(.required) { mailing in
            try await expectError(.verificationRequired) { try await mailing.signUp("ann") }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == "0")
            // Only after the right password.
            try await expectError(.invalidCredentials) { try await mailing.logIn("ann", "a wrong secret") }
            try await expectError(.verificationRequired) { try await mailing.logIn("ann", "a long secret") }
            try await mailing.waitAMinute()
            let ticket = try await mailing.service.run(
                Actions.authVerifyRequest,
                VerificationRequest(email: "ann@example.org"),
                by: .anonymous
            )
            let mail = try await mailing.lastMail()
            try await mailing.service.run(
                Actions.authVerifyConfirm,
                CodeConfirmation(code: mail.digits, handle: ticket.handle)
            )
            let result = try await mailing.logIn("ann", "a long secret")
            // Another address has to be proved anew.
            try await mailing.fixture.psql("UPDATE \"user\" SET email = 'new@example.org'")
            try await expectError(.verificationRequired) { try await mailing.logIn("ann", "a long secret") }
            #expect(result.profile.isWhole)
        }
    }

    @Test(arguments: [
        ["username": "ann"], ["username": "ann", "email": "no address"], ["email": "a@b\r\nc.org"],
    ])
    func whereItIsRequiredASignUpHasAnAddress(_ keys: [String: String]) async throws {
        try await withMailingService(.required) { mailing in
            let error = try await expectError(.invalidArgument) {
                try await mailing.service.signUp(SignUpRequest(authData: keys, password: "a long secret"))
            }
            #expect(error?.info["arguments"] == .list([.string("email")]))
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _user") == "0")
            // An anonymous account has none.
            _ = try await mailing.service.signUp(SignUpRequest())
        }
    }

    @Test func aResetProvesTheAddressToo() async throws {
        try await withMailingService(.required) { mailing in
            try await expectError(.verificationRequired) { try await mailing.signUp("ann") }
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let code = try await mailing.lastMail().linkCode
            _ = try await mailing.service.run(
                Actions.authResetConfirm,
                ResetConfirmation(code: CodeConfirmation(code: code), password: "another secret")
            )
            _ = try await mailing.logIn("ann", "another secret")
        }
    }

    @Test func aUserAsksForACodeOfTheirOwnAddress() async throws {
        try await withMailingService(.optional) { mailing in
            let ann = Caller(kind: .user(try await mailing.signUp("ann").userID))
            _ = await mailing.sent()
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authVerifyRequest, VerificationRequest(), by: ann)
            let mails = await mailing.sent()
            #expect(mails.count == 2 && mails.last?.to.description == "ann@example.org")
            try await expectError(.notAuthenticated) {
                try await mailing.service.run(Actions.authVerifyRequest, VerificationRequest(), by: .anonymous)
            }
            let guest = try await mailing.service.signUp(SignUpRequest())
            try await expectError(.invalidArgument) {
                try await mailing.service.run(
                    Actions.authVerifyRequest,
                    VerificationRequest(),
                    by: Caller(kind: .user(guest.userID))
                )
            }
        }
    }

    /// A code proves the address that it was sent to, and no other.
    @Test func aCodeOfTheAddressBeforeProvesNothingOfTheNewOne() async throws {
        try await withMailingService(.required) { mailing in
            try await expectError(.verificationRequired) { try await mailing.signUp("ann") }
            let code = try await mailing.lastMail().linkCode
            try await mailing.fixture.psql("UPDATE \"user\" SET email = 'victim@example.org'")
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: code))
            }
            try await expectError(.verificationRequired) { try await mailing.logIn("ann", "a long secret") }
        }
    }

    /// Who still reads the mail of an address that was given up cannot have the new one count as unverified.
    @Test func aCodeOfTheAddressBeforeLeavesTheNewOneVerified() async throws {
        try await withMailingService(.required) { mailing in
            try await expectError(.verificationRequired) { try await mailing.signUp("ann") }
            let old = try await mailing.lastMail().linkCode
            try await mailing.fixture.psql("UPDATE \"user\" SET email = 'new@example.org'")
            _ = try await mailing.service.run(
                Actions.authVerifyRequest,
                VerificationRequest(email: "new@example.org"),
                by: .anonymous
            )
            let new = try await mailing.lastMail().linkCode
            try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: new))
            _ = try await mailing.logIn("ann", "a long secret")
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: old))
            }
            #expect(try await verified(mailing) == "new@example.org")
            _ = try await mailing.logIn("ann", "a long secret")
        }
    }

    @Test func aCodeOfOneKindDoesNotCountAsAnother() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            let verification = try await mailing.lastMail().linkCode
            try await expectError(.invalidToken) {
                try await mailing.service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: CodeConfirmation(code: verification), password: "another secret")
                )
            }
            try await mailing.waitAMinute()
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let reset = try await mailing.lastMail().linkCode
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: reset))
            }
        }
    }

    @Test func oneCodeAtTheSameTimeVerifiesOnce() async throws {
        try await withMailingService(.optional) { mailing in
            try await mailing.signUp("ann")
            for _ in 0..<min(10, seededCases(3)) {
                let code = try await mailing.lastMail().linkCode
                let successes = await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 {
                        group.addTask {
                            (try? await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: code)))
                                != nil
                        }
                    }
                    return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
                }
                #expect(successes == 1)
                try await mailing.fixture.psql("DELETE FROM _mail")
                _ = try await mailing.service.run(
                    Actions.authVerifyRequest,
                    VerificationRequest(email: "ann@example.org"),
                    by: .anonymous
                )
            }
        }
    }
}
