import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// The arithmetic of rate limits, at moments of the test's own.
@Suite struct TokenBucketTests {
    static let start = ContinuousClock.now

    /// What came of calls at so many milliseconds after the start: nil, or the milliseconds to wait.
    static func waits(_ limit: RateLimit, at moments: [Int]) -> [Int?] {
        var bucket = TokenBucket(at: start)
        return moments.map { moment in
            bucket.take(limit, at: start + .milliseconds(moment)).map {
                Int($0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000)
            }
        }
    }

    @Test(
        arguments: [
            // As many at once as the limit says, and no more.
            (RateLimit(3, per: .seconds(3)), [0, 0, 0, 0, 0], [nil, nil, nil, 1000, 1000]),
            // They come back evenly.
            (RateLimit(3, per: .seconds(3)), [0, 0, 0, 999, 1000, 1000, 2000], [nil, nil, nil, 1, nil, 1000, nil]),
            // A pause fills the bucket, but not beyond its brim.
            (RateLimit(2, per: .seconds(2)), [0, 0, 60_000, 60_000, 60_000], [nil, nil, nil, nil, 1000]),
            // A refusal costs nothing.
            (
                RateLimit(1, per: .seconds(60)), [0, 1, 2, 3, 60_000, 60_001],
                [nil, 59_999, 59_998, 59_997, nil, 59_999]
            ),
            // One at the rate never waits.
            (RateLimit(10, per: .seconds(1)), [0, 100, 200, 300, 400, 500], [nil, nil, nil, nil, nil, nil]),
            // A moment before the last one, as two threads may bring them.
            (RateLimit(2, per: .seconds(2)), [1000, 0, 0], [nil, 1000, 1000]),
        ] as [(RateLimit, [Int], [Int?])]
    )
    func callsAreLetThroughAsTheyComeBack(limit: RateLimit, moments: [Int], waits: [Int?]) {
        #expect(Self.waits(limit, at: moments) == waits)
    }

    @Test func noPeriodEverSeesMoreThanTwiceTheLimit() {
        var generator = SeededGenerator.forTest()
        let limit = RateLimit(20, per: .seconds(10))
        var bucket = TokenBucket(at: Self.start)
        var moment = 0
        var taken: [Int] = []
        for _ in 0..<5000 {
            moment += Int.random(in: 0...200, using: &generator)
            let wait = bucket.take(limit, at: Self.start + .milliseconds(moment))
            if wait == nil { taken.append(moment) }
        }
        // A full bucket at once, and what comes back meanwhile.
        for (index, last) in taken.enumerated() {
            let count = taken[...index].count { $0 > last - 10_000 }
            #expect(count <= 40, "seed \(generator.seed)")
        }
        // And in the long run the rate itself.
        #expect(abs(Double(taken.count) / (Double(moment) / 1000) - 2) < 0.1, "seed \(generator.seed)")
    }

    @Test func aTableForgetsThoseItHasNotSeenForLongestAndStaysBounded() {
        let limit = RateLimit(1, per: .seconds(3600))
        var table = BucketTable<Int>(capacity: 200)
        #expect(table.take(0, limit, at: Self.start) == nil)
        for other in 1...150 { _ = table.take(other, limit, at: Self.start) }
        // Kept so far, and kept on by being asked for.
        #expect(table.take(0, limit, at: Self.start) != nil)
        for other in 151...240 { _ = table.take(other, limit, at: Self.start) }
        #expect(table.take(0, limit, at: Self.start) != nil)
        #expect(table.take(1, limit, at: Self.start) == nil)
        for other in 0...10_000 { _ = table.take(other, limit, at: Self.start) }
        #expect(table.count <= 200)
        table.removeAll()
        #expect(table.count == 0)
    }
}
