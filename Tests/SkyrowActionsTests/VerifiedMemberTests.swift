import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What `_verified` of a profile says after each change of its address.
@Suite(.timeLimit(.minutes(60))) struct VerifiedMemberTests {
    private func state(_ fixture: ServiceFixture) async throws -> String {
        try await fixture.psql("SELECT coalesce(_verified::text, '-') FROM \"user\"")
    }

    /// Each change in psql, and what the column says then.
    private static let changes: [(String, String)] = [
        ("UPDATE \"user\" SET email = 'ann@example.org'", "-"),
        ("UPDATE \"user\" SET email = 'ann@example.net', city = 'Basel'", "-"),
        ("UPDATE \"user\" SET _verified = NULL", "-"),
        // No one says that it is true but a proof.
        ("UPDATE \"user\" SET _verified = true", "false"), ("UPDATE \"user\" SET _verified = NULL", "false"),
        ("UPDATE _user SET verified_email = 'other@example.org'", "false"),
        ("UPDATE _user SET verified_email = 'ann@example.net'", "true"),
        ("UPDATE \"user\" SET _verified = false", "true"), ("UPDATE \"user\" SET _verified = NULL", "true"),
        ("UPDATE \"user\" SET city = 'Bern'", "true"), ("UPDATE \"user\" SET email = 'Ann@example.net'", "false"),
        ("UPDATE \"user\" SET email = 'ann@example.net'", "true"), ("UPDATE \"user\" SET email = NULL", "false"),
        ("UPDATE _user SET verified_email = NULL", "false"), ("UPDATE \"user\" SET email = 'ann@example.org'", "false"),
        (
            """
            WITH changed AS (UPDATE "user" SET email = 'new@example.org' RETURNING _id)
            UPDATE _user SET verified_email = 'new@example.org' FROM changed WHERE id = _id
            """, "true"
        ),
    ]

    @Test func theTriggersSayWhatHolds() async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            try await fixture.psql("ALTER TABLE \"user\" ADD COLUMN city text")
            #expect(try await state(fixture) == "-")
            for (statement, expected) in Self.changes {
                let before = try await fixture.psql("SELECT coalesce(_verified::text, '-'), _revision FROM \"user\"")
                try await fixture.psql(statement)
                #expect(try await state(fixture) == expected, "\(statement)")
                // A change of it is one of the record.
                if before.split(separator: "|").first ?? "" != expected {
                    let after = try await fixture.psql("SELECT coalesce(_verified::text, '-'), _revision FROM \"user\"")
                    #expect(before.split(separator: "|").last != after.split(separator: "|").last, "\(statement)")
                }
            }
        }
    }

    @Test func psqlMakesNoVerifiedProfile() async throws {
        try await withService { fixture in
            try await fixture.psql(
                """
                INSERT INTO "user" (_id, email, _verified) VALUES ('a', 'a@x.org', true), ('b', 'b@x.org', NULL), ('c', 'c@x.org', false),
                    ('d', 'd@x.org', NULL), ('e', 'e@x.org', true);
                INSERT INTO _user (id, verified_email) VALUES ('a', NULL), ('b', NULL), ('c', NULL), ('d', 'd@x.org'), ('e', 'x@x.org')
                """
            )
            let states = try await fixture.psql(
                "SELECT string_agg(_id || ' ' || coalesce(_verified::text, '-'), ',' ORDER BY _id) FROM \"user\""
            )
            #expect(states == "a false,b -,c false,d true,e false")
        }
    }

    /// Of two changes at once, the second sees what the first has written.
    @Test(arguments: [true, false])
    func aProofBesideAChangeOfTheAddressIsAsOneAfterTheOther(_ provesFirst: Bool) async throws {
        try await withService { fixture in
            _ = try await fixture.service.signUp("ann")
            try await fixture.psql("UPDATE \"user\" SET email = 'old@x.org'")
            let proof = "UPDATE app_internal._user SET verified_email = 'new@x.org'"
            let change = "UPDATE app.\"user\" SET email = 'new@x.org'"
            let (first, second) = provesFirst ? (proof, change) : (change, proof)
            let waits = try await fixture.service.store.client.withTransaction { transaction in
                _ = try await transaction.query(SQL(trustedText: first))
                let other = Task { try await fixture.psql(second) }
                try await waiting(until: "the other one waits") {
                    try await fixture.database.sessionsWaitingForALock() == 1
                }
                return other
            }
            _ = try await waits.value
            #expect(try await state(fixture) == "true")
        }
    }

    @Test func aStrangerWhoAsksForAMailChangesNothing() async throws {
        try await withMailingService(.optional) { mailing in
            let fixture = mailing.fixture
            let ann = try await mailing.signUp("ann")
            let bob = try await mailing.signUp("bob")
            // Where the service had mailed nothing to the address.
            try await fixture.psql(
                "ALTER TABLE \"user\" DISABLE TRIGGER USER; UPDATE \"user\" SET _verified = NULL; ALTER TABLE \"user\" ENABLE TRIGGER USER"
            )
            func states() async throws -> String {
                try await fixture.psql(
                    "SELECT string_agg(coalesce(_verified::text, '-'), ' ' ORDER BY username), string_agg(_revision::text, ' ') FROM \"user\""
                )
            }
            let before = try await states()
            let service = mailing.service
            let (annCaller, bobCaller) = (
                try await service.authenticate(.token(ann.accessToken), for: .user),
                try await service.authenticate(.token(bob.accessToken), for: .user)
            )
            for caller in [Caller.anonymous, bobCaller, ServiceFixture.masterCaller] {
                try await mailing.waitAMinute()
                _ = try await service.run(
                    Actions.authVerifyRequest,
                    VerificationRequest(email: "ann@example.org"),
                    by: caller
                )
                #expect(try await states() == before, "\(caller)")
            }
            for (caller, email, expected) in [
                (annCaller, "ann@example.org", "false -"), (bobCaller, nil, "false false"),
            ] as [(Caller, String?, String)] {
                try await mailing.waitAMinute()
                _ = try await service.run(Actions.authVerifyRequest, VerificationRequest(email: email), by: caller)
                #expect(try await states().hasPrefix(expected + "|"), "\(expected)")
            }
        }
    }

    /// On every way on which an address is proved, and what the response with the profile says.
    @Test func aProofIsSeenInTheProfile() async throws {
        try await withMailingService(.optional) { mailing in
            let signUp = try await mailing.signUp("ann")
            #expect(signUp.profile.collected()?.fields[.verified] == .boolean(false))
            let plain = try await mailing.service.signUp(
                SignUpRequest(authData: ["username": "bob"], password: "a long secret")
            )
            #expect(plain.profile.collected()?.fields[.verified] == nil)
            let mail = try await mailing.lastMail()
            try await mailing.service.run(Actions.authVerifyConfirm, CodeConfirmation(code: mail.linkCode))
            let login = try await mailing.logIn("ann", "a long secret")
            #expect(login.profile.collected()?.fields[.verified] == .boolean(true))
            let stored = try await mailing.fixture.psql("SELECT _verified FROM \"user\" WHERE username = 'ann'")
            #expect(stored == "t")
            // A reset proves the address that its mail was sent to.
            try await mailing.fixture.psql("UPDATE \"user\" SET email = 'bob@example.org' WHERE username = 'bob'")
            _ = try await mailing.service.run(Actions.authResetRequest, CodeRequest(email: "bob@example.org"))
            let reset = try await mailing.lastMail()
            let result = try await mailing.service.run(
                Actions.authResetConfirm,
                ResetConfirmation(code: CodeConfirmation(code: reset.linkCode), password: "another long secret")
            )
            #expect(result.profile.collected()?.fields[.verified] == .boolean(true))
            #expect(try await mailing.fixture.psql("SELECT bool_and(_verified) FROM \"user\"") == "t")
        }
    }

    @Test func aGuestWhoRegistersWithAnAddressBeginsToVerifyIt() async throws {
        try await withMailingService(.optional) { mailing in
            let guest = try await mailing.service.signUp(SignUpRequest())
            #expect(guest.profile.collected()?.fields[.verified] == nil)
            let own = Credentials.token(guest.accessToken)
            let caller = try await mailing.service.authenticate(own, for: .user)
            let registered = try await mailing.service.register(
                RegisterRequest(authData: ["username": "ann", "email": "ann@example.org"], password: "a long secret"),
                by: caller,
                with: own
            )
            #expect(registered.profile.collected()?.fields[.verified] == .boolean(false))
        }
    }

    /// Its user's own live queries begin anew with a proof, since access lists name verified users.
    @Test(arguments: LiveQueryTests.sources)
    func aProofIsAnEventForThoseWhoSeeIt(_ source: LiveConfiguration.Source) async throws {
        try await withLiveService(source) { fixture in
            let (ann, bob) = (try await fixture.user("ann"), try await fixture.user("bob"))
            let (annID, bobID) = (ann.caller.userID?.rawValue ?? "", bob.caller.userID?.rawValue ?? "")
            try await fixture.change("UPDATE \"user\" SET email = _id || '@x.org'")
            var proved = LiveSubscribeRequest(name: "proved", type: .user)
            proved.predicate = .comparison(.eq, .keyPath(FieldPath(unchecked: "_verified")), .value(.boolean(true)))
            var outlets: [MemoryOutlet] = []
            var sessions: [LiveSession] = []
            for user in [LiveUser.master, bob] {
                let outlet = MemoryOutlet()
                let session = LiveSession(of: fixture.service, outlet: outlet)
                for request in [proved, LiveSubscribeRequest(name: "all", type: .user)] {
                    try await session.subscribe(request, as: user)
                    try await outlet.waitUntilReady(request.name)
                }
                outlets.append(outlet)
                sessions.append(session)
            }
            let stranger = LiveSession(of: fixture.service, outlet: MemoryOutlet())
            try await expectError(.recordQueryDenied) { try await stranger.subscribe(proved, as: .anonymous) }
            try await fixture.change("UPDATE _user SET verified_email = id || '@x.org' WHERE id = '\(annID)'")
            try await fixture.change("UPDATE \"user\" SET last_login_at = now() WHERE _id = '\(bobID)'")
            try await waiting(until: "both have what was written last", hearing: outlets) {
                outlets.allSatisfy { outlet in
                    outlet.events.contains { $0.subscription == "all" && $0.id == "user/\(bobID)" }
                }
            }
            let found = outlets.map { outlet in
                outlet.events.filter { $0.id == "user/\(annID)" }.map { "\($0.subscription) \($0.event)" }.sorted()
            }
            #expect(found == [["all updated", "proved entered"], []])
            #expect(
                outlets[0].events.contains {
                    $0.id == "user/\(annID)" && ["1", "true"].contains($0.record["_verified"])
                }
            )
            for session in sessions { session.end() }
            stranger.end()
        }
    }
}
