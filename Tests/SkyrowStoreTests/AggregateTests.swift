import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Groups of records, beside the same computed from the records that a caller reads.
@Suite(.timeLimit(.minutes(60))) struct AggregateTests: AggregateSuite {
    // MARK: An independent model

    /// A record of the model: who owns it, whether it is open to others, and its fields.
    private struct Row {
        var owner: String
        var isOpen: Bool
        var fields: [String: RecordValue]
    }

    private static let fields = ["title", "stars", "score", "done", "due", "data"]

    private static func rows(_ random: inout SeededGenerator) -> [Row] {
        let titles: [RecordValue?] = [nil, .string("a"), .string("A"), .string("é"), .string("")]
        let stars: [RecordValue?] = [nil, .integer(1), .integer(2), .integer(-3), .integer(.max)]
        let scores: [RecordValue?] = [nil, .number(0.5), .number(-1.25), .number(1e9)]
        let dues: [RecordValue?] = [nil, .datetime(Timestamp(microseconds: 0)), .datetime(Timestamp(microseconds: 7))]
        let bytes: [RecordValue?] = [nil, .bytes([]), .bytes([0]), .bytes([0, 255]), .bytes([255])]
        return (0..<80).map { _ in
            var fields: [String: RecordValue] = [:]
            fields["title"] = random.element(titles)
            fields["stars"] = random.element(stars)
            fields["score"] = random.element(scores)
            fields["done"] = random.element([nil, .boolean(true), .boolean(false)])
            fields["due"] = random.element(dues)
            fields["data"] = random.element(bytes)
            return Row(owner: random.element(["ann", "bob"]), isOpen: !random.oneIn(3), fields: fields)
        }
    }

    private static func order(_ a: RecordValue, _ b: RecordValue) -> Bool {
        switch (a, b) {
        case (.string(let a), .string(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.integer(let a), .integer(let b)): a < b
        case (.number(let a), .number(let b)): a < b
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.datetime(let a), .datetime(let b)): a < b
        case (.bytes(let a), .bytes(let b)): a.lexicographicallyPrecedes(b)
        default: false
        }
    }

    private static func compute(_ aggregate: Aggregate, of rows: [Row]) -> RecordValue? {
        guard let name = aggregate.keyPath?.description else { return .integer(Int64(rows.count)) }
        let values = rows.compactMap { $0.fields[name] }
        switch aggregate.function {
        case .count: return .integer(Int64(values.count))
        case .countDistinct: return .integer(Int64(Set(values).count))
        case .minimum: return values.min { order($0, $1) }
        case .maximum: return values.max { order($0, $1) }
        case .sum, .average:
            if values.isEmpty { return nil }
            // Sums of more than 64 bits are kept as texts.
            var whole: Int128 = 0
            var sum = 0.0
            var isWhole = false
            for value in values {
                switch value {
                case .integer(let integer):
                    isWhole = true
                    whole += Int128(integer)
                case .number(let number): sum += number
                default: break
                }
            }
            if aggregate.function == .average {
                return .number((isWhole ? Double(whole) : sum) / Double(values.count))
            }
            return isWhole ? .json(JSONText(validated: Array("\(whole)".utf8))) : .number(sum)
        }
    }

    private static func isSame(_ a: Group, _ b: Group) -> Bool {
        a.count == b.count
            && a.allSatisfy { name, value in
                switch (value, b[name]) {
                case (.number(let a), .number(let b)?): abs(a - b) <= 1e-12 * max(abs(a), abs(b), 1)
                case (let a, let b?): a == b
                case (_, nil): false
                }
            }
    }

    @Test func groupsAreThoseOfTheRecordsThatTheCallerReads() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let rows = Self.rows(&random)
            for (number, row) in rows.enumerated() {
                try await f.save(
                    "note/\(number)",
                    row.fields,
                    access: row.isOpen ? nil : AccessList([]),
                    Caller(kind: .user(UserID(row.owner)))
                )
            }
            let functions: [(Aggregate.Function, [String])] = [
                (.count, Self.fields), (.countDistinct, Self.fields), (.minimum, Self.fields), (.maximum, Self.fields),
                (.sum, ["stars", "score"]), (.average, ["stars", "score"]),
            ]
            for _ in 0..<150 {
                let caller = random.element([Caller.ann, .bob, .master, .anonymous])
                var query = AggregateQuery(type: type("note"), limit: 1000)
                let keys = ["title", "stars", "score", "done", "due"].shuffled(using: &random)
                query.groupKeys = keys.prefix(Int.random(in: 0...3, using: &random)).map { Self.key("by_\($0)", $0) }
                if random.oneIn(2) { query.aggregates.append(Self.aggregate("n", .count)) }
                for number in 0..<Int.random(in: 0...3, using: &random) {
                    let (function, fields) = random.element(functions)
                    query.aggregates.append(Self.aggregate("a\(number)", function, random.element(fields)))
                }
                if query.groupKeys.isEmpty, query.aggregates.isEmpty { continue }
                let isFiltered = random.oneIn(3)
                if isFiltered { query.predicate = .compare(.eq, "done", .boolean(true)) }
                let visible = rows.filter { row in
                    (caller.isMaster || row.isOpen || caller.userID == UserID(row.owner))
                        && (!isFiltered || row.fields["done"] == .boolean(true))
                }
                var expected = Dictionary(grouping: visible) { row in
                    query.groupKeys.map { row.fields[$0.keyPath.description] }
                }
                // Without keys there is one group, of no records if need be.
                if query.groupKeys.isEmpty, expected.isEmpty { expected[[]] = [] }
                var left = try await Self.groups(f, query, caller)
                #expect(left.count == expected.count)
                for (values, members) in expected {
                    var group: Group = [:]
                    for (key, value) in zip(query.groupKeys, values) { group[key.name] = value }
                    for aggregate in query.aggregates { group[aggregate.name] = Self.compute(aggregate, of: members) }
                    guard let place = left.firstIndex(where: { Self.isSame($0, group) }) else {
                        Issue.record("seed \(random.seed): \(group) is not in \(left), asked by \(caller): \(query)")
                        return
                    }
                    left.remove(at: place)
                }
            }
        }
    }

    // MARK: Keys

    @Test func bucketsBeginWhereTheClockOfTheirPlaceSaysSo() async throws {
        try await withRecords { f in
            // Around the change to summer time in Warsaw, at 01:00 UTC of 2026-03-29, and a turn of the year.
            let instants = [
                "2026-03-28T22:59:59Z", "2026-03-28T23:00:00Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z",
                "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z", "2025-12-31T23:30:00Z",
            ]
            let values = instants.enumerated().map { "('\($0.offset)', '\($0.element)')" }.joined(separator: ", ")
            try await f.psql("INSERT INTO note (_id, due) VALUES \(values), ('none', NULL), ('last', 'infinity')")
            let rows: [(unit: TimeBucket.Unit, zone: String, sql: String)] = TimeBucket.Unit.allCases.flatMap { unit in
                ["UTC", "Europe/Warsaw", "America/St_Johns"].map { zone in
                    (
                        unit, zone,
                        "date_trunc('\(unit.rawValue)', due AT TIME ZONE '\(zone)') AT TIME ZONE '\(zone)'"
                    )
                }
            }
            for row in rows {
                var query = AggregateQuery(type: type("note"), aggregates: [Self.aggregate("n", .count)])
                query.groupKeys = [Self.key("at", "due", in: TimeBucket(row.unit, timeZone: row.zone))]
                query.sort = [SortKey(path("at"))]
                let found = try await Self.groups(f, query)
                let expected = try await f.psql(
                    """
                    SELECT extract(epoch FROM \(row.sql) - '2000-01-01T00:00:00Z')::bigint * 1000000, count(*)
                    FROM note WHERE due < 'infinity' GROUP BY \(row.sql) ORDER BY \(row.sql)
                    """
                ).split(separator: "\n").map { line -> Group in
                    let words = line.split(separator: "|").compactMap { Int64($0) }
                    return ["at": .datetime(Timestamp(microseconds: words[0])), "n": .integer(words[1])]
                }
                let last: [Group] = [["at": .datetime(.infinity), "n": .integer(1)], ["n": .integer(1)]]
                #expect(found == expected + last, "\(row.unit) in \(row.zone)")
            }
            var query = AggregateQuery(type: type("note"))
            for (zone, path) in [
                ("Europe/Warsaw", nil), ("Europe/Nowhere", "group_by.at.time_zone"),
                ("CET-1x", "group_by.at.time_zone"),
            ]
                as [(String, String?)]
            {
                query.groupKeys = [Self.key("at", "due", in: TimeBucket(.day, timeZone: zone))]
                let error = await Self.error(f, query)
                #expect(error?.path == path)
                #expect(error.map { $0.code == .invalidArgument } ?? true)
            }
        }
    }

    @Test func keysLeadThroughReferencesAndHideWhatIsHidden() async throws {
        try await withRecords { f in
            try await f.save("category/a", ["name": .string("Home"), "rank": .integer(1)])
            try await f.save(
                "category/b",
                ["name": .string("Secret"), "rank": .integer(2)],
                access: AccessList([]),
                .bob
            )
            try await f.psql(
                """
                UPDATE "user" SET email = _id || '@example.org';
                INSERT INTO note (_id, _owner, category, stars)
                SELECT 'n' || n, (ARRAY['ann', 'bob'])[n % 2 + 1], (ARRAY['a', 'b', NULL])[n % 3 + 1], n FROM generate_series(0, 11) AS n
                """
            )
            let n = Self.aggregate("n", .count)
            func counts(_ caller: Caller, _ keyPath: String) async throws -> [RecordValue?: Int64] {
                let query = AggregateQuery(type: type("note"), groupKeys: [Self.key("k", keyPath)], aggregates: [n])
                let groups = try await Self.groups(f, query, caller)
                return Dictionary(
                    uniqueKeysWithValues: groups.map { group in
                        guard case .integer(let count)? = group["n"] else { return (group["k"], 0) }
                        return (group["k"], count)
                    }
                )
            }
            #expect(try await counts(.ann, "category.name") == [.string("Home"): 4, nil: 8])
            #expect(try await counts(.bob, "category.name") == [.string("Home"): 4, .string("Secret"): 4, nil: 4])
            // A reference is part of the record itself.
            #expect(
                try await counts(.ann, "category")
                    == [.reference(id("category/a")): 4, .reference(id("category/b")): 4, nil: 4]
            )
            #expect(try await counts(.ann, "category._id") == [.reference(id("category/a")): 4, nil: 8])
            #expect(try await counts(.ann, "_owner_id") == [.string("ann"): 6, .string("bob"): 6])
            // A field that owners alone see is missing from the profiles of others.
            #expect(try await counts(.ann, "_owner.email") == [.string("ann@example.org"): 6, nil: 6])
            #expect(
                try await counts(.master, "_owner.email")
                    == [.string("ann@example.org"): 6, .string("bob@example.org"): 6]
            )
            let least = AggregateQuery(
                type: .user,
                aggregates: [
                    Self.aggregate("least", .minimum, "email"), Self.aggregate("n", .count, "email"),
                    Self.aggregate("all", .count),
                ]
            )
            #expect(
                try await Self.groups(f, least, .bob)
                    == [["least": .string("bob@example.org"), "n": .integer(1), "all": .integer(2)]]
            )
            for query in [
                least, AggregateQuery(type: .user, groupKeys: [Self.key("e", "email")]),
                AggregateQuery(type: .user, predicate: .compare(.eq, "email", .string("x")), aggregates: [n]),
                AggregateQuery(type: type("note"), aggregates: [Self.aggregate("n", .countDistinct, "_owner.email")]),
            ] {
                #expect(await Self.error(f, query, .anonymous)?.code == .recordQueryDenied)
                #expect(await Self.error(f, query, .bob) == nil)
            }
        }
    }

    @Test func idsOfPrivateDatabasesAreThoseThatClientsSee() async throws {
        try await withRecords { f in
            try await f.save("category/p", [:], .ann)
            for user in ["ann", "bob"] as [UserID] {
                let caller = Caller(kind: .user(user))
                try await f.save("category/own", [:], caller, in: .user(user))
                for (number, target) in ["own", "own", "p"].enumerated() {
                    let reference: [String: RecordValue] = ["category": .reference(id("category/\(target)"))]
                    try await f.save("note/\(number)", reference, caller, in: .user(user))
                }
            }
            var query = AggregateQuery(
                type: type("note"),
                groupKeys: [Self.key("category")],
                aggregates: [Self.aggregate("n", .count)]
            )
            query.having = .compare(.eq, "category", .reference(id("category/own")))
            let own: Group = ["category": .reference(id("category/own")), "n": .integer(2)]
            #expect(try await Self.groups(f, query, .ann, in: .user("ann")) == [own])
            #expect(try await Self.groups(f, query, .ann) == [])
            query.groupKeys.append(Self.key("database", "_database_id"))
            let both = try await Self.groups(f, query, .master, in: .union)
            #expect(both.map { $0["database"] } == [.string("ann"), .string("bob")])
        }
    }

    // MARK: Aggregates

    @Test func sumsOfIntegersHaveAllTheirDigits() async throws {
        try await withRecords { f in
            try await f.psql(
                "INSERT INTO note (_id, stars) SELECT 'n' || n, 9223372036854775807 FROM generate_series(1, 3) AS n"
            )
            var query = AggregateQuery(
                type: type("note"),
                aggregates: [Self.aggregate("sum", .sum, "stars"), Self.aggregate("avg", .average, "stars")]
            )
            let sum = RecordValue.json(JSONText(validated: Array("27670116110564327421".utf8)))
            let whole: Group = ["sum": sum, "avg": .number(9.223372036854775807e18)]
            #expect(try await Self.groups(f, query) == [whole])
            for (comparison, value, isThere) in [
                (.gt, .integer(.max), true), (.lte, .integer(.max), false), (.gt, .number(1.5), true),
            ] as [(ComparisonOperator, RecordValue, Bool)] {
                query.having = .compare(comparison, "sum", value)
                #expect(try await Self.groups(f, query).count == (isThere ? 1 : 0))
            }
        }
    }

    @Test func columnsOfOtherTypesAreComputedLikeOurs() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('old');
                ALTER TABLE old ADD small smallint, ADD plain integer, ADD half real, ADD name text COLLATE "sv-x-icu";
                INSERT INTO old (_id, small, plain, half, name) VALUES
                    ('1', 32767, 2147483647, 0.5, 'z'), ('2', 32767, 2147483647, 0.25, 'ö'), ('3', NULL, NULL, NULL, NULL)
                """
            )
            try await f.store.cache.reload()
            let query = AggregateQuery(
                type: type("old"),
                aggregates: [
                    Self.aggregate("small", .sum, "small"), Self.aggregate("plain", .sum, "plain"),
                    Self.aggregate("half", .sum, "half"), Self.aggregate("last", .maximum, "name"),
                    Self.aggregate("first", .minimum, "name"), Self.aggregate("most", .maximum, "small"),
                ]
            )
            let expected: Group = [
                "small": .json(JSONText(validated: Array("65534".utf8))),
                "plain": .json(JSONText(validated: Array("4294967294".utf8))), "half": .number(0.75),
                "last": .string("ö"), "first": .string("z"), "most": .integer(32_767),
            ]
            #expect(try await Self.groups(f, query) == [expected])
            let keys = AggregateQuery(
                type: type("old"),
                groupKeys: [Self.key("name"), Self.key("half"), Self.key("plain")]
            )
            #expect(try await Self.groups(f, keys).map { $0["name"] } == [.string("z"), .string("ö"), nil])
        }
    }

    @Test func groupsAreChosenSortedAndCut() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, title, stars)
                SELECT 'n' || n, nullif(left(md5((n % 7)::text), 1 + n % 7), left(md5('3'), 4)), n % 5
                FROM generate_series(1, 200) AS n
                """
            )
            var query = AggregateQuery(
                type: type("note"),
                groupKeys: [Self.key("title")],
                aggregates: [Self.aggregate("n", .count), Self.aggregate("most", .maximum, "stars")]
            )
            let all = try await Self.groups(f, query)
            #expect(all.count == 7)
            // Without a sort they come in the order of their keys, what is missing last.
            let titles = all.map { $0["title"] }
            #expect(titles.last == .some(nil))
            #expect(
                titles.dropLast().map { "\(String(describing: $0))" }
                    == titles.dropLast().map { "\(String(describing: $0))" }.sorted()
            )
            query.sort = [SortKey(path("n"), .descending), SortKey(path("title"), .descending, .first)]
            let sorted = try await Self.groups(f, query)
            #expect(
                sorted
                    == all.reversed().sorted { a, b in
                        guard case .integer(let a)? = a["n"], case .integer(let b)? = b["n"] else { return false }
                        return a > b
                    }
            )
            query.having = .and([.compare(.gte, "n", .integer(29)), .compare(.neq, "title", .null)])
            let some = try await Self.groups(f, query)
            #expect(some == sorted.filter { $0["n"] == .integer(29) && $0["title"] != nil })
            #expect(!some.isEmpty && some.count < 7)
            query.having = nil
            for (limit, hasMore) in [(0, false), (3, true), (6, true), (7, false), (1000, false)] {
                query.limit = limit
                let access = RecordAccess(.ann, in: .everyone, for: .reading)
                let result = try await f.store.aggregate(query, with: access)
                #expect(result.groups.count == min(limit, 7) && result.hasMore == hasMore)
            }
        }
    }

    @Test func whatIsComputedOfNothingIsMissing() async throws {
        try await withRecords { f in
            let aggregates = [
                Self.aggregate("n", .count), Self.aggregate("sum", .sum, "stars"),
                Self.aggregate("least", .minimum, "title"),
                Self.aggregate("titles", .countDistinct, "title"),
            ]
            let zero: Group = ["n": .integer(0), "titles": .integer(0)]
            let query = AggregateQuery(type: type("note"), aggregates: aggregates)
            let none = try await Self.groups(f, query)
            #expect(none == [zero])
            let keyed = AggregateQuery(type: type("note"), groupKeys: [Self.key("stars")], aggregates: aggregates)
            #expect(try await Self.groups(f, keyed) == [])
            // The only aggregate has a statement of its own.
            let titles = AggregateQuery(type: type("note"), aggregates: [aggregates[3]])
            #expect(try await Self.groups(f, titles) == [["titles": .integer(0)]])
            // Nor has a type without a table.
            var nothing = AggregateQuery(type: type("nothing"), aggregates: aggregates)
            #expect(try await Self.groups(f, nothing) == [zero])
            nothing.groupKeys = [Self.key("stars")]
            #expect(try await Self.groups(f, nothing) == [])
        }
    }

    /// The number of statements of a group is one, and its text has no value of the request.
    @Test func theStatementHasItsValuesBound() throws {
        var query = AggregateQuery(
            type: type("note"),
            predicate: .compare(.gte, "stars", .integer(3)),
            groupKeys: [Self.key("year", "due", in: TimeBucket(.year, timeZone: "Europe/Warsaw")), Self.key("title")],
            aggregates: [Self.aggregate("n", .count), Self.aggregate("sum", .sum, "stars")]
        )
        query.having = .compare(.gt, "n", .integer(10))
        query.sort = [SortKey(path("n"), .descending)]
        let statement = try AggregateStatement(
            query,
            table: SchemaCatalog.notes.note,
            catalog: .notes,
            access: RecordAccess(.master, in: .everyone, for: .reading)
        )
        #expect(
            statement.sql.text
                == #"SELECT "r"."year", "r"."title", "r"."n", to_jsonb("r"."sum") FROM ("#
                + #"SELECT date_trunc($1, "r"."due", $2) AS "year", "r"."title" AS "title", count(*) AS "n", "#
                + #"sum("r"."stars"::bigint) AS "sum" FROM "app"."note" AS "r" WHERE "r"."_database" = '_public' "#
                + #"AND ("r"."stars" >= $3) GROUP BY 1, 2) AS "r" WHERE ("r"."n" > $4) "#
                + #"ORDER BY "r"."n" DESC, "r"."year", "r"."title" LIMIT $5"#
        )
        query = AggregateQuery(
            type: type("note"),
            groupKeys: [Self.key("title")],
            aggregates: [Self.aggregate("n", .countDistinct, "stars")]
        )
        let distinct = try AggregateStatement(
            query,
            table: SchemaCatalog.notes.note,
            catalog: .notes,
            access: RecordAccess(.master, in: .everyone, for: .reading)
        )
        #expect(
            distinct.sql.text
                == #"SELECT "r"."title", "r"."n" FROM (SELECT "d"."title" AS "title", count("d"."_value") AS "n" "#
                + #"FROM (SELECT DISTINCT "r"."title" AS "title", "r"."stars"::bigint AS "_value" FROM "app"."note" AS "r" "#
                + #"WHERE "r"."_database" = '_public') AS "d" GROUP BY 1) AS "r" ORDER BY "r"."title" LIMIT $1"#
        )
    }
}
