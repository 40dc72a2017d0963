import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What is observed of logins, of what they cost and of what is refused.
@Suite(.timeLimit(.minutes(60))) struct LogInObservationTests {
    /// The logins that were observed since the log was cleared, with the names of errors.
    private func logIns(_ fixture: ServiceFixture) -> [String] {
        var found: [String] = []
        for method in LogInMethod.allCases {
            for code in [nil] + ErrorCode.registered.map({ Optional($0) }) {
                let count = fixture.observations.count { $0 == .loggedIn(method, code) }
                found += Array(repeating: "\(method.rawValue) \(code?.name ?? "OK")", count: count)
            }
        }
        fixture.observations.clear()
        return found
    }

    @Test func aPasswordIsCountedByHowItEnded() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (ann, _) = try await service.signUp("ann")
            // A sign-up is no login.
            #expect(logIns(fixture) == [])
            func enter(_ user: String, _ password: String) async {
                _ = try? await service.logIn(LogInRequest(authData: ["username": user], password: password))
            }
            await enter("ann", "secret")
            #expect(fixture.observations.count { if case .passwordTimed = $0 { true } else { false } } == 1)
            #expect(logIns(fixture) == ["password OK"])
            await enter("ann", "wrong")
            await enter("none", "wrong")
            #expect(logIns(fixture) == ["password InvalidCredentials", "password InvalidCredentials"])
            try await fixture.psql("UPDATE _user SET disabled = true WHERE id = '\(ann.userID)'")
            await enter("ann", "secret")
            #expect(logIns(fixture) == ["password UserDisabled"])
        }
    }

    @Test func aSignInWithAProviderIsCountedWhereverItEnds() async throws {
        try await withFlows { flows in
            let fixture = flows.fixture
            #expect(flows.service.statistics.providerKeyAges.isEmpty)
            let ann = try await flows.logIn()
            #expect(logIns(fixture) == ["provider OK"])
            let ages = flows.service.statistics.providerKeyAges
            #expect(ages.map(\.provider) == ["test"] && ages.allSatisfy { $0.age >= .zero })
            // The user turns back, and the provider's token is not accepted.
            for (mode, outcome) in [
                (.denied, "PermissionDenied"), (.wrongNonce, "InvalidCredentials"),
                (.failingTokens, "UnexpectedUnableToOpenDatabase"),
            ] as [(TemporaryIdentityProvider.Mode, String)] {
                try await flows.provider.set(mode)
                #expect(try await flows.code() == nil)
                #expect(logIns(fixture) == ["provider \(outcome)"], "\(mode)")
            }
            try await flows.provider.set(.normal)
            // A code that does not count.
            _ = try? await flows.finish("none")
            #expect(logIns(fixture) == ["provider InvalidToken"])
            // To prove once more who one is, or not to, is no login.
            _ = try await flows.finish(try await flows.code(purpose: .stepUp, as: ann), as: ann)
            try await flows.provider.set(.denied)
            #expect(try await flows.code(purpose: .stepUp, as: ann) == nil)
            #expect(logIns(fixture) == [])
        }
    }

    @Test func aRefusalIsCountedByItsLayer() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, ann) = try await service.signUp("ann")
            let (_, bob) = try await service.signUp("bob")
            _ = try await service.save(SaveRequest(draft("note/1", ["title": .string("x")])), by: ann)
            fixture.observations.clear()
            func denials() -> [String] {
                var found: [String] = []
                for layer in AccessLayer.allCases where layer != .credentials {
                    let count = fixture.observations.count { $0 == .accessDenied(layer) }
                    found += Array(repeating: layer.rawValue, count: count)
                }
                fixture.observations.clear()
                return found
            }
            _ = try? await service.save(SaveRequest(draft("note/1", ["title": .string("y")])), by: ann)
            #expect(denials() == [])
            // One record of a batch, while the request itself goes well.
            _ = try await service.save(SaveRequest(draft("note/1", ["title": .string("z")])), by: bob)
            #expect(denials() == ["permission"])
            _ = try? await service.run(Actions.roleAssign, RoleAssignment(roles: ["x"], users: []), by: bob)
            #expect(denials() == ["permission"])
            var scoped = bob
            scoped.key = KeyGrant(try #require(KeyID("k00000001")), named: "web", .client, [try KeyScope("type:other")])
            _ = try? await service.fetch(
                RecordIDsRequest(database: .everyone, ids: [try RecordID("note/1")]),
                by: scoped
            )
            #expect(denials() == ["scope"])
        }
    }

    @Test func sessionsAndTheRolesOfTheirUsersAreCounted() async throws {
        try await withService { fixture in
            let (ann, _) = try await fixture.service.signUp("ann")
            _ = try await fixture.service.signUp("bob")
            try await fixture.psql(
                """
                INSERT INTO _role (name) VALUES ('a'), ('b'); INSERT INTO _role_role (role, member) VALUES ('b', 'a');
                INSERT INTO _user_role (user_id, role) VALUES ('\(ann.userID)', 'a');
                UPDATE _session SET expires_at = now() - interval '1 hour' WHERE user_id <> '\(ann.userID)'
                """
            )
            #expect(fixture.service.statistics.liveSessions == 0)
            await fixture.service.sweepGuesses()
            #expect(fixture.service.statistics.liveSessions == 1)
            let other = fixture.configured { _ in }
            _ = try await other.authenticate(.token(ann.accessToken), for: .user)
            #expect(fixture.observations.count { $0 == .audienceLoaded(roles: 2) } == 1)
        }
    }
}
