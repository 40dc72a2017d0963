import SkyrowModel
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
        .comparison(.in, .keyPath(path(name)), .list(values))
    }
}

@Suite struct PredicateCompilerTests {
    private func names(_ scope: DatabaseScope = .everyone, _ caller: Caller = .master) -> QueryNames {
        QueryNames(catalog: .notes, root: SchemaCatalog.notes.note, scope: scope, caller: caller, variables: nil)
    }

    static let cases: [PredicateCase] = [
        .init(.compare(.eq, "title", .string("x")), #""r"."title" = $1"#) { $0.append("x") },
        .init(.compare(.neq, "title", .string("x")), #""r"."title" <> $1"#) { $0.append("x") },
        .init(.compare(.eq, "title", .null), #""r"."title" IS NULL"#),
        .init(.compare(.neq, "tags", .null), #""r"."tags" IS NOT NULL"#),
        .init(.compare(.gt, "stars", .null), "NULL::boolean"),
        .init(.compare(.like, "title", .string(#"50\%%"#)), #""r"."title" LIKE $1"#) { $0.append(#"50\%%"#) },
        .init(.compare(.ilike, "title", .string("A_")), #""r"."title" ILIKE $1"#) { $0.append("A_") },
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
        .init(.comparison(.gte, .keyPath(path("stars")), .keyPath(path("score"))), #""r"."stars" >= "r"."score""#),
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
        var compiler = PredicateCompiler(names: names())
        let sql = try compiler.condition(row.predicate)
        #expect(sql.text == row.text)
        #expect(BoundValues(sql.bindings) == BoundValues(row.bindings))
    }

    static let refusals: [(Predicate, ErrorCode)] = [
        (.compare(.eq, "title", .integer(1)), .invalidArgument),
        (.compare(.eq, "title", .string("\u{0}")), .invalidArgument),
        (.compare(.like, "title", .string(#"x\"#)), .invalidArgument),
        (.compare(.like, "stars", .string("1%")), .invalidArgument),
        (.compare(.ilike, "category", .string("1%")), .invalidArgument),
        (.compare(.eq, "stars", .string("1")), .invalidArgument),
        (.compare(.eq, "stars", .number(.nan)), .invalidArgument),
        (.compare(.eq, "done", .integer(1)), .invalidArgument),
        (.compare(.eq, "due", .string("2019-01-01T00:00:00Z")), .invalidArgument),
        (.compare(.gt, "category", .reference(id("category/1"))), .invalidArgument),
        (.compare(.eq, "category", .reference(id("note/1"))), .invalidArgument),
        (.compare(.eq, "tags", .json(JSONText(validated: Array("[]".utf8)))), .notSupported),
        (.compare(.eq, "title", .json(JSONText(validated: Array("{}".utf8)))), .notSupported),
        (.compare(.gt, "tags", .string("x")), .invalidArgument),
        (.compare(.eq, "data", .string("x")), .invalidArgument),
        (.compare(.eq, "price", .integer(1)), .invalidArgument),
        (.compare(.in, "title", .string("x")), .invalidArgument),
        (.isIn("title", [.integer(1)]), .invalidArgument),
        (.isIn("tags", [.string("x")]), .invalidArgument),
        (.isIn("title", Array(repeating: .string("x"), count: 10_001)), .invalidArgument),
        (.and(Array(repeating: .compare(.eq, "stars", .integer(1)), count: 1_001)), .invalidArgument),
        (.comparison(.eq, .keyPath(path("title")), .list([.string("x")])), .notSupported),
        (.comparison(.gt, .keyPath(path("title")), .list([.string("x")])), .invalidArgument),
        (.comparison(.eq, .value(.integer(1)), .value(.integer(1))), .invalidArgument),
        (.comparison(.like, .value(.string("x")), .keyPath(path("title"))), .invalidArgument),
        (.comparison(.in, .value(.integer(1)), .keyPath(path("tags"))), .invalidArgument),
        (.comparison(.eq, .keyPath(path("title")), .keyPath(path("stars"))), .invalidArgument),
        (.compare(.eq, "missing", .integer(1)), .recordQueryInvalid),
        (.compare(.eq, "_password", .integer(1)), .recordQueryInvalid),
        (.compare(.eq, "title.name", .integer(1)), .recordQueryInvalid),
        (.compare(.eq, "category.missing", .integer(1)), .recordQueryInvalid),
        (.compare(.eq, "next.category.name", .string("x")), .recordQueryInvalid),
    ]

    @Test(arguments: refusals)
    func whatHasNoMeaningIsRefusedByName(_ predicate: Predicate, _ code: ErrorCode) {
        var compiler = PredicateCompiler(names: names())
        let error = #expect(throws: SkyrowError.self) { try compiler.condition(predicate) }
        #expect(error?.code == code)
    }

    @Test func idsOfAPrivateDatabaseAreComparedBehindTheirPrefix() throws {
        var compiler = PredicateCompiler(names: names(.user("ann"), .ann))
        let own = try compiler.condition(.compare(.eq, "_id", .string("9")))
        #expect(own.text == #""r"."_id" = $1"#)
        #expect(BoundValues(own.bindings) == BoundValues { $0.append("~ann/9") })
        let reference = try compiler.condition(.compare(.eq, "category", .string("9")))
        #expect(reference.text == #""r"."category" = ANY($1)"#)
        #expect(BoundValues(reference.bindings) == BoundValues { $0.append(["9", "~ann/9"]) })
        let ordered = try compiler.condition(.compare(.gt, "_id", .string("9")))
        #expect(ordered.text.hasPrefix(#"(CASE WHEN starts_with("r"."_id", '~')"#))
    }

    @Test func aJoinedRecordIsJoinedOnceAndUnderTheCallersAccess() throws {
        var compiler = PredicateCompiler(names: names(.everyone, .anonymous))
        _ = try compiler.condition(
            .and([.compare(.eq, "category.name", .string("x")), .compare(.gt, "category.rank", .integer(1))])
        )
        #expect(compiler.names.joins.count == 1)
        #expect(
            compiler.names.joins[0].sql.text == #"LEFT JOIN "app"."category" AS "j1" ON "j1"."_id" = "r"."category" "#
                + #"AND "j1"."_database" = '_public' AND ("j1"."_access" IS NULL "#
                + #"OR ("j1"."_access" @> '[{"public": true}]' "#
                + #"AND ("j1"."_access" @> '[{"public": true, "level": "read"}]' "#
                + #"OR "j1"."_access" @> '[{"public": true, "level": "write"}]')))"#
        )
    }
}
