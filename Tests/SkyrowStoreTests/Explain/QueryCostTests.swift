import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// The class of a question, from its meaning, the indexes and the number of records.
@Suite struct QueryCostTests {
    private static func index(
        _ names: String...,
        form: TableIndex.Key.Form = .column,
        method: String = "btree",
        operators: String = "",
        language: TextLanguage = .words,
        isValid: Bool = true,
        condition: String? = nil
    ) -> TableIndex {
        let keys = names.enumerated().map { place, name in
            var key = TableIndex.Key(name, form: place == names.count - 1 ? form : .column, operators: operators)
            key.language = language
            return key
        }
        return TableIndex("i", keys, method: method, isValid: isValid, condition: condition)
    }

    /// An index of a value inside the tags, perhaps behind a column.
    private static func inside(
        _ steps: [String],
        _ type: JSONValueType,
        behind column: String? = nil,
        isValid: Bool = true
    ) -> TableIndex {
        let value = TableIndex.Key(TableIndex.Key.JSONValue("tags", steps, type))
        return TableIndex("i", (column.map { [TableIndex.Key($0)] } ?? []) + [value], isValid: isValid)
    }

    private static func catalog(_ indexes: [TableIndex]) -> SchemaCatalog {
        SchemaCatalog(
            schema: "app",
            version: 1,
            tables: [
                SchemaCatalog.table(
                    "note",
                    [
                        ("title", .string, .text), ("essay", .string, .text), ("stars", .integer, .int8),
                        ("tags", .json, .jsonb),
                        ("labels", .array(.string), .textArray), ("category", .reference(type("category")), .text),
                        ("categories", .array(.reference(type("category"))), .textArray), ("at", .location, .text),
                    ],
                    languages: ["essay": .english],
                    indexes: indexes
                ),
                SchemaCatalog.table("category", [("name", .string, .text)]),
            ]
        )
    }

    private static func costClass(
        _ predicate: RecordPredicate?,
        _ indexes: [TableIndex],
        size: Double = 1_000_000,
        in scope: DatabaseScope = .everyone,
        _ change: (inout RecordQuery) -> Void = { _ in }
    ) throws -> QueryExplanation.CostClass {
        var query = RecordQuery(type: type("note"), predicate: predicate)
        change(&query)
        let catalog = catalog(indexes)
        return try QueryStatement(
            query,
            table: catalog.note,
            catalog: catalog,
            access: RecordAccess(.master, in: scope, for: .reading),
            size: size
        ).cost.costClass
    }

    /// A condition, indexes that serve it, and others that do not.
    @Test func aConditionIsServedByItsIndexAlone() throws {
        let isRed = RecordPredicate.compare(.eq, "title", .string("red"))
        let folded = RecordPredicate.comparison(.eq, .function(.fold, path("title")), .value(.string("red")))
        let has = RecordPredicate.compare(.contains, "labels", .string("x"))
        let part = RecordPredicate.compare(.contains, "title", .string("star"))
        let words = RecordPredicate.match(.keyPath(path("title")), "star")
        let origin = try Location(latitude: 0, longitude: 0)
        func near(_ radius: Double?) -> RecordPredicate { .place(path("at"), .near(origin, radius: radius)) }
        let distances = Self.index("at", method: "gist")
        let boxes = Self.index("at", form: .geometry, method: "gist")
        let title = Self.index("title")
        let trigrams = Self.index("title", method: "gin", operators: "gin_trgm_ops")
        let rows: [(RecordPredicate, serving: TableIndex, others: [TableIndex])] = [
            (isRed, title, [Self.index("stars"), Self.index("stars", "title"), trigrams]),
            (
                isRed, Self.index("_database", "title"),
                [Self.index("title", isValid: false), Self.index("title", condition: "other")]
            ),
            (folded, Self.index("title", form: .fold), [title]),
            (isRed, Self.index("title", condition: "(title IS NOT NULL)"), [Self.index("title", form: .fold)]),
            (
                isRed, Self.index("title", condition: "(\"title\" IS NOT NULL)"),
                ["(stars IS NOT NULL)", "(title IS NULL)", "title IS NOT NULL)", "( IS NOT NULL)", " IS NOT NULL)", ""]
                    .map {
                        Self.index("title", condition: $0)
                    }
            ),
            (.compare(.gte, "stars", .integer(1)), Self.index("stars"), [title]),
            (.isIn("stars", [.integer(1)]), Self.index("stars"), [title]),
            (.compare(.startsWith, "title", .string("a")), title, [trigrams]),
            (part, trigrams, [title]),
            (.compare(.like, "title", .string("%star%")), trigrams, [title]),
            (.regex(.keyPath(path("title")), "star.*s", ignoresCase: false), trigrams, [title]),
            // Words by the stems of a language are other ones.
            (
                words, Self.index("title", form: .words, method: "gin"),
                [title, trigrams, Self.index("title", form: .words, method: "gin", language: .english)]
            ),
            (
                .match(.keyPath(path("essay")), "star"),
                Self.index("essay", form: .words, method: "gin", language: .english),
                [
                    Self.index("essay", form: .words, method: "gin"),
                    Self.index("title", form: .words, method: "gin", language: .english),
                ]
            ),
            (has, Self.index("labels", method: "gin", operators: "array_ops"), [Self.index("labels")]),
            (.compare(.contains, "tags", .string("x")), Self.index("tags", method: "gin"), [title]),
            (near(5), distances, [boxes, title]),
            // The order of the distances is that of the query.
            (near(nil), distances, [boxes, title]),
            (.place(path("at"), .inBox(southWest: origin, northEast: origin)), boxes, [distances, title]),
            (.and([part, isRed]), title, [Self.index("stars")]),
            (.or([isRed, .compare(.eq, "title", .string("a"))]), title, [trigrams]),
            (
                .compare(.gt, "tags.size.w", .integer(5)),
                Self.inside(["size", "w"], .number),
                [
                    Self.index("tags"), Self.inside(["size", "w"], .string), Self.inside(["size"], .number),
                    Self.inside(["size", "w"], .number, behind: "title"),
                    Self.inside(["size", "w"], .number, isValid: false),
                ]
            ),
            (
                .compare(.startsWith, "tags.name", .string("a")), Self.inside(["name"], .string, behind: "_database"),
                [Self.inside(["name"], .string, behind: "_owner")]
            ),
        ]
        for (predicate, serving, others) in rows {
            #expect(try Self.costClass(predicate, [serving]) == .indexed, "\(predicate)")
            #expect(try Self.costClass(predicate, others) == .scan, "\(predicate)")
            #expect(try Self.costClass(predicate, others, size: 10_000) == .indexed, "\(predicate)")
            // The records of one user are found by their database.
            #expect(try Self.costClass(predicate, others, in: .user("ann")) == .indexed, "\(predicate)")
        }
        for predicate in [
            .or([isRed, .compare(.eq, "stars", .integer(1))]), .not(isRed), .none([isRed]),
            .compare(.neq, "title", .string("red")), .compare(.eq, "title", .null),
            .compare(.eq, "tags.a", .string("x")),
        ] as [RecordPredicate] {
            #expect(try Self.costClass(predicate, [title]) == .scan, "\(predicate)")
        }
    }

    @Test func anOrderIsServedWhereThereIsNoCondition() throws {
        func sorted(_ name: String) -> (inout RecordQuery) -> Void { { $0.sort = [SortKey(path(name), .descending)] } }
        #expect(try Self.costClass(nil, []) == .indexed)
        #expect(try Self.costClass(nil, [Self.index("stars")], sorted("stars")) == .indexed)
        #expect(try Self.costClass(nil, [Self.index("title")], sorted("stars")) == .scan)
        #expect(try Self.costClass(nil, [], sorted("category.name")) == .scan)
        #expect(try Self.costClass(nil, []) { $0.counting = .exact } == .scan)
        let isRed = RecordPredicate.compare(.eq, "title", .string("red"))
        #expect(try Self.costClass(isRed, [Self.index("title")], sorted("stars")) == .indexed)
        #expect(try Self.costClass(isRed, [Self.index("stars")], sorted("stars")) == .scan)
    }

    @Test func theOrderOfTheDistancesServesAPageAlone() throws {
        let origin = try Location(latitude: 0, longitude: 0)
        let near = RecordPredicate.place(path("at"), .near(origin, radius: nil))
        let distances = Self.index("at", method: "gist")
        #expect(try Self.costClass(near, [distances]) == .indexed)
        #expect(try Self.costClass(near, [distances]) { $0.counting = .exact } == .scan)
        #expect(try Self.costClass(near, [distances]) { $0.sort = [SortKey(path("stars"))] } == .scan)
        #expect(try Self.costClass(.and([near, .compare(.eq, "title", .string("a"))]), [distances]) == .scan)
    }

    @Test func idsArePointsAndOtherRecordsJoins() throws {
        let isOne = RecordPredicate.compare(.eq, "_id", .string("1"))
        #expect(try Self.costClass(isOne, []) == .point)
        #expect(try Self.costClass(isOne, [], size: 0) == .point)
        #expect(try Self.costClass(.and([isOne, .compare(.eq, "title", .string("a"))]), []) == .point)
        #expect(try Self.costClass(.not(isOne), []) == .scan)
        let some = RecordPredicate.compare(.eq, "categories.name", .string("x"))
        #expect(try Self.costClass(some, [], size: 10) == .join)
        #expect(try Self.costClass(some, []) == .scan)
        let found = RecordPredicate.found(
            .keyPath(path("category")),
            by: Subquery(type: type("category")),
            isNegated: false
        )
        #expect(try Self.costClass(found, [Self.index("category")]) == .join)
        #expect(
            try Self.costClass(nil, []) { $0.include = [Inclusion(name: "c", keyPath: path("categories"))] } == .join
        )
        #expect(
            try Self.costClass(nil, []) { $0.include = [Inclusion(name: "c", keyPath: path("category"))] } == .indexed
        )
    }

    @Test func groupsOfLargeTypesAreScansWhateverTheIndexes() throws {
        let isRed = RecordPredicate.compare(.eq, "title", .string("red"))
        let catalog = Self.catalog([Self.index("title")])
        for (size, costClass) in [(10_000, .indexed), (10_001, .scan)] as [(Double, QueryExplanation.CostClass)] {
            let statement = try AggregateStatement(
                AggregateQuery(type: type("note"), predicate: isRed, aggregates: [Aggregate("n", .count)]),
                table: catalog.note,
                catalog: catalog,
                access: RecordAccess(.master, in: .everyone, for: .reading),
                size: size
            )
            #expect(statement.cost.costClass == costClass)
        }
    }

    @Test func aScanNamesTheIndexThatWouldServe() throws {
        let catalog = Self.catalog([])
        let cost = try QueryStatement(
            RecordQuery(type: type("note"), predicate: .compare(.eq, "stars", .integer(1))),
            table: catalog.note,
            catalog: catalog,
            access: RecordAccess(.master, in: .everyone, for: .reading),
            size: 20_000
        ).cost
        #expect(cost.index == IndexDefinition(of: type("note"), [IndexField("stars")]))
        #expect(cost.size == 20_000)
    }

    /// What PostgreSQL has counted decides, and not what was true when the schema was read.
    @Test func theNumberOfRecordsIsPostgreSQLs() async throws {
        try await withRecords { f in
            let counted = Costs()
            let query = RecordQuery(type: type("note"), predicate: .compare(.eq, "title", .string("x")))
            func ask() async throws {
                _ = try await f.store.query(query, with: RecordAccess(.ann, in: .everyone, for: .reading)) { cost in
                    counted.note(cost)
                }
            }
            try await ask()
            try await f.psql("INSERT INTO note (_id) SELECT n::text FROM generate_series(1, 20000) AS n; ANALYZE note")
            try await f.store.readSizes()
            try await ask()
            #expect(counted.all.map(\.costClass) == [.indexed, .scan])
            let refusal = SkyrowError(.overloaded, "Not now.")
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.query(query, with: RecordAccess(.ann, in: .everyone, for: .reading)) {
                    _ async throws(SkyrowError) in
                    throw refusal
                }
            }
            #expect(error == refusal)
        }
    }
}
