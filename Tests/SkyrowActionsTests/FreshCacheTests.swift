import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct FreshCacheTests {
    private static let start = ContinuousClock.now

    @Test func aValueIsFreshForItsTimeAndKnownAfterIt() {
        var cache = FreshCache<String, Int>(capacity: 10, freshness: .seconds(1))
        cache.insert(1, for: "a", loadedAt: Self.start, epoch: cache.epoch)
        let rows: [(Duration, Bool)] = [(.zero, true), (.milliseconds(999), true), (.seconds(1), false)]
        for (age, isFresh) in rows {
            let found = cache.value(for: "a", at: Self.start + age)
            #expect(found?.value == 1 && found?.isFresh == isFresh, "\(age)")
        }
        let isKnown = cache.value(for: "b", at: Self.start) != nil
        #expect(!isKnown)
    }

    @Test func unusedValuesAreDroppedAndNothingIsInvalidated() {
        var cache = FreshCache<Int, Int>(capacity: 4, freshness: .seconds(1))
        for key in 0..<4 {
            cache.insert(key, for: key, loadedAt: Self.start + .seconds(key), epoch: cache.epoch)
        }
        let epoch = cache.epoch
        cache.removeAll(loadedBefore: Self.start + .seconds(2))
        #expect(cache.count == 2 && cache.epoch == epoch)
        let kept = [0, 1, 2, 3].filter { cache.value(for: $0, at: Self.start) != nil }
        #expect(kept == [2, 3])
    }

    private struct Change {
        let time: ContinuousClock.Instant
        var isNoticed = false
    }

    private struct Load {
        let key: Int
        let time: ContinuousClock.Instant
        let epoch: Int
        var value: Int?
    }

    /// A row whose value is the number of its changes, in a database whose notices come late or never.
    @Test func aChangeIsSeenWithItsNoticeOrAfterASecond() {
        var random = SeededGenerator.forTest()
        var (hits, late, refused) = (0, 0, 0)
        for _ in 0..<seededCases(200) {
            var cache = FreshCache<Int, Int>(capacity: Int.random(in: 1...8, using: &random), freshness: .seconds(1))
            var changes: [[Change]] = [[], [], []]
            var loads: [Load] = []
            var now = Self.start
            for _ in 0..<100 {
                let key = Int.random(in: changes.indices, using: &random)
                switch Int.random(in: 0..<8, using: &random) {
                case 0, 1:
                    loads.append(Load(key: key, time: now, epoch: cache.epoch))
                case 2:
                    guard let place = loads.indices.randomElement(using: &random) else { continue }
                    loads[place].value = changes[loads[place].key].count
                case 3:
                    guard let place = loads.indices.randomElement(using: &random), let value = loads[place].value
                    else { continue }
                    let load = loads.remove(at: place)
                    if load.epoch != cache.epoch { refused += 1 }
                    cache.insert(value, for: load.key, loadedAt: load.time, epoch: load.epoch)
                case 4:
                    changes[key].append(Change(time: now))
                case 5:
                    for place in changes[key].indices { changes[key][place].isNoticed = true }
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: cache.remove(key)
                    case 1: cache.removeAll { other, _ in other == key }
                    default: cache.removeAll()
                    }
                case 6:
                    now += .milliseconds(Int.random(in: 0..<600, using: &random))
                default:
                    guard let found = cache.value(for: key, at: now), found.isFresh else { continue }
                    hits += 1
                    guard let missed = changes[key].dropFirst(found.value).first else { continue }
                    late += 1
                    #expect(!missed.isNoticed && now - missed.time < .seconds(1))
                }
                #expect(cache.count <= 8)
            }
        }
        #expect(hits > 0 && late > 0 && refused > 0)
    }
}
