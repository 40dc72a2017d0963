import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Sessions that are used by many callers while they end, and those that nobody uses.
@Suite(.timeLimit(.minutes(60))) struct SessionRaceTests {
    enum Ending: String, CaseIterable, Sendable {
        case changedPassword, disabledAndEnabled, loggedOut
    }

    /// Asks `me` with every token it is given until none is accepted; returns the tokens.
    private static func useUp(_ token: String, _ service: ActionService) async throws -> Set<String> {
        var tokens: Set<String> = [token]
        var current = token
        while true {
            do {
                let credentials = Credentials.token(current)
                let caller = try await service.authenticate(credentials, for: .user)
                current = try await service.run(Actions.me, by: caller, with: credentials).accessToken
                tokens.insert(current)
            } catch {
                guard error.code == .accessTokenNotAccepted || error.code == .userDisabled else { throw error }
                return tokens
            }
        }
    }

    @Test(arguments: Ending.allCases)
    func noTokenThatIsUsedMeanwhileOutlivesItsSession(_ ending: Ending) async throws {
        try await withService { fixture in
            let service = fixture.service
            for round in 0..<min(20, seededCases(5)) {
                let (result, caller) = try await service.signUp("ann\(round)", password: "correct horse")
                let uses = (0..<4).map { _ in Task { try await Self.useUp(result.accessToken, service) } }
                try await fixture.observations.wait(for: "a use of the token") {
                    $0 == .completed(Actions.me.name, nil)
                }
                switch ending {
                case .changedPassword:
                    _ = try await service.changePassword(
                        ChangePasswordRequest(oldPassword: "correct horse", password: "battery staple"),
                        by: caller
                    )
                case .disabledAndEnabled:
                    for isDisabled in [true, false] {
                        try await service.run(
                            Actions.authDisableSet,
                            DisabledState(userID: result.userID, isDisabled: isDisabled),
                            by: ServiceFixture.masterCaller
                        )
                    }
                case .loggedOut:
                    try await service.run(Actions.authLogOut, with: .token(result.accessToken))
                }
                // From here on nothing that is remembered admits it, nor the database.
                #expect(
                    (try? service.cachedCaller(.token(result.accessToken), for: Actions.me.description)) == .some(nil)
                )
                var tokens: Set<String> = []
                for use in uses { tokens.formUnion(try await use.value) }
                for token in tokens {
                    try await expectError(.accessTokenNotAccepted) {
                        try await service.authenticate(.token(token), for: .user)
                    }
                }
                fixture.observations.clear()
            }
        }
    }

    @Test func aSessionThatIsNotUsedEndsAndOneThatIsUsedGoesOn() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (used, caller) = try await service.signUp("ann")
            let (unused, _) = try await service.signUp("bob")
            for _ in 0..<5 {
                fixture.clock.advance(by: .seconds(70 * 86_400))
                #expect(try await service.authenticate(.token(used.accessToken), for: .user) == caller)
                await service.recordUses()
            }
            for _ in 0..<2 {
                try await expectError(.accessTokenNotAccepted) {
                    try await service.authenticate(.token(unused.accessToken), for: .user)
                }
            }
            await service.recordUses()
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "2")
            await service.purge()
            #expect(try await fixture.psql("SELECT user_id FROM _session") == used.userID.rawValue)
            // Use does not move the end that its age sets.
            fixture.clock.advance(by: .seconds(15 * 86_400))
            try await expectError(.accessTokenNotAccepted) {
                try await service.authenticate(.token(used.accessToken), for: .user)
            }
        }
    }

    /// As psql may have set it.
    @Test(arguments: ["infinity", "-infinity", "294000-01-01"])
    func aLastUseBeyondAllTimesIsNoMistake(_ lastUse: String) async throws {
        try await withService { fixture in
            let (result, caller) = try await fixture.service.signUp("ann")
            try await fixture.psql("UPDATE _session SET last_used_at = '\(lastUse)'")
            fixture.service.forget(.all)
            let token = Credentials.token(result.accessToken)
            if lastUse.hasPrefix("-") {
                try await expectError(.accessTokenNotAccepted) {
                    try await fixture.service.authenticate(token, for: .user)
                }
            } else {
                #expect(try await fixture.service.authenticate(token, for: .user) == caller)
            }
        }
    }

    @Test func usesAreNotedOnceAMinuteAndBounded() {
        let now = Timestamp(microseconds: 0)
        let early = now.adding(.seconds(-60))
        var uses = SessionUses(capacity: 2)
        uses.note(TokenHash(of: "recent"), lastUsedAt: now.adding(.seconds(-59)), at: now)
        uses.note(TokenHash(of: "unknown"), lastUsedAt: nil, at: now)
        #expect(uses.take().isEmpty)
        for token in ["a", "b", "a", "c"] { uses.note(TokenHash(of: token), lastUsedAt: early, at: now) }
        #expect(Set(uses.take()) == [TokenHash(of: "a"), TokenHash(of: "b")])
        #expect(uses.take().isEmpty)
    }

    @Test func aUserHasSoManySessions() async throws {
        try await withService { fixture in
            var configuration = fixture.service.configuration
            configuration.sessionLimit = 3
            let service = ActionService(
                store: fixture.service.store,
                configuration: configuration,
                logger: .quiet,
                observe: { _ in }
            )
            let (first, caller) = try await service.signUp("ann")
            for _ in 0..<5 {
                _ = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"))
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _session") == "3")
            _ = caller
            try await expectError(.accessTokenNotAccepted) {
                service.forget(.all)
                return try await service.authenticate(.token(first.accessToken), for: .user)
            }
        }
    }
}
