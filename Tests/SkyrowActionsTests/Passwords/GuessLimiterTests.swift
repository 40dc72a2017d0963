import SkyrowModel
import Testing

@testable import SkyrowActions

@Suite struct GuessLimiterTests {
    private static let start = ContinuousClock.now
    private let ann = AccountKey(user: "ann")
    private let here = ClientKey(high: 1, low: 0)

    private func there(_ number: UInt64) -> ClientKey { ClientKey(high: 2, low: number) }

    @Test func aClientPausesLongerWithEachWrongPassword() {
        var limiter = GuessLimiter(GuessLimits(client: 3, account: nil))
        var now = Self.start
        for _ in 0..<3 { #expect(limiter.claim(ann, from: here, at: now) == nil) }
        var pauses: [Duration] = []
        for _ in 0..<12 {
            guard let wait = limiter.claim(ann, from: here, at: now) else {
                Issue.record("There is no pause.")
                return
            }
            pauses.append(wait)
            // Others, and other accounts, are not concerned.
            #expect(limiter.claim(ann, from: there(UInt64(pauses.count)), at: now) == nil)
            #expect(limiter.claim(AccountKey(user: "bob\(pauses.count)"), from: here, at: now) == nil)
            now += wait
            #expect(limiter.claim(ann, from: here, at: now) == nil)
        }
        #expect(pauses.prefix(4) == [.seconds(1), .seconds(2), .seconds(4), .seconds(8)])
        #expect(pauses.suffix(2) == [.seconds(900), .seconds(900)])
        // After a long while it begins anew.
        now += .seconds(1801)
        for _ in 0..<3 { #expect(limiter.claim(ann, from: here, at: now) == nil) }
        #expect(limiter.claim(ann, from: here, at: now) == .seconds(1))
    }

    @Test func aRightPasswordAndOneThatWasNotComparedDoNotCount() {
        var limiter = GuessLimiter(GuessLimits(client: 2, account: nil))
        for _ in 0..<10 {
            #expect(limiter.claim(ann, from: here, at: Self.start) == nil)
            limiter.withdraw(ann, from: here, at: Self.start)
            #expect(limiter.claim(ann, from: here, at: Self.start) == nil)
            limiter.succeed(ann, from: here, at: Self.start)
        }
        for _ in 0..<2 { #expect(limiter.claim(ann, from: here, at: Self.start) == nil) }
        #expect(limiter.claim(ann, from: here, at: Self.start) != nil)
    }

    @Test func manyAddressesTryOneAccountSoOftenAndItsUserLogsInAllTheSame() {
        var limiter = GuessLimiter(GuessLimits(client: 5, account: 10))
        #expect(limiter.claim(ann, from: here, at: Self.start) == nil)
        limiter.succeed(ann, from: here, at: Self.start)
        var tries = 0
        for number in 0..<100 where limiter.claim(ann, from: there(UInt64(number)), at: Self.start) == nil {
            tries += 1
        }
        // The user's own first login, from an address that was new then, is one of the ten.
        #expect(tries == 9)
        let later = Self.start + .seconds(1)
        #expect(limiter.claim(ann, from: there(1000), at: later) == .seconds(359))
        #expect(limiter.claim(ann, from: here, at: later) == nil)
        // No account is barred for ever: every six minutes there is another try, of whoever comes first.
        #expect(limiter.claim(ann, from: there(1000), at: Self.start + .seconds(360)) == nil)
    }

    @Test func clientsWithoutAnAddressAreNotTold() {
        var limiter = GuessLimiter(GuessLimits(client: 1, account: 1))
        for _ in 0..<5 { #expect(limiter.claim(ann, from: .none, at: Self.start) == nil) }
    }

    @Test func loginKeysOfOneAccountAreOneWhateverTheirCase() throws {
        let username = try FieldName("username")
        #expect(AccountKey(logIn: [username: "Zoe"]) == AccountKey(logIn: [username: "zOE"]))
        #expect(AccountKey(logIn: [username: "zoe"]) != AccountKey(logIn: [username: "zoe2"]))
        #expect(AccountKey(logIn: [username: "zoe"]) != AccountKey(logIn: [try FieldName("email"): "zoe"]))
    }

    /// The whole way of a login, for an account that there is and for one that there is not.
    @Test(arguments: ["ann", "nobody"])
    func anUnknownAccountIsLimitedLikeAKnownOne(_ name: String) async throws {
        try await withService { fixture in
            let (service, here) = (fixture.service, ClientKey(high: 1, low: 1))
            _ = try await service.signUp("ann")
            let request = LogInRequest(authData: ["username": name], password: "a wrong guess")
            for _ in 0..<5 {
                try await expectError(.invalidCredentials) { try await service.logIn(request, from: here) }
            }
            let error = try await expectError(.rateLimited) { try await service.logIn(request, from: here) }
            #expect(error?.info["retry_after"] == .integer(1))
            // Not for others, and not for ever.
            try await expectError(.invalidCredentials) {
                try await service.logIn(request, from: ClientKey(high: 1, low: 2))
            }
            fixture.clock.advance(by: .seconds(1))
            try await expectError(.invalidCredentials) { try await service.logIn(request, from: here) }
        }
    }
}
