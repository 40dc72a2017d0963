import SkyrowModel
import SkyrowQuery
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// What one predicate becomes.
struct PredicateCase: Sendable, CustomTestStringConvertible {
    var predicate: Predicate
    var text: String
    var bindings: @Sendable (inout PostgresBindings) -> Void

    init(
        _ predicate: Predicate,
        _ text: String,
        _ bindings: @escaping @Sendable (inout PostgresBindings) -> Void = { _ in }
    ) {
        self.predicate = predicate
        self.text = text
        self.bindings = bindings
    }

    var testDescription: String { text }
}

extension Predicate {
    static func compare(_ comparison: ComparisonOperator, _ name: String, _ value: RecordValue) -> Predicate {
        .comparison(comparison, .keyPath(path(name)), .value(value))
    }

    static func isIn(_ name: String, _ values: [RecordValue]) -> Predicate {
        list(.in, name, values)
    }

    static func list(_ comparison: ComparisonOperator, _ name: String, _ values: [RecordValue]) -> Predicate {
        .comparison(comparison, .keyPath(path(name)), .list(values))
    }
}

private func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

private func inside(_ steps: String) -> String { "NULLIF((\"r\".\"tags\" #> '{\(steps)}'), 'null')" }

/// A predicate as a caller's query prints it, and the joins that it takes.
struct PrintedPredicate {
    let sql: SQL
    /// The same for a whole query.
    let matching: SQL
    let joins: [SQL]

    init(
        _ predicate: Predicate,
        _ scope: DatabaseScope = .everyone,
        _ caller: Caller = .master,
        catalog: SchemaCatalog = .notes
    ) throws {
        let access = RecordAccess(caller, in: scope)
        var resolver = Resolver(schema: catalog, root: catalog.note, access: access)
        let resolved = try resolver.predicate(predicate)
        let visibility = resolver.visibility
        let text = QueryText(
            root: catalog.note,
            joined: resolver.joinedTypes,
            subqueries: .init(tables: resolver.subqueries, visibility: visibility)
        )
        sql = text.condition(resolved)
        matching = text.matches(resolved)
        joins = resolver.joins.enumerated().map { text.join($0, $1, visibility) }
    }
}

/// A type with references to several records of another one.
private enum CategoryTables {
    static func note(indexes: [TableIndex]) -> RecordTable {
        SchemaCatalog.table(
            "note",
            [("stars", .integer, .int8), ("categories", .array(.reference(type("category"))), .textArray)],
            indexes: indexes
        )
    }

    static func category(indexes: [TableIndex]) -> RecordTable {
        SchemaCatalog.table("category", [("name", .string, .text), ("rank", .integer, .int8)], indexes: indexes)
    }
}

@Suite struct QueryTextTests {
    static let cases: [PredicateCase] = [
        .init(.compare(.eq, "title", .string("x")), #""r"."title" = $1"#) { $0.append("x") },
        .init(.compare(.neq, "title", .string("x")), #""r"."title" <> $1"#) { $0.append("x") },
        .init(.compare(.eq, "title", .null), #""r"."title" IS NULL"#),
        .init(.compare(.neq, "tags", .null), #""r"."tags" IS NOT NULL"#),
        .init(.compare(.gt, "stars", .null), "NULL::boolean"),
        .init(
            .compare(.like, "title", .string(#"50\%%"#)),
            #"("r"."title" >= $1) AND ("r"."title" < $2) AND ("r"."title" LIKE $3)"#
        ) {
            $0.append("50%")
            $0.append("50&")
            $0.append(#"50\%%"#)
        },
        .init(.compare(.like, "title", .string("%x")), #""r"."title" LIKE $1"#) { $0.append("%x") },
        .init(.compare(.startsWith, "title", .string("ab")), #"("r"."title" >= $1) AND ("r"."title" < $2)"#) {
            $0.append("ab")
            $0.append("ac")
        },
        .init(.compare(.startsWith, "title", .string("")), #""r"."title" = "r"."title""#),
        .init(.compare(.startsWith, "data", .bytes([1, 255])), #"("r"."data" >= $1) AND ("r"."data" < $2)"#) {
            $0.append([1, 255] as [UInt8])
            $0.append([2] as [UInt8])
        },
        .init(.compare(.endsWith, "title", .string("x")), #"right("r"."title", char_length($1)) = $2"#) {
            $0.append("x")
            $0.append("x")
        },
        .init(.compare(.contains, "title", .string("x")), #"strpos("r"."title", $1) > 0"#) { $0.append("x") },
        .init(.compare(.exists, "title", .boolean(true)), #""r"."title" IS NOT NULL"#),
        .init(.compare(.exists, "price", .boolean(false)), #""r"."price" IS NULL"#),
        .init(
            .between(.keyPath(path("stars")), .integer(1), .number(2.5)),
            #"("r"."stars" >= $1) AND ("r"."stars" <= $2)"#
        ) {
            $0.append(1 as Int64)
            $0.append(2 as Int64)
        },
        .init(.comparison(.nin, .keyPath(path("stars")), .list([.integer(1)])), #"NOT ("r"."stars" = ANY($1))"#) {
            $0.append([1] as [Int64])
        },
        .init(
            .none([.compare(.eq, "done", .boolean(true)), .compare(.eq, "title", .null)]),
            #"(("r"."done" = $1) OR ("r"."title" IS NULL)) IS NOT TRUE"#
        ) { $0.append(true) },
        .init(.none([]), "(false) IS NOT TRUE"),
        .init(
            .comparison(.eq, .function(.fold, path("title")), .value(.string("ÅB"))),
            #""app"."_fold"("r"."title") = $1"#
        ) { $0.append("åb") },
        .init(.compare(.eq, "tags", .string("a")), #"("r"."tags" = $1 OR "r"."tags" @> $2)"#) {
            $0.append(PostgresJSONB("\"a\""))
            $0.append(PostgresJSONB("[\"a\"]"))
        },
        .init(.compare(.neq, "tags", json("[1]")), #"NOT ("r"."tags" = $1)"#) { $0.append(PostgresJSONB("[1]")) },
        .init(
            .elements(path("labels"), .any, .compare(.eq, "$", .string("x"))),
            #"EXISTS (SELECT FROM unnest("r"."labels") AS "e1" ("value") WHERE "e1"."value" = $1)"#
        ) { $0.append("x") },
        .init(
            .elements(path("shorts"), .all, .compare(.lt, "$", .integer(5))),
            #"NOT EXISTS (SELECT FROM unnest("r"."shorts"::bigint[]) AS "e1" ("value") WHERE ("e1"."value" < $1) IS NOT TRUE)"#
        ) { $0.append(5 as Int64) },
        .init(
            .elements(path("tags.a"), .any, .elements(path("b"), .all, .compare(.exists, "$", .boolean(true)))),
            #"EXISTS (SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(NULLIF(("r"."tags" #> '{a}'), 'null')) = "#
                + #"'array' THEN NULLIF(("r"."tags" #> '{a}'), 'null') END) AS "e1" ("value") WHERE NOT EXISTS "#
                + #"(SELECT FROM jsonb_array_elements(CASE WHEN jsonb_typeof(NULLIF(("e1"."value" #> '{b}'), 'null')) = "#
                + #"'array' THEN NULLIF(("e1"."value" #> '{b}'), 'null') END) AS "e2" ("value") "#
                + #"WHERE (NULLIF("e2"."value", 'null') IS NOT NULL) IS NOT TRUE))"#
        ),
        .init(
            .compare(.eq, "categories.name", .string("x")),
            #"EXISTS (SELECT FROM "app"."category" AS "s1" WHERE ("s1"."_database" = '_public') "#
                + #"AND "s1"."_id" = ANY("r"."categories") AND ("s1"."name" = $1))"#
        ) { $0.append("x") },
        .init(
            .elements(path("categories"), .all, .compare(.eq, "$", .reference(id("category/1")))),
            #"NOT EXISTS (SELECT FROM "app"."category" AS "s1" WHERE ("s1"."_database" = '_public') "#
                + #"AND "s1"."_id" = ANY("r"."categories") AND ("s1"."_id" = $1) IS NOT TRUE)"#
        ) { $0.append("1") },
        .init(.compare(.contains, "tags", .integer(1)), #""r"."tags" @> $1"#) { $0.append(PostgresJSONB("[1]")) },
        .init(
            .comparison(.containsAny, .keyPath(path("tags")), .list([.string("a"), .string("b")])),
            #"("r"."tags" ?| $1 AND jsonb_typeof("r"."tags") = 'array')"#
        ) { $0.append(["a", "b"]) },
        .init(
            .comparison(.containsAny, .keyPath(path("tags")), .list([.string("a"), .integer(1)])),
            #"("r"."tags" @> $1 OR "r"."tags" @> $2)"#
        ) {
            $0.append(PostgresJSONB("[\"a\"]"))
            $0.append(PostgresJSONB("[1]"))
        },
        .init(.compare(.eq, "tags.a.b", .boolean(true)), #"(\#(inside("a,b")) = $1 OR \#(inside("a,b")) @> $2)"#) {
            $0.append(PostgresJSONB("true"))
            $0.append(PostgresJSONB("[true]"))
        },
        .init(.compare(.exists, "tags.é", .boolean(true)), #"NULLIF(("r"."tags" #> $1), 'null') IS NOT NULL"#) {
            $0.append(["é"])
        },
        .init(
            .compare(.gte, "tags.a", .number(0.5)),
            #""app"."_json_number"(("r"."tags" #> '{a}')) >= $1::numeric"#
        ) { $0.append("5e-1") },
        .init(
            .compare(.gte, "tags.a.0", .string("x")),
            #""app"."_json_text"(("r"."tags" #> '{a,0}')) COLLATE "C" >= $1"#
        ) { $0.append("x") },
        .init(.compare(.lt, "tags.a b", .boolean(true)), #""app"."_json_boolean"(("r"."tags" #> $1)) < $2"#) {
            $0.append(["a b"])
            $0.append(true)
        },
        .init(
            .compare(.gte, "tags.a", .datetime(Timestamp(microseconds: 5))),
            #""app"."_json_instant"(("r"."tags" #> '{a}')) >= $1"#
        ) { $0.append(PostgresTimestamp(microsecondsSince2000: 5)) },
        .init(
            .comparison(.gt, .function(.size, path("tags")), .value(.integer(2))),
            #"(CASE WHEN jsonb_typeof("r"."tags") = 'array' THEN jsonb_array_length("r"."tags")::bigint END) > $1"#
        ) { $0.append(2 as Int64) },
        .init(.compare(.ilike, "title", .string("A_")), #""app"."_fold"("r"."title") LIKE $1"#) { $0.append("a_") },
        .init(.compare(.gte, "stars", .integer(9_007_199_254_740_993)), #""r"."stars" >= $1"#) {
            $0.append(9_007_199_254_740_993 as Int64)
        },
        .init(.compare(.gt, "stars", .number(2.5)), #""r"."stars" > $1"#) { $0.append(2 as Int64) },
        .init(.compare(.gte, "stars", .number(2.5)), #""r"."stars" >= $1"#) { $0.append(3 as Int64) },
        .init(.compare(.lt, "stars", .number(2.5)), #""r"."stars" < $1"#) { $0.append(3 as Int64) },
        .init(.compare(.lte, "stars", .number(-2.5)), #""r"."stars" <= $1"#) { $0.append(-3 as Int64) },
        .init(.compare(.eq, "stars", .number(2.5)), #""r"."stars" <> "r"."stars""#),
        .init(.compare(.neq, "stars", .number(2.5)), #""r"."stars" = "r"."stars""#),
        .init(.compare(.lt, "stars", .number(1e30)), #""r"."stars" = "r"."stars""#),
        .init(.compare(.gt, "stars", .number(0x1p63)), #""r"."stars" <> "r"."stars""#),
        .init(.compare(.eq, "score", .integer(9_007_199_254_740_993)), #""r"."score" <> "r"."score""#),
        .init(.compare(.gt, "score", .integer(9_007_199_254_740_993)), #""r"."score" > $1"#) {
            $0.append(9_007_199_254_740_992.0)
        },
        .init(.compare(.gt, "score", .integer(.max)), #""r"."score" >= $1"#) { $0.append(0x1p63) },
        .init(.compare(.lte, "score", .integer(.max)), #""r"."score" < $1"#) { $0.append(0x1p63) },
        .init(.compare(.eq, "serial", .integer(1)), #""r"."serial" = $1"#) { $0.append(1 as Int64) },
        .init(.compare(.eq, "done", .boolean(true)), #""r"."done" = $1"#) { $0.append(true) },
        .init(.compare(.lt, "due", .datetime(Timestamp(microseconds: 7))), #""r"."due" < $1"#) {
            $0.append(PostgresTimestamp(microsecondsSince2000: 7))
        },
        .init(.compare(.eq, "data", .bytes([1, 2])), #""r"."data" = $1"#) { $0.append([1, 2] as [UInt8]) },
        .init(.compare(.eq, "category", .reference(id("category/9"))), #""r"."category" = $1"#) { $0.append("9") },
        .init(.compare(.neq, "category", .string("9")), #"NOT ("r"."category" = $1)"#) { $0.append("9") },
        .init(.compare(.eq, "photo", .asset(asset("cat.png"))), #""r"."photo" = $1"#) {
            $0.append(asset("cat.png").name.rawValue)
        },
        .init(.compare(.neq, "photo", .asset(asset("cat.png"))), #""r"."photo" <> $1"#) {
            $0.append(asset("cat.png").name.rawValue)
        },
        .init(.isIn("photo", [.asset(asset("cat.png")), .null]), #""r"."photo" = ANY($1)"#) {
            $0.append([asset("cat.png").name.rawValue])
        },
        .init(.compare(.eq, "_id", .string("9")), #""r"."_id" = $1"#) { $0.append("9") },
        .init(.compare(.eq, "_id", .reference(id("note/9"))), #""r"."_id" = $1"#) { $0.append("9") },
        .init(.compare(.eq, "_owner", .string("ann")), #""r"."_owner" = $1"#) { $0.append("ann") },
        .init(.compare(.eq, "_owner_id", .reference(id("user/ann"))), #""r"."_owner" = $1"#) { $0.append("ann") },
        .init(.compare(.eq, "_ownerID", .string("ann")), #""r"."_owner" = $1"#) { $0.append("ann") },
        .init(.compare(.gt, "_revision", .integer(7)), #""r"."_revision" > $1"#) { $0.append(7 as Int64) },
        .init(.compare(.eq, "_database_id", .string("")), #""r"."_database" = $1"#) { $0.append("_public") },
        .init(.compare(.eq, "_access", .null), #""r"."_access" IS NULL"#),
        .init(.compare(.eq, "price", .null), #""r"."price" IS NULL"#),
        .init(.isIn("title", [.string("a"), .null, .string("b")]), #""r"."title" = ANY($1)"#) {
            $0.append(["a", "b"])
        },
        .init(.isIn("stars", [.integer(1), .number(2), .number(2.5)]), #""r"."stars" = ANY($1)"#) {
            $0.append([1, 2] as [Int64])
        },
        .init(.isIn("score", [.integer(1), .integer(9_007_199_254_740_993)]), #""r"."score" = ANY($1)"#) {
            $0.append([1.0])
        },
        .init(.isIn("category", [.reference(id("category/1")), .string("2")]), #""r"."category" = ANY($1)"#) {
            $0.append(["1", "2"])
        },
        .init(.comparison(.in, .value(.string("red")), .keyPath(path("tags"))), #""r"."tags" ? $1"#) {
            $0.append("red")
        },
        .init(.comparison(.in, .value(.null), .keyPath(path("tags"))), "NULL::boolean"),
        .init(.comparison(.lt, .value(.integer(3)), .keyPath(path("stars"))), #""r"."stars" > $1"#) {
            $0.append(3 as Int64)
        },
        .init(
            .comparison(.gte, .keyPath(path("stars")), .keyPath(path("score"))),
            #"CASE WHEN "r"."stars" IS NULL THEN NULL WHEN "r"."score" >= 9223372036854775808 THEN false "#
                + #"WHEN "r"."score" < -9223372036854775808 THEN true ELSE "r"."stars" >= ceil("r"."score")::bigint END"#
        ),
        .init(
            .comparison(.gt, .keyPath(path("score")), .keyPath(path("stars"))),
            #"CASE WHEN "r"."stars" IS NULL THEN NULL WHEN "r"."score" >= 9223372036854775808 THEN true "#
                + #"WHEN "r"."score" < -9223372036854775808 THEN false ELSE "r"."stars" < ceil("r"."score")::bigint END"#
        ),
        .init(.comparison(.lt, .keyPath(path("stars")), .keyPath(path("serial"))), #""r"."stars" < "r"."serial""#),
        .init(.comparison(.eq, .keyPath(path("next")), .keyPath(path("_id"))), #""r"."next" = "r"."_id""#),
        .init(
            .and([
                .compare(.eq, "title", .string("x")),
                .or([.compare(.gt, "stars", .integer(1)), .not(.compare(.eq, "done", .boolean(true)))]),
            ]),
            #"("r"."title" = $1) AND (("r"."stars" > $2) OR (NOT ("r"."done" = $3)))"#
        ) {
            $0.append("x")
            $0.append(1 as Int64)
            $0.append(true)
        },
        .init(.and([]), "true"),
        .init(.or([]), "false"),
        .init(.compare(.eq, "category.name", .string("Home")), #""j1"."name" = $1"#) { $0.append("Home") },
        .init(.compare(.eq, "_owner.username", .string("ann")), #""j1"."username" = $1"#) { $0.append("ann") },
    ]

    @Test(arguments: cases)
    func aPredicateBecomesAConditionWithItsValuesBound(_ row: PredicateCase) throws {
        let sql = try PrintedPredicate(row.predicate).sql
        #expect(sql.text == row.text)
        #expect(BoundValues(sql.bindings) == BoundValues(row.bindings))
    }

    @Test func idsOfAPrivateDatabaseAreComparedBehindTheirPrefix() throws {
        func sql(_ predicate: Predicate) throws -> SQL { try PrintedPredicate(predicate, .user("ann"), .ann).sql }
        let own = try sql(.compare(.eq, "_id", .string("9")))
        #expect(own.text == #""r"."_id" = $1"#)
        #expect(BoundValues(own.bindings) == BoundValues { $0.append("~ann/9") })
        let reference = try sql(.compare(.eq, "category", .string("9")))
        #expect(reference.text == #""r"."category" = ANY($1)"#)
        #expect(BoundValues(reference.bindings) == BoundValues { $0.append(["9", "~ann/9"]) })
        let ordered = try sql(.compare(.gt, "_id", .string("9")))
        #expect(ordered.text.hasPrefix(#"(CASE WHEN starts_with("r"."_id", '~')"#))
    }

    @Test func aJoinedRecordIsJoinedOnceAndUnderTheCallersAccess() throws {
        let printed = try PrintedPredicate(
            .and([.compare(.eq, "category.name", .string("x")), .compare(.gt, "category.rank", .integer(1))]),
            .everyone,
            .anonymous
        )
        #expect(printed.joins.count == 1)
        #expect(
            printed.joins[0].text == #"LEFT JOIN "app"."category" AS "j1" ON "j1"."_id" = "r"."category" "#
                + #"AND "j1"."_database" = '_public' AND ("j1"."_access" IS NULL "#
                + #"OR coalesce("j1"."_access" ?| (SELECT $1::text::text[]), false))"#
        )
    }

    /// The types of ``SchemaCatalog/notes`` with the text columns of a database that is older than their collation.
    private static func catalog(_ collation: TextCollation) -> SchemaCatalog {
        SchemaCatalog(
            schema: "app",
            version: 1,
            tables: SchemaCatalog.notes.tables.values.map { table in
                RecordTable(
                    name: table.name,
                    schema: table.schema,
                    identifier: table.identifier,
                    columns: table.columns.map {
                        let isText = $0.oid == .text && $0.field != field("next")
                        return RecordColumn(
                            field: $0.field,
                            identifier: $0.identifier,
                            type: $0.type,
                            oid: $0.oid,
                            collation: isText ? collation : .bytes
                        )
                    },
                    reservedCollations: [.id: collation, .owner: collation]
                )
            }
        )
    }

    private static func folded(_ comparison: ComparisonOperator) -> Predicate {
        .comparison(comparison, .function(.fold, path("title")), .value(.string("x")))
    }

    static let collations: [(TextCollation, Predicate, String)] = [
        (.bytes, .compare(.lt, "title", .string("x")), #""r"."title" < $1"#),
        (.databaseBytes, .compare(.lt, "title", .string("x")), #""r"."title" < $1"#),
        (.database, .compare(.lt, "title", .string("x")), #""r"."title" COLLATE "C" < $1"#),
        (.database, .compare(.eq, "title", .string("x")), #""r"."title" = $1"#),
        (.database, .isIn("title", [.string("x")]), #""r"."title" = ANY($1)"#),
        (.database, .compare(.like, "title", .string("%x")), #""r"."title" LIKE $1"#),
        (
            .database, .compare(.startsWith, "title", .string("x")),
            #"("r"."title" COLLATE "C" >= $1) AND ("r"."title" COLLATE "C" < $2)"#
        ),
        (.database, .compare(.contains, "title", .string("x")), #"strpos("r"."title", $1) > 0"#),
        (.database, folded(.eq), #""app"."_fold"("r"."title") = $1"#),
        (.database, folded(.lt), #""app"."_fold"("r"."title") COLLATE "C" < $1"#),
        (.other, folded(.lt), #""app"."_fold"("r"."title" COLLATE "C") < $1"#),
        (.other, .compare(.contains, "title", .string("x")), #"strpos("r"."title" COLLATE "C", $1) > 0"#),
        (.database, .compare(.gt, "_id", .string("x")), #""r"."_id" COLLATE "C" > $1"#),
        (.other, .compare(.eq, "title", .string("x")), #""r"."title" COLLATE "C" = $1"#),
        (.other, .compare(.like, "title", .string("%x")), #""r"."title" COLLATE "C" LIKE $1"#),
        (.other, .compare(.ilike, "title", .string("x%")), #""app"."_fold"("r"."title" COLLATE "C") LIKE $1"#),
        (.other, .compare(.eq, "category", .string("x")), #""r"."category" COLLATE "C" = $1"#),
        (.other, .compare(.lt, "stars", .integer(1)), #""r"."stars" < $1"#),
    ]

    @Test(arguments: collations)
    func aColumnOfAnotherCollationIsComparedByBytes(_ collation: TextCollation, _ predicate: Predicate, text: String)
        throws
    {
        #expect(try PrintedPredicate(predicate, catalog: Self.catalog(collation)).sql.text == text)
    }

    /// An index of an array of references finds what has one of few records; where there may be many, each row is asked.
    @Test func anIndexOfReferencesFindsThoseOfFewRecords() throws {
        let array = TableIndex("a", [TableIndex.Key("categories", operators: "array_ops")], method: "gin")
        let unique = TableIndex("u", [TableIndex.Key("_database"), TableIndex.Key("name")], isUnique: true)
        let plain = TableIndex("p", [TableIndex.Key("name")])
        func isByIndex(
            _ predicate: Predicate,
            _ array: TableIndex? = array,
            _ name: TableIndex = unique,
            _ scope: DatabaseScope = .everyone
        ) throws -> Bool {
            let note = CategoryTables.note(indexes: array.map { [$0] } ?? [])
            let category = CategoryTables.category(indexes: [name])
            let catalog = SchemaCatalog(schema: "app", version: 1, tables: [note, category])
            let printed = try PrintedPredicate(predicate, scope, .master, catalog: catalog)
            #expect(!printed.sql.text.contains("&&"))
            return printed.matching.text.contains(#""r"."categories" && ARRAY(SELECT "s1"."_id" FROM "#)
        }
        func isNamed(_ names: String...) -> Predicate { .isIn("categories.name", names.map { .string($0) }) }
        let equal = Predicate.compare(.eq, "categories.name", .string("x"))
        #expect(try isByIndex(equal))
        #expect(try !isByIndex(equal, nil))
        #expect(try !isByIndex(equal, array, plain))
        #expect(try !isByIndex(equal, array, unique, .union))
        #expect(try isByIndex(isNamed("x", "y")))
        #expect(try isByIndex(.or([equal, .compare(.eq, "categories._id", .string("x"))])))
        #expect(try isByIndex(.and([.compare(.gt, "stars", .integer(1)), equal])))
        #expect(try !isByIndex(.not(equal)))
        #expect(try !isByIndex(.none([equal])))
        #expect(try !isByIndex(.compare(.gt, "categories.name", .string("x"))))
        #expect(try !isByIndex(.comparison(.eq, .function(.fold, path("categories.name")), .value(.string("x")))))
        let isHigh = Predicate.compare(.gt, "rank", .integer(1))
        let isX = Predicate.compare(.eq, "name", .string("x"))
        #expect(try isByIndex(.elements(path("categories"), .any, .and([isHigh, isX]))))
        #expect(try !isByIndex(.elements(path("categories"), .any, .or([isHigh, isX]))))
        #expect(try !isByIndex(.elements(path("categories"), .all, isX)))
    }

    @Test func aQueryInsideOfAPredicateIsUnderTheSameAccess() throws {
        func found(not isNegated: Bool, key: String? = nil) -> Predicate {
            let isHome = Predicate.compare(.eq, "name", .string("Home"))
            let query = Subquery(type: type("category"), predicate: isHome, key: key.map { path($0) })
            return .found(.keyPath(path(key == nil ? "category" : "title")), by: query, isNegated: isNegated)
        }
        let source =
            #"FROM "app"."category" AS "s1" WHERE ("s1"."_database" = '_public') AND ("s1"."name" = $1) AND "#
        let positive = try PrintedPredicate(found(not: false))
        #expect(positive.sql.text == #""r"."category" IN (SELECT "s1"."_id" \#(source)"s1"."_id" IS NOT NULL)"#)
        #expect(BoundValues(positive.sql.bindings) == BoundValues { $0.append("Home") })
        let negative = try PrintedPredicate(found(not: true, key: "name"))
        let absent = #"NOT EXISTS (SELECT \#(source)"s1"."name" = "r"."title")"#
        #expect(negative.sql.text == #"CASE WHEN "r"."title" IS NOT NULL THEN \#(absent) END"#)
        #expect(negative.matching.text == #""r"."title" IS NOT NULL AND \#(absent)"#)
        let both = try PrintedPredicate(.and([found(not: false), .not(found(not: true))]))
        #expect(both.matching.text.contains(#"NOT (CASE WHEN "r"."category" IS NOT NULL THEN NOT EXISTS"#))
        #expect(both.matching.text.contains(#"AS "s2""#))
        let anonymous = try PrintedPredicate(found(not: false), .everyone, .anonymous)
        #expect(anonymous.sql.text.contains(#"("s1"."_database" = '_public' AND ("s1"."_access" IS NULL OR"#))
    }

    @Test func nothingButPlainNamesIsWrittenIntoAPath() {
        let plain = ["a", "A_9", "_", "0", "007", String(repeating: "a", count: 63)]
        for step in plain { #expect(JSONPathLiteral([step])?.text == "{\(step)}") }
        let bound = [
            "", "null", "NULL", "a b", "a'", "a\"", "a,b", "{", "}", "a\\", "é", "-1", "1a", "1234567", "a-b", "a;",
            String(repeating: "a", count: 64), "\u{0}",
        ]
        for step in bound { #expect(JSONPathLiteral([step]) == nil, "\(step)") }
        #expect(JSONPathLiteral(["a", "b", "0"])?.text == "{a,b,0}")
        #expect(JSONPathLiteral(["a", "b'"]) == nil)
    }

    @Test func aJoinUsesTheIndexOfTheIdsWhateverTheirCollation() throws {
        let rows: [(TextCollation, String, String)] = [
            (.bytes, "category.name", #""j1"."_id" = "r"."category" AND"#),
            (.database, "category.name", #""j1"."_id" = "r"."category" AND"#),
            (.database, "next.title", #""j1"."_id" = "r"."next" COLLATE "default" AND"#),
            (.databaseBytes, "next.title", #""j1"."_id" = "r"."next" COLLATE "default" AND"#),
            (.other, "next.title", #""j1"."_id" = "r"."next" COLLATE "C" AND"#),
        ]
        for (collation, name, text) in rows {
            let printed = try PrintedPredicate(.compare(.eq, name, .string("x")), catalog: Self.catalog(collation))
            #expect(printed.joins[0].text.contains(text))
        }
    }
}
