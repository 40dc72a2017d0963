import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Saves that go ahead under a condition on the stored record (`_if`).
@Suite(.timeLimit(.minutes(60))) struct SaveConditionTests {
    private static let stars = field("stars")

    private func condition(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) -> RecordPredicate {
        .comparison(comparison, .keyPath(path(name)), .value(value))
    }

    private func draft(
        _ id: String,
        _ fields: [String: RecordValue] = [:],
        applying operators: [String: FieldOperator] = [:],
        precondition: SavePrecondition? = nil,
        access: AccessList? = nil,
        if condition: RecordPredicate
    ) -> RecordDraft {
        var draft = SkyrowTestSupport.draft(id, fields, access: access, precondition: precondition)
        draft.operators = operators.sorted { $0.key < $1.key }.map { (field($0.key), $0.value) }
        draft.condition = condition
        return draft
    }

    private func outcome(
        _ draft: RecordDraft,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        of f: RecordsFixture
    ) async throws -> RecordOutcome {
        try await f.store.save([.draft(draft)], in: scope, caller: caller, atomic: false)[0]
    }

    @Test func theSaveGoesAheadWhereTheConditionIsTrue() async throws {
        try await withRecords { f in
            let rows: [(condition: RecordPredicate, isMet: Bool)] = [
                (condition(.eq, "stars", 3), true), (condition(.eq, "stars", 4), false),
                (condition(.gt, "stars", 2), true), (condition(.startsWith, "title", "a"), true),
                (condition(.eq, "score", 1.0), false), (.not(condition(.eq, "score", 1.0)), false),
                (.none([condition(.eq, "score", 1.0)]), true), (condition(.eq, "_owner", "ann"), true),
                (condition(.eq, "score", .null), true), (.and([]), true), (.or([]), false),
                (.and([condition(.eq, "stars", 3), condition(.eq, "title", "abc")]), true),
                (condition(.eq, "category", .reference(id("category/c"))), true),
                (.comparison(.in, .keyPath(path("stars")), .list([1, 2, 3])), true),
            ]
            try await f.save("category/c", ["name": "c"])
            for scope in [DatabaseScope.everyone, .user("ann")] {
                for (place, row) in rows.enumerated() {
                    try await f.save(
                        "note/1",
                        ["stars": 3, "title": "abc", "done": .null, "category": .reference(id("category/c"))],
                        in: scope
                    )
                    let outcome = try await outcome(
                        draft("note/1", ["done": true], if: row.condition),
                        in: scope,
                        of: f
                    )
                    if row.isMet {
                        #expect(try outcome.record.fields[field("done")] == true, "\(place)")
                    } else {
                        #expect(outcome.error?.code == .conflict, "\(place)")
                        guard case .record(let record)? = outcome.error?.info["record"] else {
                            Issue.record("\(place): the conflict has no record")
                            continue
                        }
                        #expect(record.fields[Self.stars] == 3 && record.fields[field("done")] == nil)
                    }
                    #expect(try await f.fetch("note/1", in: scope)?.fields[field("done")] == (row.isMet ? true : nil))
                }
            }
        }
    }

    @Test func withoutARecordNothingIsCreated() async throws {
        try await withRecords { f in
            for condition in [.and([]), condition(.eq, "stars", .null)] as [RecordPredicate] {
                #expect(try await outcome(draft("note/1", ["stars": 1], if: condition), of: f).error?.code == .conflict)
            }
            let new = try await outcome(draft("note/1", ["stars": 1], precondition: .isNew, if: .and([])), of: f)
            #expect(new.error?.code == .invalidArgument && new.error?.path == "records[0]._if")
            #expect(try await f.psql("SELECT count(*) FROM note") == "0")
        }
    }

    @Test func whoMayNotReadOrWriteLearnsNothing() async throws {
        try await withRecords { f in
            let hidden = AccessList([AccessEntry(.owner, .write)])
            // Skyrow's lists give who writes the right to read; psql can take it.
            try await f.save("note/hidden", ["stars": 3], access: hidden)
            try await f.save("note/readable", ["stars": 3])
            for (id, code) in [("note/hidden", ErrorCode.conflict), ("note/readable", .permissionDenied)] {
                for stars: RecordValue in [3, 4] {
                    let error = try await outcome(
                        draft(id, ["stars": 9], if: condition(.eq, "stars", stars)),
                        .bob,
                        of: f
                    ).error
                    #expect(error?.code == code && error?.info["record"] == nil)
                }
            }
            let refused = try await outcome(
                draft("user/ann", ["nick": "x"], if: condition(.eq, "email", "x")),
                Caller(kind: .user("bob"), roles: []),
                of: f
            ).error
            #expect(refused != nil && refused?.info["record"] == nil)
        }
    }

    @Test func aConditionIsOnTheRecordsOwnFields() async throws {
        try await withRecords { f in
            try await f.save("category/c", ["name": "c"])
            try await f.save("note/1", ["stars": 3, "category": .reference(id("category/c"))])
            let found = RecordPredicate.found(
                .keyPath(path("category")),
                by: Subquery(type: type("category")),
                isNegated: false
            )
            let rows: [(condition: RecordPredicate, code: ErrorCode, path: String)] = [
                (condition(.eq, "category.name", "c"), .invalidArgument, "records[0]._if"),
                (found, .invalidArgument, "records[0]._if"),
                (.none([found]), .invalidArgument, "records[0]._if"),
                (condition(.eq, "nowhere", 1), .recordQueryInvalid, "records[0]._if[1]"),
                (.and([condition(.eq, "stars", "many")]), .invalidArgument, "records[0]._if[1][2]"),
            ]
            for row in rows {
                let error = try await outcome(draft("note/1", ["stars": 9], if: row.condition), of: f).error
                #expect(error?.code == row.code && error?.path == row.path, "\(String(describing: error))")
            }
            #expect(try await f.fetch("note/1")?.fields[Self.stars] == 3)
        }
    }

    @Test func conditionsGoWithOperatorsRevisionsListsAndBatches() async throws {
        try await withRecords { f in
            let before = try await f.save(
                (1...4).map { SkyrowTestSupport.draft("note/\($0)", ["stars": .integer(Int64($0))]) }
            )
            let odd = condition(.in, "stars", .null)
            #expect(try await outcome(draft("note/1", ["stars": 5], if: odd), of: f).error?.code == .invalidArgument)
            let atMost2 = condition(.lte, "stars", 2)
            let revision = try #require(before[0].revision)
            let outcomes = try await f.store.save(
                [
                    .draft(
                        draft(
                            "note/1",
                            applying: ["stars": .increment(by: 10)],
                            precondition: .revision(revision),
                            if: atMost2
                        )
                    ),
                    .draft(
                        draft(
                            "note/2",
                            ["title": "x"],
                            access: AccessList([AccessEntry(.everyone, .read)]),
                            if: atMost2
                        )
                    ),
                    .draft(draft("note/3", ["title": "x"], if: atMost2)),
                    .draft(SkyrowTestSupport.draft("note/4", ["title": "x"])),
                    .draft(draft("note/2", ["stars": 7], precondition: .revision(1), if: atMost2)),
                ],
                in: .everyone,
                caller: .ann,
                atomic: false
            )
            #expect(outcomes.map { $0.error?.code } == [nil, nil, .conflict, nil, .conflict])
            #expect(try await f.psql("SELECT string_agg(stars::text, ' ' ORDER BY _id) FROM note") == "11 2 3 4")
            await #expect(throws: SkyrowError.self) {
                _ = try await f.store.save(
                    [
                        .draft(draft("note/2", ["stars": 0], if: atMost2)),
                        .draft(draft("note/3", ["stars": 0], if: atMost2)),
                    ],
                    in: .everyone,
                    caller: .ann,
                    atomic: true
                )
            }
            #expect(try await f.fetch("note/2")?.fields[Self.stars] == 2)
        }
    }

    @Test func oneOfManyTakesTheLastOne() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["stars": 20])
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await outcome(
                            draft("note/1", applying: ["stars": .increment(by: -1)], if: condition(.gt, "stars", 0)),
                            of: f
                        ).error == nil
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(taken == 20)
            #expect(try await f.fetch("note/1")?.fields[Self.stars] == 0)
        }
    }
}
