import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowActions

/// Hooks of deletes, and of changes by predicate.
@Suite(.timeLimit(.minutes(60))) struct DeleteHookTests {
    private static let hooks = [
        TestHook.records("before", .beforeDelete) { record in
            record["title"] == "kept" ? .refused(ownError) : sets(["title": .string("ignored")])
        },
        .records("after", .afterDelete) { _ in .unchanged },
    ]

    /// Saves records without hooks.
    private func save(_ titles: KeyValuePairs<String, String>, by caller: Caller, _ hooked: HookedService) async throws
    {
        let items = titles.map { SaveRequest.Item.draft(draft("note/\($0.key)", ["title": .string($0.value)])) }
        _ = try await hooked.plain.service.save(SaveRequest(database: .everyone, items: items), by: caller)
    }

    @Test(arguments: [nil, "k"]) func aHookRefusesSomeRecordsAndTheOthersAreDeleted(key: String?) async throws {
        try await withHooks(Self.hooks) { hooked in
            try await save(["1": "x", "2": "kept"], by: hooked.ann, hooked)
            let ids = ["note/1", "note/2", "note/none"]
            let summaries = try await hooked.service.delete(ids, key: key, by: hooked.ann).summaries
            #expect(summaries == ["deleted", ownError.code.name, "ResourceNotFound"])
            #expect(hooked.runner.calls == ["before(note/1,note/2)", "after(note/1)"])
            #expect(try await hooked.psql("SELECT _id, title FROM note WHERE _id <> 'ann'") == "2|kept")
            if key != nil {
                let again = try await hooked.service.delete(ids, key: key, by: hooked.ann).summaries
                #expect(again == summaries && hooked.runner.calls.count == 2)
            }
        }
    }

    @Test(arguments: [nil, "k"]) func anAtomicDeleteIsRefusedAsAWhole(key: String?) async throws {
        try await withHooks(Self.hooks) { hooked in
            try await save(["1": "x", "2": "kept"], by: hooked.ann, hooked)
            let error = try await expectError(.atomicOperationFailure) {
                try await hooked.service.delete(["note/1", "note/2"], atomic: true, key: key, by: hooked.ann)
            }
            #expect(error?.info == ["note/2": .error(ownError)])
            #expect(try await hooked.psql("SELECT count(*) FROM note") == "3")
            let calls = hooked.runner.calls.count
            try await expectError(.atomicOperationFailure) {
                try await hooked.service.delete(["note/1", "note/none"], atomic: true, by: hooked.ann)
            }
            #expect(hooked.runner.calls.count == calls)
            let done = try await hooked.service.delete(["note/1", "note/ann"], atomic: true, by: hooked.ann)
            #expect(done.summaries == ["deleted", "deleted"])
        }
    }

    /// F-11
    @Test func aRefusedDeleteRunsNoHook() async throws {
        try await withHooks(Self.hooks) { hooked in
            for ids in [["note/ann"], ["note/none"], ["user/\(hooked.ann.userID!)"]] {
                let plain = try await hooked.plain.service.delete(ids, by: hooked.bob)
                let outcomes = try await hooked.service.delete(ids, by: hooked.bob)
                #expect(outcomes.summaries == plain.summaries && outcomes.summaries != ["deleted"])
            }
            #expect(hooked.runner.calls.isEmpty)
        }
    }

    @Test func onlyTheMasterKeyDeletesWithoutHooks() async throws {
        try await withHooks(Self.hooks) { hooked in
            var request = RecordIDsRequest(database: .everyone, ids: [id("note/ann")])
            request.runsHooks = false
            let unhooked = RecordDeletion.ids(request)
            try await expectError(.permissionDenied) {
                try await hooked.service.perform(Actions.recordDelete, unhooked, Call(by: hooked.ann))
            }
            let call = Call(by: ServiceFixture.masterCaller)
            let deleted = try await hooked.service.perform(Actions.recordDelete, unhooked, call)
            #expect(deleted.summaries == ["deleted"] && hooked.runner.calls.isEmpty)
        }
    }

    @Test func hooksGetFieldsThatTheirCallerMayNotRead() async throws {
        let box = Records()
        let hooks = [HookTrigger.beforeDelete, .afterDelete, .afterSave].map { trigger in
            TestHook.records("\(trigger)", trigger) { record in
                box.append(record)
                return .unchanged
            }
        }
        try await withHooks(hooks) { hooked in
            try await hooked.hide("title")
            let request = BulkRequest(
                database: .everyone,
                type: type("note"),
                match: .predicate(.comparison(.eq, .keyPath(try FieldPath("stars")), .value(.integer(1)))),
                change: .update(RecordChanges(draft("note/set", ["stars": 2])), size: 20)
            )
            _ = try await hooked.service.perform(Actions.recordUpdate, request, Call(by: hooked.ann))
            let deleted = try await hooked.service.delete(["note/ann"], by: hooked.ann).summaries
            #expect(deleted == ["deleted"])
            #expect(
                hooked.runner.calls == ["afterSave(note/ann)", "beforeDelete(note/ann)", "afterDelete(note/ann)"]
            )
            #expect(box.all.map { $0["title"] } == ["x", "x", "x"])
            #expect(box.all.map { $0["stars"] } == [2, 2, 2])
        }
    }

    struct Race: Sendable {
        var changes: Int
        var isAtomic = false
        var key: String?
        var expected: String
        var calls: Int
    }

    @Test(arguments: [
        Race(changes: 1, expected: "deleted", calls: 2), Race(changes: 3, expected: "Conflict", calls: 3),
        Race(changes: 1, isAtomic: true, expected: "deleted", calls: 2),
        Race(changes: 3, isAtomic: true, expected: "AtomicOperationFailure", calls: 3),
        Race(changes: 2, key: "k", expected: "deleted", calls: 3),
        Race(changes: 3, key: "k", expected: "Conflict", calls: 3),
    ])
    func aRecordIsDeletedAsItsHookSawIt(row: Race) async throws {
        let (left, database) = (Countdown(row.changes), Plain())
        let hook = TestHook.records("before", .beforeDelete) { _ in
            if left.takes() {
                _ = try? await database.fixture?.psql("UPDATE note SET stars = 0, _revision = _revision()")
            }
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            database.set(hooked.plain)
            do {
                let done = try await hooked.service.delete(
                    ["note/ann"],
                    atomic: row.isAtomic,
                    key: row.key,
                    by: hooked.ann
                )
                #expect(done.summaries == [row.expected])
            } catch let error as SkyrowError {
                #expect(error.code.name == row.expected)
            }
            #expect(hooked.runner.calls.count == row.calls)
            #expect(try await hooked.psql("SELECT count(*) FROM note") == (row.expected == "deleted" ? "0" : "1"))
        }
    }

    // MARK: By predicate

    private func update(_ change: BulkRequest.Change, key: String? = nil, isDryRun: Bool = false) -> BulkRequest {
        var request = BulkRequest(
            database: .everyone,
            type: type("note"),
            match: .predicate(.comparison(.neq, .keyPath(try! FieldPath("title")), .value("z"))),
            change: change
        )
        request.isDryRun = isDryRun
        request.idempotencyKey = key
        return request
    }

    private func update(
        _ hooked: HookedService,
        key: String? = nil,
        isDryRun: Bool = false
    ) async throws -> BulkResult? {
        var changes = draft("note/set")
        changes.operators = [(field("stars"), .increment(by: 1))]
        let request = update(.update(RecordChanges(changes), size: 20), key: key, isDryRun: isDryRun)
        let result = try await hooked.service.perform(Actions.recordUpdate, request, Call(by: hooked.ann))
        if case .fresh(let found) = result { return found }
        return nil
    }

    @Test(arguments: [nil, "k"]) func aChangeByPredicateRunsHooksInPages(key: String?) async throws {
        let hooks = [
            TestHook.records("before", .beforeSave) { _ in sets(["tags": jsonValue("[1]")]) },
            .records("after", .afterSave) { _ in .unchanged },
        ]
        try await withHooks(hooks) { hooked in
            let items = (0..<150).map { SaveRequest.Item.draft(draft("note/\($0)", ["stars": 0, "title": "x"])) }
            _ = try await hooked.plain.service.save(SaveRequest(database: .everyone, items: items), by: hooked.ann)
            _ = try await hooked.plain.service.save(SaveRequest(draft("note/bob", ["title": "x"])), by: hooked.bob)
            let tried = try await update(hooked, isDryRun: true)
            #expect(tried?.changed.count == 151 && hooked.runner.calls.isEmpty)
            let result = try await update(hooked, key: key)
            if key == nil {
                #expect(result?.changed.count == 151 && result?.notPermitted == [id("note/bob")])
            }
            let calls = hooked.runner.calls.map { $0.prefix { $0 != "(" } }
            #expect(calls == ["before", "before", "after", "after"])
            let stored = try await hooked.psql("SELECT count(*), sum(stars) FROM note WHERE tags IS NOT NULL")
            #expect(stored == "151|152")
        }
    }

    @Test func aRefusedRecordUndoesAChangeByPredicate() async throws {
        let hook = TestHook.records("before", .beforeSave) { record in
            record.record.id == id("note/2") ? .refused(ownError) : .unchanged
        }
        try await withHooks([hook]) { hooked in
            try await save(["1": "x", "2": "x"], by: hooked.ann, hooked)
            let error = try await expectError(.atomicOperationFailure) { try await update(hooked) }
            #expect(error?.info == ["note/2": .error(ownError)])
            #expect(try await hooked.psql("SELECT sum(stars) FROM note") == "1")
        }
    }

    @Test func aRecordThatChangesMeanwhileIsAConflictOfAChangeByPredicate() async throws {
        let database = Plain()
        let hook = TestHook.records("before", .beforeSave) { _ in
            _ = try? await database.fixture?.psql("UPDATE note SET _revision = _revision() WHERE _id = '1'")
            return .unchanged
        }
        try await withHooks([hook]) { hooked in
            database.set(hooked.plain)
            try await save(["1": "x", "2": "x"], by: hooked.ann, hooked)
            let result = try await update(hooked)
            #expect(result?.conflicting == [id("note/1")] && result?.changed == [id("note/2"), id("note/ann")])
        }
    }

    @Test func aDeleteByPredicateRunsHooks() async throws {
        try await withHooks(Self.hooks) { hooked in
            try await save(["1": "x", "2": "kept"], by: hooked.ann, hooked)
            let deletion = RecordDeletion.matches(update(.delete))
            let error = try await expectError(.atomicOperationFailure) {
                try await hooked.service.perform(Actions.recordDelete, deletion, Call(by: hooked.ann))
            }
            #expect(error?.info == ["note/2": .error(ownError)])
            #expect(try await hooked.psql("SELECT count(*) FROM note") == "3")
            try await hooked.psql("UPDATE note SET title = 'x'")
            let done = try await hooked.service.perform(Actions.recordDelete, deletion, Call(by: hooked.ann))
            guard case .fresh(.matches(let result)) = done else {
                Issue.record("\(done)")
                return
            }
            #expect(result.changed.count == 3)
            #expect(hooked.runner.calls.last == "after(note/1,note/2,note/ann)")
        }
    }
}

private final class Countdown: Sendable {
    private let left: Mutex<Int>

    init(_ count: Int) { left = Mutex(count) }

    func takes() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}

/// The service of a test, for hooks that are made before it.
private final class Plain: Sendable {
    private let known = Mutex<ServiceFixture?>(nil)

    var fixture: ServiceFixture? { known.withLock { $0 } }

    func set(_ fixture: ServiceFixture) { known.withLock { $0 = fixture } }
}
