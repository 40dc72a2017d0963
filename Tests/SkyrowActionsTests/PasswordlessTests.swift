import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Services whose users have no passwords.
@Suite(.timeLimit(.minutes(60))) struct PasswordlessTests {
    private func withoutPasswords(_ mailing: MailingFixture) -> MailingFixture {
        mailing.configured {
            $0.accounts.admitsPasswords = false
            $0.admitsLinkLogIn = true
        }
    }

    @Test func whatTakesAPasswordIsRefused() async throws {
        try await withMailingService { mailing in
            let before = try await mailing.signUp("ann")
            let own = Credentials.token(before.accessToken)
            let ann = try await mailing.service.authenticate(own, for: .user)
            let guest = try await mailing.service.signUp(SignUpRequest())
            let guestToken = Credentials.token(guest.accessToken)
            let anonymous = try await mailing.service.authenticate(guestToken, for: .user)
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let code = CodeConfirmation(code: try await mailing.lastMail().linkCode)
            let service = withoutPasswords(mailing).service
            let password = "a long secret"
            let calls: [(String, () async throws -> Void)] = [
                (
                    "login",
                    { _ = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: password)) }
                ),
                (
                    "unknown",
                    { _ = try await service.logIn(LogInRequest(authData: ["username": "none"], password: password)) }
                ),
                (
                    "signup",
                    { _ = try await service.signUp(SignUpRequest(authData: ["username": "bob"], password: password)) }
                ),
                (
                    "register",
                    {
                        _ = try await service.register(
                            RegisterRequest(authData: ["username": "bob"], password: password),
                            by: anonymous,
                            with: guestToken
                        )
                    }
                ),
                (
                    "password",
                    {
                        _ = try await service.changePassword(
                            ChangePasswordRequest(oldPassword: password, password: "another secret"),
                            by: ann
                        )
                    }
                ),
                ("stepup", { _ = try await service.run(Actions.authStepUp, .password(password), by: ann, with: own) }),
                (
                    "reset",
                    { _ = try await service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org")) }
                ),
                (
                    "confirm",
                    {
                        _ = try await service.run(
                            Actions.authResetConfirm,
                            ResetConfirmation(code: code, password: "another secret")
                        )
                    }
                ),
                (
                    "invite",
                    {
                        _ = try await service.run(
                            Actions.authInvite,
                            CodeRequest(email: "bob@example.org"),
                            by: ServiceFixture.masterCaller
                        )
                    }
                ),
                (
                    "master",
                    {
                        _ = try await service.run(
                            Actions.authResetPassword,
                            NewPassword(userID: before.userID, password: "another secret"),
                            by: ServiceFixture.masterCaller
                        )
                    }
                ),
            ]
            let tables =
                "SELECT (SELECT count(*) FROM _user), (SELECT count(*) FROM _session), (SELECT count(*) FROM _mail)"
            let state = try await mailing.fixture.psql(tables)
            for (name, call) in calls {
                do {
                    try await call()
                    Issue.record("\(name) was not refused.")
                } catch let error as SkyrowError {
                    #expect(error.code == .notSupported, "\(name): \(error)")
                }
            }
            #expect(try await mailing.fixture.psql(tables) == state)
            // Sessions go on, and what is proved is proved another way.
            let later = try await mailing.logIn("ann", password)
            let caller = try await service.authenticate(.token(later.accessToken), for: .user)
            let refusal = try await service.stepUpRefusal(of: caller, with: .token(later.accessToken))
            #expect(refusal?.info["methods"] == .list([]))
        }
    }

    @Test func usersLogInByMailAndAsGuests() async throws {
        try await withMailingService { mailing in
            let mailing = withoutPasswords(mailing)
            let guest = try await mailing.service.signUp(SignUpRequest())
            let caller = try await mailing.service.authenticate(.token(guest.accessToken), for: .user)
            let address = draft("user/\(guest.userID)", ["email": "ann@example.org"])
            #expect(try await mailing.service.save(SaveRequest(address), by: caller).summaries == ["saved"])
            let ticket = try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: "ann@example.org"))
            let result = try await mailing.service.run(
                Actions.authLinkLogIn,
                LinkLogIn(code: try await mailing.lastMail().digits, handle: ticket.handle)
            )
            #expect(result.userID == guest.userID)
        }
    }

    /// A password is no other way in where none counts.
    @Test(arguments: [true, false])
    func theLastProviderIsKept(admitsPasswords: Bool) async throws {
        try await withProviderService { providers in
            var configuration = providers.service.configuration
            configuration.accounts.admitsPasswords = admitsPasswords
            let service = ActionService(
                store: providers.service.store,
                configuration: configuration,
                logger: .quiet,
                observe: { _ in }
            )
            let ann = try await providers.service.signUp("ann").result
            try await providers.link("ann", with: ann)
            let (caller, credentials) = try await providers.caller(ann)
            if admitsPasswords {
                try await service.run(Actions.authProviderUnlink, "test", by: caller, with: credentials)
            } else {
                try await expectError(.constraintViolated) {
                    try await service.run(Actions.authProviderUnlink, "test", by: caller, with: credentials)
                }
            }
        }
    }

    /// Whether an account has nothing but its token stands in what its user gets of it.
    @Test func anAnonymousAccountSaysSo() async throws {
        try await withService { fixture in
            let service = fixture.service
            let guest = try await service.signUp(SignUpRequest())
            #expect(guest.isAnonymous)
            let own = Credentials.token(guest.accessToken)
            let caller = try await service.authenticate(own, for: .user)
            #expect(try await service.run(Actions.me, by: caller, with: own).isAnonymous)
            let registered = try await service.register(
                RegisterRequest(authData: ["username": "ann"], password: "a long secret"),
                by: caller,
                with: own
            )
            #expect(!registered.isAnonymous)
            let login = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "a long secret"))
            #expect(!login.isAnonymous)
        }
    }
}
