import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct SessionTests {
    @Test func aTokenOfAKnownSessionIsAnsweredWithoutTheDatabase() async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            #expect(fixture.observations.count { $0 == .sessionLoaded(found: true) } == 0)
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == caller)
            fixture.clock.advance(by: .milliseconds(999))
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == caller)
            fixture.clock.advance(by: .milliseconds(1))
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == nil)
            #expect(try await fixture.service.authenticate(.token(result.accessToken), for: .user) == caller)
            #expect(fixture.observations.count { $0 == .sessionLoaded(found: true) } == 1)
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == caller)
        }
    }

    @Test func loggingOutEndsTheSessionOfThatTokenOnly() async throws {
        try await withService { fixture in
            let (first, caller) = try await fixture.service.signUp("ann")
            let second = try await fixture.service.logIn(
                LogInRequest(authData: ["username": "ann"], password: "secret")
            )
            try await fixture.service.run(Actions.authLogOut, with: .token(first.accessToken))
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.authenticate(.token(first.accessToken), for: .keyOrToken)
            }
            #expect(try await fixture.service.authenticate(.token(second.accessToken), for: .user) == caller.unproved)
            // Without a token there is nothing to end.
            try await fixture.service.run(Actions.authLogOut, with: ServiceFixture.key)
        }
    }

    @Test func aLogoutIsSeenByTheOtherProcessThroughItsNotice() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let (result, caller) = try await fixture.service.signUp("ann")
                #expect(try await second.service.authenticate(.token(result.accessToken), for: .user) == caller)
                #expect(
                    try second.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == caller
                )
                try await fixture.service.run(Actions.authLogOut, with: .token(result.accessToken))
                try await second.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.token) }
                #expect(try second.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == nil)
                try await expectError(.accessTokenNotAccepted) {
                    try await second.service.authenticate(.token(result.accessToken), for: .user)
                }
            }
        }
    }

    @Test func aLogoutIsSeenWithinASecondWhereNoNoticeComes() async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            // A process that does not listen.
            let deaf = TestClock()
            let service = ActionService(
                store: fixture.service.store,
                configuration: fixture.service.configuration,
                clock: deaf.clock,
                logger: .quiet,
                observe: { _ in }
            )
            #expect(try await service.authenticate(.token(result.accessToken), for: .user) == caller)
            try await fixture.service.run(Actions.authLogOut, with: .token(result.accessToken))
            deaf.advance(by: .seconds(1))
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(result.accessToken), for: .user)
            }
        }
    }

    @Test func afterAnInterruptionOfTheNoticesNothingIsRemembered() async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == caller)
            fixture.service.forget(.listening(again: true))
            #expect(try fixture.service.cachedCaller(.token(result.accessToken), for: Actions.me.description) == nil)
        }
    }

    @Test func whatEndsInPsqlEndsHere() async throws {
        try await withService { fixture in
            let (result, _) = try await fixture.service.signUp("ann")
            try await fixture.psql("DELETE FROM _session")
            try await fixture.observations.wait(for: "sessionsForgotten") { $0 == .sessionsForgotten(.token) }
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            }
        }
    }

    @Test func aTokenExpires() async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            try await fixture.psql("UPDATE _session SET last_used_at = 'infinity'")
            fixture.clock.advance(by: .seconds(365 * 86_400 - 1))
            #expect(try await fixture.service.authenticate(.token(result.accessToken), for: .user) == caller)
            fixture.clock.advance(by: .seconds(1))
            // Both where it is remembered and where it is not.
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            }
            fixture.service.forget(.all)
            try await expectError(.accessTokenNotAccepted) {
                try await fixture.service.authenticate(.token(result.accessToken), for: .user)
            }
        }
    }

    @Test func aTokenWithoutALifetimeNeverExpires() async throws {
        try await withService { fixture in
            let clock = TestClock()
            var configuration = fixture.service.configuration
            configuration.tokenLifetime = nil
            configuration.sessionIdle = nil
            let service = ActionService(
                store: fixture.service.store,
                configuration: configuration,
                clock: clock.clock,
                logger: .quiet,
                observe: { _ in }
            )
            let (result, caller) = try await service.signUp("ann")
            clock.advance(by: .seconds(100 * 365 * 86_400))
            await service.purge()
            #expect(try await service.authenticate(.token(result.accessToken), for: .user) == caller)
        }
    }

    @Test func whatHasExpiredIsPurgedAndTheRestIsNot() async throws {
        try await withService { fixture in
            let (result, _) = try await fixture.service.signUp("ann")
            _ = try await fixture.service.signUp("bob")
            try await fixture.psql(
                """
                UPDATE _session SET expires_at = now() - interval '1 s' WHERE user_id = '\(result.userID)';
                INSERT INTO _idempotency (scope, key, fingerprint, created_at) VALUES
                    ('a', 'old', '', now() - interval '25 hours'), ('a', 'new', '', now());
                """
            )
            fixture.observations.clear()
            await fixture.service.purge()
            #expect(fixture.observations.count { $0 == .purged(sessions: 1, idempotencyKeys: 1) } == 1)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            #expect(try await fixture.psql("SELECT key FROM _idempotency") == "new")
        }
    }

    @Test func aTokenThatNobodyHasIsRefused() async throws {
        try await withService { fixture in
            for token in ["", "x", "'; DROP TABLE _session; --", String(repeating: "t", count: 100_000), "\0"] {
                try await expectError(token.isEmpty ? .notAuthenticated : .accessTokenNotAccepted) {
                    try await fixture.service.authenticate(.token(token), for: .keyOrToken)
                }
            }
        }
    }

    @Test func theMasterKeyActsAsAUserWhoThenOwnsWhatIsCreated() async throws {
        try await withService { fixture in
            let (result, _) = try await fixture.service.signUp("ann")
            let acting = try await fixture.service.authenticate(
                Credentials(key: "master", actingUserID: result.userID),
                for: .userOrMaster
            )
            #expect(acting == Caller(kind: .master(actingAs: result.userID)))
            _ = try await fixture.service.save(SaveRequest(draft("note/1", ["title": .string("x")])), by: acting)
            #expect(try await fixture.psql("SELECT _owner FROM note") == result.userID.rawValue)
        }
    }
}
