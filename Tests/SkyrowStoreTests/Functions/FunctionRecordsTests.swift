import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Functions that return records of a type: what of them a caller gets.
@Suite(.timeLimit(.minutes(60))) struct FunctionRecordsTests {
    private static let functions = """
        CREATE FUNCTION leaderboard(minimum bigint DEFAULT 0) RETURNS SETOF note LANGUAGE sql STABLE AS $$
            SELECT * FROM app.note WHERE stars >= minimum ORDER BY stars DESC, _id
        $$;
        CREATE FUNCTION everything() RETURNS SETOF note LANGUAGE plpgsql STABLE AS $$
            BEGIN RETURN QUERY SELECT * FROM app.note ORDER BY _id; END
        $$;
        CREATE FUNCTION mine() RETURNS SETOF note LANGUAGE sql STABLE AS $$
            SELECT * FROM app.note WHERE _owner = app._caller() ORDER BY _id
        $$;
        CREATE FUNCTION star(note_id text) RETURNS SETOF note LANGUAGE sql VOLATILE AS $$
            UPDATE app.note SET stars = stars + 1 WHERE _id = note_id RETURNING *
        $$;
        SELECT _expose('leaderboard'), _expose('everything'), _expose('mine'), _expose('star');
        """

    /// Notes 1 to 5 of ann with as many stars; 2 and 4 are hers alone.
    private func withNotes(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            try await f.psql(Self.functions)
            try await f.save("category/home", ["name": .string("Home")])
            for stars in 1...5 {
                try await f.save(
                    "note/\(stars)",
                    [
                        "stars": .integer(Int64(stars)), "title": .string("note \(stars)"),
                        "category": .reference(id("category/home")),
                    ],
                    access: stars.isMultiple(of: 2) ? AccessList([]) : nil
                )
            }
            try await body(f)
        }
    }

    /// A function, its arguments, who calls it, and the ids of the records in their order.
    private static let calls: [(String, String, Caller, [String])] = [
        ("leaderboard", "{}", .ann, ["5", "4", "3", "2", "1"]), ("leaderboard", "{}", .bob, ["5", "3", "1"]),
        ("leaderboard", "{}", .anonymous, ["5", "3", "1"]), ("leaderboard", "{}", .master, ["5", "4", "3", "2", "1"]),
        ("leaderboard", #"{"minimum":3}"#, .bob, ["5", "3"]), ("leaderboard", #"{"minimum":9}"#, .ann, []),
        ("everything", "{}", .ann, ["1", "2", "3", "4", "5"]), ("everything", "{}", .bob, ["1", "3", "5"]),
        ("mine", "{}", .ann, ["1", "2", "3", "4", "5"]), ("mine", "{}", .bob, []), ("mine", "{}", .anonymous, []),
        ("mine", "{}", Caller(kind: .master(actingAs: "ann")), ["1", "2", "3", "4", "5"]),
    ]

    @Test func recordsAreThoseThatTheCallerMayReadInTheOrderOfTheFunction() async throws {
        try await withNotes { f in
            for (name, arguments, caller, expected) in Self.calls {
                let found = try await f.records(name, arguments, caller)
                #expect(found.ids == expected, "\(name) \(arguments) \(caller.kind)")
            }
        }
    }

    /// The rules of the type, a caller, and the ids.
    @Test(
        arguments: [
            ("('note', 'read', '{role:editor}', 'override')", Caller.bob, []),
            (
                "('note', 'read', '{role:editor}', 'override')", Caller(kind: .user("bob"), roles: ["editor"]),
                ["5", "4", "3", "2", "1"]
            ),
            ("('note', 'read', '{owner}', 'require')", .bob, []),
            ("('note', 'read', '{owner}', 'require')", .ann, ["5", "4", "3", "2", "1"]),
            ("('note', 'read', '{field:title}', 'override')", Caller(kind: .user("note 4")), ["4"]),
        ] as [(String, Caller, [String])]
    )
    func rulesOfTheTypeHold(_ rule: String, _ caller: Caller, _ expected: [String]) async throws {
        try await withNotes { f in
            try await f.psql("INSERT INTO _class_rule (type, action, allow, mode) VALUES \(rule)")
            try await f.store.cache.reload()
            let found = try await f.records("leaderboard", "{}", caller)
            #expect(found.ids == expected)
        }
    }

    @Test(arguments: [(Caller.ann, true), (.bob, false), (.master, true)])
    func rulesOfFieldsHold(_ caller: Caller, _ sees: Bool) async throws {
        try await withNotes { f in
            try await f.psql("INSERT INTO _field_rule VALUES ('note', 'title', 'read', '{owner}')")
            try await f.store.cache.reload()
            let found = try await f.records("leaderboard", #"{"minimum":5}"#, caller)
            let record = try #require(found.result.records.first?.collected())
            #expect(record.fields[field("title")] == (sees ? .string("note 5") : nil))
            #expect(record.fields[field("stars")] == .integer(5))
        }
    }

    @Test func aPrivateDatabaseHasTheRecordsOfItsUser() async throws {
        try await withRecords { f in
            try await f.psql(Self.functions)
            try await f.save("note/public", ["stars": .integer(1)])
            try await f.save("note/anns", ["stars": .integer(2)], .ann, in: .user("ann"))
            try await f.save("note/bobs", ["stars": .integer(3)], .bob, in: .user("bob"))
            let rows: [(Caller, DatabaseScope, [String])] = [
                (.ann, .everyone, ["public"]), (.bob, .everyone, ["public"]), (.ann, .user("ann"), ["anns"]),
                (.bob, .user("bob"), ["bobs"]), (.bob, .user("ann"), []), (.anonymous, .user("ann"), []),
                (.master, .user("bob"), ["bobs"]), (.master, .union, ["bobs", "anns", "public"]), (.bob, .union, []),
            ]
            for (caller, scope, expected) in rows {
                let found = try await f.records("leaderboard", "{}", caller, in: scope)
                #expect(found.ids == expected, "\(caller.kind) \(scope)")
            }
        }
    }

    /// What is selected, the ids, the count, and whether there are more.
    private static let selections: [(@Sendable (inout RecordQuery) -> Void, [String], Int?, Bool)] = [
        ({ $0.limit = 2 }, ["5", "4"], nil, true), ({ $0.offset = 3 }, ["2", "1"], nil, false),
        ({ $0.predicate = .comparison(.gt, .keyPath(path("stars")), .value(.integer(3))) }, ["5", "4"], nil, false),
        (
            { $0.predicate = .comparison(.eq, .keyPath(path("category.name")), .value(.string("Home"))) },
            ["5", "4", "3", "2", "1"], nil, false
        ),
        (
            { $0.predicate = .comparison(.eq, .keyPath(path("title")), .value(.string("' OR true; --"))) }, [], nil,
            false
        ),
        ({ $0.sort = [SortKey(path("stars"))] }, ["1", "2", "3", "4", "5"], nil, false),
        (
            {
                $0.sort = [SortKey(path("title"), .descending)]
                $0.limit = 1
                $0.offset = 1
            }, ["4"], nil, true
        ),
        (
            {
                $0.countsMatches = true
                $0.limit = 2
            }, ["5", "4"], 5, true
        ),
        (
            {
                $0.countsMatches = true
                $0.limit = 0
            }, [], 5, false
        ),
        (
            {
                $0.countsMatches = true
                $0.offset = 9
            }, [], 5, false
        ),
        (
            {
                $0.counting = .estimate
                $0.sort = [SortKey(path("stars"), .descending)]
                $0.limit = 3
            }, ["5", "4", "3"], 5, true
        ),
    ]

    @Test func recordsAreSelectedAsByAQuery() async throws {
        try await withNotes { f in
            for (place, (change, expected, count, hasMore)) in Self.selections.enumerated() {
                for caller in [Caller.ann, .master] {
                    let found = try await f.records("leaderboard", "{}", caller, change)
                    #expect(found.ids == expected, "\(place)")
                    #expect(found.result.count == count, "\(place)")
                    #expect(found.result.hasMore == hasMore, "\(place)")
                }
            }
        }
    }

    @Test func recordsIncludeOthers() async throws {
        try await withNotes { f in
            let found = try await f.records("leaderboard", #"{"minimum":4}"#) {
                $0.include = [Inclusion(name: "in", keyPath: path("category"))]
                $0.countsMatches = true
            }
            #expect(found.ids == ["5", "4"])
            let record = try #require(found.result.records.first?.collected())
            let category = try #require(record.transient["in"] ?? nil)
            #expect(category.fields[field("name")] == .string("Home"))
        }
    }

    @Test func cursorsNeedASort() async throws {
        try await withNotes { f in
            var ids: [String] = []
            var position = RecordQuery.Position.first
            while true {
                let page = try await f.records("leaderboard", #"{"minimum":2}"#) { [position] in
                    $0.sort = [SortKey(path("stars"))]
                    $0.limit = 3
                    $0.position = position
                }
                ids += page.ids
                guard page.result.hasMore, let cursor = page.result.cursor else { break }
                position = .after(cursor)
            }
            #expect(ids == ["2", "3", "4", "5"])
            let unsorted = try await f.records("leaderboard") { $0.limit = 1 }
            #expect(unsorted.result.hasMore)
            #expect(unsorted.result.cursor == nil)
            for position in [RecordQuery.Position.after("x"), .before("x"), .last] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.records("leaderboard") { $0.position = position }
                }
                #expect(error?.code == .invalidArgument)
                #expect(error?.info["arguments"] == .list([.string("sort")]))
            }
        }
    }

    /// With a count the records are named twice in the statement; the function still runs once.
    @Test(arguments: [false, true])
    func aFunctionThatWritesRunsOnce(_ counts: Bool) async throws {
        try await withNotes { f in
            let found = try await f.records("star", #"{"note_id":"5"}"#) { $0.countsMatches = counts }
            #expect(found.ids == ["5"])
            #expect(found.result.records.first?.collected()?.fields[field("stars")] == .integer(6))
            #expect(try await f.fetch("note/5")?.fields[field("stars")] == .integer(6))
            // The function may do what its caller may not; what it returns is still judged.
            let hidden = try await f.records("star", #"{"note_id":"4"}"#, .bob)
            #expect(hidden.ids.isEmpty)
            #expect(try await f.fetch("note/4")?.fields[field("stars")] == .integer(5))
        }
    }

    @Test func aFunctionOfManyRecordsIsPaged() async throws {
        try await withRecords { f in
            try await f.psql(Self.functions)
            try await f.psql(
                "INSERT INTO note (_id, stars, title) SELECT i::text, i, 'x' FROM generate_series(1, 10000) AS i"
            )
            let first = try await f.records("leaderboard")
            #expect(first.ids.count == RecordQuery.defaultLimit)
            #expect(first.ids.first == "10000")
            #expect(first.result.hasMore)
            let counted = try await f.records("everything") {
                $0.limit = RecordQuery.maximumLimit
                $0.countsMatches = true
            }
            #expect(counted.ids.count == RecordQuery.maximumLimit)
            #expect(counted.result.count == 10_000)
        }
    }

    /// Only what follows the call is bound; the order is that of the function or of the request.
    @Test(
        arguments: [
            (
                false, #"WITH "f" AS (SELECT "f".*, row_number() OVER () AS "_place" FROM fn() AS "f") SELECT "#,
                #"ORDER BY "r"."_place" LIMIT"#
            ),
            (true, #"WITH "f" AS (SELECT "f".* FROM fn() AS "f") SELECT "#, #"ORDER BY "r"."stars""#),
        ]
    )
    func theStatementSelectsFromTheCall(_ sorts: Bool, _ beginning: String, _ order: String) throws {
        var query = RecordQuery(type: type("note"))
        if sorts { query.sort = [SortKey(path("stars"))] }
        let statement = try QueryStatement(
            query,
            table: SchemaCatalog.notes.note,
            catalog: .notes,
            access: RecordAccess(.ann, for: .reading),
            from: "fn()"
        )
        #expect(statement.sql.text.hasPrefix(beginning), "\(statement.sql.text)")
        #expect(statement.sql.text.contains(#" FROM "f" AS "r" WHERE "#))
        #expect(statement.sql.text.contains(order))
    }
}

/// The records of a call, and their ids.
private struct FoundRecords {
    var result: QueryResult

    var ids: [String] { result.records.map { $0.collected()?.id.id ?? "?" } }
}

extension RecordsFixture {
    fileprivate func records(
        _ name: String,
        _ arguments: String = "{}",
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        _ change: (inout RecordQuery) -> Void = { _ in }
    ) async throws -> FoundRecords {
        let function = try await function(name)
        guard case .records(let type) = function.result else { throw UnexpectedOutcome() }
        var query = RecordQuery(type: type)
        change(&query)
        let result = try await store.call(
            function,
            with: JSONText(validated: Array(arguments.utf8)),
            selecting: query,
            with: RecordAccess(caller, in: scope, for: .reading),
            by: caller,
            within: testPatience
        )
        return FoundRecords(result: result)
    }
}
