import Testing

@testable import SkyrowActions

@Suite struct RightsLooksTests {
    private let start = ContinuousClock.now

    /// A look counts from its beginning, and one that did not find everything counts for nothing.
    @Test func rightsAreKnownForASecond() {
        var looks = RightsLooks()
        #expect(!looks.areKnown(at: start))
        let first = looks.begin(at: start)
        #expect(!looks.areKnown(at: start))
        looks.succeed(first)
        #expect(looks.areKnown(at: start + .seconds(1)))
        #expect(!looks.areKnown(at: start + .seconds(1) + .nanoseconds(1)))
        _ = looks.begin(at: start + .seconds(1))
        #expect(!looks.areKnown(at: start + .seconds(2)))
    }

    @Test func aLookThatBeganBeforeIsNoneSince() {
        var looks = RightsLooks()
        let running = looks.begin(at: start)
        let last = looks.last
        looks.succeed(running)
        #expect(!looks.haveSucceeded(since: last))
        let next = looks.begin(at: start)
        #expect(!looks.haveSucceeded(since: last))
        looks.succeed(next)
        #expect(looks.haveSucceeded(since: last))
    }
}
