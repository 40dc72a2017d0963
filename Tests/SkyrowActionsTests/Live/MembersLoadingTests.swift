import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What changes while members are read is judged when they have come, and is bounded.
@Suite struct MembersLoadingTests {
    private static let notes = LiveScene.table.name
    private static let others = RecordTable(name: type("other"), schema: "app", identifier: "other", columns: [])

    /// A transaction that changes as many records.
    private static func transaction(
        _ id: Int64,
        of table: RecordTable = LiveScene.table,
        count: Int = 1,
        title: String = ""
    ) -> CommittedTransaction {
        let changes = (0..<count).map { number in
            RecordChange(
                of: table,
                storedID: "\(number)",
                before: .unknown(mayBeNew: false),
                after: StoredRecord(
                    type: table.name,
                    storedID: "\(number)",
                    fields: [field("title"): .scalar(.text(title))]
                ),
                rows: nil
            )
        }
        return CommittedTransaction(id: .revision(id), changes: changes)
    }

    private static func ids(_ transactions: [CommittedTransaction]?) -> [Int64]? {
        transactions?.compactMap { if case .revision(let id) = $0.id { id } else { nil } }
    }

    @Test func aReadingGetsWhatCameSinceItBegan() {
        var loading = MembersLoading()
        #expect(loading.note(Self.transaction(1)) == [])
        let first = loading.begin(1, of: Self.notes)
        #expect(loading.note(Self.transaction(2)) == [])
        #expect(loading.note(Self.transaction(3, of: Self.others)) == [])
        let second = loading.begin(2, of: Self.notes)
        #expect(loading.note(Self.transaction(4)) == [])
        #expect(Self.ids(loading.finish(1, first)) == [2, 4])
        #expect(!loading.contains(1) && loading.contains(2))
        #expect(Self.ids(loading.finish(2, second)) == [4])
        #expect(loading.finish(2, second) == nil)
    }

    /// Members were forgotten and another subscription reads them: what the first one has found is from before.
    @Test func aReadingThatWasGivenUpCountsNoMore() {
        var loading = MembersLoading()
        let former = loading.begin(1, of: Self.notes)
        #expect(loading.note(Self.transaction(1)) == [])
        loading.cancel(1)
        let reading = loading.begin(1, of: Self.notes)
        #expect(loading.note(Self.transaction(2)) == [])
        #expect(loading.finish(1, former) == nil)
        #expect(Self.ids(loading.finish(1, reading)) == [2])
    }

    @Test(arguments: [(MembersLoading.maximumChanges + 1, 0), (17, 1 << 20)])
    func tooManyChangesHaveAllMembersReadAnew(_ count: Int, _ bytes: Int) {
        var loading = MembersLoading()
        let first = loading.begin(1, of: Self.notes)
        _ = loading.begin(2, of: Self.notes)
        let title = String(repeating: "x", count: bytes)
        #expect(loading.note(Self.transaction(1, count: count - 1, title: title)) == [])
        // What is of no type that is read does not count.
        #expect(loading.note(Self.transaction(2, of: Self.others, count: count, title: title)) == [])
        #expect(Set(loading.note(Self.transaction(3, title: title))) == [1, 2])
        let again = loading.begin(1, of: Self.notes)
        #expect(loading.finish(1, first) == nil)
        #expect(loading.note(Self.transaction(4, count: count - 1, title: title)) == [])
        #expect(Self.ids(loading.finish(1, again)) == [4])
        // Nothing is left of it.
        let last = loading.begin(3, of: Self.notes)
        #expect(loading.note(Self.transaction(5, count: count - 1, title: title)) == [])
        #expect(Self.ids(loading.finish(3, last)) == [5])
    }

    /// Against a list of all transactions.
    @Test(arguments: 0..<UInt64(seededCases(50)))
    func generatedSchedulesAgreeWithAList(_ seed: UInt64) {
        var random = SeededGenerator(seed: SeededGenerator.seedOfRun &+ seed)
        var loading = MembersLoading()
        var all: [Int64] = []
        var readings: [Int: (reading: MembersLoading.Reading, from: Int)] = [:]
        for _ in 0..<300 {
            let group = Int.random(in: 0..<5, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where readings[group] == nil:
                readings[group] = (loading.begin(group, of: Self.notes), all.count)
            case 1:
                guard let (reading, from) = readings.removeValue(forKey: group) else { continue }
                let since = Self.ids(loading.finish(group, reading))
                #expect(since == Array(all[from...]))
            case 2:
                loading.cancel(group)
                readings[group] = nil
            default:
                let id = Int64(all.count)
                let count = Int.random(in: 0..<50, using: &random) == 0 ? 6_000 : 1
                all.append(id)
                let overflown = loading.note(Self.transaction(id, count: count))
                #expect(overflown.isEmpty || Set(overflown) == Set(readings.keys))
                for group in overflown { readings[group] = nil }
            }
            #expect((0..<5).allSatisfy { loading.contains($0) == (readings[$0] != nil) })
        }
    }

    /// What the first reading has found would be taken for the present, and what came between the two would be missed.
    @Test func membersOfAFormerReadingAreRefused() throws {
        var scene = LiveScene()
        scene.state.mode = .polling
        scene.connect(1, MemoryOutlet())
        let subscriber = try scene.subscribe("s", on: 1, group: 1, as: "ann")
        let group = try #require(scene.state.registry.subscribers[subscriber]?.group)
        let begun = scene.state.registry.beginMembers(of: group)
        let former = try #require(begun)
        let isBegunTwice = scene.state.registry.beginMembers(of: group) != nil
        #expect(!isBegunTwice)
        scene.state.registry.forgetAllMembers()
        _ = scene.state.registry.dispatch(Self.transaction(1))
        let begunAnew = scene.state.registry.beginMembers(of: group)
        let reading = try #require(begunAnew)
        _ = scene.state.registry.dispatch(Self.transaction(2))
        let start = LiveStart(moment: LiveScene.moment(1, at: 1))
        let ofFormer = scene.state.registry.setMembers(of: group, former, [], readAt: start)
        #expect(ofFormer == nil)
        scene.state.registry.endMembers(of: group, former)
        let ofReading = scene.state.registry.setMembers(of: group, reading, [], readAt: start)
        #expect(ofReading != nil)
        #expect(scene.state.registry.hasMembers(group))
        // Its end has nothing to do with those that are known.
        scene.state.registry.endMembers(of: group, reading)
        #expect(scene.state.registry.hasMembers(group))
    }
}
