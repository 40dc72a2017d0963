import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Accounts that are made for their users.
@Suite(.timeLimit(.minutes(60))) struct InvitationTests {
    private func reset(_ code: String, _ password: String = "another secret") -> ResetConfirmation {
        ResetConfirmation(code: CodeConfirmation(code: code), password: password)
    }

    private func invite(_ email: String, _ mailing: MailingFixture) async throws(SkyrowError) -> UserID {
        try await mailing.service.run(Actions.authInvite, CodeRequest(email: email), by: ServiceFixture.masterCaller)
    }

    @Test func anInvitedUserChoosesThePasswordOnce() async throws {
        try await withMailingService(.required) { mailing in
            let user = try await invite("ann@example.org", mailing)
            let mail = try await mailing.lastMail()
            #expect(mail.to.description == "ann@example.org")
            #expect(mail.text.contains("https://api.example.org/base/auth/reset?code=\(mail.linkCode)"))
            #expect(mail.text.contains("168 hours") && mail.digits.isEmpty)
            let credentials = LogInRequest(authData: ["email": "ann@example.org"], password: "another secret")
            try await expectError(.invalidCredentials) { try await mailing.service.logIn(credentials) }
            let result = try await mailing.service.run(Actions.authResetConfirm, reset(mail.linkCode))
            #expect(result.userID == user)
            // The link has proved the address.
            #expect(try await mailing.service.logIn(credentials).userID == user)
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, reset(mail.linkCode))
            }
            // No notice that a password was changed.
            #expect(await mailing.sent().count == 1)
            #expect(
                try await mailing.fixture.psql("SELECT event, actor FROM _audit WHERE event = 'invite'")
                    == "invite|master"
            )
        }
    }

    @Test func anInvitationIsSentAgainUntilItIsUsed() async throws {
        try await withMailingService { mailing in
            let user = try await invite("ann@example.org", mailing)
            let first = try await mailing.lastMail().linkCode
            try await expectError(.rateLimited) { _ = try await invite("ann@example.org", mailing) }
            try await mailing.waitAMinute()
            #expect(try await invite("Ann@Example.org", mailing) == user)
            let second = try await mailing.lastMail().linkCode
            // The later mail ends the one before.
            try await expectError(.invalidToken) {
                try await mailing.service.run(Actions.authResetConfirm, reset(first))
            }
            _ = try await mailing.service.run(Actions.authResetConfirm, reset(second))
            try await mailing.waitAMinute()
            let error = try await expectError(.duplicated) { _ = try await invite("ann@example.org", mailing) }
            #expect(error?.info["arguments"] == .list([.string("email")]))
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _user") == "1")
        }
    }

    @Test func anInvitationEndsAfterSevenDaysAndWithTheAddress() async throws {
        try await withMailingService { mailing in
            for (number, change) in [
                "UPDATE _code SET link_expires_at = link_expires_at - interval '7 days 1 second'",
                "UPDATE \"user\" SET email = 'other' || email",
                "UPDATE _user SET disabled = true",
                "UPDATE _user SET epoch = epoch + 1",
            ].enumerated() {
                _ = try await invite("ann\(number)@example.org", mailing)
                let code = try await mailing.lastMail().linkCode
                #expect(
                    try await mailing.fixture.psql(
                        "SELECT link_expires_at BETWEEN now() + interval '6 days 23 hours' AND now() + interval '7 days' "
                            + "FROM _code ORDER BY created_at DESC LIMIT 1"
                    ) == "t"
                )
                try await mailing.fixture.psql(change)
                try await expectError(.invalidToken) {
                    try await mailing.service.run(Actions.authResetConfirm, reset(code))
                }
            }
        }
    }

    @Test func onlyAdministratorsInviteAndOnlyByMail() async throws {
        try await withMailingService { mailing in
            let (_, caller) = try await mailing.service.signUp("ann", password: "a long secret")
            let request = CodeRequest(email: "eve@example.org")
            try await expectError(.permissionDenied) {
                try await mailing.service.run(Actions.authInvite, request, by: caller)
            }
            try await expectError(.notSupported) {
                try await mailing.fixture.service.run(Actions.authInvite, request, by: ServiceFixture.masterCaller)
            }
            for email in ["none", "eve@example.org\nBcc: all@example.org", "e\u{435}ve@example.org"] {
                try await expectError(.invalidArgument) { _ = try await invite(email, mailing) }
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _user") == "1")
            var administrator = caller
            administrator.isAdministrator = true
            let off = mailing.fixture.configured { $0.accountLife.admitsSelfSignUp = false }
            try await expectError(.permissionDenied) { _ = try await off.signUp("bob") }
            _ = try await mailing.service.run(Actions.authInvite, request, by: administrator)
        }
    }
}
