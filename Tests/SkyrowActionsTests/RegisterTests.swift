import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Anonymous accounts: who makes them, how they get a password, and when they end.
@Suite(.timeLimit(.minutes(60))) struct RegisterTests {
    private func register(
        _ account: AuthResult,
        _ authData: [String: String] = ["username": "ann"],
        password: String = "a long secret",
        profile: [(name: FieldName, value: RecordValue)] = [],
        _ service: ActionService
    ) async throws(SkyrowError) -> AuthResult {
        let credentials = Credentials.token(account.accessToken)
        let caller = try await service.authenticate(credentials, for: .user)
        return try await service.register(
            RegisterRequest(authData: authData, password: password, profile: profile),
            by: caller,
            with: credentials
        )
    }

    @Test func anAnonymousAccountGetsAPasswordAndKeepsItsData() async throws {
        try await withService { fixture in
            let service = fixture.service
            let account = try await service.signUp(SignUpRequest())
            let before = try await service.authenticate(.token(account.accessToken), for: .user)
            #expect(!before.isRegistered)
            _ = try await service.save(SaveRequest(draft("note/1", ["title": "words"])), by: before)
            _ = try await service.save(SaveRequest(draft("note/1", ["title": "private"]), database: .own), by: before)
            try await fixture.psql("INSERT INTO _user_group VALUES ('\(account.userID)', 'golf')")

            let profile = [(name: field("age"), value: RecordValue.integer(33))]
            let result = try await register(
                account,
                ["username": "ann", "email": "ann@example.org"],
                profile: profile,
                service
            )
            #expect(result.userID == account.userID)
            let caller = try await service.authenticate(.token(result.accessToken), for: .user)
            #expect(caller.isRegistered && caller.groups == ["golf"])
            #expect(try await service.fetch("note/1", in: .own, by: caller) == ["saved"])
            #expect(
                try await fixture.psql("SELECT username, email, age, _owner = _id FROM \"user\"")
                    == "ann|ann@example.org|33|t"
            )
            #expect(try await fixture.psql("SELECT DISTINCT _owner = '\(account.userID)' FROM note") == "t")
            let again = try await service.logIn(LogInRequest(authData: ["username": "Ann"], password: "a long secret"))
            #expect(again.userID == account.userID)
            // A token that another one may know does not become that of an account with a password.
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(account.accessToken), for: .user)
            }
            #expect(try await fixture.psql("SELECT event FROM _audit ORDER BY id") == "signup\nregister\nlogin")
        }
    }

    @Test func anAccountWithAPasswordIsNotRegisteredAgain() async throws {
        try await withService { fixture in
            let account = try await fixture.service.signUp("ann").result
            try await expectError(.duplicated) {
                try await register(account, ["username": "eve"], fixture.service)
            }
            #expect(try await fixture.psql("SELECT username FROM \"user\"") == "ann")
        }
    }

    @Test func aRefusedRegistrationChangesNothing() async throws {
        try await withService { fixture in
            let service = fixture.configured { $0.accounts.passwords.minimumLength = 8 }
            _ = try await service.signUp("ann", password: "a long secret")
            let account = try await service.signUp(SignUpRequest())
            let refusals: [(authData: [String: String], password: String, code: ErrorCode)] = [
                (["username": "ANN"], "a long secret", .duplicated),
                (["username": "eve"], "short", .passwordPolicyViolated),
                (["nickname": "eve"], "a long secret", .invalidArgument),
                ([:], "a long secret", .invalidArgument),
                (["username": "\u{430}nn"], "a long secret", .invalidArgument),
            ]
            for (authData, password, code) in refusals {
                try await expectError(code) { try await register(account, authData, password: password, service) }
            }
            _ = try await service.authenticate(.token(account.accessToken), for: .user)
            #expect(
                try await fixture.psql("SELECT password_hash IS NULL, epoch FROM _user WHERE id = '\(account.userID)'")
                    == "t|0"
            )
            let eve = try await register(account, ["username": "eve"], service)
            #expect(eve.userID == account.userID)
        }
    }

    @Test func ofTwoRegistrationsAtOnceOneCounts() async throws {
        try await withService { fixture in
            for round in 0..<min(20, seededCases(5)) {
                let account = try await fixture.service.signUp(SignUpRequest())
                let registrations = (0..<4).map { number in
                    Task { () -> String? in
                        let name = "ann\(round)-\(number)"
                        do throws(SkyrowError) {
                            _ = try await register(account, ["username": name], fixture.service)
                            return name
                        } catch {
                            guard [.duplicated, .accessTokenNotAccepted].contains(error.code) else { throw error }
                            return nil
                        }
                    }
                }
                var names: [String] = []
                for registration in registrations { if let name = try await registration.value { names.append(name) } }
                #expect(names.count == 1)
                #expect(
                    try await fixture.psql("SELECT username FROM \"user\" WHERE _id = '\(account.userID)'")
                        == names.first
                )
            }
        }
    }

    @Test func aServiceMakesOnlyTheAccountsThatItsSettingsAdmit() async throws {
        try await withService { fixture in
            let known = SignUpRequest(authData: ["username": "ann"], password: "secret")
            let master = ServiceFixture.masterCaller
            let rows: [(admitsAnonymous: Bool, admitsSelf: Bool, caller: Caller, isAnonymous: Bool, code: ErrorCode?)] =
                [
                    (true, true, .anonymous, true, nil),
                    (false, true, .anonymous, true, .permissionDenied),
                    (false, true, .anonymous, false, nil),
                    (true, false, .anonymous, true, .permissionDenied),
                    (true, false, .anonymous, false, .permissionDenied),
                    (true, false, master, false, nil),
                    (false, false, master, true, .permissionDenied),
                ]
            for row in rows {
                let service = fixture.configured {
                    $0.accountLife.admitsAnonymous = row.admitsAnonymous
                    $0.accountLife.admitsSelfSignUp = row.admitsSelf
                }
                let request = row.isAnonymous ? SignUpRequest() : known
                if let code = row.code {
                    try await expectError(code) { try await service.signUp(request, by: row.caller) }
                } else {
                    _ = try await service.signUp(request, by: row.caller)
                }
                try await fixture.psql("DELETE FROM \"user\"")
            }
        }
    }

    @Test func anAnonymousAccountThatIsNotUsedIsDeletedAndNoOther() async throws {
        try await withService { fixture in
            let service = fixture.service
            var ids: [String: UserID] = [:]
            let names = ["unused", "used", "seen", "new", "referred"]
            for name in names { ids[name] = try await service.signUp(SignUpRequest()).userID }
            ids["registered"] = try await service.signUp("ann").result.userID
            ids["named"] = try await service.signUp("bob").result.userID
            try await fixture.psql(
                """
                SELECT _create_type('note');
                ALTER TABLE note ADD COLUMN about text COLLATE "C" REFERENCES "user" (_id) DEFERRABLE;
                INSERT INTO note (_id, _owner, about) VALUES ('1', '\(ids["registered"]!)', '\(ids["referred"]!)');
                INSERT INTO note (_id, _owner) VALUES ('2', '\(ids["unused"]!)');
                UPDATE _user SET created_at = now() - interval '91 days', last_seen_at = now() - interval '91 days'
                    WHERE id <> '\(ids["new"]!)';
                UPDATE _session SET last_used_at = now() - interval '91 days' WHERE user_id <> '\(ids["used"]!)';
                UPDATE _user SET last_seen_at = now() - interval '89 days' WHERE id = '\(ids["seen"]!)';
                -- As one that came from elsewhere.
                UPDATE _user SET password_hash = NULL WHERE id = '\(ids["named"]!)';
                """
            )
            try await service.store.cache.reload()
            let never = fixture.configured { $0.accountLife.anonymousExpiry = nil }
            await never.purge()
            #expect(try await fixture.psql("SELECT count(*) FROM _deletion") == "0")
            await service.purge()
            #expect(try await fixture.psql("SELECT user_id FROM _deletion") == ids["unused"]?.rawValue)
            await service.continueDeletions()
            #expect(try await fixture.psql("SELECT count(*) FROM _user") == "6")
            #expect(try await fixture.psql("SELECT _owner FROM note WHERE _id = '2'") == "")
            #expect(try await fixture.psql("SELECT actor FROM _audit WHERE event = 'delete'") == "service")
        }
    }

    /// One that is used again while it is looked at.
    @Test func anAccountThatIsUsedMeanwhileStays() async throws {
        try await withService { fixture in
            let deletions = fixture.service.store.deletions
            let account = try await fixture.service.signUp(SignUpRequest())
            let time = fixture.clock.clock.now().adding(.seconds(86_400))
            #expect(try await deletions.abandoned(since: time, atMost: 10) == [account.userID])
            _ = try await register(account, ["username": "ann"], fixture.service)
            let event = AuditEvent(.delete, by: .service)
            #expect(try await !deletions.begin(account.userID, if: .abandoned(since: time), recording: event))
            #expect(try await fixture.psql("SELECT count(*) FROM _deletion") == "0")
        }
    }
}
