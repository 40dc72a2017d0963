import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

/// Who is counted for what.
@Suite struct RateLimiterTests {
    static let now = ContinuousClock.now
    static let here = ClientKey(high: 0, low: 1)
    static let there = ClientKey(high: 0, low: 2)
    static let ann = Caller(kind: .user("ann"))
    static let ben = Caller(kind: .user("ben"))
    static let two = RateLimit(2, per: .seconds(60))

    /// A call: which action, from where, by whom, and whether it is let through.
    typealias Call = (action: ActionDescription, client: ClientKey, caller: Caller?, passes: Bool)

    static func check(_ limits: RateLimits, _ calls: [Call]) {
        let limiter = RateLimiter(limits)
        for (place, call) in calls.enumerated() {
            let passes = (try? limiter.admit(call.action, from: call.client, by: call.caller, at: now)) != nil
            #expect(passes == call.passes, "call \(place) of \(limits)")
        }
    }

    @Test func clientsAreCountedByAddressWhoeverCalls() {
        Self.check(
            RateLimits(client: Self.two),
            [
                (.recordFetch, Self.here, Self.ann, true), (.recordFetch, Self.here, Self.ben, true),
                (.recordFetch, Self.here, nil, false), (.recordFetch, Self.there, Self.ann, true),
                (.recordSave, Self.here, .anonymous, false),
            ]
        )
    }

    /// Each /56 has its own limit; all of a /48 have four times as much.
    @Test func aSiteHasFourTimesTheLimitOfAClient() {
        let limiter = RateLimiter(RateLimits(client: Self.two, login: Self.two))
        func passes(_ network: UInt64, _ action: ActionDescription? = .recordFetch) -> Bool {
            let client = ClientKey(high: 0x2001_0db8_0001_0000 | network << 8, low: 0)
            return (try? limiter.admit(action, from: client, by: nil, at: Self.now)) != nil
        }
        for network: UInt64 in 1...4 {
            #expect([passes(network), passes(network), passes(network)] == [true, true, false])
        }
        #expect(!passes(5))
        #expect(!passes(5, nil))
        let elsewhere = ClientKey(high: 0x2001_0db8_0002_0000, low: 0)
        #expect((try? limiter.admit(.authLogIn, from: elsewhere, by: nil, at: Self.now)) != nil)
    }

    @Test func usersAreCountedWhereverTheyAre() {
        Self.check(
            RateLimits(user: Self.two),
            [
                (.recordFetch, Self.here, Self.ann, true), (.recordFetch, Self.there, Self.ann, true),
                (.recordFetch, Self.here, Self.ann, false), (.recordFetch, Self.here, Self.ben, true),
                (.recordFetch, Self.here, .anonymous, true), (.recordFetch, Self.here, nil, true),
            ]
        )
    }

    @Test func passwordsAreCountedApart() {
        Self.check(
            RateLimits(login: Self.two),
            [
                (.authLogIn, Self.here, .anonymous, true), (.recordFetch, Self.here, .anonymous, true),
                (.authSignUp, Self.here, .anonymous, true), (.authLogIn, Self.here, .anonymous, false),
                (.authPassword, Self.here, Self.ann, false), (.authLogIn, Self.there, .anonymous, true),
                (.authLogOut, Self.here, Self.ann, true), (.recordFetch, Self.here, .anonymous, true),
            ]
        )
    }

    @Test func theMasterKeyIsNobodysToLimit() {
        let none = RateLimit(1, per: .seconds(3600))
        let master = Caller(kind: .master(actingAs: "ann"))
        Self.check(
            RateLimits(client: none, user: none, login: none),
            [
                (.authLogIn, Self.here, master, true), (.authLogIn, Self.here, master, true),
                (.recordFetch, Self.here, master, true), (.authLogIn, Self.here, Self.ann, true),
                (.authLogIn, Self.here, Self.ann, false), (.authLogIn, Self.here, master, true),
            ]
        )
    }

    @Test func aUserWhomOnlyTheDatabaseKnewIsCountedToo() throws {
        let limiter = RateLimiter(RateLimits(user: Self.two))
        for _ in 0..<2 {
            try limiter.admit(.recordFetch, from: Self.here, by: nil, at: Self.now)
            try limiter.admit(Self.ann, at: Self.now)
        }
        let error = #expect(throws: SkyrowError.self) { try limiter.admit(Self.ann, at: Self.now) }
        #expect(error?.code == .rateLimited)
        try limiter.admit(.anonymous, at: Self.now)
    }

    @Test(
        arguments: [
            (RateLimit(1, per: .seconds(60)), "Too many calls; try again in 60 seconds.", 60),
            (RateLimit(1, per: .milliseconds(2500)), "Too many calls; try again in 3 seconds.", 3),
            (RateLimit(100, per: .seconds(1)), "Too many calls; try again in 1 second.", 1),
        ] as [(RateLimit, String, Int64)]
    )
    func theRefusalSaysHowLongToWait(limit: RateLimit, sentence: String, seconds: Int64) throws {
        let limiter = RateLimiter(RateLimits(client: limit))
        for _ in 0..<limit.count { try limiter.admit(.me, from: Self.here, by: nil, at: Self.now) }
        let error = #expect(throws: SkyrowError.self) {
            try limiter.admit(.me, from: Self.here, by: nil, at: Self.now)
        }
        #expect(error == SkyrowError(.rateLimited, sentence, info: ["retry_after": .integer(seconds)]))
    }

    @Test func newLimitsHoldAtOnceAndForgetOnlyWhatTheyReplace() throws {
        let limiter = RateLimiter(.none)
        func passes(_ action: ActionDescription) -> Bool {
            (try? limiter.admit(action, from: Self.here, by: nil, at: Self.now)) != nil
        }
        for _ in 0..<10 { #expect(passes(.authLogIn)) }
        limiter.limits = RateLimits(login: Self.two)
        #expect([passes(.authLogIn), passes(.authLogIn), passes(.authLogIn)] == [true, true, false])
        limiter.limits = RateLimits(client: Self.two, login: Self.two)
        #expect(!passes(.authLogIn))
        #expect(limiter.limits.client == Self.two)
        limiter.limits = .none
        #expect(passes(.authLogIn))
    }
}

extension ActionDescription {
    fileprivate static let recordFetch = Actions.recordFetch.description
    fileprivate static let recordSave = Actions.recordSave.description
    fileprivate static let me = Actions.me.description
    fileprivate static let authLogIn = Actions.authLogIn.description
    fileprivate static let authSignUp = Actions.authSignUp.description
    fileprivate static let authPassword = Actions.authPassword.description
    fileprivate static let authLogOut = Actions.authLogOut.description
}
