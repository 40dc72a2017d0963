import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Requests of an account that run beside its deletion.
@Suite(.timeLimit(.minutes(60))) struct DeletionRaceTests {
    private static let rounds = min(15, seededCases(4))

    /// What a user does until it is refused; returns the access tokens that came back.
    enum Use: Sendable {
        case logIn, save, savePrivately, rotate, me, changePassword

        func once(_ service: ActionService, _ name: String, _ token: inout String) async throws(SkyrowError) {
            let credentials = Credentials.token(token)
            switch self {
            case .logIn:
                token = try await service.logIn(
                    LogInRequest(authData: ["username": name], password: "secret")
                ).accessToken
            case .save, .savePrivately:
                let caller = try await service.authenticate(credentials, for: .user)
                let database: DatabaseName = self == .save ? .everyone : .own
                _ = try await service.save(
                    SaveRequest(draft("note/\(UInt64.random(in: 0 ... .max))"), database: database),
                    by: caller
                )
            case .rotate:
                let caller = try await service.authenticate(credentials, for: .user)
                token = try await service.run(Actions.authRotate, by: caller, with: credentials).accessToken
            case .me:
                let caller = try await service.authenticate(credentials, for: .user)
                token = try await service.run(Actions.me, by: caller, with: credentials).accessToken
            case .changePassword:
                let caller = try await service.authenticate(credentials, for: .user)
                let request = ChangePasswordRequest(oldPassword: "secret", password: "secret")
                token = try await service.changePassword(request, by: caller, with: credentials).accessToken
            }
        }
    }

    /// A change of the password ends what the others use.
    @Test(arguments: [[Use.logIn, .save, .savePrivately, .rotate, .me], [.changePassword]])
    func nothingThatRunsBesideADeletionIsLeft(_ kinds: [Use]) async throws {
        try await withService { fixture in
            try await fixture.withSecondService { other in
                for round in 0..<Self.rounds {
                    let name = "ann\(round)"
                    let (result, caller) = try await fixture.service.signUp(name)
                    _ = try await fixture.service.save(SaveRequest(draft("note/\(round)")), by: caller)
                    // One who changes the password ends the session of another one who does.
                    let services = kinds.count == 1 ? [fixture.service] : [fixture.service, other.service]
                    let uses = kinds.flatMap { use in
                        services.map { service in
                            Task { () throws -> [String] in
                                var tokens: [String] = []
                                // Each has a session of its own.
                                var token = ""
                                while true {
                                    do throws(SkyrowError) {
                                        try await (token.isEmpty ? Use.logIn : use).once(service, name, &token)
                                        tokens.append(token)
                                    } catch {
                                        let ends: [ErrorCode] = [
                                            .accessTokenNotAccepted, .invalidCredentials, .userDisabled,
                                        ]
                                        if ends.contains(error.code) { return tokens }
                                        // A write of psql's kind may meet another one; anything else is a mistake.
                                        guard [.duplicated, .conflict].contains(error.code) else { throw error }
                                    }
                                }
                            }
                        }
                    }
                    let last = kinds.count == 1 ? Actions.authPassword.name : Actions.me.name
                    try await fixture.observations.wait(for: "a use") { $0 == .completed(last, nil) }
                    _ = try await fixture.service.run(
                        Actions.userDelete,
                        UserDeletion(userID: result.userID),
                        by: ServiceFixture.masterCaller
                    )
                    var tokens: [String] = [result.accessToken]
                    for use in uses { tokens += try await use.value }
                    for service in [fixture.service, other.service] {
                        for token in Set(tokens) {
                            try await expectError(.accessTokenNotAccepted) {
                                try await service.authenticate(.token(token), for: .user)
                            }
                        }
                    }
                    // What was saved by requests that were let in before is removed a minute later.
                    try await fixture.psql("UPDATE _deletion SET next_at = now() WHERE next_at < 'infinity'")
                    await (round.isMultiple(of: 2) ? fixture : other).service.continueDeletions()
                    let id = result.userID
                    #expect(
                        try await fixture.psql(
                            """
                            SELECT (SELECT count(*) FROM _session WHERE user_id = '\(id)'),
                                (SELECT count(*) FROM _user WHERE id = '\(id)'),
                                (SELECT count(*) FROM note WHERE '\(id)' IN (_owner, _database, _created_by, _updated_by))
                            """
                        ) == "0|0|0"
                    )
                    fixture.observations.clear()
                }
            }
        }
    }

    @Test func ofTwoDeletionsBothEndWell() async throws {
        try await withService { fixture in
            for round in 0..<Self.rounds {
                let (result, caller) = try await fixture.service.signUp("ann\(round)")
                _ = try await fixture.service.save(SaveRequest(draft("note/\(round)")), by: caller)
                let deletions = (0..<4).map { _ in
                    Task {
                        do throws(SkyrowError) {
                            return try await fixture.service.run(
                                Actions.userDelete,
                                UserDeletion(userID: result.userID),
                                by: ServiceFixture.masterCaller
                            ).isFinished
                        } catch {
                            guard error.code == .resourceNotFound else { throw error }
                            return false
                        }
                    }
                }
                var finished = 0
                for deletion in deletions where try await deletion.value { finished += 1 }
                #expect(finished >= 1)
                #expect(try await fixture.psql("SELECT count(*) FROM _user") == "0")
                #expect(try await fixture.psql("SELECT count(_owner) FROM note") == "0")
            }
        }
    }
}
