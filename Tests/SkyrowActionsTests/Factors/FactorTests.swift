import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Accounts that take a second factor.
@Suite(.timeLimit(.minutes(60))) struct FactorTests {
    /// An account with a second factor.
    private struct Guarded {
        let user: UserID
        let caller: Caller
        let own: Credentials
        let totp: TOTP
        let recovery: [String]
    }

    private static let here = ClientKey(high: 1, low: 1)

    /// What an application does with the secret that it is given.
    private func totp(_ enrolment: TOTPEnrolment) throws -> TOTP {
        TOTP(secret: try #require(Base32.decode(enrolment.secret)))
    }

    /// The half minute that counts: PostgreSQL's.
    private func step(_ fixture: ServiceFixture) async throws -> Int64 {
        let text = try await fixture.psql("SELECT floor(extract(epoch FROM clock_timestamp()) / 30)::bigint")
        return try #require(Int64(text))
    }

    private func guarded(_ fixture: ServiceFixture, _ name: String = "ann") async throws -> Guarded {
        let service = fixture.service
        let (result, caller) = try await service.signUp(name)
        let totp = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
        // One of before, so that later codes count.
        let codes = try await service.run(
            Actions.authTOTPConfirm,
            totp.code(at: try await step(fixture) - 1),
            by: caller
        )
        return Guarded(
            user: result.userID,
            caller: caller,
            own: .token(result.accessToken),
            totp: totp,
            recovery: codes
        )
    }

    /// Gives the first proof and returns the handle.
    private func handle(_ service: ActionService, _ name: String = "ann") async throws -> String {
        let request = LogInRequest(
            authData: ["username": name],
            password: "secret",
            device: SessionDevice(id: "d1", name: "phone")
        )
        let error = try await expectError(.secondFactorRequired) { try await service.logIn(request) }
        guard case .string(let handle)? = error?.info["handle"] else { return "" }
        return handle
    }

    private func logIn(_ service: ActionService, _ handle: String, _ code: String) async throws(SkyrowError)
        -> AuthResult
    {
        try await service.run(Actions.authLogInFactor, FactorLogIn(handle: handle, code: code), by: .anonymous)
    }

    @Test func theWordOfAProviderIsAFirstProof() async throws {
        try await withProviderService { providers in
            let service = providers.service
            let first = try await providers.logIn("ann")
            let (caller, _) = try await providers.caller(first)
            let totp = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            let codes = try await service.run(
                Actions.authTOTPConfirm,
                totp.code(at: try await step(providers.fixture) - 1),
                by: caller
            )
            let error = try await expectError(.secondFactorRequired) { try await providers.logIn("ann") }
            #expect(try await providers.fixture.psql("SELECT count(*) FROM _session") == "1")
            guard case .string(let handle)? = error?.info["handle"] else {
                Issue.record("The error has no handle.")
                return
            }
            try await expectError(.invalidCredentials) { try await logIn(service, handle, "000-00000000") }
            let result = try await logIn(service, handle, codes[0])
            #expect(result.userID == first.userID && result.level == 2)
            await service.storeAudit()
            let asked = "SELECT count(*) FROM _audit WHERE event = 'login' AND outcome = 'SecondFactorRequired'"
            #expect(try await providers.fixture.psql(asked) == "1")
        }
    }

    @Test func aLogInTakesACodeAndEachCodeCountsOnce() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await guarded(fixture)
            #expect(ann.recovery.count == 10 && Set(ann.recovery).count == 10)
            let error = try await expectError(.secondFactorRequired) {
                try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            #expect(error?.info["factors"] == .list([.string("totp"), .string("recovery")]))
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            // Only after the right password.
            try await expectError(.invalidCredentials) {
                try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "wrong"))
            }
            let code = ann.totp.code(at: try await step(fixture))
            let first = try await handle(service)
            let result = try await logIn(service, first, code)
            #expect(result.userID == ann.user && result.level == 2)
            let caller = try await service.authenticate(.token(result.accessToken), for: .user)
            let list = try await service.run(Actions.sessionList, by: caller, with: .token(result.accessToken))
            #expect(list.first { $0.isCurrent }?.level == 2 && list.first { $0.isCurrent }?.device.name == "phone")
            // The handle is used up, and so is the code with another handle, and any code of before.
            try await expectError(.invalidToken) { try await logIn(service, first, code) }
            let second = try await handle(service)
            for used in [code, ann.totp.code(at: try await step(fixture) - 1)] {
                try await expectError(.invalidCredentials) { try await logIn(service, second, used) }
            }
            // A recovery code, as it is typed, once.
            let typed = " " + ann.recovery[3].uppercased()
            _ = try await logIn(service, second, typed)
            let third = try await handle(service)
            try await expectError(.invalidCredentials) { try await logIn(service, third, typed) }
            let factors = try await service.run(Actions.authFactorList, (), by: ann.caller)
            #expect(factors.map(\.kind) == [.totp, .recovery] && factors.map(\.left) == [nil, 9])
            await service.storeAudit()
            let events = try await fixture.psql(
                "SELECT event, outcome, count(*) FROM _audit WHERE event <> 'signup' GROUP BY 1, 2 ORDER BY 1, 2"
            )
            #expect(
                events == """
                    factor.add|ok|1
                    login|InvalidCredentials|4
                    login|SecondFactorRequired|4
                    login|ok|2
                    recovery|ok|1
                    """
            )
        }
    }

    @Test func aHandleCountsForFiveTriesTenMinutesAndOneEpoch() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await guarded(fixture)
            let tried = try await handle(service)
            for _ in 0..<5 {
                try await expectError(.invalidCredentials) { try await logIn(service, tried, "no code") }
            }
            try await expectError(.invalidToken) { try await logIn(service, tried, ann.recovery[0]) }
            let late = try await handle(service)
            try await fixture.psql("UPDATE _pending_login SET expires_at = now() - interval '1 s'")
            try await expectError(.invalidToken) { try await logIn(service, late, ann.recovery[0]) }
            let old = try await handle(service)
            try await fixture.psql("UPDATE _user SET epoch = epoch + 1")
            try await expectError(.invalidToken) { try await logIn(service, old, ann.recovery[0]) }
            for text in ["", "f_", "f_unknown", String(repeating: "x", count: 255)] {
                try await expectError(.invalidToken) { try await logIn(service, text, ann.recovery[0]) }
            }
            // Disabled between both proofs.
            let disabled = try await handle(service)
            try await fixture.psql("UPDATE _user SET disabled = true")
            try await expectError(.invalidCredentials) { try await logIn(service, disabled, ann.recovery[0]) }
            try await fixture.psql("UPDATE _user SET disabled = false")
            // None of these has used up the code.
            _ = try await logIn(service, try await handle(service), ann.recovery[0])
            // What waits is bounded, and swept.
            for _ in 0..<15 { _ = try await handle(service) }
            #expect(try await fixture.psql("SELECT count(*) FROM _pending_login") == "10")
            try await fixture.psql("UPDATE _pending_login SET expires_at = now() - interval '1 s'")
            await service.purge()
            #expect(try await fixture.psql("SELECT count(*) FROM _pending_login") == "0")
        }
    }

    /// Which code is sent several times at once.
    enum Racing: String, CaseIterable, Sendable { case totp, recovery, handle }

    @Test(arguments: Racing.allCases)
    func ofLogInsAtOnceOneCounts(_ racing: Racing) async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await guarded(fixture)
            for round in 0..<8 {
                try await fixture.psql("UPDATE _factor SET last_step = 0 WHERE kind = 'totp'")
                let now = try await step(fixture)
                let shared = try await handle(service)
                var tries: [(handle: String, code: String)] = []
                for number in 0..<4 {
                    switch racing {
                    case .totp: tries.append((try await handle(service), ann.totp.code(at: now)))
                    case .recovery: tries.append((try await handle(service), ann.recovery[round]))
                    // Codes that would each count.
                    case .handle: tries.append((shared, ann.totp.code(at: now + Int64(number % 2))))
                    }
                }
                let before = try await fixture.psql("SELECT count(*) FROM _session")
                let count = await withTaskGroup(of: Bool.self) { group in
                    for (handle, code) in tries {
                        group.addTask { (try? await logIn(service, handle, code)) != nil }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
                #expect(count == 1)
                let after = try await fixture.psql("SELECT count(*) - \(before) FROM _session")
                #expect(after == "1")
            }
        }
    }

    @Test func aSecretTakesEffectWithItsFirstCode() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, caller) = try await service.signUp("ann")
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.authTOTPConfirm, "000000", by: caller)
            }
            let first = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            #expect(try await service.run(Actions.authFactorList, (), by: caller).isEmpty)
            _ = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            for code in ["", "no code", "000 0000"] {
                try await expectError(.invalidCredentials) {
                    try await service.run(Actions.authTOTPConfirm, code, by: caller)
                }
            }
            // A later one takes the place of one that waits.
            let second = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            let now = try await step(fixture)
            try await expectError(.invalidCredentials) {
                try await service.run(Actions.authTOTPConfirm, first.code(at: now), by: caller)
            }
            let codes = try await service.run(Actions.authTOTPConfirm, second.code(at: now), by: caller)
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.authTOTPConfirm, second.code(at: now), by: caller)
            }
            _ = try await handle(service)
            // One that waits leaves the one that counts, and replaces it with its recovery codes.
            let third = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            _ = try await logIn(service, try await handle(service), second.code(at: try await step(fixture) + 1))
            _ = try await service.run(Actions.authTOTPConfirm, third.code(at: try await step(fixture)), by: caller)
            let next = try await handle(service)
            for code in [second.code(at: try await step(fixture) + 1), codes[0]] {
                try await expectError(.invalidCredentials) { try await logIn(service, next, code) }
            }
            // It waits for an hour.
            _ = try await service.run(Actions.authTOTPEnrol, (), by: caller)
            try await fixture.psql("UPDATE _factor SET pending_at = now() - interval '61 min'")
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.authTOTPConfirm, "000000", by: caller)
            }
        }
    }

    @Test func aSecretThatWaitsCountsForFiveTries() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, caller) = try await service.signUp("ann")
            let first = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            let now = try await step(fixture)
            let wrong = (0...9).map { String(repeating: "\($0)", count: 6) }
                .filter { code in !(now - 2...now + 60).contains { first.code(at: $0) == code } }
            for code in wrong.prefix(5) {
                try await expectError(.invalidCredentials) {
                    try await service.run(Actions.authTOTPConfirm, code, by: caller)
                }
            }
            try await expectError(.resourceNotFound) {
                try await service.run(Actions.authTOTPConfirm, first.code(at: try await step(fixture)), by: caller)
            }
            #expect(try await fixture.psql("SELECT second_factor FROM _user") == "f")
            // Another secret has tries of its own, of which the last one counts.
            let second = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            for _ in 0..<4 {
                try await expectError(.invalidCredentials) {
                    try await service.run(Actions.authTOTPConfirm, "no code", by: caller)
                }
            }
            _ = try await service.run(Actions.authTOTPConfirm, second.code(at: try await step(fixture)), by: caller)
        }
    }

    /// Tries at once are counted one after the other.
    @Test func ofManyTriesAtOnceFiveAreCompared() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, caller) = try await service.signUp("ann")
            _ = try await service.run(Actions.authTOTPEnrol, (), by: caller)
            let compared = await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        do throws(SkyrowError) {
                            _ = try await service.run(Actions.authTOTPConfirm, "no code", by: caller)
                            return true
                        } catch {
                            return error.code == .invalidCredentials
                        }
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(compared == 5)
        }
    }

    /// A request that was admitted before its session ended adds no factor afterwards.
    @Test func anEndedSessionConfirmsNothing() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (result, caller) = try await service.signUp("ann")
            let own = Credentials.token(result.accessToken)
            let totp = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller, with: own))
            try await fixture.psql("UPDATE _user SET epoch = epoch + 1")
            try await expectError(.resourceNotFound) {
                try await service.run(
                    Actions.authTOTPConfirm,
                    totp.code(at: try await step(fixture)),
                    by: caller,
                    with: own
                )
            }
            try await expectError(.accessTokenNotAccepted) {
                try await service.run(Actions.authTOTPEnrol, (), by: caller, with: own)
            }
            #expect(try await fixture.psql("SELECT second_factor FROM _user") == "f")
        }
    }

    @Test func withoutAFactorALogInIsAsBefore() async throws {
        try await withService { fixture in
            let service = fixture.service
            for ending in ["own", "master", "psql", "truncate"] {
                let ann = try await guarded(fixture, ending)
                _ = try await handle(service, ending)
                switch ending {
                case "own": try await service.run(Actions.authTOTPRemove, (), by: ann.caller)
                case "master":
                    try await service.run(Actions.authTOTPRemove, (), by: Caller(kind: .master(actingAs: ann.user)))
                case "psql": try await fixture.psql("DELETE FROM _factor WHERE user_id = '\(ann.user)'")
                default: try await fixture.psql("TRUNCATE _factor")
                }
                let result = try await service.logIn(LogInRequest(authData: ["username": ending], password: "secret"))
                #expect(result.level == 1)
                #expect(try await service.run(Actions.authFactorList, (), by: ann.caller).isEmpty)
                try await expectError(.resourceNotFound) {
                    try await service.run(Actions.authTOTPRemove, (), by: ann.caller)
                }
            }
            let events = try await fixture.psql(
                "SELECT left(actor, 5) FROM _audit WHERE event = 'factor.remove' ORDER BY id"
            )
            #expect(events == "user:\nmaste")
        }
    }

    @Test func aFactorThatIsAddedDuringALogInIsAskedForByTheNextStatement() async throws {
        try await withService { fixture in
            let service = fixture.service
            let users = service.store.users
            let (result, caller) = try await service.signUp("ann")
            let read = try #require(try await users.credentials(of: result.userID))
            let totp = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            _ = try await service.run(Actions.authTOTPConfirm, totp.code(at: try await step(fixture)), by: caller)
            let session = NewSession(tokenHash: TokenHash(of: "late").bytes, expiresAt: nil)
            #expect(try await users.logIn(read, session: session) == nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            // The session that is there changes the password without it, and goes on with its level.
            try await fixture.psql("UPDATE _session SET level = 2")
            let changed = try await service.changePassword(
                ChangePasswordRequest(oldPassword: "secret", password: "another"),
                by: caller,
                with: .token(result.accessToken)
            )
            _ = try await service.authenticate(.token(changed.accessToken), for: .user)
            #expect(try await fixture.psql("SELECT level FROM _session") == "2")
        }
    }

    @Test func aMailSetsAPasswordAndRemovesNoFactor() async throws {
        try await withMailingService { mailing in
            let service = mailing.service
            let before = try await mailing.signUp("ann")
            try await mailing.fixture.psql("UPDATE _user SET verified_email = 'ann@example.org'")
            let caller = try await service.authenticate(.token(before.accessToken), for: .user)
            let totp = try totp(try await service.run(Actions.authTOTPEnrol, (), by: caller))
            _ = try await service.run(
                Actions.authTOTPConfirm,
                totp.code(at: try await step(mailing.fixture) - 1),
                by: caller
            )
            _ = try await service.run(Actions.authResetRequest, CodeRequest(email: "ann@example.org"))
            let code = try await mailing.lastMail().linkCode
            let error = try await expectError(.secondFactorRequired) {
                try await service.run(
                    Actions.authResetConfirm,
                    ResetConfirmation(code: CodeConfirmation(code: code), password: "another secret")
                )
            }
            #expect(try await mailing.fixture.psql("SELECT count(*) FROM _session") == "0")
            guard case .string(let handle)? = error?.info["handle"] else {
                Issue.record("There is no handle.")
                return
            }
            let now = totp.code(at: try await step(mailing.fixture))
            let result = try await logIn(service, handle, now)
            #expect(result.userID == before.userID && result.level == 2)
            try await expectError(.secondFactorRequired) { try await mailing.logIn("ann", "another secret") }
            try await expectError(.invalidCredentials) { try await mailing.logIn("ann", "a long secret") }
        }
    }

    @Test func aCodeProvesWhoOneIs() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await guarded(fixture)
            try await fixture.psql("UPDATE _session SET elevated_until = NULL")
            service.forget(.all)
            let caller = try await service.authenticate(ann.own, for: .user)
            let refusal = try await service.stepUpRefusal(of: caller, with: ann.own)
            #expect(refusal?.info["methods"] == .list([.string("password"), .string("totp"), .string("recovery")]))
            let now = ann.totp.code(at: try await step(fixture))
            for (code, isRight) in [("no code", false), (now, true), (now, false), (ann.recovery[0], true)] {
                try await fixture.psql("UPDATE _session SET elevated_until = NULL")
                if isRight {
                    _ = try await service.run(Actions.authStepUp, .code(code), by: caller, with: ann.own)
                } else {
                    try await expectError(.invalidCredentials) {
                        try await service.run(Actions.authStepUp, .code(code), by: caller, with: ann.own)
                    }
                }
                let left = try await service.stepUpRefusal(of: caller, with: ann.own)
                #expect((left == nil) == isRight, "\(code)")
            }
            // It is used up for log-ins too.
            let next = try await handle(service)
            try await expectError(.invalidCredentials) { try await logIn(service, next, ann.recovery[0]) }
        }
    }

    @Test func codesAreCountedBeforeTheyAreCompared() async throws {
        try await withService { fixture in
            let service = fixture.service
            let ann = try await guarded(fixture)
            func attempt(_ code: String, from client: ClientKey) async throws -> ErrorCode? {
                let handle = try await handle(service)
                do throws(SkyrowError) {
                    _ = try await service.run(
                        Actions.authLogInFactor,
                        FactorLogIn(handle: handle, code: code),
                        by: .anonymous,
                        from: client
                    )
                    return nil
                } catch {
                    return error.code
                }
            }
            // Twenty a day for all clients together, whatever the handle; the right code then, too.
            for number in 0..<20 {
                let code = try await attempt("no code", from: ClientKey(high: 9, low: UInt64(number)))
                #expect(code == .invalidCredentials)
            }
            #expect(try await attempt(ann.recovery[0], from: Self.here) == .rateLimited)
            // Not for a client that has logged in before.
            try await fixture.psql("DELETE FROM _throttle")
            #expect(try await attempt(ann.recovery[0], from: Self.here) == nil)
            for number in 0..<20 { _ = try await attempt("no code", from: ClientKey(high: 9, low: UInt64(number))) }
            #expect(try await attempt(ann.recovery[1], from: ClientKey(high: 9, low: 99)) == .rateLimited)
            #expect(try await attempt(ann.recovery[1], from: Self.here) == nil)
        }
    }

    @Test func aSecretThatIsReadFromTheTableOpensNothingForAnother() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, bob) = (try await guarded(fixture, "ann"), try await guarded(fixture, "bob"))
            let stored = try await fixture.psql(
                "SELECT encode(secret_sealed, 'hex') FROM _factor WHERE kind = 'totp' LIMIT 1"
            )
            #expect(!stored.contains(ann.totp.secret.map { String($0, radix: 16) }.joined()))
            try await fixture.psql(
                """
                UPDATE _factor SET last_step = 0, secret_sealed = (
                    SELECT secret_sealed FROM _factor WHERE user_id = '\(bob.user)' AND kind = 'totp'
                ) WHERE user_id = '\(ann.user)' AND kind = 'totp'
                """
            )
            let next = try await handle(service)
            let now = try await step(fixture)
            for totp in [ann.totp, bob.totp] {
                try await expectError(.invalidCredentials) { try await logIn(service, next, totp.code(at: now)) }
            }
            // Recovery codes do not need it.
            _ = try await logIn(service, next, ann.recovery[0])
        }
    }
}
