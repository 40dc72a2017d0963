import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct QueryTests {
    private func fill(_ f: RecordsFixture) async throws {
        try await f.save([
            draft("category/home", ["name": .string("Home"), "rank": .integer(1)]),
            draft("category/work", ["name": .string("Work"), "rank": .integer(2)]),
            draft("category/secret", ["name": .string("Secret")], access: AccessList([])),
            draft(
                "note/1",
                [
                    "title": .string("Milk 50%"), "stars": .integer(1), "score": .number(1.5), "done": .boolean(true),
                    "due": .datetime(Timestamp(microseconds: 1)), "category": .reference(id("category/home")),
                    "tags": .json(JSONText(validated: Array(#"["red", "blue"]"#.utf8))), "data": .bytes([1]),
                ]
            ),
            draft(
                "note/2",
                [
                    "title": .string("milk_x"), "stars": .integer(9_007_199_254_740_993), "score": .number(-1),
                    "done": .boolean(false), "due": .datetime(Timestamp(microseconds: 2)),
                    "category": .reference(id("category/work")),
                    "tags": .json(JSONText(validated: Array(#"{"red": 1}"#.utf8))), "data": .bytes([2]),
                ]
            ),
            draft(
                "note/3",
                ["title": .string("Bread"), "category": .reference(id("category/secret")), "stars": .null]
            ),
            draft("note/4", [:]),
        ])
        try await f.save("note/hidden", ["title": .string("Bread")], access: AccessList([]), .bob)
    }

    static let rows: [(Predicate?, [String])] = [
        (nil, ["1", "2", "3", "4"]),
        (.compare(.eq, "title", .string("Bread")), ["3"]),
        (.compare(.neq, "title", .string("Bread")), ["1", "2"]),
        (.not(.compare(.eq, "title", .string("Bread"))), ["1", "2"]),
        (.compare(.eq, "title", .null), ["4"]),
        (.compare(.neq, "title", .null), ["1", "2", "3"]),
        (.compare(.gt, "stars", .null), []),
        (.not(.compare(.gt, "stars", .null)), []),
        (.compare(.like, "title", .string("%ilk%")), ["1", "2"]),
        (.compare(.like, "title", .string(#"%50\%"#)), ["1"]),
        (.compare(.like, "title", .string(#"milk\_x"#)), ["2"]),
        (.compare(.ilike, "title", .string("MILK%")), ["1", "2"]),
        (.compare(.eq, "stars", .integer(9_007_199_254_740_993)), ["2"]),
        (.compare(.eq, "stars", .number(9_007_199_254_740_992)), []),
        (.compare(.gt, "stars", .number(9_007_199_254_740_992)), ["2"]),
        (.compare(.lt, "stars", .number(1.5)), ["1"]),
        (.compare(.lt, "stars", .number(1e300)), ["1", "2"]),
        (.not(.compare(.lt, "stars", .number(1e300))), []),
        (.compare(.neq, "stars", .number(1.5)), ["1", "2"]),
        (.compare(.gte, "score", .integer(-1)), ["1", "2"]),
        (.compare(.eq, "done", .boolean(false)), ["2"]),
        (.compare(.gt, "due", .datetime(Timestamp(microseconds: 1))), ["2"]),
        (.compare(.lte, "data", .bytes([1])), ["1"]),
        (.compare(.eq, "category", .reference(id("category/home"))), ["1"]),
        (.compare(.neq, "category", .string("home")), ["2", "3"]),
        (.isIn("category", [.string("home"), .reference(id("category/work"))]), ["1", "2"]),
        (.isIn("title", [.string("Bread"), .null]), ["3"]),
        (.not(.isIn("title", [.string("Bread"), .null])), ["1", "2"]),
        (.isIn("title", []), []),
        (.not(.isIn("title", [])), ["1", "2", "3", "4"]),
        (.isIn("stars", [.number(1), .number(1.5)]), ["1"]),
        (.isIn("done", [.boolean(true)]), ["1"]),
        (.isIn("due", [.datetime(Timestamp(microseconds: 2))]), ["2"]),
        (.isIn("data", [.bytes([1]), .bytes([2])]), ["1", "2"]),
        (.comparison(.in, .value(.string("red")), .keyPath(path("tags"))), ["1", "2"]),
        (.comparison(.in, .value(.string("blue")), .keyPath(path("tags"))), ["1"]),
        (.comparison(.lt, .value(.integer(1)), .keyPath(path("stars"))), ["2"]),
        (.comparison(.lt, .keyPath(path("stars")), .keyPath(path("score"))), ["1"]),
        (.compare(.eq, "_id", .string("2")), ["2"]),
        (.isIn("_id", [.string("2"), .string("3"), .string("hidden")]), ["2", "3"]),
        (.compare(.gte, "_id", .string("3")), ["3", "4"]),
        (.compare(.like, "_id", .string("%")), ["1", "2", "3", "4"]),
        (.compare(.eq, "_owner", .string("ann")), ["1", "2", "3", "4"]),
        (.compare(.eq, "_owner", .reference(id("user/bob"))), []),
        (.compare(.neq, "_created_at", .null), ["1", "2", "3", "4"]),
        (.compare(.eq, "_database", .string("_public")), ["1", "2", "3", "4"]),
        (.compare(.eq, "category.name", .string("Home")), ["1"]),
        (.compare(.gt, "category.rank", .integer(1)), ["2"]),
        (.compare(.eq, "category._id", .string("work")), ["2"]),
        (.compare(.eq, "_owner.username", .string("ann")), ["1", "2", "3", "4"]),
        (.and([.compare(.like, "title", .string("%i%")), .compare(.eq, "done", .boolean(true))]), ["1"]),
        (.or([.compare(.eq, "title", .null), .compare(.eq, "done", .boolean(true))]), ["1", "4"]),
        (.and([]), ["1", "2", "3", "4"]),
        (.or([]), []),
        (.none([.compare(.eq, "title", .string("Bread"))]), ["1", "2", "4"]),
        (.none([]), ["1", "2", "3", "4"]),
        (.between(.keyPath(path("stars")), .integer(0), .integer(1)), ["1"]),
        (.not(.between(.keyPath(path("stars")), .integer(0), .integer(1))), ["2"]),
        (.list(.nin, "stars", [.integer(1)]), ["2"]),
        (.list(.nin, "stars", []), ["1", "2", "3", "4"]),
        (.compare(.startsWith, "title", .string("Milk")), ["1"]),
        (.compare(.startsWith, "title", .string("")), ["1", "2", "3"]),
        (.compare(.endsWith, "title", .string("%")), ["1"]),
        (.compare(.contains, "title", .string("ilk_")), ["2"]),
        (.compare(.exists, "title", .boolean(false)), ["4"]),
        (.comparison(.eq, .function(.fold, path("title")), .value(.string("MILK_X"))), ["2"]),
        (.compare(.contains, "tags", .string("red")), ["1"]),
        (.compare(.eq, "tags", .string("red")), ["1"]),
        (.compare(.eq, "tags", json(#"["red", "blue"]"#)), ["1"]),
        (.compare(.eq, "tags", json(#"["blue", "red"]"#)), []),
        (.compare(.neq, "tags", json(#"{"red": 1.0}"#)), ["1"]),
        (.list(.containsAll, "tags", [.string("blue"), .string("red")]), ["1"]),
        (.list(.containsAll, "tags", []), ["1", "2"]),
        (.list(.containsAny, "tags", [.string("blue"), .integer(1)]), ["1"]),
        (.list(.containedBy, "tags", [.string("blue"), .string("red"), .integer(1)]), ["1"]),
        (.list(.in, "tags", [.string("blue"), json(#"{"red": 1}"#)]), ["1", "2"]),
        (.comparison(.eq, .function(.size, path("tags")), .value(.integer(2))), ["1"]),
        (.compare(.eq, "tags.red", .integer(1)), ["2"]),
        (.compare(.gt, "tags.red", .number(0.5)), ["2"]),
        (.compare(.gt, "tags.red", .string("0")), []),
        (.compare(.eq, "tags.0", .string("red")), ["1"]),
        (.compare(.startsWith, "tags.1", .string("bl")), ["1"]),
        (.compare(.exists, "tags.red", .boolean(false)), ["1", "3", "4"]),
    ]

    private static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    /// A path through two references sees what the caller may read of both.
    @Test func aLongPathEndsAtARecordThatIsHidden() async throws {
        try await withRecords { f in
            try await fill(f)
            try await f.save("note/5", ["next": .reference(id("note/3"))])
            try await f.save("note/6", ["next": .reference(id("note/5"))])
            try await f.save("note/7", ["next": .reference(id("note/1"))])
            func found(_ predicate: Predicate, _ caller: Caller) async throws -> [String] {
                try await f.query(predicate, caller).filter { $0 > "4" && $0 != "hidden" }
            }
            let isSecret = Predicate.compare(.eq, "next.category.name", .string("Secret"))
            #expect(try await found(isSecret, .ann) == ["5"])
            #expect(try await found(isSecret, .bob) == [])
            #expect(try await found(.none([isSecret]), .bob) == ["5", "6", "7"])
            #expect(try await found(.compare(.eq, "next.next.category.name", .string("Secret")), .ann) == ["6"])
            #expect(try await found(.compare(.eq, "next.next.category.name", .null), .bob) == ["5", "6", "7"])
            #expect(try await found(.compare(.eq, "next.category.name", .string("Home")), .bob) == ["7"])
            #expect(try await found(.compare(.eq, "next.tags.0", .string("red")), .bob) == ["7"])
            var query = included(["c": "next.category", "n": "next.next.category"], sort: [])
            query.predicate = .list(.in, "_id", [.string("5"), .string("6"), .string("7")])
            for (caller, isHidden) in [(Caller.ann, false), (.bob, true)] {
                let result = try await f.store.query(query, in: .everyone, caller: caller)
                let categories = result.records.map { record in
                    ["c", "n"].map { (record.collected()?.transient[$0] ?? nil)?.id.description }
                }
                let secret = isHidden ? nil : "category/secret"
                #expect(categories == [[secret, nil], [nil, secret], ["category/home", nil]])
            }
        }
    }

    /// A query inside of a predicate finds no record that its caller may not read, whatever it is asked for.
    @Test func aQueryInsideOfAPredicateFindsWhatItsCallerMayRead() async throws {
        try await withRecords { f in
            try await fill(f)
            func found(
                _ name: String,
                in typeName: String,
                _ predicate: Predicate? = nil,
                key: String? = nil,
                not isNegated: Bool = false
            ) -> Predicate {
                let query = Subquery(type: type(typeName), predicate: predicate, key: key.map { path($0) })
                return .found(.keyPath(path(name)), by: query, isNegated: isNegated)
            }
            let isSecret = Predicate.compare(.eq, "name", .string("Secret"))
            let rows: [(Predicate, ann: [String], bob: [String])] = [
                (found("category", in: "category"), ["1", "2", "3"], ["1", "2"]),
                (found("category", in: "category", isSecret), ["3"], []),
                (found("category", in: "category", isSecret, not: true), ["1", "2"], ["1", "2", "3"]),
                (.not(found("category", in: "category", isSecret, not: true)), ["3"], []),
                (
                    .none([found("category", in: "category", isSecret)]), ["1", "2", "4"],
                    ["1", "2", "3", "4", "hidden"]
                ),
                (found("category", in: "category", .compare(.gt, "rank", .integer(1))), ["2"], ["2"]),
                (found("_id", in: "note", .compare(.exists, "title", .boolean(true)), key: "next"), [], []),
                (
                    found("title", in: "note", .compare(.eq, "_id", .string("hidden")), key: "title"), [],
                    ["3", "hidden"]
                ),
                (
                    found(
                        "category",
                        in: "category",
                        found("_id", in: "note", .compare(.eq, "done", .boolean(true)), key: "category")
                    ), ["1"], ["1"]
                ),
                (found("_owner", in: "user", .compare(.eq, "username", .string("bob"))), [], ["hidden"]),
            ]
            for (predicate, ann, bob) in rows {
                #expect(try await f.query(predicate, .ann) == ann, "\(predicate)")
                #expect(try await f.query(predicate, .bob) == bob, "\(predicate)")
                #expect(try await f.query(predicate, .bob) { $0.countsMatches = true } == bob)
            }
        }
    }

    @Test func valuesInsideJSONAreSortedAsAType() async throws {
        try await withRecords { f in
            for (name, tags) in [
                ("1", #"{"n": 10}"#), ("2", #"{"n": 9.5}"#), ("3", #"{"n": "1"}"#),
                ("4", #"{"n": 12345678901234567890}"#),
            ] {
                try await f.save("note/\(name)", ["tags": Self.json(tags)])
            }
            func order(_ type: JSONValueType, _ direction: SortKey.Direction) async throws -> [String] {
                var inside = path("tags.n")
                inside.jsonType = type
                return try await f.query(nil) { $0.sort = [SortKey(inside, direction)] }
            }
            #expect(try await order(.number, .ascending) == ["2", "1", "4", "3"])
            #expect(try await order(.number, .descending) == ["3", "4", "1", "2"])
            #expect(try await order(.string, .ascending) == ["3", "1", "2", "4"])
        }
    }

    @Test func textsAreSortedWithoutRegardToCaseAndArraysBySize() async throws {
        try await withRecords { f in
            try await fill(f)
            func order(_ function: FieldFunction, _ name: String) async throws -> [String] {
                var key = SortKey(path(name))
                key.function = function
                return try await f.query(nil) { $0.sort = [key] }
            }
            #expect(try await f.query(nil) { $0.sort = [SortKey(path("title"))] } == ["3", "1", "2", "4"])
            try await f.save("note/5", ["title": .string("apple"), "tags": Self.json("[]")])
            try await f.save("note/6", ["title": .string("MILK"), "tags": Self.json("[1]")])
            #expect(try await order(.fold, "title") == ["5", "3", "6", "1", "2", "4"])
            #expect(try await order(.size, "tags") == ["5", "6", "1", "2", "3", "4"])
            let record = try await f.store.query(
                {
                    var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "_id", .string("6")))
                    query.omittedFields = ["tags"]
                    return query
                }(),
                in: .everyone,
                caller: .ann
            ).records[0].collected()
            #expect(record?.fields[field("title")] == .string("MILK"))
            #expect(record?.fields.keys.contains(field("tags")) == false)
        }
    }

    @Test func aPrefixIsLookedUpInAnIndex() async throws {
        try await withRecords { f in
            try await fill(f)
            try await f.client.withTransaction { transaction in
                try await transaction.executeScript(
                    "CREATE INDEX note_title ON app.note (title); SET LOCAL enable_seqscan = off; ANALYZE app.note"
                )
                for predicate in [
                    Predicate.compare(.startsWith, "title", .string("Mi")), .compare(.like, "title", .string("Mi%x")),
                ] {
                    let table = try #require(f.store.cache.current[type("note")])
                    let statement = try QueryStatement(
                        RecordQuery(type: type("note"), predicate: predicate),
                        table: table,
                        catalog: f.store.cache.current,
                        access: RecordAccess(.ann, for: .reading)
                    )
                    for mode in ["force_generic_plan", "force_custom_plan"] {
                        _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                        let plan = try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                            .decodeColumn(0, as: String.self).joined(separator: "\n")
                        #expect(plan.contains("note_title") && plan.contains("Index Cond"), "\(mode): \(plan)")
                    }
                }
            }
        }
    }

    @Test func everyPredicateAnswersItsRows() async throws {
        try await withRecords { f in
            try await fill(f)
            for (predicate, ids) in Self.rows {
                let found = try await f.query(predicate)
                #expect(found == ids, "\(String(describing: predicate))")
                let counted = try await f.query(predicate) { $0.countsMatches = true }
                #expect(counted == ids, "\(String(describing: predicate))")
            }
        }
    }

    @Test func predicatesMeanTheSameInAPrivateDatabaseAndTheUnion() async throws {
        try await withRecords { f in
            try await fill(f)
            try await f.save("category/own", ["name": .string("Own")], .ann, in: .user("ann"))
            try await f.save(
                [
                    draft("note/1", ["category": .reference(id("category/own"))]),
                    draft("note/2", ["category": .reference(id("category/work"))]),
                ],
                .ann,
                in: .user("ann")
            )
            for (predicate, ids) in [
                (Predicate.compare(.eq, "_id", .string("1")), ["1"]), (.compare(.gt, "_id", .string("1")), ["2"]),
                (.compare(.like, "_id", .string("1%")), ["1"]), (.isIn("_id", [.string("2")]), ["2"]),
                (.compare(.eq, "category", .string("own")), ["1"]), (.compare(.eq, "category", .string("work")), ["2"]),
                (.compare(.neq, "category", .string("work")), ["1"]),
                (.compare(.eq, "category.name", .string("Own")), ["1"]),
                (.compare(.eq, "category.name", .string("Work")), ["2"]),
                (.compare(.eq, "category._id", .string("own")), ["1"]),
            ] {
                #expect(try await f.query(predicate, .ann, in: .user("ann")) == ids, "\(predicate)")
            }
            #expect(try await f.query(.compare(.eq, "_id", .string("1")), .master, in: .union) == ["1", "1"])
            #expect(try await f.query(.compare(.eq, "category", .string("own")), .master, in: .union) == ["1"])
            #expect(try await f.query(.compare(.eq, "_database", .string("ann")), .master, in: .union) == ["1", "2"])
            #expect(try await f.query(nil, .bob, in: .user("ann")).isEmpty)
        }
    }

    @Test func aForbiddenRecordBehindAReferenceIsAsOneThatIsMissing() async throws {
        try await withRecords { f in
            try await fill(f)
            #expect(try await f.query(.compare(.eq, "category.name", .string("Secret")), .bob).isEmpty)
            #expect(try await f.query(.compare(.eq, "category.name", .null), .bob) == ["3", "4", "hidden"])
            #expect(try await f.query(.compare(.eq, "category.name", .string("Secret")), .ann) == ["3"])
            let result = try await f.store.query(
                included(["c": "category"], sort: []),
                in: .everyone,
                caller: .bob
            )
            let categories = result.records.map { $0.collected()?.transient["c"] ?? nil }
            #expect(categories.map { $0?.id.id } == ["home", "work", nil, nil, nil])
        }
    }

    private func included(_ include: [String: String], sort: [SortKey]) -> RecordQuery {
        RecordQuery(
            type: type("note"),
            sort: sort,
            include: include.sorted { $0.key < $1.key }.map { Inclusion(name: $0, keyPath: path($1)) }
        )
    }

    @Test func includedRecordsTravelWithTheirRow() async throws {
        try await withRecords { f in
            try await fill(f)
            let result = try await f.store.query(
                included(["c": "category", "again": "category", "o": "_owner", "deep": "next.category"], sort: []),
                in: .everyone,
                caller: .ann
            )
            let first = try #require(result.records[0].collected())
            #expect(first.transient.keys.sorted() == ["again", "c", "deep", "o"])
            #expect(first.transient["c"]??.fields[field("name")] == .string("Home"))
            #expect(first.transient["again"]??.id == id("category/home"))
            #expect(first.transient["o"]??.fields[field("username")] == .string("ann"))
            #expect(first.transient["deep"] == .some(nil))
            let last = try #require(result.records[3].collected())
            #expect(last.transient["c"] == .some(nil))
        }
    }

    @Test func aPrivateRecordIncludesPublicAndOwnRecordsAndItsOwner() async throws {
        try await withRecords { f in
            try await fill(f)
            try await f.save(
                [
                    draft("category/own", ["name": .string("Own")]),
                    draft("note/1", ["category": .reference(id("category/own"))]),
                    draft("note/2", ["category": .reference(id("category/work"))]),
                ],
                .ann,
                in: .user("ann")
            )
            let result = try await f.store.query(
                included(["c": "category", "o": "_created_by"], sort: []),
                in: .user("ann"),
                caller: .ann
            )
            let records = result.records.map { $0.collected() }
            #expect(records.map { $0?.transient["c"]??.id.id } == ["own", "work"])
            #expect(records.map { $0?.transient["o"]??.id.id } == ["ann", "ann"])
        }
    }

    @Test func sortingPagingAndCounting() async throws {
        try await withRecords { f in
            try await f.save(
                (0..<30).map { draft("note/\($0 + 10)", ["stars": .integer(Int64($0 % 3)), "title": .string("x")]) }
            )
            try await f.save("note/null", ["title": .string("x")])
            let all = try await f.query { $0.sort = [SortKey(path("stars"), .descending)] }
            #expect(all.first == "null")
            var paged: [String] = []
            for offset in stride(from: 0, to: 40, by: 7) {
                paged += try await f.query {
                    $0.sort = [SortKey(path("stars"), .descending)]
                    $0.limit = 7
                    $0.offset = offset
                }
            }
            #expect(paged == all)
            let up = try await f.query { $0.sort = [SortKey(path("stars")), SortKey(path("_id"), .descending)] }
            #expect(up.prefix(2) == ["37", "34"])
            #expect(up.last == "null")
            for (limit, offset, rows) in [(0, 0, 0), (5, 0, 5), (5, 29, 2), (5, 100, 0)] {
                var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "title", .string("x")))
                query.limit = limit
                query.offset = offset
                query.countsMatches = true
                query.sort = [SortKey(path("stars"))]
                let result = try await f.store.query(query, in: .everyone, caller: .ann)
                #expect(result.count == 31)
                #expect(result.records.count == rows)
            }
            let nothing = try await f.store.query(
                RecordQuery(type: type("nothing"), countsMatches: true),
                in: .everyone,
                caller: .ann
            )
            #expect(nothing.count == 0 && nothing.records.isEmpty)
        }
    }

    @Test func sortingByAFieldBehindAReference() async throws {
        try await withRecords { f in
            try await fill(f)
            #expect(
                try await f.query { $0.sort = [SortKey(path("category.name"), .descending)] } == ["4", "2", "3", "1"]
            )
        }
    }

    @Test func desiredKeysLeaveOutTheOthers() async throws {
        try await withRecords { f in
            try await fill(f)
            for (desired, fields) in [(["title"], ["title"]), ([], []), (["_id", "stars"], ["stars"])]
                as [([String], [String])]
            {
                var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "_id", .string("1")))
                query.desiredFields = desired
                let record = try #require(
                    try await f.store.query(query, in: .everyone, caller: .ann).records[0].collected()
                )
                #expect(record.fields.keys.map(\.rawValue) == fields)
                #expect(record.owner == "ann")
            }
        }
    }

    @Test func whatIsNotCountedIsNotReadable() async throws {
        try await withRecords { f in
            try await fill(f)
            for (caller, count) in [(Caller.anonymous, 4), (.ann, 4), (.bob, 5), (.master, 5)] {
                let result = try await f.store.query(
                    RecordQuery(type: type("note"), countsMatches: true),
                    in: .everyone,
                    caller: caller
                )
                #expect(result.count == count)
            }
        }
    }

    @Test func questionsWithoutMeaningAreRefused() async throws {
        try await withRecords { f in
            var query = RecordQuery(type: type("note"))
            query.sort = [SortKey(path("tags"))]
            var unknown = RecordQuery(type: type("note"))
            unknown.desiredFields = ["missing"]
            var include = RecordQuery(type: type("note"))
            include.include = [Inclusion(name: "x", keyPath: path("title"))]
            for refused in [query, unknown, include] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await f.store.query(refused, in: .everyone, caller: .ann)
                }
                #expect(error?.code == .recordQueryInvalid)
            }
        }
    }
}
