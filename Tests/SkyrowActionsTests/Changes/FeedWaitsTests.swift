import SkyrowModel
import Testing

@testable import SkyrowActions

/// Who waits for what, without a database.
@Suite struct FeedWaitsTests {
    static let here = ClientKey(high: 0, low: 1)
    static let there = ClientKey(high: 0, low: 2)
    static let notes = FeedWaits.Subject(type: type("note"), database: .everyone)
    static let tasks = FeedWaits.Subject(type: type("task"), database: .everyone)
    static let early = TransactionSet(end: 10, missing: [7])
    static let late = TransactionSet(end: 12)

    @Test func aClientHasAShareAndAllHaveALimit() {
        var waits = FeedWaits(FeedWaits.Limits(all: 3, ofClient: 2))
        #expect(waits.arrive(1, of: Self.here, for: Self.notes, since: Self.early) == .waits)
        #expect(waits.arrive(2, of: Self.here, for: Self.tasks, since: Self.early) == .waits)
        #expect(waits.arrive(3, of: Self.here, for: Self.notes, since: Self.early) == .clientIsFull)
        #expect(waits.arrive(4, of: Self.there, for: Self.notes, since: Self.early) == .waits)
        #expect(waits.arrive(5, of: Self.there, for: Self.notes, since: Self.early) == .isFull)
        let left = [waits.leave(1), waits.leave(1), waits.leave(3)]
        #expect(left == [true, false, false])
        #expect(waits.arrive(6, of: Self.here, for: Self.notes, since: Self.early) == .waits)
        #expect(waits.count == 3)
    }

    @Test func manyRequestsAreOneQuestionOfTheOldest() {
        var waits = FeedWaits(FeedWaits.Limits(all: 9, ofClient: 9))
        _ = waits.arrive(1, of: Self.here, for: Self.notes, since: Self.late)
        _ = waits.arrive(2, of: Self.there, for: Self.notes, since: Self.early)
        _ = waits.arrive(3, of: Self.there, for: Self.notes, since: Self.late)
        #expect(waits.questions.map(\.seen) == [Self.early])
        _ = waits.arrive(4, of: Self.here, for: Self.tasks, since: Self.late)
        #expect(waits.questions.count == 2)
    }

    @Test func aChangeWakesThoseOfItsRecordsAlone() {
        var waits = FeedWaits(FeedWaits.Limits(all: 9, ofClient: 9))
        _ = waits.arrive(1, of: Self.here, for: Self.notes, since: Self.early)
        _ = waits.arrive(2, of: Self.there, for: Self.notes, since: Self.early)
        _ = waits.arrive(3, of: Self.there, for: Self.tasks, since: Self.early)
        let woken = waits.answered(Self.notes, since: Self.early, hasChanged: true, at: Self.late)
        #expect(Set(woken) == [1, 2])
        #expect(waits.count == 1)
        let again = waits.answered(Self.notes, since: Self.early, hasChanged: true, at: Self.late)
        #expect(again.isEmpty)
    }

    @Test func withoutAChangeTheNextQuestionBeginsLater() {
        var waits = FeedWaits(FeedWaits.Limits(all: 9, ofClient: 9))
        _ = waits.arrive(1, of: Self.here, for: Self.notes, since: Self.early)
        let woken = waits.answered(Self.notes, since: Self.early, hasChanged: false, at: Self.late)
        #expect(woken.isEmpty)
        #expect(waits.questions.map(\.seen) == [Self.late])
        // One that came while the question was asked has less than what was asked about.
        _ = waits.arrive(2, of: Self.here, for: Self.notes, since: Self.early)
        _ = waits.answered(Self.notes, since: Self.late, hasChanged: false, at: TransactionSet(end: 20))
        #expect(waits.questions.map(\.seen) == [Self.early])
    }

    @Test func theEndLetsAllGoAndNoneIn() {
        var waits = FeedWaits(FeedWaits.Limits(all: 9, ofClient: 9))
        _ = waits.arrive(1, of: Self.here, for: Self.notes, since: Self.early)
        _ = waits.arrive(2, of: Self.here, for: Self.tasks, since: Self.early)
        let ended = waits.end()
        #expect(Set(ended) == [1, 2])
        #expect(waits.count == 0 && waits.hasEnded)
        #expect(waits.arrive(3, of: Self.here, for: Self.notes, since: Self.early) == .hasEnded)
    }
}
