import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Records that change while their hooks run.
@Suite(.timeLimit(.minutes(60))) struct HookRaceTests {
    private static func increment(_ precondition: SavePrecondition? = nil) -> RecordDraft {
        var note = draft("note/ann")
        note.operators = [(field("stars"), .increment(by: 1))]
        note.precondition = precondition
        return note
    }

    /// A hook that adds to the record with psql as often as it is told, and copies what it saw to `title`.
    private static func meddling(_ times: Int, _ database: @escaping @Sendable () -> ServiceFixture?) -> TestHook {
        let meddler = Meddler(times)
        return .records("before", .beforeSave) { record in
            if meddler.takes(), let database = database() {
                _ = try? await database.psql(
                    "UPDATE note SET stars = stars + 10, _revision = _revision() WHERE _id = 'ann'"
                )
            }
            return sets(["title": shown(record["stars"])])
        }
    }

    struct Row: Sendable {
        var changes: Int
        var isAtomic = false
        var key: String?
        var expected: String
        var calls: Int
        /// `stars` in the end: 1, 10 for each change, and 1 for the save.
        var stars: String
    }

    @Test(arguments: [
        Row(changes: 0, expected: "saved", calls: 1, stars: "2"),
        Row(changes: 1, expected: "saved", calls: 2, stars: "12"),
        Row(changes: 2, expected: "saved", calls: 3, stars: "22"),
        Row(changes: 3, expected: "Conflict", calls: 3, stars: "31"),
        Row(changes: 2, isAtomic: true, expected: "saved", calls: 3, stars: "22"),
        Row(changes: 3, isAtomic: true, expected: "AtomicOperationFailure", calls: 3, stars: "31"),
        Row(changes: 2, key: "k", expected: "saved", calls: 3, stars: "22"),
        Row(changes: 3, key: "k", expected: "Conflict", calls: 3, stars: "31"),
        Row(changes: 2, isAtomic: true, key: "k", expected: "saved", calls: 3, stars: "22"),
    ])
    func aSaveIsRepeatedForTheRecordAsItIsNow(row: Row) async throws {
        let database = Late()
        try await withHooks([Self.meddling(row.changes) { database.fixture }]) { hooked in
            database.set(hooked.plain)
            do {
                let outcomes = try await hooked.save(Self.increment(), atomic: row.isAtomic, key: row.key)
                #expect(outcomes.map(\.summary) == [row.expected])
                if row.expected == "saved" {
                    #expect(outcomes[0].sent?.fields[field("title")] == .string("saw \(row.stars)"))
                }
            } catch let error as SkyrowError {
                #expect(error.code.name == row.expected)
            }
            #expect(hooked.runner.calls.count == row.calls)
            #expect(try await hooked.psql("SELECT stars FROM note WHERE _id = 'ann'") == row.stars)
        }
    }

    @Test func aClientThatNamesARevisionWantsNoOther() async throws {
        let database = Late()
        try await withHooks([Self.meddling(1) { database.fixture }]) { hooked in
            database.set(hooked.plain)
            let revision = try #require(Int64(try await hooked.psql("SELECT _revision FROM note WHERE _id = 'ann'")))
            let outcomes = try await hooked.save(Self.increment(.revision(revision)))
            #expect(outcomes.map(\.summary) == ["Conflict"])
            #expect(hooked.runner.calls.count == 1)
        }
    }

    @Test func aRecordThatIsDeletedMeanwhileIsMissing() async throws {
        let database = Late()
        let hook = TestHook.records("before", .beforeSave) { _ in
            _ = try? await database.fixture?.psql("DELETE FROM note")
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            database.set(hooked.plain)
            let outcomes = try await hooked.save(Self.increment(.exists))
            #expect(outcomes.map(\.summary) == ["ResourceNotFound"])
        }
    }

    @Test func theOtherRecordsOfARequestAreSavedOnce() async throws {
        let database = Late()
        try await withHooks([Self.meddling(1) { database.fixture }]) { hooked in
            database.set(hooked.plain)
            var other = draft("note/other")
            other.operators = [(field("stars"), .increment(by: 1))]
            let outcomes = try await hooked.save(Self.increment(), other)
            #expect(outcomes.map(\.summary) == ["saved", "saved"])
            #expect(hooked.runner.calls == ["before(note/ann,note/other)", "before(note/ann)"])
            #expect(try await hooked.psql("SELECT stars FROM note ORDER BY _id") == "12\n1")
        }
    }

    /// F-9: none of 200 concurrent increments of a hooked record is lost.
    @Test func twoHundredConcurrentIncrementsAreTwoHundred() async throws {
        let hook = TestHook.records("before", .beforeSave) { record in
            sets(["title": shown(record["stars"])])
        }
        try await withHooks([hook]) { hooked in
            let saved = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<200 {
                    group.addTask { try await hooked.save(Self.increment()).map(\.summary) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(saved == Array(repeating: "saved", count: 200))
            #expect(try await hooked.psql("SELECT stars, title FROM note WHERE _id = 'ann'") == "201|saw 201")
            // A turn each, so that no hook ran in vain.
            #expect(hooked.runner.calls.count == 200)
        }
    }

    @Test func twoProcessesLoseNoIncrementThatTheyConfirm() async throws {
        let hook = TestHook.records("before", .beforeSave) { record in
            sets(["title": shown(record["stars"])])
        }
        try await withHooks([hook]) { hooked in
            let services = [hooked, hooked.further([hook])]
            let saved = try await withThrowingTaskGroup(of: [String].self) { group in
                for number in 0..<60 {
                    group.addTask { try await services[number % 2].save(Self.increment()).map(\.summary) }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let count = saved.count { $0 == "saved" }
            #expect(count > 0 && saved.allSatisfy { $0 == "saved" || $0 == "Conflict" })
            #expect(
                try await hooked.psql("SELECT stars, title FROM note WHERE _id = 'ann'")
                    == "\(count + 1)|saw \(count + 1)"
            )
        }
    }

    @Test func aHookThatSavesItsOwnRecordWaitsForNoTurn() async throws {
        let database = Late()
        let hook = TestHook.other("before", .beforeSave, on: "note") { _, context throws(SkyrowError) in
            guard context.depth < 3, let service = database.service, let caller = database.caller else {
                return .records([.unchanged])
            }
            let call = Call(by: caller, functionDepth: context.depth)
            _ = try await service.perform(Actions.recordSave, SaveRequest(Self.increment()), call)
            return .records([.unchanged])
        }
        try await withHooks([hook]) { hooked in
            database.set(hooked.plain, hooked.service, hooked.ann)
            let outcomes = try await hooked.save(Self.increment())
            // Each save is overtaken by the one that its own hook makes.
            #expect(outcomes.map(\.summary) == ["Conflict"])
        }
    }

    @Test func aCancelledRequestLeavesTheLine() async throws {
        let turns = RecordTurns()
        let key = RecordTurns.Key(database: .everyone, id: id("note/1"))
        try await turns.enter([key])
        let waiter = Task { try await turns.enter([key]) }
        waiter.cancel()
        let result = await waiter.result
        guard case .failure(let error as SkyrowError) = result else {
            Issue.record("It got the turn of another.")
            return
        }
        #expect(error.code == .responseTimeout)
        turns.leave([key])
        try await turns.enter([key])
        turns.leave([key])
    }
}

/// The text of a value, by which a test sees which one a hook got.
private func shown(_ value: RecordValue?) -> RecordValue {
    if case .integer(let number)? = value { .string("saw \(number)") } else { .null }
}

/// Counts down.
private final class Meddler: Sendable {
    private let left: Mutex<Int>

    init(_ times: Int) { left = Mutex(times) }

    func takes() -> Bool {
        left.withLock { left in
            guard left > 0 else { return false }
            left -= 1
            return true
        }
    }
}

/// The service of a test, for hooks that are made before it.
private final class Late: Sendable {
    private let known = Mutex<(fixture: ServiceFixture, service: ActionService?, caller: Caller?)?>(nil)

    var fixture: ServiceFixture? { known.withLock { $0?.fixture } }
    var service: ActionService? { known.withLock { $0?.service } }
    var caller: Caller? { known.withLock { $0?.caller } }

    func set(_ fixture: ServiceFixture, _ service: ActionService? = nil, _ caller: Caller? = nil) {
        known.withLock { $0 = (fixture, service, caller) }
    }
}
