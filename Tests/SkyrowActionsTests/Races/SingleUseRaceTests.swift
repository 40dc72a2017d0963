import SkyrowCrypto
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What counts once, taken many times at once by way of three services.
@Suite(.timeLimit(.minutes(60))) struct SingleUseRaceTests {
    private static let usualRounds = 2
    private static let master = ServiceFixture.masterCaller

    // MARK: Accounts

    enum Account: String, CaseIterable, Sendable {
        case name, address, registration, rotation, password, guest, liveTicket
        case twoSidesOfACircle, eightSidesOfACircle
    }

    @Test func ofAccountsAndRoles() async throws {
        try await withRacingServices { racing in
            try await racing.run(Account.self, rounds: raceRounds(Self.usualRounds)) { kind, name in
                try await account(kind, name, racing)
            }
        }
    }

    private func account(_ kind: Account, _ name: String, _ racing: RacingServices) async throws -> Race {
        switch kind {
        case .name:
            let count = "SELECT count(*) FROM app.\"user\" WHERE lower(username) = '\(name)'"
            return Race(refusals: [.duplicated], outcome: (count, 1)) { task, service in
                _ = try await service.signUp(task.isMultiple(of: 2) ? name : name.uppercased())
            }
        case .address:
            let count = "SELECT count(*) FROM app.\"user\" WHERE lower(email) = '\(name)@example.org'"
            return Race(refusals: [.duplicated], outcome: (count, 1)) { task, service in
                let address = "\(task.isMultiple(of: 2) ? name : name.uppercased())@example.org"
                _ = try await service.signUp(SignUpRequest(authData: ["email": address], password: "secret"))
            }
        case .registration:
            let guest = try await racing[0].signUp(SignUpRequest())
            let own = Credentials.token(guest.accessToken)
            let caller = try await racing[0].authenticate(own, for: .user)
            return Race(refusals: [.duplicated, .accessTokenNotAccepted]) { task, service in
                let request = RegisterRequest(authData: ["username": "\(name)-\(task)"], password: "secret")
                _ = try await service.register(request, by: caller, with: own)
            }
        case .rotation:
            let (_, caller, own) = try await racing.signUp(name)
            return Race(refusals: [.accessTokenNotAccepted]) { _, service in
                _ = try await service.run(Actions.authRotate, by: caller, with: own)
            }
        case .password:
            let (_, caller, _) = try await racing.signUp(name)
            return Race(refusals: [.invalidCredentials]) { task, service in
                let request = ChangePasswordRequest(oldPassword: RacingServices.password, password: "new \(task)")
                _ = try await service.changePassword(request, by: caller)
            }
        case .guest:
            let guest = try await racing[0].signUp(SignUpRequest())
            var callers: [Caller] = []
            for task in 0..<Race.tasks { callers.append(try await racing.signUp("\(name)-\(task)").caller) }
            let users = callers
            return Race { task, service in
                _ = try await service.run(Actions.authMerge, guest.accessToken, by: users[task])
            }
        case .liveTicket:
            let (_, caller, own) = try await racing.signUp(name)
            let ticket = try await racing[0].run(Actions.liveTicket, by: caller, with: own)
            return Race { _, service in _ = try await service.redeem(ticket: ticket.token) }
        case .twoSidesOfACircle: return try await circle(of: 2, name, racing)
        case .eightSidesOfACircle: return try await circle(of: 8, name, racing)
        }
    }

    /// Each of these roles is put into the next one; what is put last would close the circle.
    private func circle(of count: Int, _ name: String, _ racing: RacingServices) async throws -> Race {
        let roles = (0..<count).map { RoleName("\(name)-\($0)") }
        for role in roles { _ = try await racing[0].run(Actions.roleSave, RoleSave(name: role), by: Self.master) }
        let edges = "SELECT count(*) FROM app_internal._role_role WHERE role LIKE '\(name)-%'"
        let outcome = (query: edges, number: Int64(count - 1))
        return Race(of: count, winners: count - 1, refusals: [.duplicated], outcome: outcome) { task, service in
            let request = RoleChange(role: roles[(task + 1) % count], roles: [roles[task]])
            _ = try await service.run(Actions.roleAdd, request, by: Self.master)
        }
    }

    // MARK: Codes of mails

    enum Code: String, CaseIterable, Sendable {
        case verification, reset, invitation, addressChange, undo, logIn
    }

    @Test func ofCodesInMails() async throws {
        try await withRacingServices {
            $0.verification = .optional
        } _: { racing in
            try await racing.run(Code.self, rounds: raceRounds(Self.usualRounds)) { kind, name in
                try await code(kind, name, racing)
            }
        }
    }

    private func code(_ kind: Code, _ name: String, _ racing: RacingServices) async throws -> Race {
        let to = "\(name)@example.org"
        let address = CodeRequest(email: to)
        if kind == .invitation {
            let user = try await racing[0].run(Actions.authInvite, address, by: Self.master)
            return reset(user, CodeConfirmation(code: try await racing.mail(to: to).linkCode), nil)
        }
        let (result, caller, own) = try await racing.signUp(name)
        let user = result.userID
        func confirmation(_ mail: MailMessage, _ handle: String, _ task: Int) -> CodeConfirmation {
            task.isMultiple(of: 2)
                ? CodeConfirmation(code: mail.linkCode) : CodeConfirmation(code: mail.digits, handle: handle)
        }
        func changeAddress() async throws -> (handle: String, mail: MailMessage) {
            try await racing.run("UPDATE _user SET verified_email = '\(to)' WHERE id = '\(user)'")
            let ticket = try await racing[0].run(
                Actions.authEmailChange,
                EmailChange(email: "new-\(to)", password: RacingServices.password),
                by: caller,
                with: own
            )
            return (ticket.handle, try await racing.mail(to: "new-\(to)"))
        }
        switch kind {
        case .verification:
            let ticket = try await racing[0].run(Actions.authVerifyRequest, VerificationRequest(email: to))
            let mail = try await racing.mail(to: to)
            let codes = (0..<Race.tasks).map { confirmation(mail, ticket.handle, $0) }
            return Race { task, service in _ = try await service.run(Actions.authVerifyConfirm, codes[task]) }
        case .reset:
            let ticket = try await racing[0].run(Actions.authResetRequest, address)
            let mail = try await racing.mail(to: to)
            return reset(user, confirmation(mail, ticket.handle, 0), confirmation(mail, ticket.handle, 1))
        case .addressChange:
            let (handle, mail) = try await changeAddress()
            let code = EmailConfirmation(code: mail.digits, handle: handle)
            // Digits are tried five times.
            return Race(of: 5) { _, service in
                try await service.run(Actions.authEmailConfirm, code, by: caller, with: own)
            }
        case .undo:
            let (handle, mail) = try await changeAddress()
            let code = EmailConfirmation(code: mail.digits, handle: handle)
            try await racing[0].run(Actions.authEmailConfirm, code, by: caller, with: own)
            let undo = try await racing.mail(to: to).linkCode
            return Race { _, service in try await service.run(Actions.authEmailUndo, undo) }
        case .logIn:
            try await racing.run("UPDATE _user SET verified_email = '\(to)' WHERE id = '\(user)'")
            let ticket = try await racing[0].run(Actions.authLinkRequest, address)
            let mail = try await racing.mail(to: to)
            let sessions = "SELECT count(*) FROM app_internal._session WHERE user_id = '\(user)'"
            return Race(outcome: (sessions, 2)) { task, service in
                let code = task.isMultiple(of: 2) ? mail.linkCode : mail.digits
                _ = try await service.run(Actions.authLinkLogIn, LinkLogIn(code: code, handle: ticket.handle))
            }
        case .invitation: throw RaceLost("An invitation has no account before it.")
        }
    }

    /// Passwords are set by a link and perhaps by digits.
    private func reset(_ user: UserID, _ link: CodeConfirmation, _ digits: CodeConfirmation?) -> Race {
        let sessions = "SELECT count(*) FROM app_internal._session WHERE user_id = '\(user)'"
        return Race(outcome: (sessions, 1)) { task, service in
            let code = task.isMultiple(of: 2) ? link : digits ?? link
            _ = try await service.run(
                Actions.authResetConfirm,
                ResetConfirmation(code: code, password: "secret \(task)")
            )
        }
    }

    // MARK: Second factors

    enum Factor: String, CaseIterable, Sendable { case step, recoveryCode, handle }

    @Test func ofSecondFactors() async throws {
        try await withRacingServices { racing in
            try await racing.run(Factor.self, rounds: raceRounds(Self.usualRounds)) { kind, name in
                try await factor(kind, name, racing)
            }
        }
    }

    private func factor(_ kind: Factor, _ name: String, _ racing: RacingServices) async throws -> Race {
        let (_, caller, own) = try await racing.signUp(name)
        let enrolment = try await racing[0].run(Actions.authTOTPEnrol, (), by: caller)
        let totp = TOTP(secret: try #require(Base32.decode(enrolment.secret)))
        let now = try await racing.number("SELECT floor(extract(epoch FROM clock_timestamp()) / 30)::bigint")
        let recovery = try await racing[0].run(Actions.authTOTPConfirm, totp.code(at: now - 1), by: caller)
        var handles: [String] = []
        for task in 0..<Race.tasks { handles.append(try await handle(name, racing[task])) }
        let waiting = handles
        switch kind {
        case .step, .recoveryCode:
            // The same code opens sessions and proves who has one.
            let code = kind == .step ? totp.code(at: now) : recovery[0]
            return Race(refusals: [.invalidCredentials]) { task, service in
                if task.isMultiple(of: 2) {
                    _ = try await service.run(
                        Actions.authLogInFactor,
                        FactorLogIn(handle: waiting[task], code: code),
                        by: .anonymous
                    )
                } else {
                    _ = try await service.run(Actions.authStepUp, .code(code), by: caller, with: own)
                }
            }
        case .handle:
            // Codes that would each count.
            let codes = [totp.code(at: now), totp.code(at: now + 1)] + recovery
            return Race(of: 5, refusals: [.invalidToken, .invalidCredentials]) { task, service in
                _ = try await service.run(
                    Actions.authLogInFactor,
                    FactorLogIn(handle: waiting[0], code: codes[task]),
                    by: .anonymous
                )
            }
        }
    }

    /// Gives the first proof.
    private func handle(_ name: String, _ service: ActionService) async throws -> String {
        let error = try await expectError(.secondFactorRequired) {
            try await service.logIn(LogInRequest(authData: ["username": name], password: RacingServices.password))
        }
        guard case .string(let handle)? = error?.info["handle"] else { throw RaceLost("There is no handle.") }
        return handle
    }

    // MARK: Providers

    enum Provider: String, CaseIterable, Sendable {
        case state, code, idToken, customToken, firstSignIn, identity, lastWaysIn
    }

    private static let secret = [UInt8](repeating: 7, count: 32)

    @Test func ofProviders() async throws {
        try await withIdentityProvider { provider in
            let providers = try ["test", "second"].map { try ProviderConfiguration.browsing($0, provider) }
            let key = try #require(CustomTokenKey("HS256:" + encodeBase64(Self.secret)))
            try await withRacingServices {
                $0.providers = providers
                $0.customTokenKeys = [key]
            } _: { racing in
                try await racing.run(Provider.self, rounds: raceRounds(Self.usualRounds)) { kind, name in
                    try await self.provider(kind, name, racing, provider)
                }
            }
        }
    }

    private func provider(
        _ kind: Provider,
        _ name: String,
        _ racing: RacingServices,
        _ provider: TemporaryIdentityProvider
    ) async throws -> Race {
        func flows(_ service: ActionService) -> FlowFixture {
            FlowFixture(service: service, fixture: racing.fixtures[0], provider: provider)
        }
        let providers = ProviderFixture(service: racing[0], fixture: racing.fixtures[0], provider: provider)
        let fixture = racing.fixtures[0]
        switch kind {
        case .state:
            let start = try await flows(racing[0]).start()
            let back = try await flows(racing[0]).signIn(start)
            return Race { _, service in
                let flow = FlowFixture(service: service, fixture: fixture, provider: provider)
                let back = try await flow.back(back)
                // Who comes too late gets nothing of what the provider would say to a second exchange.
                guard back != .unknown else { throw SkyrowError(.invalidToken, "The state is unknown.") }
                guard case .redirect(let address)? = back, FlowFixture.fields(of: address)["code"] != nil else {
                    throw RaceLost("The state was used, and there is no code.")
                }
            }
        case .code:
            let code = try await flows(racing[0]).code()
            return Race { _, service in
                _ = try await FlowFixture(service: service, fixture: fixture, provider: provider).finish(code)
            }
        case .idToken:
            let token = try await providers.token(name)
            return Race(refusals: [.invalidCredentials]) { _, service in
                _ = try await service.run(Actions.authProviderLogIn, ProviderLogIn(token: token))
            }
        case .customToken:
            let now = Int(fixture.clock.clock.now().secondsSince1970)
            let claims = #"{"sub":"\#(name)","iat":\#(now),"exp":\#(now + 600),"jti":"\#(name)"}"#
            let message = [#"{"alg":"HS256"}"#, claims].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
            let code = HMACSHA256(key: Self.secret).code(of: Array(message.utf8)).bytes
            let token = CustomTokenLogIn(token: message + "." + Base64URL.encode(code))
            return Race(refusals: [.invalidCredentials]) { _, service in
                _ = try await service.run(Actions.ssoCustomTokenLogIn, token)
            }
        case .firstSignIn:
            var tokens: [ProviderToken] = []
            for _ in 0..<Race.tasks { tokens.append(try await providers.token(name)) }
            let all = tokens
            // Each signs in, and one of them makes the account.
            let accounts =
                "SELECT count(*) FROM app_internal._audit WHERE event = 'signup' AND data ->> 'provider' = 'test'"
            let before = try await racing.number(accounts)
            return Race(winners: Race.tasks, outcome: (accounts, before + 1)) { task, service in
                _ = try await service.run(Actions.authProviderLogIn, ProviderLogIn(token: all[task]))
            }
        case .identity:
            var tokens: [ProviderToken] = []
            var users: [(caller: Caller, own: Credentials)] = []
            for task in 0..<Race.tasks {
                tokens.append(try await providers.token(name))
                let (_, caller, own) = try await racing.signUp("\(name)-\(task)")
                users.append((caller, own))
            }
            let (all, accounts) = (tokens, users)
            return Race(refusals: [.duplicated]) { task, service in
                let (caller, own) = accounts[task]
                try await service.run(Actions.authProviderLink, all[task], by: caller, with: own)
            }
        case .lastWaysIn:
            let ann = try await providers.logIn(name)
            try await providers.link(name, with: ann, of: "second")
            let (caller, own) = try await providers.caller(ann)
            let left = "SELECT count(*) FROM app_internal._identity WHERE user_id = '\(ann.userID)'"
            return Race(of: 2, refusals: [.constraintViolated], outcome: (left, 1)) { task, service in
                try await service.run(Actions.authProviderUnlink, ["test", "second"][task], by: caller, with: own)
            }
        }
    }
}
