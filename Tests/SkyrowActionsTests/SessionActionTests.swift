import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Sessions as their user sees and ends them.
@Suite(.timeLimit(.minutes(60))) struct SessionActionTests {
    private let ann = LogInRequest(authData: ["username": "ann"], password: "secret")

    private func names(_ sessions: [AccountSession]) -> [String] {
        sessions.map { "\($0.createdWith ?? "-") \($0.device.name ?? "-")\($0.isCurrent ? " *" : "")" }
    }

    @Test func aListSaysOfEachSessionWhereItWasOpenedAndWithWhat() async throws {
        try await withService { fixture in
            let service = fixture.service
            let agent = "Notes/1.2\u{7} " + String(repeating: "ü", count: 200)
            let first = try await service.signUp(
                SignUpRequest(
                    authData: ["username": "ann"],
                    password: "secret",
                    device: SessionDevice(id: "d1", name: "Ann's phone")
                ),
                origin: RequestOrigin(address: "2001:db8::7", userAgent: agent)
            )
            let caller = try await service.authenticate(.token(first.accessToken), for: .user)
            _ = try await service.logIn(ann, origin: RequestOrigin(address: "192.0.2.7"))
            let master = Credentials(key: "master", actingUserID: first.userID)
            let acting = try await service.authenticate(master, for: .user)
            _ = try await service.run(Actions.me, by: acting, with: master)
            _ = try await service.signUp("bob")
            let list = try await service.run(Actions.sessionList, by: caller, with: .token(first.accessToken))
            #expect(names(list) == ["master -", "login -", "signup Ann's phone *"])
            #expect(list.map(\.address) == [nil, "192.0.2.7", "2001:db8::7"])
            #expect(list[2].device.id == "d1")
            #expect(list[2].userAgent == "Notes/1.2 " + String(repeating: "ü", count: 122))
            #expect(Set(list.map(\.id)).count == 3)
            // The master key has no session of its own among them.
            #expect(try await service.run(Actions.sessionList, by: acting, with: master).count { $0.isCurrent } == 0)
            // What has ended is not there: by its age, by not being used, by its epoch.
            try await fixture.psql(
                """
                UPDATE _session SET expires_at = now() - interval '1 s' WHERE created_with = 'master';
                UPDATE _session SET last_used_at = now() - interval '91 d' WHERE created_with = 'login';
                """
            )
            #expect(
                names(try await service.run(Actions.sessionList, by: caller, with: .token(first.accessToken))).count
                    == 1
            )
            try await fixture.psql("UPDATE _user SET epoch = epoch + 1")
            #expect(try await service.run(Actions.sessionList, by: caller, with: .token(first.accessToken)).isEmpty)
        }
    }

    @Test func aListIsBounded() async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            try await fixture.psql(
                """
                INSERT INTO _session (token_hash, user_id, epoch, user_agent)
                SELECT sha256(convert_to(i::text, 'UTF8')), '\(result.userID)', 0, repeat('x', 255)
                FROM generate_series(1, 9999) AS i
                """
            )
            let list = try await fixture.service.run(Actions.sessionList, by: caller, with: .token(result.accessToken))
            #expect(list.count == 1000)
        }
    }

    @Test func aChangedPasswordKeepsTheDevice() async throws {
        try await withService { fixture in
            let service = fixture.service
            let first = try await service.signUp(
                SignUpRequest(
                    authData: ["username": "ann"],
                    password: "secret",
                    device: SessionDevice(id: "d1", name: "phone")
                )
            )
            _ = try await service.logIn(ann)
            let caller = try await service.authenticate(.token(first.accessToken), for: .user)
            let second = try await service.changePassword(
                ChangePasswordRequest(oldPassword: "secret", password: "another"),
                by: caller,
                with: .token(first.accessToken)
            )
            let list = try await service.run(Actions.sessionList, by: caller, with: .token(second.accessToken))
            #expect(names(list) == ["password phone *"])
        }
    }

    @Test func someAreEndedByTheirIDsAndOthersGoOn() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let service = fixture.service
                let (first, caller) = try await service.signUp("ann")
                let own = Credentials.token(first.accessToken)
                let others = [try await service.logIn(ann), try await service.logIn(ann)]
                let (_, bob) = try await service.signUp("bob")
                let ids = try await service.run(Actions.sessionList, by: caller, with: own).filter { !$0.isCurrent }
                    .map(\.id)
                for other in others { _ = try await second.service.authenticate(.token(other.accessToken), for: .user) }
                // Those of others are as those that are not there.
                let foreign = try await service.run(Actions.sessionRevoke, .ids(ids), by: bob, with: Credentials())
                #expect(foreign == 0)
                let unknown = "00000000-0000-4000-8000-000000000000"
                let count = try await service.run(
                    Actions.sessionRevoke,
                    .ids([ids[0], unknown, ids[0]]),
                    by: caller,
                    with: own
                )
                #expect(count == 1)
                try await second.observations.wait(for: "the notice") { $0 == .sessionsForgotten(.token) }
                var accepted = 0
                for other in others {
                    for process in [service, second.service] {
                        if (try? await process.authenticate(.token(other.accessToken), for: .user)) != nil {
                            accepted += 1
                        }
                    }
                }
                #expect(accepted == 2)
                #expect(try await service.run(Actions.sessionList, by: caller, with: own).count == 2)
            }
        }
    }

    @Test(arguments: [true, false])
    func allAreEndedWithOrWithoutThePresentOne(_ exceptCurrent: Bool) async throws {
        try await withService { fixture in
            let service = fixture.service
            let (first, caller) = try await service.signUp("ann")
            let other = try await service.logIn(ann)
            let (bob, _) = try await service.signUp("bob")
            let own = Credentials.token(first.accessToken)
            let request = SessionsToRevoke.all(exceptCurrent: exceptCurrent)
            let count = try await service.run(Actions.sessionRevoke, request, by: caller, with: own)
            #expect(count == (exceptCurrent ? 1 : 2))
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(other.accessToken), for: .user)
            }
            if exceptCurrent {
                #expect(try await service.authenticate(own, for: .user) == caller)
            } else {
                try await expectError(.accessTokenNotAccepted) { try await service.authenticate(own, for: .user) }
                // One that has ended keeps nothing.
                try await expectError(.accessTokenNotAccepted) {
                    try await service.run(Actions.sessionRevoke, .all(exceptCurrent: true), by: caller, with: own)
                }
            }
            #expect(try await service.authenticate(.token(bob.accessToken), for: .user).userID == bob.userID)
        }
    }

    /// A login that has read the password before all sessions are ended opens none after.
    @Test func noLoginThatIsUnderWayPassesTheEndOfAllSessions() async throws {
        try await withService { fixture in
            let (service, users) = (fixture.service, fixture.service.store.users)
            let (first, caller) = try await service.signUp("ann")
            let credentials = try #require(try await users.credentials(of: first.userID))
            let count = try await service.run(
                Actions.sessionRevoke,
                .all(exceptCurrent: true),
                by: caller,
                with: .token(first.accessToken)
            )
            #expect(count == 0)
            let session = NewSession(tokenHash: TokenHash(of: "late").bytes, expiresAt: nil)
            #expect(try await users.logIn(credentials, session: session) == nil)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
        }
    }

    @Test func theMasterKeyEndsTheSessionsOfAUserAndOfNoOne() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (first, _) = try await service.signUp("ann")
            for (user, count) in [(first.userID, 1), (first.userID, 0), ("gone", 0)] as [(UserID, Int)] {
                let master = Credentials(key: "master", accessToken: first.accessToken, actingUserID: user)
                let caller = Caller(kind: .master(actingAs: user))
                let ended = try await service.run(
                    Actions.sessionRevoke,
                    .all(exceptCurrent: true),
                    by: caller,
                    with: master
                )
                #expect(ended == count)
            }
        }
    }

    @Test func whoHasATokenGoesOnWithIt() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (first, _) = try await service.signUp("ann")
            func become(_ token: String) async throws(SkyrowError) -> AuthResult {
                try await service.run(Actions.authBecome, token, by: .anonymous)
            }
            let result = try await become(first.accessToken)
            #expect(result.userID == first.userID && result.accessToken == first.accessToken)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            for token in ["", "s_unknown", String(repeating: "x", count: 100_000), "\0"] {
                try await expectError(.accessTokenNotAccepted) { try await become(token) }
            }
            try await service.run(
                Actions.authDisableSet,
                DisabledState(userID: first.userID, isDisabled: true),
                by: ServiceFixture.masterCaller
            )
            try await expectError(.userDisabled) { try await become(first.accessToken) }
            try await service.run(
                Actions.authDisableSet,
                DisabledState(userID: first.userID, isDisabled: false),
                by: ServiceFixture.masterCaller
            )
            try await expectError(.accessTokenNotAccepted) { try await become(first.accessToken) }
        }
    }

    /// `_user_id` counts with the master key alone.
    @Test func aUserIDWithoutTheMasterKeyOpensNoSession() async throws {
        try await withService { fixture in
            let (first, caller) = try await fixture.service.signUp("ann")
            let credentials = Credentials(key: "api", accessToken: first.accessToken, actingUserID: "bob")
            let result = try await fixture.service.run(Actions.me, by: caller, with: credentials)
            #expect(result.userID == first.userID && result.accessToken == first.accessToken)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
        }
    }
}
