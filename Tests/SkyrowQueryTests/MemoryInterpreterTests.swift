import SkyrowModel
import Testing

@testable import SkyrowQuery

/// The interpreter in memory by single rows; the agreement test of the store holds it to PostgreSQL.
@Suite struct MemoryInterpreterTests {
    private static let note = StoredRecord(
        type: type("note"),
        storedID: "1",
        fields: [
            field("title"): .scalar(.text("Milk 50%")), field("stars"): .scalar(.integer(9_007_199_254_740_993)),
            field("score"): .scalar(.number(9_007_199_254_740_992)), field("done"): .scalar(.boolean(true)),
            field("tags"): .json(JSONText(validated: Array(#"["red", {"blue": 1}, "\u00e9\n"]"#.utf8))),
            field("category"): .scalar(.text("home")), field("labels"): .array([.text("a"), .text("b"), nil]),
            field("ratings"): .array([.integer(1), .integer(5)]),
            field("categories"): .array([.text("gone"), .text("home")]), field("readers"): .array([]),
        ]
    )

    private static func truth(_ predicate: Predicate, _ caller: Caller = .ann) throws -> Truth {
        var resolver = Resolver(schema: TestSchema.notes, root: TestSchema.notes.note, access: RecordAccess(caller))
        let query = try resolver.resolve(RecordQuery(type: type("note"), predicate: predicate))
        var home = StoredRecord(
            type: type("category"),
            storedID: "home",
            fields: [field("name"): .scalar(.text("Home"))]
        )
        home.access = caller.isMaster ? AccessList([]) : nil
        return MemoryInterpreter(query) { $0 == home.type && $1 == "home" ? home : nil }.truth(of: note)
    }

    static let rows: [(Predicate, Truth)] = [
        (.compare(.eq, "title", .string("Milk 50%")), .yes),
        (.compare(.lt, "title", .string("a")), .yes),
        (.compare(.like, "title", .string(#"%50\%"#)), .yes),
        (.compare(.like, "title", .string("milk%")), .no),
        (.compare(.ilike, "title", .string("MILK%")), .yes),
        (.compare(.eq, "title", .null), .no),
        (.compare(.neq, "title", .null), .yes),
        (.compare(.gt, "title", .null), .unknown),
        (.compare(.gt, "due", .datetime(.infinity)), .unknown),
        (.not(.compare(.gt, "due", .datetime(.infinity))), .unknown),
        (.and([.compare(.eq, "due", .null), .compare(.gt, "due", .datetime(.infinity))]), .unknown),
        (.and([.compare(.neq, "due", .null), .compare(.gt, "due", .datetime(.infinity))]), .no),
        (.or([.compare(.eq, "due", .null), .compare(.gt, "due", .datetime(.infinity))]), .yes),
        (.and([]), .yes), (.or([]), .no),
        (.compare(.eq, "stars", .number(9_007_199_254_740_992)), .no),
        (.paths(.eq, "stars", "score"), .no), (.paths(.gt, "stars", "score"), .yes),
        (.paths(.lt, "score", "stars"), .yes),
        (.isIn("due", []), .no), (.isIn("due", [.null]), .unknown), (.not(.isIn("due", [])), .yes),
        (.not(.isIn("due", [.null])), .unknown),
        (.isIn("due", [.datetime(.infinity)]), .unknown),
        (.isIn("next", []), .no), (.isIn("next", [.string("1")]), .unknown),
        (.comparison(.in, .value(.string("red")), .keyPath(path("tags"))), .yes),
        (.comparison(.in, .value(.string("blue")), .keyPath(path("tags"))), .no),
        (.comparison(.in, .value(.string("é\n")), .keyPath(path("tags"))), .yes),
        (.compare(.eq, "category", .reference(id("category/home"))), .yes),
        (.compare(.eq, "category.name", .string("Home")), .yes),
        (.compare(.eq, "next.title", .string("x")), .unknown),
        (.compare(.eq, "next.title", .null), .yes),
        (.comparison(.in, .value(.string("b")), .keyPath(path("labels"))), .yes),
        (.comparison(.in, .value(.string("c")), .keyPath(path("labels"))), .no),
        (.comparison(.in, .value(.null), .keyPath(path("labels"))), .unknown),
        (.any("labels", .compare(.eq, "$", .string("b"))), .yes),
        (.any("labels", .compare(.eq, "$", .string("c"))), .no),
        (.any("labels", .compare(.eq, "$", .null)), .yes),
        (.any("labels", .comparison(.eq, .function(.fold, path("$")), .value(.string("A")))), .yes),
        (.all("labels", .compare(.lt, "$", .string("c"))), .no),
        (.all("labels", .or([.compare(.lt, "$", .string("c")), .compare(.eq, "$", .null)])), .yes),
        (.not(.all("labels", .compare(.lt, "$", .string("c")))), .yes),
        (.any("ratings", .and([.compare(.gt, "$", .integer(1)), .compare(.lt, "$", .integer(5))])), .no),
        (.any("ratings", .between(.keyPath(path("$")), .integer(5), .number(5.5))), .yes),
        (.any("others", .compare(.eq, "title", .null)), .no), (.not(.any("others", .and([]))), .yes),
        (.all("others", .compare(.eq, "title", .string("x"))), .yes), (.any("readers", .and([])), .no),
        (.any("tags", .compare(.eq, "blue", .integer(1))), .yes),
        (.any("tags", .compare(.eq, "$.blue", .integer(1))), .yes),
        (.any("tags", .compare(.lt, "$", .string("s"))), .yes), (.any("tags", .compare(.gt, "$", .integer(0))), .no),
        (.any("tags.x", .and([])), .no), (.all("tags.0", .or([])), .yes),
        (.all("tags", .compare(.exists, "$", .boolean(true))), .yes),
        (.any("categories", .compare(.eq, "name", .string("Home"))), .yes),
        (.all("categories", .compare(.eq, "name", .string("Home"))), .yes),
        (.any("categories", .compare(.eq, "$", .reference(id("category/home")))), .yes),
        (.any("categories", .compare(.eq, "$", .reference(id("category/gone")))), .no),
        (.any("categories", .compare(.eq, "name", .null)), .no),
        (.compare(.eq, "categories.name", .string("Home")), .yes),
        (.not(.compare(.eq, "categories.name", .string("x"))), .yes),
        (.compare(.exists, "categories.rank", .boolean(false)), .yes),
        (.compare(.eq, "others.title", .null), .no), (.none([.compare(.eq, "others.title", .string("x"))]), .yes),
    ]

    @Test(arguments: rows)
    func aPredicateIsTrueFalseOrUnknown(_ predicate: Predicate, _ truth: Truth) throws {
        #expect(try Self.truth(predicate) == truth)
    }

    @Test func aRecordThatMayNotBeReadIsAsOneThatIsMissing() throws {
        var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "category.name", .null))
        query.sort = [SortKey(path("category.name"))]
        for (access, truth) in [(nil, Truth.no), (AccessList([]), .yes)] as [(AccessList?, Truth)] {
            var home = StoredRecord(
                type: type("category"),
                storedID: "home",
                fields: [field("name"): .scalar(.text("Home"))]
            )
            home.access = access
            var resolver = Resolver(schema: TestSchema.notes, root: TestSchema.notes.note, access: RecordAccess(.ann))
            let interpreter = MemoryInterpreter(try resolver.resolve(query)) { [home] _, _ in home }
            #expect(interpreter.truth(of: Self.note) == truth)
        }
    }

    @Test func numbersAreOrderedAsInPostgreSQL() {
        let numbers = [-Double.infinity, -0x1p63, -1.5, 0, 0x1p53, 0x1p63, .infinity, .nan]
        for (i, a) in numbers.enumerated() {
            for (j, b) in numbers.enumerated() {
                #expect(ValueOrder(numbers: a, b) == (i < j ? .less : i > j ? .greater : .same))
            }
        }
        #expect(ValueOrder(numbers: -0.0, 0.0) == .same)
        #expect(ValueOrder(Int64.max, beside: 0x1p63) == .less)
        #expect(ValueOrder(Int64.min, beside: -0x1p63) == .same)
        #expect(ValueOrder(Int64.min, beside: -.infinity) == .greater)
        #expect(ValueOrder(0, beside: -0.0) == .same)
        #expect(ValueOrder(-2, beside: -2.5) == .greater)
        #expect(ValueOrder(9_007_199_254_740_993, beside: 0x1p53) == .greater)
        #expect(ValueOrder(Int64.max, beside: .nan) == .less)
        #expect(ValueOrder(texts: "\u{E000}", "\u{10000}") == .less)
        #expect(ValueOrder(texts: "é", "e\u{301}") == .greater)
    }

    static let patterns: [(String, String, Bool)] = [
        ("", "", true), ("", "%", true), ("", "_", false), ("a", "", false), ("abc", "a%c", true), ("abc", "%b%", true),
        ("abc", "_b_", true), ("é", "_", true), ("\u{1F95B}x", "_x", true), ("e\u{301}", "_", false),
        ("a%b", #"a\%b"#, true), ("axb", #"a\%b"#, false), (#"a\b"#, #"a\\b"#, true), ("aaab", "%ab", true),
        ("abab", "%ab_", false), ("ababx", "%ab_", true), ("mississippi", "%iss%ip%", true), ("abc", "abc%%", true),
        ("é", "%\u{E9}", true), ("ab", #"\a\b"#, true), ("日本語", "_本_", true),
    ]

    @Test(arguments: patterns)
    func aPatternMatchesTheWholeText(_ text: String, _ pattern: String, _ matches: Bool) {
        #expect(LikePattern(pattern).matches(text) == matches)
    }

    @Test func textsAreFoldedCodePointByCodePoint() {
        for (text, folded) in [
            ("Star", "star"), ("ÄÖÜ", "äöü"), ("ΣΑΣ", "σασ"), ("ς", "σ"), ("İI", "i\u{307}i"), ("ẞß", "ßß"), ("", ""),
            ("ǅ", "ǆ"), ("\u{10FFFF}", "\u{10FFFF}"), ("E\u{301}", "e\u{301}"), ("Ⅷ", "ⅷ"),
        ] {
            #expect(TextFolding.fold(text).isSameText(as: folded), "\(text)")
        }
        #expect(TextFolding.changes.count == 1434)
        for (scalar, folded) in TextFolding.changes {
            #expect(TextFolding.fold(folded).isSameText(as: folded), "\(scalar)")
        }
    }
}
