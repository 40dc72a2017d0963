import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct ExplainStoreTests {
    private func explain(
        _ f: RecordsFixture,
        _ query: RecordQuery,
        _ mode: ExplainMode = .plan
    ) async throws -> QueryExplanation {
        try await f.store.explain(query, mode, with: RecordAccess(.master, for: .reading))
    }

    /// The index that is advised is the one by which PostgreSQL then finds the records.
    @Test func anAdvisedIndexIsUsedOnceItIsThere() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                ALTER TABLE note ADD text text;
                INSERT INTO note (_id, title, score, due, text, tags)
                SELECT 'n' || n, md5(n::text) || ' film', n % 20000, now() - n * interval '1 minute', md5(n::text) || CASE n WHEN 7 THEN ' 50% of it_' ELSE ' 500 of its' END,
                    jsonb_build_array('t' || n % 5000)
                FROM generate_series(1, 40000) AS n;
                ANALYZE note
                """
            )
            try await f.store.cache.reload()
            try await f.store.readSizes()
            func path(_ name: String) -> Operand { .keyPath(FieldPath(unchecked: name)) }
            let rows: [(predicate: RecordPredicate?, sort: [SortKey])] = [
                (.comparison(.eq, path("score"), .value(.number(77))), []),
                (nil, [SortKey(FieldPath(unchecked: "due"), .descending)]),
                (.comparison(.like, path("title"), .value(.string("%c4ca4238a0b9%"))), []),
                (.comparison(.ilike, path("title"), .value(.string("%C4CA4238A0B9%"))), []),
                (.comparison(.endsWith, path("text"), .value(.string("50% of it_"))), []),
                (.comparison(.in, .value(.string("t77")), path("tags")), []),
            ]
            for row in rows {
                let query = RecordQuery(type: type("note"), predicate: row.predicate, sort: row.sort)
                let before = try await explain(f, query)
                #expect(before.costClass == .scan)
                let index = try #require(before.advice.compactMap(\.index).first, "\(query)")
                let made = try await f.store.createIndex(index)
                let isDone = try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass()
                #expect(isDone)
                try await f.store.cache.reload()
                try await f.psql("ANALYZE note")
                let after = try await explain(f, query)
                let plan = String(decoding: try #require(after.statements.first).plan.utf8, as: UTF8.self)
                #expect(plan.contains(made.name), "\(index)")
                #expect(after.advice.compactMap(\.index).isEmpty && after.costClass == .indexed, "\(index)")
            }
            // One index serves several operators.
            let part = RecordPredicate.comparison(.contains, path("title"), .value(.string("a0b923820dcc509a")))
            let served = try await explain(f, RecordQuery(type: type("note"), predicate: part))
            #expect(served.costClass == .indexed && served.advice.isEmpty)
            // By the index, a part of a text is looked for as a pattern, in which it is no pattern itself.
            let found = try await f.query(.comparison(.endsWith, path("text"), .value(.string("50% of it_"))))
            #expect(found == ["n7"])
        }
    }

    @Test func anExplanationHasTheStatementWithoutItsValues() async throws {
        try await withRecords { f in
            try await f.save("note/1", ["title": .string("a secret")])
            let predicate = RecordPredicate.comparison(
                .eq,
                .keyPath(FieldPath(unchecked: "title")),
                .value(.string("a secret"))
            )
            let query = RecordQuery(type: type("note"), predicate: predicate)
            let explained = try await explain(f, query)
            let statement = try #require(explained.statements.first)
            #expect(statement.sql.hasPrefix("SELECT ") && !statement.sql.contains("secret"))
            #expect(statement.values.contains { $0.hasSuffix(": text, 8 bytes") })
            #expect(!String(decoding: statement.plan.utf8, as: UTF8.self).contains("Actual Rows"))
            let analyzed = try await explain(f, query, .analyze)
            #expect(
                String(decoding: try #require(analyzed.statements.first).plan.utf8, as: UTF8.self).contains(
                    "Actual Rows"
                )
            )
            let none = try await explain(f, RecordQuery(type: type("nothing")))
            #expect(none == QueryExplanation(statements: [], advice: [], costClass: .point))
        }
    }

    /// The class that is said is the one by which a read takes its turn, which a caller's read says when it asks for that.
    @Test func theClassIsThatOfTheTurn() async throws {
        try await withRecords { f in
            let shelf = RecordType(
                name: type("shelf"),
                fields: [field("label"): .string, field("places"): .array(.reference(type("category")))]
            )
            _ = try await f.store.createTypes([shelf])
            try await f.psql(
                """
                INSERT INTO note (_id, title, stars) SELECT 'n' || n, 't' || n, n FROM generate_series(1, 20000) AS n;
                ANALYZE note, category
                """
            )
            try await f.store.cache.reload()
            try await f.store.readSizes()
            let isRed = RecordPredicate.compare(.eq, "title", .string("red"))
            let hasNote = RecordPredicate.found(
                .keyPath(path("_id")),
                by: Subquery(type: type("note"), predicate: isRed, key: path("category")),
                isNegated: false
            )
            typealias Row = (query: RecordQuery, scope: DatabaseScope, costClass: QueryExplanation.CostClass)
            func row(
                _ name: String,
                _ predicate: RecordPredicate?,
                _ costClass: QueryExplanation.CostClass,
                in scope: DatabaseScope = .everyone,
                _ change: (inout RecordQuery) -> Void = { _ in }
            ) -> Row {
                var query = RecordQuery(type: type(name), predicate: predicate)
                change(&query)
                return (query, scope, costClass)
            }
            let rows: [Row] = [
                row("note", .compare(.eq, "_id", .string("n7")), .point),
                row("note", .compare(.eq, "stars", .integer(7)), .indexed),
                row("note", nil, .indexed),
                row("note", nil, .indexed) { $0.sort = [SortKey(path("stars"))] },
                row("note", isRed, .indexed, in: .user("ann")),
                row("category", .compare(.eq, "name", .string("x")), .indexed),
                row("category", hasNote, .join),
                row("shelf", nil, .join) { $0.include = [Inclusion(name: "places", keyPath: path("places"))] },
                row("shelf", .compare(.eq, "places.name", .string("x")), .join),
                row("note", isRed, .scan),
                row("note", nil, .scan) { $0.sort = [SortKey(path("score"))] },
                row("note", nil, .scan) { $0.counting = .exact },
            ]
            #expect(Set(rows.map(\.costClass)) == Set(QueryExplanation.CostClass.allCases))
            for row in rows {
                let costs = Costs()
                _ = try await f.store.query(row.query, with: RecordAccess(.ann, in: row.scope, for: .reading)) { cost in
                    costs.note(cost)
                }
                let access = RecordAccess(.master, in: row.scope, for: .reading)
                let explained = try await f.store.explain(row.query, .plan, with: access)
                #expect(explained.costClass == row.costClass, "\(row.query)")
                #expect(costs.all.map(\.costClass) == [explained.costClass], "\(row.query)")
            }
            for (name, costClass) in [("note", .scan), ("category", .indexed)] as [(String, QueryExplanation.CostClass)]
            {
                let query = AggregateQuery(type: type(name), aggregates: [Aggregate("n", .count)])
                let costs = Costs()
                _ = try await f.store.aggregate(query, with: RecordAccess(.ann, in: .everyone, for: .reading)) { cost in
                    costs.note(cost)
                }
                let access = RecordAccess(.master, in: .everyone, for: .reading)
                let explained = try await f.store.explain(query, .plan, with: access)
                #expect(explained.costClass == costClass && costs.all.map(\.costClass) == [costClass], "\(name)")
                #expect(explained.statements.map { $0.sql.contains("count(*)") } == [true])
            }
        }
    }

    @Test func groupsAreExplained() async throws {
        try await withRecords { f in
            let access = RecordAccess(.master, in: .everyone, for: .reading)
            try await f.psql(
                "INSERT INTO note (_id, score) SELECT 'n' || n, n FROM generate_series(1, 20000) AS n; ANALYZE note"
            )
            let query = AggregateQuery(
                type: type("note"),
                predicate: .compare(.eq, "score", .number(7)),
                groupKeys: [GroupKey("title", path("title"))],
                aggregates: [Aggregate("n", .count)]
            )
            let explained = try await f.store.explain(query, .plan, with: access)
            #expect(explained.statements.count == 1)
            #expect(explained.advice.compactMap(\.index) == [IndexDefinition(of: type("note"), [IndexField("score")])])
            let analyzed = try await f.store.explain(query, .analyze, with: access)
            #expect(String(decoding: analyzed.statements[0].plan.utf8, as: UTF8.self).contains("Actual Rows"))
            let none = try await f.store.explain(AggregateQuery(type: type("nothing")), .plan, with: access)
            #expect(none == QueryExplanation(statements: [], advice: [], costClass: .point))
            let error = await #expect(throws: SkyrowError.self) {
                var wrong = query
                wrong.groupKeys = [GroupKey("day", path("due"), in: TimeBucket(.day, timeZone: "Mars"))]
                _ = try await f.store.explain(wrong, .plan, with: access)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    /// What is refused when it is run is refused with the same error when it is explained.
    @Test func aRefusedQueryIsNotExplained() async throws {
        try await withRecords { f in
            var change = ClassAccessChange(type: type("category"))
            change.allowsAggregates = false
            _ = try await f.store.classAccess.change(change)
            var keyed = Caller.anonymous
            keyed.key = KeyGrant(
                try #require(KeyID("k00000001")),
                named: "web",
                .client,
                [.type(type("category"), onlyReads: true)]
            )
            var unsupported = SortKey(path("title"))
            unsupported.function = .collate("xx")

            func query(
                _ name: String,
                _ caller: Caller,
                _ code: ErrorCode?,
                _ change: (inout RecordQuery) -> Void = { _ in }
            ) async {
                var query = RecordQuery(type: type(name))
                change(&query)
                let (asked, access) = (query, RecordAccess(caller, in: .everyone, for: .reading))
                let run = await refusal { _ = try await f.store.query(asked, with: access) }
                let explained = await refusal { _ = try await f.store.explain(asked, .plan, with: access) }
                #expect(run?.code == code && explained == run, "\(asked): \(String(describing: explained))")
            }
            await query("note", .master, nil)
            await query("note", .master, nil) { $0.limit = 0 }
            await query("note", .master, .invalidArgument) { $0.limit = -1 }
            await query("note", .master, .invalidArgument) { $0.offset = -1 }
            await query("note", .master, .invalidArgument) { $0.position = .after("x") }
            await query("note", .master, .invalidArgument) { $0.sort = [unsupported] }
            await query("note", .master, .recordQueryInvalid) { $0.desiredFields = ["missing"] }
            await query("nothing", .master, nil)
            await query("nothing", .master, .invalidArgument) { $0.limit = -1 }
            await query("nothing", .master, .invalidArgument) { $0.position = .before("x") }
            await query("category", keyed, nil)
            await query("note", keyed, .permissionDenied)

            func aggregate(
                _ name: String,
                _ caller: Caller,
                _ code: ErrorCode?,
                _ change: (inout AggregateQuery) -> Void = { _ in }
            ) async {
                var query = AggregateQuery(type: type(name), aggregates: [Aggregate("n", .count)])
                change(&query)
                let (asked, access) = (query, RecordAccess(caller, in: .everyone, for: .reading))
                let run = await refusal { _ = try await f.store.aggregate(asked, with: access) }
                let explained = await refusal { _ = try await f.store.explain(asked, .plan, with: access) }
                #expect(run?.code == code && explained == run, "\(asked): \(String(describing: explained))")
            }
            await aggregate("note", .master, nil)
            await aggregate("note", .master, nil) { $0.limit = 0 }
            await aggregate("note", .master, nil) { $0.limit = AggregateQuery.maximumLimit }
            await aggregate("note", .master, .invalidArgument) { $0.limit = -1 }
            await aggregate("note", .master, .invalidArgument) { $0.limit = AggregateQuery.maximumLimit + 1 }
            await aggregate("note", .master, .invalidArgument) {
                $0.groupKeys = [GroupKey("day", path("due"), in: TimeBucket(.day, timeZone: "Mars"))]
            }
            await aggregate("note", .master, .recordQueryInvalid) { $0.groupKeys = [GroupKey("k", path("missing"))] }
            await aggregate("nothing", .master, nil)
            await aggregate("nothing", .master, .invalidArgument) { $0.limit = -1 }
            await aggregate("category", .master, nil)
            await aggregate("category", .ann, .permissionDenied)
            await aggregate("note", keyed, .permissionDenied)
        }
    }

    private func refusal(_ body: () async throws -> Void) async -> SkyrowError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SkyrowError ?? .unexpected
        }
    }

    // MARK: Lists

    private static let withLists = [
        RecordType(
            name: type("label"),
            fields: [
                field("name"): .string, field("parent"): .reference(type("label")),
                field("related"): .array(.reference(type("label"))),
            ]
        ),
        RecordType(
            name: type("post"),
            fields: [field("labels"): .array(.reference(type("label"))), field("marks"): .relation(type("label"))]
        ),
    ]

    private func labels(_ ids: String...) -> RecordValue { .array(ids.map { .reference(id("label/\($0)")) }) }

    /// Each list is one more statement, in the order in which they are sent.
    @Test func theStatementsOfListsAreExplained() async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes(Self.withLists)
            try await f.save("label/red", ["name": .string("a secret")])
            try await f.save("label/blue", ["name": .string("blue"), "related": labels("red")])
            try await f.save("post/1", ["labels": labels("blue", "red")])
            try await f.psql("INSERT INTO \"post.marks\" VALUES ('1', 'red')")
            func query(_ paths: String...) -> RecordQuery {
                RecordQuery(
                    type: type("post"),
                    include: paths.enumerated().map { Inclusion(name: "i\($0)", keyPath: path($1)) }
                )
            }
            // What each statement asks for, but for the first.
            let rows: [(query: RecordQuery, parts: [String], analyzed: [String])] = [
                (query(), [], []), (query("labels"), ["= ANY($"], ["= ANY($"]),
                (query("marks"), ["LATERAL"], ["LATERAL"]),
                (query("labels", "marks"), ["= ANY($", "LATERAL"], ["= ANY($", "LATERAL"]),
                (query("labels.related"), ["= ANY($", "= ANY($"], ["= ANY($", "= ANY($"]),
                // The only record has none of these: there is nothing to send.
                (query("marks.related"), ["LATERAL", "= ANY($"], ["LATERAL"]),
            ]
            for row in rows {
                for (mode, parts) in [(ExplainMode.plan, row.parts), (.analyze, row.analyzed)] {
                    let statements = try await explain(f, row.query, mode).statements
                    #expect(statements.count == 1 + parts.count, "\(row.query) \(mode)")
                    for (statement, part) in zip(statements.dropFirst(), parts) {
                        let plan = String(decoding: statement.plan.utf8, as: UTF8.self)
                        #expect(statement.sql.contains(part) && !statement.sql.contains("secret"), "\(statement.sql)")
                        #expect(plan.contains("Actual Rows") == (mode == .analyze))
                        #expect(statement.values.contains { $0.contains("text[]") })
                    }
                }
            }
            // A page of no records leads to none.
            var empty = query("labels", "marks")
            empty.limit = 0
            for mode in ExplainMode.allCases {
                #expect(try await explain(f, empty, mode).statements.count == 1)
            }
            // An estimated count is a statement as well, which is a question for a plan.
            var counted = query("labels")
            counted.counting = .estimate
            let statements = try await explain(f, counted).statements
            #expect(statements.map { $0.sql.hasPrefix("EXPLAIN") } == [false, true, false])
        }
    }

    @Test func theOrderOfAListIsAdvisedOn() async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes(Self.withLists)
            var inclusion = Inclusion(name: "x", keyPath: path("labels"))
            inclusion.sort = [SortKey(path("name"))]
            let query = RecordQuery(type: type("post"), include: [inclusion])
            #expect(try await explain(f, query).advice.isEmpty)
            try await f.psql("ALTER TABLE label ALTER name TYPE text COLLATE \"und-x-icu\"")
            try await f.store.cache.reload()
            #expect(try await explain(f, query).advice.map(\.reason) == [.textOrder])
        }
    }
}
