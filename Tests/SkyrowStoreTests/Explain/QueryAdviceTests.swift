import SkyrowModel
import SkyrowPostgres
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite struct QueryAdviceTests {
    private static func table(_ indexes: [TableIndex] = [], collation: TextCollation = .bytes) -> RecordTable {
        let columns: [(SQLIdentifier, FieldType, PostgresOID)] = [
            ("maker", .reference(type("person")), .text), ("rating", .number, .float8), ("tags", .json, .jsonb),
            ("title", .string, .text), ("year", .integer, .int8),
        ]
        return RecordTable(
            name: type("film"),
            schema: "app",
            identifier: "film",
            columns: columns.map { name, type, oid in
                RecordColumn(
                    field: field(name.name),
                    identifier: name,
                    type: type,
                    oid: oid,
                    collation: name.name == "title" ? collation : .bytes
                )
            },
            indexes: indexes
        )
    }

    private static func advice(
        _ predicate: RecordPredicate?,
        sort: [SortKey] = [],
        indexes: [TableIndex] = [],
        collation: TextCollation = .bytes,
        plan: PlanNode,
        size: Double = 1_000_000
    ) throws -> QueryAdvice {
        let table = table(indexes, collation: collation)
        let people = RecordTable(
            name: type("person"),
            schema: "app",
            identifier: "person",
            columns: [RecordColumn(field: field("name"), identifier: "name", type: .string, oid: .text)]
        )
        let catalog = SchemaCatalog(schema: "app", version: 1, tables: [table, people])
        var resolver = Resolver(schema: catalog, root: table, access: RecordAccess(.master, for: .reading))
        let query = try resolver.resolve(RecordQuery(type: type("film"), predicate: predicate, sort: sort))
        return QueryAdvice(query, on: table, plan: plan, sizes: ["film": size, "person": 10])
    }

    private static func scan(_ rows: Double) -> PlanNode {
        PlanNode(
            "Limit",
            rows: 101,
            [PlanNode("Sort", rows: rows, [PlanNode("Seq Scan", on: "film", as: "r", rows: rows)])]
        )
    }

    private static func equal(_ name: String, _ value: RecordValue) -> RecordPredicate {
        .comparison(.eq, .keyPath(FieldPath(unchecked: name)), .value(value))
    }

    private static func key(_ name: String, _ direction: SortKey.Direction = .ascending) -> SortKey {
        SortKey(FieldPath(unchecked: name), direction)
    }

    private static func film(_ fields: [IndexField], _ kind: IndexKind = .order) -> IndexDefinition {
        IndexDefinition(of: type("film"), fields, kind: kind)
    }

    /// Each query with the index that would help, and why.
    @Test(
        arguments: [
            (QueryAdviceTests.equal("year", .integer(1994)), [], [QueryAdviceTests.film([IndexField("year")])]),
            (
                .and([
                    QueryAdviceTests.equal("year", .integer(1994)),
                    QueryAdviceTests.equal("maker", .reference(id("person/1"))),
                ]), [],
                [QueryAdviceTests.film([IndexField("year"), IndexField("maker")])]
            ),
            (
                .comparison(.gt, .keyPath(FieldPath(unchecked: "rating")), .value(.number(9.9))), [],
                [QueryAdviceTests.film([IndexField("rating")])]
            ),
            (
                QueryAdviceTests.equal("year", .integer(1994)), [QueryAdviceTests.key("rating", .descending)],
                [QueryAdviceTests.film([IndexField("year"), IndexField("rating", .descending)])]
            ),
            (
                .comparison(.like, .keyPath(FieldPath(unchecked: "title")), .value(.string("%star%"))), [],
                [QueryAdviceTests.film([IndexField("title")], .trigram)]
            ),
            (
                .comparison(.ilike, .keyPath(FieldPath(unchecked: "title")), .value(.string("%STAR"))), [],
                [QueryAdviceTests.film([IndexField("title", isFolded: true)], .trigram)]
            ),
            (
                .comparison(.contains, .keyPath(FieldPath(unchecked: "title")), .value(.string("star"))), [],
                [QueryAdviceTests.film([IndexField("title")], .trigram)]
            ),
            (
                .comparison(.endsWith, .keyPath(FieldPath(unchecked: "title")), .value(.string("wars"))), [],
                [QueryAdviceTests.film([IndexField("title")], .trigram)]
            ),
            (
                .comparison(.startsWith, .keyPath(FieldPath(unchecked: "title")), .value(.string("Sta"))), [],
                [QueryAdviceTests.film([IndexField("title")])]
            ),
            (
                .comparison(.contains, .keyPath(FieldPath(unchecked: "tags")), .value(.string("drama"))), [],
                [QueryAdviceTests.film([IndexField("tags")], .contains)]
            ),
            (
                .regex(.keyPath(FieldPath(unchecked: "title")), "^S(tar|hip)", ignoresCase: true), [],
                [QueryAdviceTests.film([IndexField("title", isFolded: true)], .trigram)]
            ),
            (.regex(.keyPath(FieldPath(unchecked: "title")), "a.b", ignoresCase: false), [], []),
            (
                .match(.keyPath(FieldPath(unchecked: "title")), "star wars"), [],
                [QueryAdviceTests.film([IndexField("title")], .text)]
            ),
            // Two letters are no trigram.
            (.comparison(.like, .keyPath(FieldPath(unchecked: "title")), .value(.string("%ab%"))), [], []),
            (
                .comparison(.in, .value(.string("drama")), .keyPath(FieldPath(unchecked: "tags"))), [],
                [QueryAdviceTests.film([IndexField("tags")], .contains)]
            ),
            // One condition under an "or" leads to no index alone.
            (
                .or([QueryAdviceTests.equal("year", .integer(1994)), QueryAdviceTests.equal("rating", .number(1))]), [],
                []
            ),
            (.not(QueryAdviceTests.equal("year", .integer(1994))), [], []),
        ] as [(RecordPredicate, [SortKey], [IndexDefinition])]
    )
    func aSequentialScanForFewRecordsHasAnIndexThatHelps(
        _ predicate: RecordPredicate,
        _ sort: [SortKey],
        _ indexes: [IndexDefinition]
    ) throws {
        let found = try Self.advice(predicate, sort: sort, plan: Self.scan(50))
        #expect(found.advice.compactMap(\.index) == indexes)
        // A small table is read as a whole, and so is one of which half is wanted.
        #expect(try Self.advice(predicate, sort: sort, plan: Self.scan(50), size: 10_000).advice.isEmpty)
        let half = try Self.advice(predicate, plan: Self.scan(500_000))
        // How many texts have a part or a word cannot be told.
        #expect(half.advice.allSatisfy { $0.index?.kind == .trigram || $0.index?.kind == .text })
    }

    @Test func aSortForAPageHasAnIndexThatHelps() throws {
        let sort = [Self.key("year", .descending), Self.key("title")]
        let found = try Self.advice(nil, sort: sort, plan: Self.scan(1_000_000))
        #expect(found.advice.map(\.reason) == [.sort])
        #expect(found.advice.first?.index == Self.film([IndexField("year", .descending), IndexField("title")]))
        let through = try Self.advice(nil, sort: [Self.key("maker.name")], plan: Self.scan(1_000_000))
        #expect(through.advice.map(\.reason) == [.sortThroughReference] && through.advice.first?.index == nil)
        // By its id alone, a page is in an order that the table has.
        #expect(try Self.advice(nil, plan: Self.scan(1_000_000)).advice.isEmpty)
    }

    @Test func anIndexThatIsThereIsNotAdvised() throws {
        let predicate = Self.equal("year", .integer(1994))
        let rows: [(index: TableIndex, isAdvised: Bool)] = [
            (TableIndex("i", [TableIndex.Key("year"), TableIndex.Key("_id")]), false),
            (TableIndex("i", [TableIndex.Key("year", isDescending: true), TableIndex.Key("_id")]), false),
            (TableIndex("i", [TableIndex.Key("rating"), TableIndex.Key("year")]), true),
            (TableIndex("i", [TableIndex.Key("year")], condition: "(rating > 5)"), true),
            (TableIndex("i", [TableIndex.Key("year")], method: "brin"), true),
        ]
        for row in rows {
            let found = try Self.advice(predicate, indexes: [row.index], plan: Self.scan(50))
            #expect(found.advice.isEmpty != row.isAdvised, "\(row.index)")
        }
    }

    @Test func anIndexThatGivesTheOrderAloneIsNoHelpToACondition() throws {
        let rows: [(condition: String?, isAdvised: Bool)] = [
            (nil, true), ("(_database = '_public'::text)", true), ("(year = 1994)", false),
            ("((_database = '_public'::text) AND (year = 1994))", false),
        ]
        for type in ["Index Scan", "Index Only Scan"] {
            for row in rows {
                let scan = PlanNode(type, on: "film", as: "r", condition: row.condition, rows: 50)
                let found = try Self.advice(Self.equal("year", .integer(1994)), plan: PlanNode("Limit", [scan]))
                #expect(
                    found.advice.compactMap(\.index) == (row.isAdvised ? [Self.film([IndexField("year")])] : []),
                    "\(scan)"
                )
            }
        }
    }

    @Test func anUnfinishedIndexIsNamed() throws {
        let index = TableIndex("film_year_idx", [TableIndex.Key("year"), TableIndex.Key("_id")], isValid: false)
        let found = try Self.advice(Self.equal("year", .integer(1994)), indexes: [index], plan: Self.scan(50))
        #expect(found.advice.map(\.reason) == [.sequentialScan, .invalidIndex])
        #expect(
            try Self.advice(Self.equal("rating", .number(1)), indexes: [index], plan: Self.scan(50)).advice.count == 1
        )
    }

    @Test func aTextInTheOrderOfALanguageIsNamed() throws {
        let found = try Self.advice(
            nil,
            sort: [Self.key("title")],
            collation: .database,
            plan: Self.scan(100),
            size: 100
        )
        #expect(found.advice.map(\.reason) == [.textOrder] && found.advice.first?.index == nil)
        #expect(try Self.advice(nil, sort: [Self.key("title")], plan: Self.scan(100), size: 100).advice.isEmpty)
    }

    @Test func aPlanIsReadFromItsText() throws {
        let text = """
            [{"Plan": {"Node Type": "Limit", "Plan Rows": 101, "Plans": [
                {"Node Type": "Seq Scan", "Relation Name": "film", "Alias": "r", "Plan Rows": 7.5},
                {"Node Type": "Index Scan", "Index Name": "i", "Index Cond": "(year = 1)", "Plan Rows": 2}]}, "Planning Time": 1}]
            """
        let plan = try #require(PlanNode.read(text))
        let scan = PlanNode("Seq Scan", on: "film", as: "r", rows: 7.5)
        let search = PlanNode("Index Scan", condition: "(year = 1)", rows: 2)
        #expect(plan.node == PlanNode("Limit", rows: 101, [scan, search]))
        #expect(String(decoding: plan.text.utf8, as: UTF8.self).hasPrefix("{\"Plan\""))
        for wrong in ["", "[]", "{}", "[1]", "[{\"Plan\""] { #expect(PlanNode.read(wrong) == nil) }
    }
}
