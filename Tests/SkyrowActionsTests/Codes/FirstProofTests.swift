import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The first proof of an address ends what was there before: who made the account need not be who has the address.
@Suite(.timeLimit(.minutes(60))) struct FirstProofTests {
    /// How a stranger comes to an account with the address of another.
    enum Squat: CaseIterable {
        /// An anonymous account that saves the address.
        case anonymous
        case password
        case provider
    }

    /// How the owner of the address proves it first.
    enum Proof: CaseIterable {
        case reset, resetOnPage, link
        /// By the link to confirm a sign-up; a reset or a log-in by mail follows.
        case verifyAndReset, verifyAndLink
    }

    private static let email = "ann@example.org"

    private func configured(_ mailing: MailingFixture) -> MailingFixture {
        mailing.configured { $0.admitsLinkLogIn = true }
    }

    /// Makes the stranger's account, with a second factor and recovery codes.
    private func squat(_ way: Squat, _ mailing: MailingFixture) async throws -> AuthResult {
        let plain = mailing.configured { $0.verification = .off }.service
        let result: AuthResult
        switch way {
        case .anonymous, .provider:
            result = try await plain.signUp(SignUpRequest())
            let caller = try await plain.authenticate(.token(result.accessToken), for: .user)
            let saved = try await mailing.service.save(
                SaveRequest(draft("user/\(result.userID)", ["email": .string(Self.email)])),
                by: caller
            )
            #expect(saved.summaries == ["saved"])
        case .password:
            result = try await plain.signUp(
                SignUpRequest(authData: ["email": Self.email], password: "a stranger's secret")
            )
        }
        if way == .provider {
            try await mailing.fixture.psql(
                "INSERT INTO _identity (provider, subject, user_id, profile) VALUES ('p', 's', '\(result.userID)', '{}')"
            )
        }
        try await addFactor(to: result.userID, mailing)
        return result
    }

    private func addFactor(to user: UserID, _ mailing: MailingFixture) async throws {
        try await mailing.fixture.psql(
            """
            INSERT INTO _factor (user_id, kind, secret_sealed, hash, confirmed_at)
            VALUES ('\(user)', 'totp', '\\x01', NULL, now()), ('\(user)', 'recovery', NULL, '\\x02', now())
            """
        )
    }

    private func reset(_ mailing: MailingFixture, onPage: Bool = false) async throws -> AuthResult? {
        try await mailing.waitAMinute()
        _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: Self.email))
        let confirmation = ResetConfirmation(
            code: CodeConfirmation(code: try await mailing.lastMail().linkCode),
            password: "the owner's secret"
        )
        guard !onPage else {
            try await mailing.service.resetPasswordOnPage(confirmation, Call(by: .anonymous))
            return nil
        }
        return try await mailing.service.run(Actions.authResetConfirm, confirmation)
    }

    private func link(_ mailing: MailingFixture) async throws -> AuthResult {
        try await mailing.waitAMinute()
        let ticket = try await mailing.service.run(Actions.authLinkRequest, CodeRequest(email: Self.email))
        return try await mailing.service.run(
            Actions.authLinkLogIn,
            LinkLogIn(code: try await mailing.lastMail().digits, handle: ticket.handle)
        )
    }

    private func verify(_ mailing: MailingFixture, with own: Credentials = Credentials()) async throws {
        try await mailing.waitAMinute()
        _ = try await mailing.service.run(
            Actions.authVerifyRequest,
            VerificationRequest(email: Self.email),
            by: .anonymous
        )
        try await mailing.service.run(
            Actions.authVerifyConfirm,
            CodeConfirmation(code: try await mailing.lastMail().linkCode),
            with: own
        )
    }

    @Test(arguments: Squat.allCases, Proof.allCases)
    func theOwnerOfAnAddressGetsTheAccountAlone(squat way: Squat, proof: Proof) async throws {
        for verification in AddressVerification.allCases {
            let verifies = proof == .verifyAndReset || proof == .verifyAndLink
            guard !verifies || verification != .off else { continue }
            try await withMailingService(verification, test: "\(#function)\(way)\(proof)\(verification)") { mailing in
                let mailing = configured(mailing)
                let stranger = try await squat(way, mailing)
                if verifies { try await verify(mailing) }
                let own =
                    switch proof {
                    case .reset, .verifyAndReset: try await reset(mailing)
                    case .resetOnPage: try await reset(mailing, onPage: true)
                    case .link, .verifyAndLink: try await link(mailing)
                    }
                if let own {
                    let caller = try await mailing.service.authenticate(.token(own.accessToken), for: .user)
                    #expect(caller.userID == stranger.userID && caller.isVerified)
                }
                try await expectError(.accessTokenNotAccepted) {
                    try await mailing.service.authenticate(.token(stranger.accessToken), for: .user)
                }
                if proof == .link || proof == .verifyAndLink { _ = try await reset(mailing) }
                try await expectError(.invalidCredentials) {
                    try await mailing.service.logIn(
                        LogInRequest(authData: ["email": Self.email], password: "a stranger's secret")
                    )
                }
                _ = try await mailing.service.logIn(
                    LogInRequest(authData: ["email": Self.email], password: "the owner's secret")
                )
                let left = "SELECT (SELECT count(*) FROM _factor), (SELECT count(*) FROM _identity)"
                #expect(try await mailing.fixture.psql(left) == "0|0")
                let removals = "SELECT count(*) FROM _audit WHERE event = 'factor.remove'"
                #expect(try await mailing.fixture.psql(removals) == "1")
            }
        }
    }

    /// A mail removes no second factor of one who had the address before.
    @Test(arguments: [Proof.reset, .link])
    func aFactorFromAfterTheFirstProofStays(proof: Proof) async throws {
        try await withMailingService(.optional) { mailing in
            let mailing = configured(mailing)
            let ann = try await mailing.signUp("ann")
            try await verify(mailing)
            try await addFactor(to: ann.userID, mailing)
            try await expectError(.secondFactorRequired) {
                _ = try await proof == .reset ? reset(mailing) : link(mailing)
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _factor") == "2")
        }
    }

    /// A sign-up that is confirmed goes on; what else was there goes on with a session of the account alone.
    @Test(arguments: [true, false], [true, false])
    func aConfirmedSignUpGoesOn(hasFactor: Bool, hasSession: Bool) async throws {
        try await withMailingService(.optional) { mailing in
            let ann = try await mailing.signUp("ann")
            let eve = try await mailing.signUp("eve")
            if hasFactor { try await addFactor(to: ann.userID, mailing) }
            // That of another account is none.
            try await verify(mailing, with: .token(hasSession ? ann.accessToken : eve.accessToken))
            let goesOn = hasSession || !hasFactor
            if goesOn {
                _ = try await mailing.service.authenticate(.token(ann.accessToken), for: .user)
            } else {
                try await expectError(.accessTokenNotAccepted) {
                    try await mailing.service.authenticate(.token(ann.accessToken), for: .user)
                }
            }
            let state = try await mailing.fixture.psql(
                "SELECT password_hash IS NOT NULL, second_factor, verified_email FROM _user WHERE id = '\(ann.userID)'"
            )
            #expect(state == "\(goesOn ? "t" : "f")|\(hasFactor && goesOn ? "t" : "f")|\(Self.email)")
        }
    }

    /// An invitation reaches who has the address, whatever account has it.
    @Test func anInvitationEndsWhatAStrangerAdded() async throws {
        try await withMailingService(.optional) { mailing in
            let stranger = try await squat(.anonymous, mailing)
            let user = try await mailing.service.run(
                Actions.authInvite,
                CodeRequest(email: Self.email),
                by: ServiceFixture.masterCaller
            )
            #expect(user == stranger.userID)
            let result = try await mailing.service.run(
                Actions.authResetConfirm,
                ResetConfirmation(
                    code: CodeConfirmation(code: try await mailing.lastMail().linkCode),
                    password: "the owner's secret"
                )
            )
            #expect(result.userID == user)
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _factor") == "0")
        }
    }
}
