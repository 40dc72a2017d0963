import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// What hooks of saves see, may change and may refuse.
@Suite(.timeLimit(.minutes(60))) struct SaveHookTests {
    // MARK: Before

    @Test func aHookSeesTheWholeRecordBeforeAndAfterAndChangesFieldsAndAccess() async throws {
        let box = Records()
        let list = AccessList([AccessEntry(.everyone, .read)])
        let hook = TestHook.records("before", .beforeSave) { record in
            box.append(record)
            return sets(["title": .string("set"), "added": .string("x")], access: list)
        }
        try await withHooks([hook]) { hooked in
            var note = draft("note/ann", ["tags": jsonValue("[1]")])
            note.operators = [(field("stars"), .increment(by: 2))]
            let outcomes = try await hooked.save(note, draft("note/new", ["title": .string("new")]))
            let old = try #require(box.all.first { $0.record.id == id("note/ann") })
            #expect(old.original?.fields == [field("title"): "x", field("stars"): 1])
            #expect(old["stars"] == 3 && old["title"] == "x")
            #expect(old.changed == [field("stars"), field("tags")])
            #expect(old.record.owner == hooked.ann.userID && old.record.revision == old.original?.revision)
            let new = try #require(box.all.first { $0.record.id == id("note/new") })
            #expect(new.original == nil && new.changed == [field("title")] && new.record.createdAt != nil)
            #expect(new.record.owner == hooked.ann.userID)
            #expect(outcomes.map { $0.sent?.fields[field("title")] } == ["set", "set"])
            #expect(outcomes.map { $0.sent?.fields[field("added")] } == ["x", "x"])
            #expect(outcomes[0].sent?.fields[field("stars")] == 3)
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _access = '{\"public\": \"read\"}'") == "2")
            #expect(hooked.runner.calls == ["before(note/ann,note/new)"])
        }
    }

    @Test func theFirstErrorOfARecordEndsItAndTheOthersAreSaved() async throws {
        let first = TestHook.records("first", .beforeSave) { record in
            record["title"] == "bad" ? .refused(ownError) : sets(["title": .string("first")])
        }
        let second = TestHook.records("second", .beforeSave) { record in
            sets(["title": .string("\(record["title"] == "first")")])
        }
        try await withHooks([first, second]) { hooked in
            let drafts = ["good", "bad"].map { draft("note/\($0)", ["title": .string($0)]) }
            let outcomes = try await hooked.save(drafts[0], drafts[1])
            #expect(outcomes[0].sent?.fields[field("title")] == "true")
            #expect(outcomes[1].error == ownError)
            #expect(hooked.runner.calls == ["first(note/good,note/bad)", "second(note/good)"])
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _id = 'bad'") == "0")
            let error = try await expectError(.atomicOperationFailure) {
                try await hooked.save(draft("note/other", ["title": .string("x")]), drafts[1], atomic: true)
            }
            #expect(error?.info == ["note/bad": .error(ownError)])
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _id = 'other'") == "0")
        }
    }

    @Test func hooksRunInTheirOrderForWhatTheyAreAbout() async throws {
        let hooks = [
            TestHook.records("create", .beforeSave, when: [.create]) { _ in .unchanged },
            .records("title", .beforeSave, fields: ["title"]) { _ in .unchanged },
            .records("all", .beforeSave, on: nil) { _ in .unchanged },
            .records("skygear", .beforeSave, dialect: .skygear) { _ in .unchanged },
            .records("other", .beforeSave, on: "other") { _ in .unchanged },
        ]
        try await withHooks(hooks) { hooked in
            _ = try await hooked.save(draft("note/ann", ["stars": 2]))
            #expect(hooked.runner.calls == ["all(note/ann)", "skygear(note/ann)"])
            _ = try await hooked.save(draft("note/ann", ["title": "y"]), draft("note/new", ["stars": 1]))
            #expect(
                hooked.runner.calls[2..<5] == ["all(note/ann,note/new)", "create(note/new)", "title(note/ann)"]
            )
            #expect(Set(hooked.runner.calls[5...]) == ["skygear(note/ann)", "skygear(note/new)"])
        }
    }

    struct Misfit: Sendable {
        var set: [String: RecordValue?]
        var mode = SchemaMode.development
        var expected: String
        var stored: String
    }

    @Test(arguments: [
        Misfit(set: ["stars": .string("x")], expected: "IncompatibleSchema", stored: "1|x"),
        Misfit(set: ["stars": .number(1.5)], expected: "IncompatibleSchema", stored: "1|x"),
        Misfit(set: ["title": .boolean(true)], expected: "IncompatibleSchema", stored: "1|x"),
        Misfit(set: ["stars": .integer(7)], expected: "saved", stored: "7|y"),
        Misfit(set: ["stars": nil], expected: "saved", stored: "|y"),
        Misfit(set: ["added": .integer(7)], expected: "saved", stored: "1|y"),
        Misfit(set: ["added": .integer(7)], mode: .production, expected: "IncompatibleSchema", stored: "1|x"),
    ])
    func aHookChangesNoTypeOfAField(row: Misfit) async throws {
        let hook = TestHook.records("before", .beforeSave) { record in
            record.record.id == id("note/ann") ? sets(row.set) : .unchanged
        }
        try await withHooks([hook], row.mode) { hooked in
            let outcomes = try await hooked.save(
                draft("note/ann", ["title": .string("y")]),
                draft("note/other", ["title": .string("y")])
            )
            #expect(outcomes.map(\.summary) == [row.expected, "saved"])
            #expect(try await hooked.psql("SELECT stars, title FROM note WHERE _id = 'ann'") == row.stored)
        }
    }

    // MARK: Rights

    struct Forbidden: Sendable {
        var draft: RecordDraft
        var isByBob = false
    }

    static let forbidden: [Forbidden] = {
        var missing = draft("note/none", ["title": .string("y")])
        missing.precondition = .exists
        var stale = draft("note/ann", ["title": .string("y")])
        stale.precondition = .revision(1)
        var new = stale
        new.precondition = .isNew
        var unmet = draft("note/ann", ["title": .string("y")])
        unmet.condition = .comparison(.eq, .keyPath(try! FieldPath("stars")), .value(.integer(5)))
        var unfit = draft("note/ann")
        unfit.operators = [(field("stars"), .increment(by: .integer(.max)))]
        return [
            Forbidden(draft: draft("note/ann", ["title": .string("y")]), isByBob: true), Forbidden(draft: missing),
            Forbidden(draft: stale), Forbidden(draft: new), Forbidden(draft: unmet), Forbidden(draft: unfit),
            Forbidden(draft: draft("user/none", ["title": .string("y")])),
        ]
    }()

    /// F-11: 102, 110, 130 and 108 look as without a hook, and no hook runs.
    @Test(arguments: forbidden) func aRefusedSaveRunsNoHook(row: Forbidden) async throws {
        let hook = TestHook.records("before", .beforeSave, on: nil) { _ in sets(["title": .string("hook")]) }
        let after = TestHook.records("after", .afterSave, on: nil) { _ in .unchanged }
        try await withHooks([hook, after]) { hooked in
            let caller = row.isByBob ? hooked.bob : hooked.ann
            let plain = try await hooked.plain.service.save(SaveRequest(row.draft), by: caller).outcomes
            let outcomes = try await hooked.service.save(SaveRequest(row.draft), by: caller).outcomes
            #expect(outcomes[0].error != nil && outcomes[0].error == plain[0].error)
            #expect(hooked.runner.calls.isEmpty)
        }
    }

    @Test func aHookWritesFieldsThatItsCallerMayNot() async throws {
        let hook = TestHook.records("before", .beforeSave, on: "user") { record in
            record["title"] == "kept" ? sets(["_verified": .boolean(true)]) : sets(["email": .string("a@example.org")])
        }
        try await withHooks([hook]) { hooked in
            let profile = "user/\(hooked.ann.userID!)"
            var opened = draft(profile)
            opened.access = AccessList([AccessEntry(.everyone, .write)])
            _ = try await hooked.plain.service.save(SaveRequest(opened), by: hooked.ann)
            func save(_ fields: KeyValuePairs<String, RecordValue>) async throws -> String {
                try await hooked.service.save(SaveRequest(draft(profile, fields)), by: hooked.bob).summaries[0]
            }
            #expect(try await save(["email": .string("b@example.org")]) == "DeniedArgument")
            #expect(hooked.runner.calls.isEmpty)
            #expect(try await save(["title": .string("x")]) == "saved")
            let emails = try await hooked.psql("SELECT email FROM \"user\" WHERE username = 'ann'")
            #expect(emails == "a@example.org")
            // Only the service writes it.
            #expect(try await save(["title": .string("kept")]) == "DeniedArgument")
            #expect(try await hooked.psql("SELECT count(*) FROM \"user\" WHERE _verified OR title = 'kept'") == "0")
        }
    }

    @Test func aHookRefersToRecordsThatItsCallerCannotRead() async throws {
        let hook = TestHook.records("before", .beforeSave, when: [.create]) { _ in
            sets(["next": .reference(id("note/hidden"))])
        }
        try await withHooks([hook]) { hooked in
            var hidden = draft("note/hidden")
            hidden.access = AccessList([])
            _ = try await hooked.plain.service.save(SaveRequest(hidden), by: hooked.bob)
            let sent = draft("note/mine", ["next": .reference(id("note/hidden"))])
            let refused = try await hooked.plain.service.save(SaveRequest(sent), by: hooked.ann).summaries
            #expect(refused != ["saved"])
            let outcomes = try await hooked.save(draft("note/mine", ["title": .string("x")]))
            #expect(outcomes.map(\.summary) == ["saved"])
            #expect(try await hooked.psql("SELECT next FROM note WHERE _id = 'mine'") == "hidden")
        }
    }

    @Test func onlyTheMasterKeySavesWithoutHooks() async throws {
        let hook = TestHook.records("before", .beforeSave) { _ in .refused(ownError) }
        try await withHooks([hook]) { hooked in
            var request = SaveRequest(draft("note/1", ["title": .string("x")]))
            request.runsHooks = false
            let unhooked = request
            try await expectError(.permissionDenied) { try await hooked.service.save(unhooked, by: hooked.ann) }
            #expect(try await hooked.psql("SELECT count(*) FROM note WHERE _id = '1'") == "0")
            let saved = try await hooked.service.save(unhooked, by: ServiceFixture.masterCaller)
            #expect(saved.summaries == ["saved"])
            #expect(hooked.runner.calls.isEmpty)
        }
    }

    // MARK: Servers that are away

    @Test(arguments: [ErrorCode.pluginUnavailable, .pluginInitializing, .pluginTimeout], [true, false])
    func aServerThatIsAwayRefusesUnlessTheHookIsNotRequired(code: ErrorCode, isRequired: Bool) async throws {
        let hook = TestHook.records("before", .beforeSave, isRequired: isRequired) { _ throws(SkyrowError) in
            throw SkyrowError(code, "Away.")
        }
        try await withHooks([hook]) { hooked in
            let outcomes = try await hooked.save(draft("note/1"), draft("note/2"))
            #expect(outcomes.map(\.summary) == Array(repeating: isRequired ? code.name : "saved", count: 2))
            let skipped = hooked.plain.observations.count { $0 == .hooksSkipped(2) }
            #expect(skipped == (isRequired ? 0 : 1))
        }
    }

    @Test func anAnswerForAnotherNumberOfRecordsIsNone() async throws {
        let short = TestHook.other("before", .beforeSave, on: "note") { _, _ in .records([]) }
        try await withHooks([short]) { hooked in
            let outcomes = try await hooked.save(draft("note/1"))
            #expect(outcomes.map(\.summary) == ["UnexpectedError"])
        }
    }

    // MARK: After

    @Test func hooksAfterTheSaveGetWhatIsStoredAndTheirErrorsChangeNothing() async throws {
        let box = Records()
        let before = TestHook.records("before", .beforeSave) { _ in sets(["title": .string("set")]) }
        let after = TestHook.records("after", .afterSave) { record in
            box.append(record)
            return .refused(ownError)
        }
        let failing = TestHook.records("failing", .afterSave) { _ throws(SkyrowError) in throw ownError }
        try await withHooks([before, after, failing]) { hooked in
            let outcomes = try await hooked.save(draft("note/ann", ["stars": 2]), draft("note/new"))
            #expect(outcomes.map(\.summary) == ["saved", "saved"])
            #expect(box.all.map { $0["title"] } == ["set", "set"])
            #expect(box.all.map { $0.original?.fields[field("title")] } == ["x", nil])
            #expect(box.all.map(\.record.revision) == outcomes.map { $0.sent?.revision })
            for name in ["after", "failing"] {
                let failure = Observation.hookFailed(.afterSave, name: name, ownError.code)
                #expect(hooked.plain.observations.count { $0 == failure } == 1)
            }
        }
    }

    @Test(arguments: [nil, "k"], [false, true])
    func hooksAfterTheSaveGetFieldsThatTheirCallerMayNotRead(key: String?, isAtomic: Bool) async throws {
        let box = Records()
        let hooks = [
            TestHook.records("before", .beforeSave) { _ in sets(["tags": jsonValue("[1]")]) },
            .records("after", .afterSave) { record in
                box.append(record)
                return .unchanged
            },
        ]
        try await withHooks(hooks) { hooked in
            try await hooked.hide("title", "tags")
            let outcomes = try await hooked.save(
                draft("note/ann", ["stars": 2]),
                draft("note/new", ["stars": 3]),
                atomic: isAtomic,
                key: key
            )
            #expect(outcomes.map(\.summary) == ["saved", "saved"])
            for outcome in outcomes {
                let fields = outcome.sent?.fields ?? [:]
                #expect(fields[field("title")] == nil && fields[field("tags")] == nil)
                #expect(fields[field("stars")] != nil)
            }
            #expect(box.all.map { $0["title"] } == ["x", nil])
            #expect(box.all.map { $0["tags"] } == [jsonValue("[1]"), jsonValue("[1]")])
            #expect(box.all.map { $0["stars"] } == [2, 3])
            #expect(box.all.map { $0.original?.fields[field("title")] } == ["x", nil])
            // The revision is that of the write, not that of the preview.
            let stored = try await hooked.psql("SELECT _revision FROM note ORDER BY stars").split(separator: "\n")
            #expect(box.all.map { "\($0.record.revision ?? 0)" } == stored.map(String.init))
        }
    }

    @Test func theResponseDoesNotWaitForAnAsynchronousHook() async throws {
        let isAnswered = Deferred<Void>()
        let ran = Counter()
        let hook = TestHook.records("after", .afterSave, isAsync: true) { _ in
            await isAnswered.value()
            ran.increment()
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            let outcomes = try await hooked.save(draft("note/1"))
            #expect(outcomes.map(\.summary) == ["saved"] && ran.value == 0)
            isAnswered.settle()
            try await waiting(until: "the hook has run", hearing: [ran]) { ran.value == 1 }
        }
    }

    @Test func tooManyAsynchronousHooksAreSkippedAndCounted() async throws {
        let isOver = Deferred<Void>()
        let hook = TestHook.records("after", .afterSave, isAsync: true, batch: 1) { _ in
            await isOver.value()
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            let drafts = (0..<HookState.maximumAsyncCalls + 3).map { SaveRequest.Item.draft(draft("note/\($0)")) }
            let saved = try await hooked.service.save(SaveRequest(database: .everyone, items: drafts), by: hooked.ann)
            #expect(saved.summaries.allSatisfy { $0 == "saved" })
            #expect(hooked.plain.observations.count { $0 == .hooksSkipped(1) } == 3)
            isOver.settle()
        }
    }

    // MARK: Retries

    @Test func aRetryWithAKeyRunsNoHook() async throws {
        let hooks = [
            TestHook.records("before", .beforeSave) { _ in sets(["title": .string("set")]) },
            .records("after", .afterSave) { _ in .unchanged },
        ]
        try await withHooks(hooks) { hooked in
            var note = draft("note/ann")
            note.operators = [(field("stars"), .increment(by: 1))]
            for _ in 0..<2 {
                let outcomes = try await hooked.save(note, key: "k")
                #expect(outcomes[0].sent?.fields == [field("title"): "set", field("stars"): 2])
            }
            #expect(hooked.runner.calls == ["before(note/ann)", "after(note/ann)"])
        }
    }

    @Test func aRefusalOfAnAtomicRequestLeavesNoClaim() async throws {
        let gate = Gate()
        let hook = TestHook.records("before", .beforeSave) { _ in gate.isOpen ? .unchanged : .refused(ownError) }
        try await withHooks([hook]) { hooked in
            try await expectError(.atomicOperationFailure) {
                try await hooked.save(draft("note/1"), atomic: true, key: "k")
            }
            gate.open()
            let outcomes = try await hooked.save(draft("note/1"), atomic: true, key: "k")
            #expect(outcomes.map(\.summary) == ["saved"])
        }
    }

    @Test(arguments: [false, true]) func draftsOfOneRecordSeeEachOther(isAtomic: Bool) async throws {
        let hook = TestHook.records("before", .beforeSave) { record in
            sets(["title": .string(record["title"] == "set" ? "again" : "set")])
        }
        try await withHooks([hook]) { hooked in
            var first = draft("note/1")
            first.operators = [(field("stars"), .increment(by: 1))]
            let outcomes = try await hooked.save(first, first, atomic: isAtomic)
            #expect(outcomes.map { $0.sent?.fields[field("stars")] } == [1, 2])
            #expect(outcomes.map { $0.sent?.fields[field("title")] } == ["set", "again"])
        }
    }
}

/// A list that hooks append to.
private final class Gate: Sendable {
    private let state = Atomic(false)

    var isOpen: Bool { state.load(ordering: .sequentiallyConsistent) }

    func open() { state.store(true, ordering: .sequentiallyConsistent) }
}
