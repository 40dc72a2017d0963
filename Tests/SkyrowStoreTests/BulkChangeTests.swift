import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Changes of all records that match: who may change what, all or none, and beside each other.
@Suite(.timeLimit(.minutes(60))) struct BulkChangeTests {
    private static let stars = field("stars")
    private static let everyoneWrites = AccessList([AccessEntry(.everyone, .write)])
    private static let nobodyElse = AccessList([AccessEntry(.owner, .write)])

    private func changes(
        _ fields: [String: RecordValue] = [:],
        applying operators: [String: FieldOperator] = [:],
        access: AccessList? = nil
    ) -> RecordChanges {
        var changes = draft("note/set", fields, access: access)
        changes.operators = operators.sorted { $0.key < $1.key }.map { (field($0.key), $0.value) }
        return RecordChanges(changes)
    }

    private func request(
        _ match: RecordMatch,
        _ change: BulkRequest.Change,
        type name: String = "note",
        atMost: Int = 1000,
        isDryRun: Bool = false
    ) -> BulkRequest {
        BulkRequest(
            database: .everyone,
            type: type(name),
            match: match,
            change: change,
            atMost: atMost,
            isDryRun: isDryRun
        )
    }

    private func update(
        _ match: RecordMatch,
        _ set: RecordChanges,
        type name: String = "note",
        atMost: Int = 1000,
        isDryRun: Bool = false
    ) -> BulkRequest {
        request(match, .update(set, size: 100), type: name, atMost: atMost, isDryRun: isDryRun)
    }

    private func all(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) -> RecordMatch {
        .predicate(.comparison(comparison, .keyPath(path(name)), .value(value)))
    }

    private func run(
        _ request: BulkRequest,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        of f: RecordsFixture
    ) async throws -> BulkResult {
        try await f.store.change(request, with: RecordAccess(caller, in: scope, for: .writing))
    }

    private func texts(_ ids: [RecordID]) -> [String] { ids.map(\.id) }

    /// Three notes of ann's, two of bob's of which ann may read one, and one of bob's that everyone may write.
    private func withNotes(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            for number in 1...3 {
                try await f.save("note/a\(number)", ["stars": .integer(Int64(number)), "title": "x"])
            }
            try await f.save("note/b1", ["stars": 1], .bob)
            try await f.save("note/b2", ["stars": 1], access: Self.nobodyElse, .bob)
            try await f.save("note/b3", ["stars": 1], access: Self.everyoneWrites, .bob)
            try await body(f)
        }
    }

    // MARK: Who may change what

    @Test func whatMayBeWrittenIsChangedAndTheRestIsNamedAsFarAsItMayBeRead() async throws {
        try await withNotes { f in
            let rows: [(caller: Caller, changed: [String], notPermitted: [String])] = [
                (.ann, ["a1", "a2", "b3"], ["b1"]), (.bob, ["b1", "b2", "b3"], ["a1", "a2"]),
                (.master, ["a1", "a2", "b1", "b2", "b3"], []),
            ]
            for row in rows {
                for isDryRun in [true, false] {
                    let before = try await f.psql("SELECT count(done), max(_revision) FROM note")
                    let request = update(all(.lt, "stars", 3), changes(["done": true]), isDryRun: isDryRun)
                    let result = try await run(request, row.caller, of: f)
                    #expect(texts(result.changed) == row.changed && texts(result.notPermitted) == row.notPermitted)
                    #expect(result.notFound.isEmpty && result.conflicting.isEmpty)
                    #expect(result.count == row.changed.count + row.notPermitted.count)
                    let after = try await f.psql("SELECT count(done), max(_revision) FROM note")
                    #expect((before == after) == isDryRun)
                    let done = try await f.psql("SELECT string_agg(_id, ' ' ORDER BY _id) FROM note WHERE done")
                    #expect((done == row.changed.joined(separator: " ") + "") == !isDryRun)
                }
                try await f.psql("UPDATE note SET done = NULL")
            }
        }
    }

    @Test func idsNameWhatIsNotFoundAndAHiddenRecordIsMissing() async throws {
        try await withNotes { f in
            let ids = ["a1", "nowhere", "b2", "b1", "a3"].map { id("note/\($0)") }
            let result = try await run(update(.ids(ids), changes(["title": "new"])), of: f)
            #expect(texts(result.changed) == ["a1", "a3"] && texts(result.notPermitted) == ["b1"])
            #expect(texts(result.notFound) == ["b2", "nowhere"])
            let record = try #require(try await f.fetch("note/a1"))
            #expect(record.fields[field("title")] == "new" && record.fields[Self.stars] == 1)
            #expect(record.updatedBy == "ann" && record.owner == "ann")
            let none = try await run(update(.ids([id("no/1")]), changes(["title": "x"]), type: "no"), of: f)
            #expect(texts(none.notFound) == ["1"])
            await #expect(throws: SkyrowError.self) {
                _ = try await run(update(.ids(ids), changes(["title": "x"])), .anonymous, of: f)
            }
        }
    }

    @Test func onlyOwnersChangeAccessLists() async throws {
        try await withNotes { f in
            let closed = update(all(.lt, "stars", 3), changes(access: Self.nobodyElse))
            let result = try await run(closed, of: f)
            #expect(texts(result.changed) == ["a1", "a2"] && texts(result.notPermitted) == ["b1", "b3"])
            #expect(try await f.fetch("note/a1", .bob) == nil)
            // What is stored already, with what adds nothing, is no change.
            let same = AccessList([AccessEntry(.everyone, .write), AccessEntry(.everyone, .read)])
            try await f.psql(#"UPDATE note SET _access = '{"public": "write", "owner": "read"}' WHERE _id = 'b3'"#)
            let kept = try await run(update(.ids([id("note/b3")]), changes(["stars": 8], access: same)), of: f)
            #expect(texts(kept.changed) == ["b3"])
            #expect(try await f.fetch("note/b3")?.fields[Self.stars] == 8)
        }
    }

    @Test func aPrivateDatabaseIsItsOwn() async throws {
        try await withNotes { f in
            try await f.save("category/mine", ["name": "m"], in: .user("ann"))
            try await f.save("category/public", ["name": "p"], .bob)
            try await f.save("category/hidden", ["name": "h"], access: Self.nobodyElse, .bob)
            try await f.save("note/p1", ["stars": 1], in: .user("ann"))
            try await f.save("note/p2", ["stars": 1], .bob, in: .user("bob"))
            for target in ["mine", "public"] {
                let set = changes(["category": .reference(id("category/\(target)"))])
                let result = try await run(update(all(.eq, "stars", 1), set), in: .user("ann"), of: f)
                #expect(texts(result.changed) == ["p1"])
                #expect(
                    try await f.fetch("note/p1", in: .user("ann"))?.fields[field("category")]
                        == .reference(id("category/\(target)"))
                )
            }
            for target in ["hidden", "nowhere"] {
                let set = changes(["category": .reference(id("category/\(target)"))])
                for scope in [DatabaseScope.everyone, .user("ann")] {
                    await #expect(throws: SkyrowError.self, "\(target)") {
                        _ = try await run(update(all(.eq, "stars", 1), set), in: scope, of: f)
                    }
                }
            }
            #expect(try await f.psql("SELECT count(*) FROM note WHERE category IS NOT NULL") == "1")
        }
    }

    // MARK: All or none

    @Test func moreThanAllowedChangesNothingAndSaysHowMany() async throws {
        try await withNotes { f in
            for change in [BulkRequest.Change.update(changes(["done": true]), size: 10), .delete] {
                for isDryRun in [true, false] {
                    let request = request(all(.gte, "stars", 1), change, atMost: 4, isDryRun: isDryRun)
                    let error = try await #require(throws: SkyrowError.self) { _ = try await run(request, of: f) }
                    #expect(error.code == .invalidArgument && error.path == "at_most")
                    // The hidden one is not among them.
                    #expect(error.info["count"] == .integer(5))
                }
            }
            #expect(try await f.psql("SELECT count(*), count(done) FROM note") == "6|0")
        }
    }

    @Test func anOperatorThatDoesNotFitOneRecordChangesNone() async throws {
        try await withNotes { f in
            try await f.save("note/a2", ["tags": jsonValue("{}")])
            let push = update(
                all(.lte, "stars", 3),
                changes(applying: ["tags": .push("[1]"), "stars": .increment(by: 1)])
            )
            let error = try await #require(throws: SkyrowError.self) { _ = try await run(push, of: f) }
            #expect(error.code == .atomicOperationFailure)
            #expect(Array(error.info.keys.filter { $0.hasPrefix("note/") }) == ["note/a2"])
            #expect(try await f.psql("SELECT sum(stars) FROM note WHERE _owner = 'ann'") == "6")
            try await f.psql("UPDATE note SET tags = NULL")
            #expect(texts(try await run(push, of: f).changed) == ["a1", "a2", "a3", "b3"])
            #expect(try await f.fetch("note/a2")?.fields[field("tags")] == jsonValue("[1]"))
            try await f.psql("UPDATE note SET stars = 9223372036854775807 WHERE _id = 'a3'")
            let over = update(all(.gte, "stars", 1), changes(applying: ["stars": .increment(by: 1)]))
            let range = try await #require(throws: SkyrowError.self) { _ = try await run(over, of: f) }
            #expect(range.code == .invalidArgument || range.code == .atomicOperationFailure)
            #expect(try await f.fetch("note/a1")?.fields[Self.stars] == 2)
        }
    }

    @Test func aRuleOfTheTableThatOneRecordBreaksChangesNone() async throws {
        try await withNotes { f in
            try await f.psql(
                "CREATE UNIQUE INDEX ON note (title) WHERE title <> 'x'; ALTER TABLE note ADD CHECK (stars < 5)"
            )
            for set in [changes(["title": "same"]), changes(applying: ["stars": .increment(by: 2)])] {
                let error = try await #require(throws: SkyrowError.self) {
                    _ = try await run(update(all(.gte, "stars", 1), set), of: f)
                }
                #expect(error.code == .duplicated || error.code == .constraintViolated)
            }
            #expect(try await f.psql("SELECT sum(stars) FROM note WHERE _owner = 'ann'") == "6")
        }
    }

    @Test func deletesTakeAllThatMatchOrNone() async throws {
        try await withNotes { f in
            try await f.save("note/a1", ["next": .reference(id("note/a3"))])
            let some = try await #require(throws: SkyrowError.self) {
                _ = try await run(request(all(.eq, "stars", 3), .delete), of: f)
            }
            #expect(some.code == .atomicOperationFailure)
            let dry = try await run(request(all(.gte, "stars", 1), .delete, isDryRun: true), of: f)
            #expect(texts(dry.changed) == ["a1", "a2", "a3", "b3"] && texts(dry.notPermitted) == ["b1"])
            let result = try await run(request(all(.gte, "stars", 1), .delete), of: f)
            #expect(result.changed == dry.changed && result.notPermitted == dry.notPermitted)
            #expect(try await f.psql("SELECT string_agg(_id, ' ' ORDER BY _id) FROM note") == "b1 b2")
            let users = try await #require(throws: SkyrowError.self) {
                _ = try await run(request(.predicate(.and([])), .delete, type: "user"), .master, of: f)
            }
            #expect(users.code == .permissionDenied)
        }
    }

    @Test func whatGoesWithDeletedRecordsIsNamed() async throws {
        try await withNotes { f in
            try await f.psql(
                """
                ALTER TABLE note DROP CONSTRAINT note_next_fkey, ADD FOREIGN KEY (next) REFERENCES note (_id)
                ON DELETE CASCADE DEFERRABLE
                """
            )
            try await f.store.cache.reload()
            try await f.psql("UPDATE note SET next = 'a1' WHERE _id IN ('a2', 'b1', 'b2')")
            let result = try await run(request(.ids([id("note/a1"), id("note/a2")]), .delete), of: f)
            #expect(texts(result.changed) == ["a1", "a2"])
            #expect(texts(result.dependents.ids) == ["b1"] && result.dependents.hidden == 1)
        }
    }

    // MARK: What cannot be asked

    @Test func whatIsWrongWithARequestIsSaidBeforeAnythingIsLookedAt() async throws {
        try await withNotes { f in
            let any = RecordMatch.predicate(.and([]))
            let rows: [(request: BulkRequest, caller: Caller, code: ErrorCode)] = [
                (update(any, changes(["nowhere": 1])), .ann, .incompatibleSchema),
                (update(any, changes(["stars": "many"])), .ann, .invalidArgument),
                (update(any, changes(["price": 1])), .ann, .incompatibleSchema),
                (update(any, changes(applying: ["title": .increment(by: 1)])), .ann, .invalidArgument),
                (update(all(.eq, "nowhere", 1), changes(["stars": 1])), .ann, .recordQueryInvalid),
                (update(any, changes(["email": "x@example.org"]), type: "user"), .master, .invalidArgument),
                (
                    update(all(.eq, "email", "x"), changes(["nick": "x"]), type: "user"),
                    Caller(kind: .user("zed"), roles: []), .incompatibleSchema
                ),
                (
                    request(.predicate(.and([])), .update(changes(["title": "x"]), size: 60 << 20)), .ann,
                    .invalidArgument
                ),
            ]
            for (place, row) in rows.enumerated() {
                let error = await #expect(throws: SkyrowError.self, "\(place)") {
                    _ = try await run(row.request, row.caller, of: f)
                }
                #expect(error?.code == row.code, "\(place): \(String(describing: error))")
            }
            let left = try await f.psql("SELECT count(title), sum(stars) FROM note")
            #expect(left == "3|9")
        }
    }

    // MARK: Beside each other

    @Test func overlappingRequestsLoseNothingAndDoNotLockEachOtherOut() async throws {
        try await withRecords { f in
            try await f.save((0..<200).map { draft("note/\($0)", ["stars": 0, "score": .number(Double($0))]) })
            try await withThrowingTaskGroup(of: Int.self) { group in
                for worker in 0..<12 {
                    group.addTask {
                        let match: RecordMatch =
                            worker.isMultiple(of: 2)
                            ? all(.gte, "score", 0.0)
                            : .ids((0..<200).reversed().map { id("note/\($0)") })
                        return try await run(
                            update(match, changes(applying: ["stars": .increment(by: 1)])),
                            of: f
                        ).changed.count
                    }
                }
                for try await count in group { #expect(count == 200) }
            }
            #expect(try await f.psql("SELECT min(stars), max(stars) FROM note") == "12|12")
        }
    }

    @Test func whatNoLongerMatchesWhenItIsLockedIsLeftAlone() async throws {
        try await withNotes { f in
            try await withThrowingTaskGroup(of: BulkResult.self) { group in
                try await f.client.withTransaction { other in
                    _ = try await other.query("UPDATE app.note SET stars = 9 WHERE _id = 'a1'")
                    group.addTask { try await run(update(all(.lt, "stars", 3), changes(["done": true])), of: f) }
                    try await waiting(until: "the update waits for the row") {
                        try await f.database.sessionsWaitingForALock() == 1
                    }
                }
                let result = try #require(try await group.next())
                #expect(texts(result.changed) == ["a2", "b3"] && texts(result.conflicting) == ["a1"])
                #expect(texts(result.notPermitted) == ["b1"])
            }
            #expect(try await f.psql("SELECT stars, done FROM note WHERE _id = 'a1'") == "9|")
        }
    }

    @Test func tenThousandRecordsAreAFewStatements() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, _created_by, _updated_by, stars)
                SELECT 'n' || n, 'ann', 'ann', 'ann', n FROM generate_series(1, 10001) AS n
                """
            )
            let most = BulkRequest.maximumRecords
            let set = changes(applying: ["stars": .increment(by: 1)])
            let error = await #expect(throws: SkyrowError.self) {
                _ = try await run(update(all(.gte, "stars", 1), set, atMost: most), of: f)
            }
            #expect(error?.info["count"] == .integer(Int64(most) + 1))
            let result = try await run(update(all(.gt, "stars", 1), set, atMost: most), of: f)
            #expect(result.changed.count == most)
            let gone = try await run(request(all(.gt, "stars", 1), .delete, atMost: most), of: f)
            #expect(gone.changed.count == most)
        }
    }
}
