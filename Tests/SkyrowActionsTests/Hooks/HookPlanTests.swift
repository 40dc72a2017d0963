import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowActions

/// Which hooks run, for which records, in which calls, and what they change, without a database.
@Suite struct HookPlanTests {
    private static func description(
        _ name: String,
        _ type: String?,
        _ change: (inout HookDescription) -> Void = { _ in }
    ) -> HookDescription {
        var description = HookDescription(name, .beforeSave, on: type.map { try! RecordTypeName($0) })
        change(&description)
        return description
    }

    private static func registry(_ servers: [(String, FunctionDialect, [HookDescription])]) -> FunctionRegistry {
        FunctionRegistry(
            servers: servers.map { name, dialect, hooks in
                var registration = FunctionRegistration(dialect: dialect)
                registration.hooks = hooks
                return (name: name, registration: registration)
            },
            database: []
        )
    }

    @Test func serversRunAsConfiguredAndHooksOfAllTypesFirst() {
        let registry = Self.registry([
            (
                "one", .skyrow,
                [Self.description("b", "note"), Self.description("a", nil), Self.description("c", "note")]
            ),
            ("two", .skygear, [Self.description("d", nil), Self.description("e", "other")]),
        ])
        let plan = HookPlan(.beforeSave, on: [type("note"), type("third")], in: registry)
        #expect(plan[type("note")].map(\.description.name) == ["a", "b", "c", "d"])
        #expect(plan[type("third")].map(\.description.name) == ["a", "d"])
        #expect(plan[type("other")].isEmpty)
        #expect(HookPlan(.afterSave, on: [type("note")], in: registry).isEmpty)
        let others = Self.registry([("one", .skyrow, [Self.description("b", "note")])])
        #expect(HookPlan(.beforeSave, on: [type("other")], in: others).types.isEmpty)
        #expect(others.hasHooks(.beforeSave, on: type("note")))
        #expect(!others.hasHooks(.beforeSave, on: type("other")))
    }

    @Test(
        arguments: [
            (FunctionDialect.skygear, 100, [1, 1, 1, 1, 1]), (.skyrow, 2, [2, 2, 1]), (.skyrow, 100, [5]),
            (.skyrow, 0, [1, 1, 1, 1, 1]),
        ] as [(FunctionDialect, Int, [Int])]
    )
    func aCallHasAsManyRecordsAsItsServerTakes(dialect: FunctionDialect, batch: Int, sizes: [Int]) {
        let hook = FunctionRegistry.Hook(
            description: Self.description("a", nil) { $0.batch = batch },
            server: "one",
            dialect: dialect
        )
        #expect(hook.calls(for: Array(0..<5)).map(\.count) == sizes)
        #expect(hook.calls(for: Array(0..<5)).joined().elementsEqual(0..<5))
        #expect(hook.calls(for: [Int]()).isEmpty)
        #expect(hook.calls(for: Array(0..<1000)).allSatisfy { $0.count <= 100 })
    }

    struct Concern: Sendable {
        var when: Set<HookDescription.Change> = [.create, .update]
        var fields: Set<String> = []
        var isNew = false
        var changed: [String] = ["title"]
        var runs: Bool
    }

    @Test(arguments: [
        Concern(runs: true), Concern(when: [.create], runs: false), Concern(when: [.create], isNew: true, runs: true),
        Concern(when: [.update], isNew: true, runs: false), Concern(when: [.update], runs: true),
        Concern(fields: ["title"], runs: true), Concern(fields: ["stars"], runs: false),
        Concern(fields: ["stars", "title"], runs: true), Concern(fields: ["title"], changed: [], runs: false),
        Concern(changed: [], runs: true),
    ])
    func aHookRunsForWhatItIsAbout(row: Concern) {
        let description = Self.description("a", nil) {
            $0.when = row.when
            $0.fields = Set(row.fields.map { field($0) })
        }
        let hook = FunctionRegistry.Hook(description: description, server: "one", dialect: .skyrow)
        let record = Record(id: id("note/1"))
        let hooked = HookedRecord(record, original: row.isNew ? nil : record, changed: row.changed.map { field($0) })
        #expect(hook.concerns(hooked) == row.runs)
    }

    /// The draft sets `title` and increments `stars` of a record with the revision 7.
    private static func change(isNew: Bool = false) -> (change: HookedChange, draft: RecordDraft) {
        var original = Record(id: id("note/1"), fields: [field("title"): "old", field("stars"): 1])
        original.revision = 7
        var record = original
        record.fields = [field("title"): "new", field("stars"): 2]
        var sent = draft("note/1", ["title": "new"])
        sent.operators = [(field("stars"), .increment(by: 1))]
        let hooked = HookedRecord(record, original: isNew ? nil : original, changed: [field("stars"), field("title")])
        return (HookedChange(hooked), sent)
    }

    @Test func whatNoHookSetsStaysAsItWasSent() {
        let (start, sent) = Self.change()
        var change = start
        change.apply(.accepted(set: change.record.record.fields.mapValues { $0 }, access: nil), of: .beforeSave)
        let hooked = change.draft(from: sent, isLater: false)
        #expect(hooked.operators.map(\.name) == [field("stars")] && hooked.fields.map(\.name) == [field("title")])
        #expect(hooked.trusted == nil && hooked.precondition == .revision(7))
    }

    @Test func aFieldThatAHookSetsReplacesItsOperator() {
        let (start, sent) = Self.change()
        var change = start
        change.apply(sets(["stars": .integer(9), "added": .string("x")]), of: .beforeSave)
        let list = AccessList([AccessEntry(.everyone, .read)])
        change.apply(sets(["title": nil], access: list), of: .beforeSave)
        #expect(change.record.changed == ["added", "stars", "title"].map { field($0) })
        #expect(change.record.record.fields == [field("stars"): 9, field("added"): "x"])
        let hooked = change.draft(from: sent, isLater: false)
        #expect(hooked.operators.isEmpty && hooked.access == list)
        #expect(hooked.fields.map(\.name.rawValue) == ["added", "stars", "title"])
        #expect(hooked.fields.map(\.value) == ["x", 9, .null])
        let names = Set(["added", "stars", "title"].map { field($0) })
        #expect(hooked.trusted == TrustedMembers(fields: names, hasAccess: true))
    }

    @Test func aHookMaySetAFieldBack() {
        var change = Self.change().change
        change.apply(sets(["title": .string("old")]), of: .beforeSave)
        #expect(change.record.changed == [field("stars")])
    }

    @Test func onlyHooksBeforeSavesChangeRecords() {
        for trigger in [HookTrigger.beforeDelete, .afterSave] {
            let (start, sent) = Self.change()
            var change = start
            change.apply(sets(["stars": .integer(9)]), of: trigger)
            #expect(change.draft(from: sent, isLater: false).trusted == nil)
            change.apply(.refused(ownError), of: trigger)
            #expect(change.refusal == ownError)
        }
        var change = Self.change().change
        change.apply(.dropped, of: .beforeSave)
        #expect(change.refusal?.code == .unexpectedError)
    }

    struct Condition: Sendable {
        var sent: SavePrecondition?
        var id = "note/1"
        var isNew = false
        var isLater = false
        var expected: SavePrecondition?
        var repeats: Bool
    }

    @Test(arguments: [
        Condition(expected: .revision(7), repeats: true), Condition(isNew: true, expected: .isNew, repeats: true),
        Condition(sent: .exists, expected: .revision(7), repeats: true),
        Condition(sent: .revision(7), expected: .revision(7), repeats: false),
        Condition(sent: .isNew, isNew: true, expected: .isNew, repeats: false),
        Condition(id: "note/$1", isNew: true, expected: nil, repeats: false),
        Condition(isLater: true, expected: nil, repeats: true),
    ])
    func aSaveHoldsOnlyForTheRecordThatHooksSaw(row: Condition) {
        let change = Self.change(isNew: row.isNew).change
        var sent = draft(row.id)
        sent.precondition = row.sent
        #expect(change.draft(from: sent, isLater: row.isLater).precondition == row.expected)
        #expect(sent.repeatsAfterRace == row.repeats)
    }
}
