import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What a token alone does not do.
@Suite(.timeLimit(.minutes(60))) struct StepUpTests {
    private static let here = ClientKey(high: 1, low: 1)

    /// A session of ann, with what it was opened by.
    private struct Visit {
        let token: String
        let caller: Caller
        let user: UserID

        var own: Credentials { .token(token) }
    }

    private func logIn(_ fixture: ServiceFixture, _ name: String = "ann") async throws -> Visit {
        let result = try await fixture.service.logIn(LogInRequest(authData: ["username": name], password: "secret"))
        return try await visit(result.accessToken, fixture)
    }

    /// Who calls with a token, as the database has it.
    private func visit(_ token: String, _ fixture: ServiceFixture) async throws -> Visit {
        fixture.service.forget(.all)
        let caller = try await fixture.service.authenticate(.token(token), for: .user)
        return Visit(token: token, caller: caller, user: try #require(caller.userID))
    }

    private func save(
        _ fields: KeyValuePairs<String, RecordValue>,
        _ visit: Visit,
        _ fixture: ServiceFixture,
        by caller: Caller? = nil
    ) async throws -> SkyrowError? {
        let result = try await fixture.service.save(
            SaveRequest(draft("user/\(visit.user)", fields)),
            by: caller ?? visit.caller,
            with: visit.own
        )
        guard case .fresh(let outcomes) = result, case .failure(let error, _)? = outcomes.first else { return nil }
        return error
    }

    private func key(_ fixture: ServiceFixture) async throws -> String {
        try await fixture.psql(
            #"SELECT username || ' ' || coalesce(email, '-') FROM "user" ORDER BY _created_at LIMIT 1"#
        )
    }

    @Test func aTokenAloneGivesAnAccountNoOtherLoginKey() async throws {
        try await withService { fixture in
            let (first, _) = try await fixture.service.signUp("ann")
            let login = try await logIn(fixture)
            for fields in [["username": "eve"], ["email": "eve@example.org"]]
                as [KeyValuePairs<String, RecordValue>]
            {
                let error = try await save(fields, login, fixture)
                #expect(error?.code == .stepUpRequired)
                #expect(error?.info["max_age"] == .integer(600))
                #expect(error?.info["methods"] == .list([.string("password")]))
            }
            #expect(try await key(fixture) == "ann -")
            // What is no other key is saved: the same, other fields, and both in one.
            #expect(try await save(["username": "ann", "email": .null, "city": "Basel"], login, fixture) == nil)
            #expect(try await fixture.psql(#"SELECT city FROM "user""#) == "Basel")
            // One who has just signed up has nothing more to prove, nor does the master key.
            let fresh = try await visit(first.accessToken, fixture)
            #expect(fresh.caller.isElevated)
            #expect(try await save(["email": "ann@example.org"], fresh, fixture) == nil)
            let master = Caller(kind: .master(actingAs: login.user))
            #expect(try await save(["email": "a@example.org"], login, fixture, by: master) == nil)
            #expect(try await key(fixture) == "ann a@example.org")
            // To take a key away is to change it, too.
            #expect(try await save(["email": .null], login, fixture)?.code == .stepUpRequired)
        }
    }

    @Test func aProofCountsForItsSessionAndForTenMinutes() async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await service.signUp("ann")
            let (proved, other) = (try await logIn(fixture), try await logIn(fixture))
            let before = try await fixture.psql("SELECT clock_timestamp()")
            let end = try await service.run(
                Actions.authStepUp,
                .password("secret"),
                by: proved.caller,
                with: proved.own,
                origin: RequestOrigin(address: "192.0.2.7")
            )
            let isInTime = try await fixture.psql(
                """
                SELECT elevated_until >= '\(before)'::timestamptz + interval '10 min',
                    elevated_until <= now() + interval '10 min',
                    extract(epoch FROM elevated_until) * 1000000 = \(end.microseconds + Timestamp.unixEpochOffset)
                FROM _session WHERE elevated_until > now() AND created_with = 'login'
                """
            )
            #expect(isInTime == "t|t|t")
            // What a request before the proof has read of the session does not hinder it.
            #expect(!proved.caller.isElevated)
            #expect(try await save(["email": "ann@example.org"], proved, fixture) == nil)
            let later = try await service.authenticate(proved.own, for: .user)
            #expect(later.isElevated)
            #expect(try await save(["email": "eve@example.org"], other, fixture)?.code == .stepUpRequired)
            try await fixture.psql("UPDATE _session SET elevated_until = now() - interval '1 s'")
            let over = try await visit(proved.token, fixture)
            #expect(try await save(["email": "eve@example.org"], over, fixture)?.code == .stepUpRequired)
            #expect(try await key(fixture) == "ann ann@example.org")
            let event = try await fixture.psql(
                """
                SELECT outcome, user_id = '\(proved.user)', session_id IS NOT NULL, host(address) FROM _audit
                WHERE event = 'stepup'
                """
            )
            #expect(event == "ok|t|t|192.0.2.7")
        }
    }

    @Test func aProofInAnotherProcessCountsAtOnce() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            let login = try await logIn(fixture)
            try await fixture.withSecondService { second in
                let known = try await second.service.authenticate(login.own, for: .user)
                #expect(!known.isElevated)
                _ = try await fixture.service.run(
                    Actions.authStepUp,
                    .password("secret"),
                    by: login.caller,
                    with: login.own
                )
                let refusal = try await second.service.stepUpRefusal(of: known, with: login.own)
                #expect(refusal == nil)
            }
        }
    }

    @Test func aWrongProofIsCountedAndRecordedAsAWrongLogin() async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await service.signUp("ann")
            let login = try await logIn(fixture)
            func prove(_ password: String) async -> ErrorCode? {
                do throws(SkyrowError) {
                    _ = try await service.run(
                        Actions.authStepUp,
                        .password(password),
                        by: login.caller,
                        with: login.own,
                        from: Self.here
                    )
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await prove("secret") == nil)
            try await fixture.psql("UPDATE _session SET elevated_until = NULL")
            for _ in 0..<3 { #expect(await prove("a wrong guess") == .invalidCredentials) }
            #expect(try await fixture.psql("SELECT max(failures) FROM _throttle") == "3")
            // Also the right one is refused, once there were too many.
            try await fixture.psql("UPDATE _throttle SET blocked_until = now() + interval '1 hour'")
            #expect(await prove("secret") == .rateLimited)
            #expect(await prove("") == .invalidArgument)
            #expect(try await fixture.psql("SELECT count(*) FROM _session WHERE elevated_until IS NOT NULL") == "0")
            await service.storeAudit()
            let events = try await fixture.psql(
                "SELECT event, outcome, count(*) FROM _audit WHERE outcome <> 'ok' GROUP BY 1, 2 ORDER BY 1"
            )
            #expect(events == "lockout|RateLimited|1\nstepup|InvalidCredentials|3")
        }
    }

    @Test func anAccountWithoutAPasswordHasNothingToProveOnceItsSignUpIsOver() async throws {
        try await withService { fixture in
            let service = fixture.service
            let result = try await service.signUp(SignUpRequest())
            let guest = try await visit(result.accessToken, fixture)
            #expect(try await save(["username": "ann"], guest, fixture) == nil)
            try await fixture.psql("UPDATE _session SET elevated_until = now() - interval '1 s'")
            let later = try await visit(result.accessToken, fixture)
            let error = try await save(["username": "eve"], later, fixture)
            #expect(error?.code == .stepUpRequired && error?.info["methods"] == .list([]))
            try await expectError(.invalidCredentials) {
                try await service.run(Actions.authStepUp, .password("secret"), by: later.caller, with: later.own)
            }
        }
    }

    @Test func aSessionThatHasEndedProvesNothing() async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await service.signUp("ann")
            let (login, other) = (try await logIn(fixture), try await logIn(fixture))
            try await service.run(Actions.authLogOut, with: login.own)
            try await expectError(.accessTokenNotAccepted) {
                try await service.run(Actions.authStepUp, .password("secret"), by: login.caller, with: login.own)
            }
            try await expectError(.accessTokenNotAccepted) {
                try await service.stepUpRefusal(of: login.caller, with: login.own)
            }
            // The epoch that the password was read with is over when the proof would be stored.
            let credentials = try #require(try await service.store.users.credentials(of: other.user))
            try await fixture.psql("UPDATE _user SET epoch = epoch + 1; UPDATE _session SET epoch = epoch + 1")
            let raised = try await service.store.sessions.elevate(
                TokenHash(of: other.token).bytes,
                of: credentials,
                recording: AuditEvent(.stepUp, by: .itself)
            )
            #expect(raised == nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _audit WHERE event = 'stepup'") == "0")
            // The master key acts without a session.
            try await expectError(.notAuthenticated) {
                try await service.run(
                    Actions.authStepUp,
                    .password("secret"),
                    by: Caller(kind: .master(actingAs: other.user)),
                    with: Credentials(key: "master", accessToken: other.token, actingUserID: other.user)
                )
            }
        }
    }

    @Test func othersOfABatchAreSavedUnlessItIsAtomic() async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await service.signUp("ann")
            let login = try await logIn(fixture)
            let drafts = [draft("user/\(login.user)", ["email": "eve@example.org"]), draft("note/1", ["title": "x"])]
            let some = SaveRequest(database: .everyone, items: drafts.map { .draft($0) })
            let saved = try await service.save(some, by: login.caller, with: login.own)
            #expect(saved.summaries == ["StepUpRequired", "saved"])
            let whole = SaveRequest(database: .everyone, items: drafts.map { .draft($0) }, isAtomic: true)
            let error = try await expectError(.atomicOperationFailure) {
                try await service.save(whole, by: login.caller, with: login.own)
            }
            guard case .error(let inner)? = error?.info["user/\(login.user)"] else {
                Issue.record("The profile has no error of its own.")
                return
            }
            #expect(inner.code == .stepUpRequired)
        }
    }

    @Test func aProfileThatIsSentBackPutsBackNoKeyThatWasChangedMeanwhile() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (first, _) = try await service.signUp("ann")
            let fresh = try await visit(first.accessToken, fixture)
            _ = try await save(["email": "0@example.org"], fresh, fixture)
            let login = try await logIn(fixture)
            // A change of an address at each moment of saves that send the one of before.
            for round in 1...60 {
                async let change = save(["email": .string("\(round)@example.org")], fresh, fixture)
                async let stale = save(["email": .string("\(round - 1)@example.org"), "city": "Basel"], login, fixture)
                let (changed, refused) = (try await change, try await stale)
                #expect(changed == nil)
                #expect(refused == nil || refused?.code == .stepUpRequired)
                #expect(try await key(fixture) == "ann \(round)@example.org")
            }
        }
    }
}
