import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Sessions that get another token.
@Suite(.timeLimit(.minutes(60))) struct SessionRotationTests {
    private static let age = "UPDATE _session SET rotated_at = now() - interval '31 s'"

    private func rotate(_ token: String, _ service: ActionService) async throws -> String {
        let credentials = Credentials.token(token)
        let caller = try await service.authenticate(credentials, for: .user)
        return try await service.run(Actions.authRotate, by: caller, with: credentials).accessToken
    }

    @Test func theTokenBeforeIsAcceptedForAMoment() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (first, caller) = try await service.signUp("ann")
            let second = try await rotate(first.accessToken, service)
            #expect(second != first.accessToken)
            for token in [first.accessToken, second] {
                #expect(try await service.authenticate(.token(token), for: .user) == caller)
                #expect(try await service.run(Actions.me, by: caller, with: .token(token)).accessToken == token)
                #expect(
                    try await service.run(Actions.sessionList, by: caller, with: .token(token)).map(\.isCurrent) == [
                        true
                    ]
                )
            }
            // It gets no further one.
            try await expectError(.accessTokenNotAccepted) { try await rotate(first.accessToken, service) }
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
        }
    }

    @Test func aLaterUseOfTheTokenBeforeEndsTheSessionInEveryProcess() async throws {
        try await withService { fixture in
            try await fixture.withSecondService { other in
                let service = fixture.service
                let (first, _) = try await service.signUp("ann")
                let second = try await rotate(first.accessToken, service)
                _ = try await other.service.authenticate(.token(second), for: .user)
                try await fixture.psql(Self.age)
                service.forget(.all)
                #expect(fixture.observations.count { $0 == .tokenReused } == 0)
                try await expectError(.accessTokenNotAccepted) {
                    try await service.authenticate(.token(first.accessToken), for: .keyOrToken)
                }
                #expect(fixture.observations.count { $0 == .tokenReused } == 1)
                try await expectError(.accessTokenNotAccepted) {
                    try await service.authenticate(.token(second), for: .user)
                }
                try await waiting(until: "the other process refuses it") {
                    (try? await other.service.authenticate(.token(second), for: .user)) == nil
                }
            }
        }
    }

    @Test func theTokenBeforeLogsOut() async throws {
        try await withService { fixture in
            let (first, _) = try await fixture.service.signUp("ann")
            let second = try await rotate(first.accessToken, fixture.service)
            try await fixture.service.run(Actions.authLogOut, with: .token(first.accessToken))
            try await expectError(.accessTokenNotAccepted) {
                fixture.service.forget(.all)
                return try await fixture.service.authenticate(.token(second), for: .user)
            }
        }
    }

    /// Of many that rotate one token at once, one gets another; after a revocation none does.
    @Test func noRotationPassesARevocationAndOneOfManySucceeds() async throws {
        try await withService { fixture in
            let sessions = fixture.service.store.sessions
            let (first, _) = try await fixture.service.signUp("ann")
            let old = TokenHash(of: first.accessToken).bytes
            let succeeded = try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        try await sessions.rotate(old, of: first.userID, to: TokenHash(of: "\(number)").bytes)
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            #expect(succeeded == 1)
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "1")
            let current = try await fixture.psql(
                "SELECT i FROM generate_series(0, 19) AS i JOIN _session ON token_hash = sha256(convert_to(i::text, 'UTF8'))"
            )
            try await fixture.psql("UPDATE _user SET epoch = epoch + 1")
            let late = try await sessions.rotate(
                TokenHash(of: current).bytes,
                of: first.userID,
                to: TokenHash(of: "late").bytes
            )
            #expect(!late)
        }
    }

    @Test func aSessionThatIsUsedGetsAnotherTokenAfterAWhile() async throws {
        try await withService { fixture in
            let service = fixture.configured { $0.sessionRotation = .seconds(3600) }
            let (first, caller) = try await service.signUp("ann")
            let own = Credentials.token(first.accessToken)
            service.forget(.all)
            _ = try await service.authenticate(own, for: .user)
            #expect(await service.renewToken(of: own, by: caller, for: Actions.recordFetch.description) == nil)
            fixture.clock.advance(by: .seconds(3601))
            _ = try await service.authenticate(own, for: .user)
            // Where the token is not looked at, or another one is given out anyway.
            for action in [
                Actions.authLogIn.description, Actions.authRotate.description, Actions.authPassword.description,
                Actions.authLogOut.description,
            ] {
                #expect(await service.renewToken(of: own, by: caller, for: action) == nil)
            }
            let token = try #require(
                await service.renewToken(of: own, by: caller, for: Actions.recordFetch.description)
            )
            #expect(try await service.authenticate(.token(token), for: .user) == caller)
            // The one before gets no other one, and goes on for the moment.
            _ = try await service.authenticate(own, for: .user)
            #expect(await service.renewToken(of: own, by: caller, for: Actions.recordFetch.description) == nil)
            // By default none is.
            #expect(
                await fixture.service.renewToken(of: .token(token), by: caller, for: Actions.recordFetch.description)
                    == nil
            )
        }
    }
}
