import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// All pages of a query together.
struct PageReader: Sendable {
    let store: RecordStore
    var caller = Caller.ann
    var scope = DatabaseScope.everyone

    /// The ids of all pages in the order of the query.
    ///
    /// - Parameter isBackwards: whether the last page is read first.
    func ids(_ query: RecordQuery, by size: Int, isBackwards: Bool = false) async throws -> [String] {
        var query = query
        query.limit = size
        if isBackwards { query.position = .last }
        var pages: [[String]] = []
        while true {
            let page = try await store.query(query, in: scope, caller: caller)
            pages.append(page.records.map { $0.collected()?.id.id ?? "?" })
            #expect(page.records.count == size || !page.hasMore)
            #expect((page.cursor == nil) == page.records.isEmpty)
            guard page.hasMore, let cursor = page.cursor, pages.count < 1000 else { break }
            query.position = isBackwards ? .before(cursor) : .after(cursor)
        }
        return (isBackwards ? pages.reversed() : pages).flatMap { $0 }
    }
}

@Suite(.timeLimit(.minutes(60))) struct PagingTests {
    private static let values: [RecordValue?] = [nil, .integer(1), .integer(2)]

    /// Every way to sort by three fields.
    private static let sorts: [[SortKey]] = {
        let choices = [SortKey.Direction.ascending, .descending].flatMap { direction in
            [SortKey.Nulls.first, .last].map { (direction, $0) }
        }
        return choices.flatMap { a in
            choices.flatMap { b in
                choices.map { c in zip(["a", "b", "c"], [a, b, c]).map { SortKey(path($0), $1.0, $1.1) } }
            }
        }
    }()

    private typealias Row = (id: String, values: [Int?])

    /// Whether a row comes before another in an order, with ties broken by the id in the direction of the last key.
    private static func isOrdered(_ first: Row, _ second: Row, _ sort: [SortKey]) -> Bool {
        for (place, key) in sort.enumerated() {
            switch (first.values[place], second.values[place]) {
            case (nil, nil): continue
            case (nil, _?): return key.nulls == .first
            case (_?, nil): return key.nulls == .last
            case (let a?, let b?):
                if a != b { return key.direction == .ascending ? a < b : a > b }
            }
        }
        return sort.last?.direction == .descending ? first.id > second.id : first.id < second.id
    }

    /// Types with and without an index on the first key, which have the same records: all combinations of a number, a text, a
    /// fraction and nothing, with ties.
    private static func withRows(_ body: @escaping @Sendable (RecordStore, [String: [Int?]]) async throws -> Void)
        async throws
    {
        try await withRecords { f in
            var rows: [String: [Int?]] = [:]
            let choices: [Int?] = [nil, 1, 2]
            for a in choices {
                for b in choices {
                    for c in choices {
                        for copy in 0..<(b == nil ? 2 : 1) {
                            // Ids that are not in the order of the values.
                            rows["i\((rows.count * 17 + copy) % 97)"] = [a, b, c]
                        }
                    }
                }
            }
            for name in ["bare", "kept"] {
                var statements = """
                    SELECT _create_type('\(name)');
                    ALTER TABLE \(name) ADD a bigint, ADD b text COLLATE "C", ADD c real;

                    """
                for (id, values) in rows {
                    let texts = values.map { $0.map { "'\($0)'" } ?? "NULL" }.joined(separator: ", ")
                    statements += "INSERT INTO \(name) (_id, a, b, c) VALUES ('\(id)', \(texts));\n"
                }
                try await f.psql(statements)
            }
            try await f.psql("CREATE INDEX ON kept (a, b, c, _id)")
            try await f.store.cache.reload()
            #expect(f.store.cache.current[type("kept")]?.orders.contains("a", in: .everyone) == true)
            #expect(f.store.cache.current[type("bare")]?.orders.contains("a", in: .everyone) == false)
            try await body(f.store, rows)
        }
    }

    @Test(arguments: ["bare", "kept"])
    func thePagesOfEverySortAreTheWhole(name: String) async throws {
        try await Self.withRows { store, rows in
            let reader = PageReader(store: store)
            // A quick run reads every second of these ways, and the others for the next sort and for the other type.
            let isQuick = seededCases(1) == 1
            let ways = [(1, false), (1, true), (2, true), (2, false), (7, false), (7, true)]
            try await withThrowingTaskGroup { group in
                for (place, sort) in Self.sorts.enumerated() {
                    let first = name == "bare" ? place : place + 1
                    group.addTask {
                        let expected = rows.map { ($0.key, $0.value) as Row }
                            .sorted { Self.isOrdered($0, $1, sort) }.map(\.id)
                        let query = RecordQuery(type: type(name), sort: sort)
                        for (number, (size, isBackwards)) in ways.enumerated()
                        where !isQuick || (first + number).isMultiple(of: 2) {
                            let ids = try await reader.ids(query, by: size, isBackwards: isBackwards)
                            #expect(ids == expected, "\(sort), \(size) a page, backwards: \(isBackwards)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func everyTypeOfFieldIsPaged() async throws {
        try await withRecords { f in
            try await f.save("category/b", ["name": .string("z"), "rank": .integer(1)])
            try await f.save("category/a", ["name": .string("é")])
            try await f.psql(
                """
                INSERT INTO note (_id, _owner, title, stars, score, done, due, data, category, _created_at, _created_by, tags)
                SELECT 'n' || n, CASE WHEN n % 3 > 0 THEN 'ann' END,
                    (ARRAY['a', 'A', 'é', 'é' || chr(769), '', NULL, chr(57344), chr(65536)])[n % 8 + 1],
                    (ARRAY[-9223372036854775808, 9223372036854775807, 0, NULL])[n % 4 + 1],
                    (ARRAY['NaN', 'Infinity', '-Infinity', '-0', '0', '5e-324', NULL]::float8[])[n % 7 + 1],
                    (ARRAY[true, false, NULL])[n % 3 + 1],
                    (ARRAY['infinity', '-infinity', '2000-01-01', '2000-01-01 00:00:00.000001', NULL]::timestamptz[])[n % 5 + 1],
                    (ARRAY['', '\\x00', '\\xff', '\\x0000', NULL]::bytea[])[n % 5 + 1],
                    (ARRAY['a', 'b', NULL])[n % 3 + 1], '2020-01-01'::timestamptz + n % 4 * interval '1 s', 'bob',
                    (ARRAY['{"n":9007199254740993}', '{"n":9007199254740992.5}', '{"n":1e300,"s":"é"}', '{"n":-0.1,"s":"a"}',
                        '{"n":1e-300}', '{"s":"x"}', 'null', NULL]::jsonb[])[n % 8 + 1]
                FROM generate_series(1, 40) AS n
                """
            )
            let paths = [
                "title", "stars", "score", "done", "due", "data", "category", "serial", "_id", "_owner_id",
                "_created_by",
                "_updated_by", "_created_at", "_updated_at", "_revision", "_database_id", "category.name",
                "category.rank",
                "category._id", "_owner.username",
            ]
            var inside = [path("tags.n"), path("tags.s")]
            inside[0].jsonType = .number
            inside[1].jsonType = .string
            let reader = PageReader(store: f.store)
            for name in paths.map({ path($0) }) + inside {
                for direction in [SortKey.Direction.ascending, .descending] {
                    for nulls in [SortKey.Nulls.first, .last] {
                        let query = RecordQuery(type: type("note"), sort: [SortKey(name, direction, nulls)])
                        let whole = try await reader.ids(query, by: 1000)
                        #expect(whole.count == 40)
                        #expect(Set(whole).count == 40)
                        for isBackwards in [false, true] {
                            let paged = try await reader.ids(query, by: 7, isBackwards: isBackwards)
                            #expect(paged == whole, "\(name) \(direction) \(nulls), backwards: \(isBackwards)")
                        }
                    }
                }
            }
        }
    }

    @Test func pagesOfOtherDatabasesAndOfOwnersFieldsAreTheWhole() async throws {
        try await withRecords { f in
            for user in ["ann", "bob"] as [UserID] {
                let caller = Caller(kind: .user(user))
                try await f.save(
                    (0..<9).map { draft("category/\($0)", ["rank": .integer(Int64($0 % 3))]) },
                    caller,
                    in: .user(user)
                )
                try await f.save("category/p\(user)", [:], caller)
                try await f.save(
                    (0..<9).map { number in
                        let target = number % 2 == 0 ? "\(number)" : "p\(user)"
                        return draft("note/\(number)", ["category": .reference(id("category/\(target)"))])
                    },
                    caller,
                    in: .user(user)
                )
            }
            try await f.psql(
                """
                INSERT INTO "user" (_id, username, _owner) SELECT 'u' || n, 'u' || n, 'u' || n FROM generate_series(1, 9) AS n;
                UPDATE "user" SET email = 'x' || _id
                """
            )
            let rows: [(Caller, DatabaseScope, RecordTypeName, String, Int)] = [
                (.ann, .user("ann"), type("note"), "category", 9),
                (.ann, .user("ann"), type("note"), "category.rank", 9),
                (.ann, .user("ann"), type("note"), "_id", 9), (.master, .union, type("note"), "_id", 18),
                (.master, .union, type("note"), "category", 18), (.master, .union, type("note"), "_database_id", 18),
                (.master, .user("bob"), type("category"), "rank", 9), (.ann, .everyone, .user, "email", 11),
                (.bob, .everyone, .user, "email", 11), (.master, .everyone, .user, "email", 11),
            ]
            for (caller, scope, name, key, count) in rows {
                let reader = PageReader(store: f.store, caller: caller, scope: scope)
                for direction in [SortKey.Direction.ascending, .descending] {
                    let query = RecordQuery(type: name, sort: [SortKey(path(key), direction)])
                    let whole = try await reader.ids(query, by: 1000)
                    #expect(whole.count == count)
                    for (size, isBackwards) in [(1, false), (2, true), (7, false), (7, true)] {
                        let ids = try await reader.ids(query, by: size, isBackwards: isBackwards)
                        #expect(ids == whole, "\(key) of \(caller) in \(scope)")
                    }
                }
            }
        }
    }

    @Test func whatComesAndGoesMeanwhileMovesNothingElse() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            for round in 0..<6 {
                let name = "t\(round)"
                let made = """
                    SELECT _create_type('\(name)'); ALTER TABLE \(name) ADD a bigint;
                    INSERT INTO \(name) (_id, a) SELECT 'k' || n, nullif(n % 5, 0) FROM generate_series(1, 60) AS n;
                    """
                try await f.psql(made)
                if round.isMultiple(of: 2) { try await f.psql("CREATE INDEX ON \(name) (a, _id)") }
                try await f.store.cache.reload()
                let nulls: SortKey.Nulls = random.oneIn(2) ? .first : .last
                let direction: SortKey.Direction = random.oneIn(2) ? .ascending : .descending
                var query = RecordQuery(type: type(name), sort: [SortKey(path("a"), direction, nulls)], limit: 4)
                let isBackwards = random.oneIn(2)
                if isBackwards { query.position = .last }
                var seen: [String] = []
                var gone: Set<String> = []
                for step in 0..<200 {
                    let page = try await f.store.query(query, in: .everyone, caller: .ann)
                    seen += page.records.map { $0.collected()?.id.id ?? "?" }
                    guard page.hasMore, let cursor = page.cursor else { break }
                    query.position = isBackwards ? .before(cursor) : .after(cursor)
                    // The record of the cursor itself among them.
                    let leaving = step == 0 ? seen[seen.count - 1] : "k\(Int.random(in: 1...60, using: &random))"
                    gone.insert(leaving)
                    try await f.psql(
                        """
                        DELETE FROM \(name) WHERE _id = '\(leaving)';
                        INSERT INTO \(name) (_id, a) VALUES ('new\(step)', nullif(\(Int.random(in: 0..<5, using: &random)), 0))
                        """
                    )
                }
                #expect(Set(seen).count == seen.count)
                let stayed = (1...60).map { "k\($0)" }.filter { !gone.contains($0) }
                #expect(Set(stayed).subtracting(seen).isEmpty, "seed \(random.seed), round \(round)")
            }
        }
    }

    @Test func theLastPageHasTheNewestRecords() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, _created_at)
                SELECT 'n' || n, '2020-01-01'::timestamptz - n * interval '1 day' FROM generate_series(1, 9) AS n
                """
            )
            var query = RecordQuery(type: type("note"), limit: 1)
            query.position = .last
            let newest = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(newest.records.map { $0.collected()?.id.id } == ["n1"])
            query.limit = 3
            let page = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(page.records.map { $0.collected()?.id.id } == ["n3", "n2", "n1"])
            #expect(page.hasMore)
            // Without a sort the pages before are in the order of creation too.
            query.position = .before(try #require(page.cursor))
            let before = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(before.records.map { $0.collected()?.id.id } == ["n6", "n5", "n4"])
            query.position = .after(try #require(before.cursor))
            let after = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(after.records.map { $0.collected()?.id.id } == ["n5", "n4", "n3"])
            // With one it is the end of that.
            query.sort = [SortKey(path("_id"))]
            query.position = .last
            query.offset = 1
            let sorted = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(sorted.records.map { $0.collected()?.id.id } == ["n6", "n7", "n8"])
        }
    }

    @Test func whatIsRequiredIsThereOrAnError() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("x")], access: AccessList([]), .bob)
            let none: Predicate = .compare(.eq, "title", .string("y"))
            let rows: [(Caller, Predicate?, String, Bool, Bool)] = [
                (.bob, nil, "note", false, true), (.ann, nil, "note", false, false), (.bob, none, "note", false, false),
                (.bob, none, "note", true, false), (.bob, nil, "note", true, true),
                (.bob, nil, "nothing", false, false),
            ]
            for (caller, predicate, name, counts, isThere) in rows {
                var query = RecordQuery(type: type(name), predicate: predicate, limit: 1)
                query.countsMatches = counts
                let found = try await f.store.query(query, in: .everyone, caller: caller)
                #expect(found.records.isEmpty != isThere)
                query.isRequired = true
                do {
                    let page = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(isThere && page.records.count == 1)
                } catch let error as SkyrowError {
                    #expect(!isThere && error.code == .resourceNotFound)
                }
            }
        }
    }

    @Test func aCountIsThatOfAllPages() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, stars, _access)
                SELECT 'n' || n, n % 2, CASE WHEN n > 10000 THEN '{}'::jsonb END FROM generate_series(1, 10500) AS n;
                ANALYZE note
                """
            )
            let odd: Predicate = .compare(.eq, "stars", .integer(1))
            typealias Expected = (Caller, Predicate?, RecordQuery.Counting, Int, CountKind?)
            let rows: [Expected] = [
                (.master, nil, .exact, 10_500, nil), (.ann, nil, .exact, 10_000, nil), (.ann, odd, .exact, 5_000, nil),
                // Of those that the caller reads, and no number beyond.
                (.ann, nil, .estimate, 10_000, .exact), (.ann, odd, .estimate, 5_000, .exact),
            ]
            for (caller, predicate, counting, count, kind) in rows {
                var query = RecordQuery(
                    type: type("note"),
                    predicate: predicate,
                    sort: [SortKey(path("stars"))],
                    limit: 3
                )
                query.counting = counting
                for position in [RecordQuery.Position.first, .last] {
                    query.position = position
                    let page = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(page.count == count && page.countKind == kind)
                    query.position = position == .first ? .after(page.cursor ?? "") : .before(page.cursor ?? "")
                    let next = try await f.store.query(query, in: .everyone, caller: caller)
                    #expect(next.count == count && next.countKind == kind && next.records.count == 3)
                }
            }
            try await f.psql("UPDATE note SET _access = NULL WHERE _id = 'n10001'")
            var query = RecordQuery(type: type("note"), limit: 0)
            query.counting = .estimate
            let many = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(many.count == 10_000 && many.countKind == .atLeast && many.records.isEmpty)
            // For the master key it is what PostgreSQL expects, which may be off.
            query.predicate = odd
            let planned = try await f.store.query(query, in: .everyone, caller: .master)
            #expect(planned.countKind == .estimate)
            #expect((4_000...6_500).contains(planned.count ?? 0))
        }
    }
}
