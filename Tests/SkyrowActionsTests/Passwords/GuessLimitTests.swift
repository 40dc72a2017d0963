import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

/// Limits of guesses on the whole way of a login; what is counted how is in ThrottleTests.
@Suite(.timeLimit(.minutes(60))) struct GuessLimitTests {
    private let here = ClientKey(high: 1, low: 1)
    /// Has the pauses last for an hour more, however slow the test is.
    private static let prolonging =
        "UPDATE _throttle SET blocked_until = blocked_until + interval '1 h' WHERE blocked_until > window_start"

    @Test func loginKeysOfOneAccountWaitInOneLineWhateverTheirCase() throws {
        let username = try FieldName("username")
        #expect(AccountKey(logIn: [username: "Zoe"]) == AccountKey(logIn: [username: "zOE"]))
        #expect(AccountKey(logIn: [username: "zoe"]) != AccountKey(logIn: [username: "zoe2"]))
        #expect(AccountKey(logIn: [username: "zoe"]) != AccountKey(logIn: [try FieldName("email"): "zoe"]))
    }

    /// For an account that there is and for one that there is not.
    @Test(arguments: ["ann", "gone"])
    func anUnknownAccountIsLimitedLikeAKnownOneByAllProcesses(_ name: String) async throws {
        try await withService { fixture in
            try await fixture.withSecondService { second in
                let processes = [fixture.service, second.service]
                _ = try await fixture.service.signUp("ann")
                let request = LogInRequest(authData: ["username": name], password: "a wrong guess")
                for number in 0..<5 {
                    try await expectError(.invalidCredentials) {
                        try await processes[number % 2].logIn(request, from: here)
                    }
                }
                try await fixture.psql(Self.prolonging)
                for process in processes {
                    let error = try await expectError(.rateLimited) { try await process.logIn(request, from: here) }
                    guard case .integer(let wait)? = error?.info["retry_after"] else {
                        Issue.record("There is no time to wait.")
                        return
                    }
                    #expect((3500...3601).contains(wait))
                }
                // Not for others, and not for ever.
                try await expectError(.invalidCredentials) {
                    try await fixture.service.logIn(request, from: ClientKey(high: 1, low: 2))
                }
                try await fixture.psql("UPDATE _throttle SET blocked_until = blocked_until - interval '2 h'")
                try await expectError(.invalidCredentials) { try await second.service.logIn(request, from: here) }
                // What is stored names no one.
                let stored = try await fixture.psql(
                    "SELECT count(*) FROM _throttle AS t WHERE t::text ILIKE '%\(name)%'"
                )
                #expect(stored == "0")
            }
        }
    }

    @Test func aRightPasswordEndsThePauseOfItsClient() async throws {
        try await withService { fixture in
            let service = fixture.service
            _ = try await service.signUp("ann")
            let wrong = LogInRequest(authData: ["username": "ann"], password: "a wrong guess")
            let right = LogInRequest(authData: ["username": "ann"], password: "secret")
            for _ in 0..<3 {
                for _ in 0..<4 {
                    try await expectError(.invalidCredentials) { try await service.logIn(wrong, from: here) }
                }
                _ = try await service.logIn(right, from: here)
            }
            #expect(try await fixture.psql("SELECT count(*) FROM _known_client") == "1")
        }
    }

    @Test func theOldPasswordOfAChangeIsGuessedAsOftenOnly() async throws {
        try await withService { fixture in
            let service = fixture.service
            let (_, caller) = try await service.signUp("ann")
            let wrong = ChangePasswordRequest(oldPassword: "a wrong guess", password: "another")
            for _ in 0..<5 {
                try await expectError(.invalidCredentials) {
                    try await service.changePassword(wrong, by: caller, from: here)
                }
            }
            try await fixture.psql(Self.prolonging)
            try await expectError(.rateLimited) { try await service.changePassword(wrong, by: caller, from: here) }
            #expect(fixture.observations.count { $0 == .guessRefused } == 1)
            // A login is not what was guessed at.
            _ = try await service.logIn(LogInRequest(authData: ["username": "ann"], password: "secret"), from: here)
        }
    }

    @Test func clientsWithoutAnAddressAreNotLimited() async throws {
        try await withService { fixture in
            let wrong = LogInRequest(authData: ["username": "ann"], password: "a wrong guess")
            for _ in 0..<8 { try await expectError(.invalidCredentials) { try await fixture.service.logIn(wrong) } }
            #expect(try await fixture.psql("SELECT count(*) FROM _throttle") == "0")
        }
    }

    @Test func sweepingSaysHowManyRowsThereAre() async throws {
        try await withService { fixture in
            let wrong = LogInRequest(authData: ["username": "ann"], password: "a wrong guess")
            try await expectError(.invalidCredentials) { try await fixture.service.logIn(wrong, from: here) }
            await fixture.service.sweepGuesses()
            #expect(fixture.service.statistics.throttleRows == 3)
        }
    }
}
