import SkyrowModel
import Testing

@testable import SkyrowQuery

/// What a query is resolved to, and every way in which it can be wrong, with the path of the faulty element.
@Suite struct ResolverTests {
    private static func resolve(
        _ query: RecordQuery,
        _ scope: DatabaseScope = .everyone,
        _ caller: Caller = .ann
    ) throws -> ResolvedQuery {
        let root = try #require(TestSchema.notes[query.type])
        var resolver = Resolver(schema: TestSchema.notes, root: root, access: RecordAccess(caller, in: scope))
        return try resolver.resolve(query)
    }

    private static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    static let refusals: [(Predicate, ErrorCode, String)] = [
        (.compare(.eq, "title", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "title", .string("\u{0}")), .invalidArgument, "predicate[2]"),
        (.compare(.like, "title", .string(#"x\"#)), .invalidArgument, "predicate[2]"),
        (.compare(.like, "stars", .string("1%")), .invalidArgument, "predicate[0]"),
        (.compare(.ilike, "category", .string("1%")), .invalidArgument, "predicate[0]"),
        (.compare(.eq, "stars", .string("1 ")), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "stars", .number(.nan)), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "done", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "due", .string("2019-01-01T00:00:00")), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "category", .string("~ann/1")), .invalidArgument, "predicate[2]"),
        (.isIn("category", [.string("1"), .string("")]), .invalidArgument, "predicate[2][1]"),
        (.compare(.gt, "category", .reference(id("category/1"))), .invalidArgument, "predicate[0]"),
        (.compare(.eq, "category", .reference(id("note/1"))), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "title", json("{}")), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "tags", .bytes([1])), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "tags", .datetime(Timestamp(microseconds: 0))), .invalidArgument, "predicate[2]"),
        (.compare(.gt, "tags", .string("x")), .invalidArgument, "predicate[0]"),
        (.compare(.like, "tags", .string("x")), .invalidArgument, "predicate[0]"),
        (.compare(.gt, "tags.a", json("[]")), .invalidArgument, "predicate[2]"),
        (.compare(.endsWith, "tags.a", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.startsWith, "stars", .string("x")), .invalidArgument, "predicate[0]"),
        (.compare(.startsWith, "title", .bytes([1])), .invalidArgument, "predicate[2]"),
        (.compare(.startsWith, "title", .null), .invalidArgument, "predicate[2]"),
        (.compare(.endsWith, "data", .bytes([1])), .invalidArgument, "predicate[0]"),
        (.compare(.contains, "stars", .integer(1)), .invalidArgument, "predicate[0]"),
        (.compare(.contains, "title", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.contains, "tags", .null), .invalidArgument, "predicate[2]"),
        (.compare(.contains, "title", .string(String(repeating: "x", count: 1025))), .invalidArgument, "predicate[2]"),
        (.compare(.containsAll, "tags", .string("x")), .invalidArgument, "predicate[2]"),
        (.list(.containsAll, "title", [.string("x")]), .invalidArgument, "predicate[0]"),
        (.list(.containsAny, "tags", [.string("x"), .null]), .invalidArgument, "predicate[2][1]"),
        (.list(.containedBy, "tags", [.string("x"), .bytes([])]), .invalidArgument, "predicate[2][1]"),
        (.list(.containsAny, "tags", Array(repeating: .integer(1), count: 1_001)), .invalidArgument, "predicate[2]"),
        (.list(.nin, "stars", [.string("x")]), .invalidArgument, "predicate[2][0]"),
        (.list(.contains, "tags", [.string("x")]), .invalidArgument, "predicate[2]"),
        (.compare(.exists, "title", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.exists, "title", .null), .invalidArgument, "predicate[2]"),
        (.comparison(.startsWith, .value(.string("x")), .keyPath(path("title"))), .invalidArgument, "predicate[1]"),
        (.paths(.contains, "tags", "title"), .invalidArgument, "predicate[2]"),
        (.paths(.containsAll, "tags", "tags"), .invalidArgument, "predicate[2]"),
        (.paths(.lt, "tags.a", "stars"), .invalidArgument, "predicate[2]"),
        (.between(.keyPath(path("title")), .string("a"), .integer(1)), .invalidArgument, "predicate[3]"),
        (.between(.keyPath(path("title")), .null, .string("a")), .invalidArgument, "predicate[2]"),
        (.between(.keyPath(path("tags")), .integer(1), .integer(2)), .invalidArgument, "predicate[0]"),
        (.between(.keyPath(path("nothing")), .integer(1), .integer(2)), .recordQueryInvalid, "predicate[1]"),
        (
            .none([.compare(.eq, "stars", .integer(1)), .compare(.eq, "x", .null)]), .recordQueryInvalid,
            "predicate[2][1]"
        ),
        (.size("title", .eq, .integer(1)), .invalidArgument, "predicate[1][2]"),
        (.size("tags", .eq, .string("x")), .invalidArgument, "predicate[2]"),
        (
            .comparison(.eq, .function(.fold, path("stars")), .value(.integer(1))), .invalidArgument, "predicate[1][2]"
        ),
        (.compare(.eq, "tags.-1", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "tags. 1", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (
            .compare(.eq, "tags." + Array(repeating: "a", count: 17).joined(separator: "."), .null),
            .recordQueryInvalid, "predicate[1]"
        ),
        (
            .compare(.eq, Array(repeating: "next", count: 9).joined(separator: ".") + ".title", .null),
            .recordQueryInvalid, "predicate[1]"
        ),
        (.inside("title", .string, .eq, .string("x")), .recordQueryInvalid, "predicate[1]"),
        (.inside("tags.a", .number, .eq, .string("x")), .invalidArgument, "predicate[2]"),
        (.inside("tags.a", .number, .like, .string("x")), .invalidArgument, "predicate[0]"),
        (.inside("tags.a", .datetime, .eq, .string("2019-03-01")), .invalidArgument, "predicate[2]"),
        (.inside("tags.a", .datetime, .lt, .integer(0)), .invalidArgument, "predicate[2]"),
        (.inside("tags.a", .datetime, .startsWith, .string("2019")), .invalidArgument, "predicate[0]"),
        (.inside("due", .datetime, .eq, .null), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "tags.a", .datetime(Timestamp(microseconds: 0))), .invalidArgument, "predicate[2]"),
        (.compare(.like, "tags.a", .datetime(Timestamp(microseconds: 0))), .invalidArgument, "predicate[2]"),
        (.found("category", in: "nothing"), .recordQueryInvalid, "predicate[2].record_type"),
        (.found("missing", in: "category"), .recordQueryInvalid, "predicate[1]"),
        (.found("category", in: "note"), .invalidArgument, "predicate[2]"),
        (.found("category", in: "category", key: "missing"), .recordQueryInvalid, "predicate[2].key"),
        (.found("stars", in: "note", key: "score"), .invalidArgument, "predicate[2]"),
        (.found("tags", in: "note", key: "tags"), .invalidArgument, "predicate[0]"),
        (.found("title", in: "note", key: "tags"), .invalidArgument, "predicate[2]"),
        (.found("price", in: "note", key: "price"), .invalidArgument, "predicate[0]"),
        (.found("_owner", in: "user", .compare(.eq, "phone", .null)), .recordQueryDenied, "predicate[2].predicate[1]"),
        (.found("title", in: "user", key: "phone"), .recordQueryDenied, "predicate[2].key"),
        (
            .or([
                .compare(.eq, "title", .null),
                .found("category", in: "category", .and([.compare(.eq, "rank", .string("x"))]), not: true),
            ]), .invalidArgument, "predicate[2][2].predicate[1][2]"
        ),
        (
            (0..<5).reduce(.compare(.eq, "stars", .null)) { part, _ in .found("next", in: "note", part) },
            .recordQueryInvalid, "predicate" + String(repeating: "[2].predicate", count: 4) + "[2]"
        ),
        (.or(Array(repeating: .found("next", in: "note"), count: 9)), .recordQueryInvalid, "predicate[9][2]"),
        (
            (0..<33).reduce(.compare(.eq, "stars", .null)) { part, _ in .not(part) }, .invalidArgument,
            "predicate" + String(repeating: "[1]", count: 32)
        ),
        (.any("title", .compare(.eq, "$", .string("x"))), .invalidArgument, "predicate[0]"),
        (.any("category", .compare(.eq, "name", .string("x"))), .invalidArgument, "predicate[0]"),
        (.all("missing", .compare(.eq, "$", .null)), .recordQueryInvalid, "predicate[1]"),
        (.any("ghosts", .compare(.eq, "$", .null)), .recordQueryInvalid, "predicate[1]"),
        (.any("labels", .compare(.eq, "$", .integer(1))), .invalidArgument, "predicate[2][2]"),
        (.any("labels", .compare(.eq, "x", .string("x"))), .recordQueryInvalid, "predicate[2][1]"),
        (.any("labels", .compare(.eq, "$.x", .string("x"))), .recordQueryInvalid, "predicate[2][1]"),
        (.any("labels", .inside("$", .number, .eq, .integer(1))), .recordQueryInvalid, "predicate[2][1]"),
        (.any("ratings", .compare(.like, "$", .string("x"))), .invalidArgument, "predicate[2][0]"),
        (.all("tags.a", .compare(.eq, "$.-1", .integer(1))), .recordQueryInvalid, "predicate[2][1]"),
        (.any("tags", .compare(.eq, "$", .bytes([]))), .invalidArgument, "predicate[2][2]"),
        (.any("categories", .compare(.eq, "missing", .null)), .recordQueryInvalid, "predicate[2][1]"),
        (.any("categories", .not(.compare(.eq, "$", .integer(1)))), .invalidArgument, "predicate[2][1][2]"),
        (.any("readers", .compare(.eq, "phone", .null)), .recordQueryDenied, "predicate[2][1]"),
        (.compare(.eq, "readers.phone", .null), .recordQueryDenied, "predicate[1]"),
        (.compare(.eq, "$", .null), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "$.title", .null), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "categories.missing", .null), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "categories.name", .integer(1)), .invalidArgument, "predicate[2]"),
        (.compare(.neq, "categories.name", .string("x")), .invalidArgument, "predicate[0]"),
        (.compare(.neq, "next.others.categories.name", .string("x")), .invalidArgument, "predicate[0]"),
        (.list(.nin, "categories.name", [.string("x")]), .invalidArgument, "predicate[0]"),
        (.found("others.category", in: "category", not: true), .invalidArgument, "predicate[0]"),
        (.found("others.category", in: "note"), .invalidArgument, "predicate[2]"),
        (.found("category", in: "note", key: "others.category"), .recordQueryInvalid, "predicate[2].key"),
        (.all("others.labels", .compare(.eq, "$", .string("x"))), .invalidArgument, "predicate[0]"),
        (.paths(.neq, "others.stars", "stars"), .invalidArgument, "predicate[0]"),
        (.paths(.neq, "stars", "others.stars"), .invalidArgument, "predicate[0]"),
        (.paths(.lt, "others.title", "stars"), .invalidArgument, "predicate[2]"),
        (.paths(.lt, "stars", "others.title"), .invalidArgument, "predicate[2]"),
        (.paths(.like, "others.title", "title"), .invalidArgument, "predicate[2]"),
        (.paths(.in, "title", "others.title"), .invalidArgument, "predicate[2]"),
        (.paths(.eq, "others.missing", "title"), .recordQueryInvalid, "predicate[1]"),
        (.paths(.eq, "others.title", "others.missing"), .recordQueryInvalid, "predicate[2]"),
        (.paths(.eq, "others.others.others.title", "others.others.title"), .recordQueryInvalid, "predicate[2]"),
        (.comparison(.neq, .value(.string("x")), .keyPath(path("categories.name"))), .invalidArgument, "predicate[0]"),
        (.between(.keyPath(path("others.stars")), .integer(1), .string("x")), .invalidArgument, "predicate[3]"),
        (
            (0..<5).reduce(.compare(.eq, "$", .integer(1))) { part, _ in .any("tags", part) }, .invalidArgument,
            "predicate[2][2][2][2]"
        ),
        (
            .or(Array(repeating: .compare(.eq, "categories.name", .string("x")), count: 5)), .recordQueryInvalid,
            "predicate[5][1]"
        ),
        (.compare(.eq, "others.others.others.others.others.title", .null), .recordQueryInvalid, "predicate[1]"),
        (
            .any("others", .any("others", .any("others", .any("others", .compare(.eq, "categories.name", .null))))),
            .recordQueryInvalid, "predicate[2][2][2][2][1]"
        ),
        (
            .any("labels", .and(Array(repeating: .compare(.eq, "$", .null), count: 1_000))), .invalidArgument,
            "predicate[2][1000]"
        ),
        (
            .any("labels", .and(Array(repeating: .compare(.like, "$", .string("x%")), count: 31))), .invalidArgument,
            "predicate[2][31]"
        ),
        (.compare(.eq, "data", .string("x")), .invalidArgument, "predicate[2]"),
        (.compare(.eq, "price", .integer(1)), .invalidArgument, "predicate[0]"),
        (.compare(.in, "title", .string("x")), .invalidArgument, "predicate[2]"),
        (.isIn("title", [.string("x"), .null, .integer(1)]), .invalidArgument, "predicate[2][2]"),
        (.isIn("category", [.reference(id("note/1"))]), .invalidArgument, "predicate[2][0]"),
        (.isIn("tags", [.string("x"), .bytes([])]), .invalidArgument, "predicate[2][1]"),
        (.isIn("title", Array(repeating: .string("x"), count: 10_001)), .invalidArgument, "predicate[2]"),
        (
            .and(Array(repeating: .compare(.eq, "stars", .integer(1)), count: 1_001)), .invalidArgument,
            "predicate[1001]"
        ),
        (.comparison(.eq, .keyPath(path("title")), .list([.string("x")])), .invalidArgument, "predicate[2]"),
        (.comparison(.gt, .keyPath(path("title")), .list([.string("x")])), .invalidArgument, "predicate[2]"),
        (.comparison(.eq, .list([]), .keyPath(path("title"))), .invalidArgument, "predicate[1]"),
        (.comparison(.eq, .value(.integer(1)), .value(.integer(1))), .invalidArgument, "predicate[1]"),
        (.comparison(.like, .value(.string("x")), .keyPath(path("title"))), .invalidArgument, "predicate[1]"),
        (.comparison(.gt, .value(.string("x")), .keyPath(path("stars"))), .invalidArgument, "predicate[1]"),
        (.comparison(.in, .value(.integer(1)), .keyPath(path("tags"))), .invalidArgument, "predicate[1]"),
        (.comparison(.in, .value(.string("x")), .keyPath(path("title"))), .invalidArgument, "predicate[2]"),
        (.comparison(.in, .value(.integer(1)), .keyPath(path("labels"))), .invalidArgument, "predicate[1]"),
        (.paths(.eq, "title", "stars"), .invalidArgument, "predicate[2]"),
        (.paths(.like, "title", "title"), .invalidArgument, "predicate[2]"),
        (.paths(.lt, "next", "_id"), .invalidArgument, "predicate[0]"),
        (.paths(.eq, "title", "missing"), .recordQueryInvalid, "predicate[2]"),
        (.compare(.eq, "missing", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "_password", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "title.name", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "category.missing", .integer(1)), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "next.category.missing", .string("x")), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "next.next.lost.name", .string("x")), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "lost.name", .string("x")), .recordQueryInvalid, "predicate[1]"),
        (.compare(.eq, "_owner.phone", .string("x")), .recordQueryDenied, "predicate[1]"),
        (
            .or([.compare(.eq, "title", .null), .not(.and([.compare(.lt, "done", .integer(1))]))]), .invalidArgument,
            "predicate[2][1][1][2]"
        ),
        // Of two faults the first is named.
        (
            .and([.compare(.eq, "missing", .integer(1)), .compare(.eq, "title", .integer(1))]), .recordQueryInvalid,
            "predicate[1][1]"
        ),
        (
            .and([.compare(.eq, "title", .integer(1)), .compare(.eq, "missing", .integer(1))]), .invalidArgument,
            "predicate[1][2]"
        ),
    ]

    @Test(arguments: refusals)
    func whatHasNoMeaningIsRefusedByCodeAndPath(_ predicate: Predicate, _ code: ErrorCode, path: String) {
        let error = #expect(throws: SkyrowError.self) {
            try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
        }
        #expect(error?.code == code)
        #expect(error?.path == path)
        #expect(error?.info["arguments"] != nil)
    }

    @Test func aPathToSeveralRecordsIsNamedAsItWasSent() {
        for predicate in [
            Predicate.compare(.eq, "next.others.missing", .null),
            .compare(.eq, "next.others.stars", .string("x")), .any("next.others.stars", .compare(.eq, "$", .null)),
        ] {
            let error = #expect(throws: SkyrowError.self) {
                try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
            }
            guard case .list(let arguments) = error?.info["arguments"], case .string(let name) = arguments.last else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(["next.others.missing", "next.others.stars"].contains(name))
        }
    }

    @Test func aPathToSeveralRecordsAsksForOneOfThem() throws {
        func resolved(_ predicate: Predicate) throws -> ResolvedQuery {
            try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
        }
        let query = try resolved(.compare(.eq, "next.others.category.name", .string("x")))
        guard case .any(let elements) = query.predicate, let records = elements.records else {
            Issue.record("\(query)")
            return
        }
        #expect(query.joins.map(\.target) == [type("note")] && elements.column.join == 0)
        #expect(records.type == type("note") && records.joins.map(\.target) == [type("category")])
        #expect(query.needsOtherRecords)
        // As if it had been said.
        #expect(
            try resolved(.compare(.eq, "others.title", .string("x"))).predicate
                == resolved(.any("others", .compare(.eq, "$.title", .string("x")))).predicate.map {
                    guard case .any(var elements) = $0 else { return $0 }
                    elements.depth = 0
                    return .any(elements)
                }
        )
        #expect(try !resolved(.any("labels", .compare(.eq, "$", .string("x")))).needsOtherRecords)
    }

    /// Each column says whose it is, where that is not the innermost record.
    @Test func twoPathsOfWhichOneLeadsToSeveralAskForSomeThatAreSo() throws {
        func parts(_ left: String, _ right: String) throws -> (numbers: [Int], scopes: [ResolvedColumn.Scope?]) {
            let query = RecordQuery(type: type("note"), predicate: .paths(.lt, left, right))
            var predicate = try #require(try Self.resolve(query).predicate)
            var (numbers, scopes): ([Int], [ResolvedColumn.Scope?]) = ([], [])
            while case .any(let elements) = predicate {
                numbers.append(try #require(elements.records).number)
                scopes.append(elements.column.scope)
                predicate = elements.predicate
            }
            guard case .columns(let left, .less, let right) = predicate else {
                Issue.record("\(predicate)")
                return ([], [])
            }
            return (numbers, scopes + [left.scope, right.scope])
        }
        let one = try parts("others.stars", "stars")
        #expect(one.numbers == [0] && one.scopes == [nil, nil, .query])
        let other = try parts("next.stars", "others.others.stars")
        #expect(other.numbers == [0, 1] && other.scopes == [nil, nil, .query, nil])
        let both = try parts("others.others.stars", "others.next.stars")
        #expect(both.numbers == [0, 1, 2] && both.scopes == [nil, nil, .query, .inside(1), nil])
    }

    @Test func aFieldThatIsHiddenIsDeniedEverywhere() throws {
        let phone = path("phone")
        let queries: [(String, RecordQuery)] = [
            ("predicate[1]", RecordQuery(type: .user, predicate: .compare(.eq, "phone", .null))),
            ("sort[1][0]", RecordQuery(type: .user, sort: [SortKey(path("username")), SortKey(phone)])),
            ("include.author", RecordQuery(type: .user, include: [Inclusion(name: "author", keyPath: phone)])),
            ("desired_keys[1]", RecordQuery(type: .user, desiredFields: ["username", "phone"])),
        ]
        for (path, query) in queries {
            let error = #expect(throws: SkyrowError.self) { try Self.resolve(query) }
            #expect(error?.code == .recordQueryDenied)
            #expect(error?.path == path)
        }
        // The owner's field is missing from the records of others, and denied to strangers alone.
        let email = RecordQuery(type: .user, predicate: .compare(.eq, "email", .null), sort: [SortKey(path("email"))])
        let resolved = try Self.resolve(email)
        guard case .isMissing(let column) = resolved.predicate else {
            Issue.record("\(resolved)")
            return
        }
        #expect(column.limit == ResolvedColumn.Limit(user: "ann", reach: .owned))
        #expect(try Self.resolve(email, .everyone, .master).sort[0].column.limit == nil)
        let error = #expect(throws: SkyrowError.self) { try Self.resolve(email, .everyone, .anonymous) }
        #expect(error?.code == .recordQueryDenied && error?.path == "predicate[1]")
    }

    private static func omitting(_ names: [String]) -> RecordQuery {
        var query = RecordQuery(type: type("note"))
        query.omittedFields = names
        return query
    }

    private static func sorted(_ function: FieldFunction, _ name: String) -> RecordQuery {
        var key = SortKey(path(name))
        key.function = function
        return RecordQuery(type: type("note"), sort: [key])
    }

    @Test func whatIsOmittedIsNotSent() throws {
        let all = try #require(TestSchema.notes.note.fields.keys.sorted() as [FieldName]?)
        let fields = try #require(try Self.resolve(Self.omitting(["title", "_created_at", "stars"])).fields)
        #expect(fields.map { all[$0] } == all.filter { $0 != field("title") && $0 != field("stars") })
        #expect(try Self.resolve(Self.omitting([])).fields == nil)
        #expect(try Self.resolve(Self.sorted(.size, "tags")).sort[0].column.kind == .integer)
        #expect(try Self.resolve(Self.sorted(.fold, "title")).sort[0].column.folds)
    }

    @Test func sortsIncludesAndFieldsWithoutMeaningAreNamed() {
        let note = type("note")
        let rows: [(String, RecordQuery)] = [
            ("sort[1][0]", RecordQuery(type: note, sort: [SortKey(path("title")), SortKey(path("tags"))])),
            ("sort[0][0]", RecordQuery(type: note, sort: [SortKey(path("missing"))])),
            ("sort[0][0]", RecordQuery(type: note, sort: [SortKey(path("next.category.missing"))])),
            ("sort[0][0]", RecordQuery(type: note, sort: [SortKey(path("tags.a"))])),
            ("sort[0][0]", RecordQuery(type: note, sort: [SortKey(path("categories.name"))])),
            ("sort[0][0]", RecordQuery(type: note, sort: [SortKey(path("$"))])),
            ("include.x", RecordQuery(type: note, include: [Inclusion(name: "x", keyPath: path("next.title"))])),
            ("include.x", RecordQuery(type: note, include: [Inclusion(name: "x", keyPath: path("title"))])),
            ("include.x", RecordQuery(type: note, include: [Inclusion(name: "x", keyPath: path("lost"))])),
            ("desired_keys[0]", RecordQuery(type: note, desiredFields: ["missing"])),
            ("omit[1]", Self.omitting(["title", "missing"])),
            ("sort[0][0][2]", Self.sorted(.fold, "stars")), ("sort[0][0][2]", Self.sorted(.size, "title")),
            (
                "predicate[2]",
                RecordQuery(
                    type: note,
                    predicate: .compare(.eq, "title", .integer(1)),
                    sort: [SortKey(path("missing"))],
                    desiredFields: ["missing"]
                )
            ),
        ]
        for (path, query) in rows {
            let error = #expect(throws: SkyrowError.self) { try Self.resolve(query) }
            #expect(error?.path == path)
        }
    }

    @Test func anOrderEndsWithTheID() throws {
        func keys(_ sort: [SortKey]) throws -> [ResolvedSort] {
            try Self.resolve(RecordQuery(type: type("note"), sort: sort)).sort
        }
        #expect(try keys([]).map(\.column.place) == [.metadata(.id)])
        #expect(try keys([SortKey(path("stars"), .descending)]).map(\.direction) == [.descending, .descending])
        // Nothing after the id changes the order.
        let id = try keys([SortKey(path("_id"), .descending), SortKey(path("stars"))])
        #expect(id.map(\.direction) == [.descending])
        #expect(try keys([SortKey(path("next._id"))]).count == 2)
    }

    @Test func aReferenceIsFollowedOnce() throws {
        var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "category.name", .string("x")))
        query.sort = [SortKey(path("category.rank")), SortKey(path("next.title"))]
        query.include = [
            Inclusion(name: "c", keyPath: path("category")), Inclusion(name: "o", keyPath: path("_owner")),
        ]
        let resolved = try Self.resolve(query)
        #expect(resolved.joins.map(\.target) == [type("category"), type("note"), .user])
        #expect(resolved.inclusions.map(\.join) == [0, 2])
        #expect(resolved.needsOtherRecords)
        #expect(try !Self.resolve(RecordQuery(type: type("note"))).needsOtherRecords)
    }

    @Test func everyReferenceIsIncludedUnderItsName() throws {
        func included(_ names: [String: String]) throws -> ResolvedQuery {
            let include = names.sorted { $0.key < $1.key }.map { Inclusion(name: $0, keyPath: path($1)) }
            return try Self.resolve(RecordQuery(type: type("note"), include: include))
        }
        // The type that `lost` refers to does not exist.
        #expect(try included(["*": "*"]).inclusions.map(\.name) == ["category", "next"])
        let own = try included(["*": "*", "next": "category"])
        #expect(own.inclusions.map(\.name) == ["next", "category"] && own.inclusions.map(\.join) == [0, 0])
        #expect(throws: SkyrowError.self) { try included(["x": "*"]) }
        #expect(throws: SkyrowError.self) { try included(["*": "missing"]) }
    }

    @Test func pathsThatBeginAlikeShareTheirJoins() throws {
        var query = RecordQuery(type: type("note"), predicate: .compare(.eq, "next.next.category.name", .string("x")))
        query.sort = [SortKey(path("next.next.title")), SortKey(path("category.rank"))]
        query.include = [
            Inclusion(name: "deep", keyPath: path("next.next.category")),
            Inclusion(name: "next", keyPath: path("next")),
        ]
        let resolved = try Self.resolve(query)
        #expect(resolved.joins.map(\.target) == ["note", "note", "category", "category"].map { type($0) })
        #expect(resolved.joins.map(\.reference.join) == [nil, 0, 1, nil])
        #expect(resolved.inclusions.map(\.join) == [2, 0])
    }

    @Test func prefixesBecomeRangesOfTheOrderOfBytes() throws {
        let rows: [(String, String?)] = [
            ("a", "b"), ("aé", "aê"), ("z\u{D7FF}", "z\u{E000}"), ("a\u{10FFFF}", "b"), ("\u{10FFFF}\u{10FFFF}", nil),
            ("\u{7F}", "\u{80}"), ("\u{FFFF}", "\u{10000}"),
        ]
        for (prefix, end) in rows {
            #expect(prefix.endOfPrefix == end)
            if let end { #expect(end.utf8.lexicographicallyPrecedes(prefix.utf8) == false) }
        }
        #expect([1, 255].endOfPrefix == [2] as [UInt8])
        #expect(([255, 255] as [UInt8]).endOfPrefix == nil)
        #expect(LikePattern(#"a\%b_c"#).head == "a%b")
        #expect(LikePattern("%a").head.isEmpty)
    }

    @Test func aQueryFollowsABoundedNumberOfReferences() throws {
        let names = (0..<17).map { "r\($0)" }
        let many = TestType("note", Dictionary(uniqueKeysWithValues: names.map { ($0, .reference(type("note"))) }))
        func resolve(_ count: Int) throws {
            var resolver = Resolver(
                schema: TestSchema(types: [many.name: many]),
                root: many,
                access: RecordAccess(.ann)
            )
            _ = try resolver.predicate(.and(names.prefix(count).map { .compare(.eq, "\($0)._id", .null) }))
        }
        try resolve(16)
        let error = #expect(throws: SkyrowError.self) { try resolve(17) }
        #expect(error?.code == .recordQueryInvalid && error?.path == "predicate[17][1]")
    }
}
