import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// What is asked of the elements of arrays, and of the records that arrays of references lead to.
@Suite(.timeLimit(.minutes(60))) struct ElementQueryTests {
    private func withPosts(test: String = #function, _ body: (StoreFixture) async throws -> Void) async throws {
        try await withStore(test: test) { f in
            let tag = RecordType(
                name: type("tag"),
                fields: [field("name"): .string, field("parent"): .reference(type("tag"))]
            )
            let post = RecordType(
                name: type("post"),
                fields: [
                    field("labels"): .array(.string), field("ratings"): .array(.number), field("data"): .json,
                    field("tags"): .array(.reference(type("tag"))), field("origin"): .reference(type("post")),
                ]
            )
            _ = try await f.store.createTypes([tag, post])
            try await body(f)
        }
    }

    private func save(
        _ f: StoreFixture,
        _ recordID: String,
        _ fields: [String: RecordValue],
        access: AccessList? = nil,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws {
        let draft = RecordDraft(id: id(recordID), access: access, fields: fields.map { (field($0.key), $0.value) })
        for outcome in try await f.store.save([.draft(draft)], in: scope, caller: caller, atomic: false) {
            _ = try outcome.record
        }
    }

    private func ids(
        _ f: StoreFixture,
        _ predicate: Predicate,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> String {
        let query = RecordQuery(type: type("post"), predicate: predicate, countsMatches: true)
        let found = try await f.store.query(query, in: scope, caller: caller)
        #expect(found.count == found.records.count)
        return found.records.compactMap { $0.collected()?.id.id }.joined(separator: " ")
    }

    private func tags(_ ids: String...) -> RecordValue { .array(ids.map { .reference(id("tag/\($0)")) }) }

    private func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    private func fill(_ f: StoreFixture) async throws {
        try await save(f, "tag/red", ["name": .string("red")])
        try await save(f, "tag/blue", ["name": .string("blue"), "parent": .reference(id("tag/red"))])
        try await save(f, "tag/secret", ["name": .string("red")], access: AccessList([]))
        try await save(f, "post/1", ["labels": .array([.string("a"), .string("b")]), "tags": tags("red", "blue")])
        try await save(
            f,
            "post/2",
            [
                "labels": .array([]), "ratings": .array([.integer(1), .number(4.5)]), "tags": tags("blue"),
                "data": json(#"{"lines": [{"n": 1, "of": [1, 2]}, {"n": 5, "of": []}, null, "x"]}"#),
            ]
        )
        try await save(
            f,
            "post/3",
            ["tags": tags("secret"), "origin": .reference(id("post/1")), "data": json("[1, 2, [3]]")]
        )
        try await save(f, "post/4", ["tags": tags("gone"), "data": json(#"{"lines": "none"}"#)])
    }

    private static func any(_ name: String, _ part: Predicate) -> Predicate { .elements(path(name), .any, part) }
    private static func all(_ name: String, _ part: Predicate) -> Predicate { .elements(path(name), .all, part) }

    /// What ann finds, and what bob does, who does not read the tag `secret`.
    private static let rows: [(Predicate, String, String)] = [
        (any("labels", .compare(.eq, "$", .string("a"))), "1", "1"),
        (any("labels", .compare(.gt, "$", .string("b"))), "", ""),
        (all("labels", .compare(.lt, "$", .string("b"))), "2 3 4", "2 3 4"),
        (.not(any("labels", .compare(.eq, "$", .string("a")))), "2 3 4", "2 3 4"),
        (any("ratings", .and([.compare(.gt, "$", .integer(1)), .compare(.lt, "$", .integer(4))])), "", ""),
        (
            .and([any("ratings", .compare(.gt, "$", .integer(1))), any("ratings", .compare(.lt, "$", .integer(4)))]),
            "2", "2"
        ),
        (any("data.lines", .and([.compare(.eq, "n", .integer(5)), .compare(.eq, "$.of", .json("[]"))])), "2", "2"),
        (any("data.lines", any("of", .compare(.eq, "$", .integer(2)))), "2", "2"),
        (any("data.lines", .compare(.eq, "$", .null)), "2", "2"),
        (any("data", .compare(.eq, "$.0", .integer(3))), "3", "3"),
        (all("data", .compare(.gt, "$", .integer(0))), "1 2 4", "1 2 4"),
        (.compare(.eq, "tags.name", .string("red")), "1 3", "1"),
        (any("tags", .compare(.eq, "name", .string("red"))), "1 3", "1"),
        (all("tags", .compare(.eq, "name", .string("red"))), "3 4", "3 4"),
        (.and([.compare(.eq, "tags.name", .string("red")), .compare(.eq, "tags.name", .string("blue"))]), "1", "1"),
        (any("tags", .and([.compare(.eq, "name", .string("red")), .compare(.eq, "name", .string("blue"))])), "", ""),
        (.compare(.eq, "tags.parent.name", .string("red")), "1 2", "1 2"),
        (.compare(.eq, "origin.tags.name", .string("blue")), "3", "3"),
        (.compare(.exists, "tags._id", .boolean(true)), "1 2 3", "1 2"),
        (any("tags", .compare(.eq, "$", .reference(id("tag/secret")))), "3", ""),
        (any("tags", .compare(.eq, "$", .reference(id("tag/gone")))), "", ""),
        (.not(.compare(.eq, "tags.name", .string("red"))), "2 4", "2 3 4"),
        (.none([.compare(.startsWith, "tags.name", .string("r"))]), "2 4", "2 3 4"),
        (.found(.keyPath(path("tags.parent")), by: Subquery(type: type("tag")), isNegated: false), "1 2", "1 2"),
        (.regex(.keyPath(path("tags.name")), "^re", ignoresCase: false), "1 3", "1"),
        (any("labels", .regex(.keyPath(path("$")), "^A$", ignoresCase: true)), "1", "1"),
        (.compare(.eq, "tags._owner.username", .string("ann")), "1 2 3", "1 2"),
    ]

    @Test func elementsAreJudgedOneByOne() async throws {
        try await withPosts { f in
            try await f.psql("INSERT INTO \"user\" (_id, username, _owner) VALUES ('ann', 'ann', 'ann')")
            try await fill(f)
            for (predicate, own, others) in Self.rows {
                #expect(try await ids(f, predicate) == own, "\(predicate)")
                #expect(try await ids(f, predicate, .bob) == others, "\(predicate)")
            }
        }
    }

    @Test func privateRecordsLeadToTheirOwnAndToPublicOnes() async throws {
        try await withPosts { f in
            try await fill(f)
            try await save(f, "tag/mine", ["name": .string("mine")], in: .user("ann"))
            try await save(f, "post/p", ["tags": tags("mine", "red")], in: .user("ann"))
            for (name, found) in [("mine", "p"), ("red", "p"), ("blue", "")] {
                let predicate = Predicate.compare(.eq, "tags.name", .string(name))
                #expect(try await ids(f, predicate, in: .user("ann")) == found, "\(name)")
            }
            let one = Self.any("tags", .compare(.eq, "$", .reference(id("tag/mine"))))
            #expect(try await ids(f, one, in: .user("ann")) == "p")
            // What psql let a public record refer to is another's private record.
            try await f.psql("UPDATE post SET tags = ARRAY['~ann/mine'] WHERE _id = '1'")
            #expect(try await ids(f, .compare(.eq, "tags.name", .string("mine")), .bob) == "")
        }
    }

    /// Columns of psql's making: elements that are NULL, a matrix, other collations.
    @Test func arraysOfPsqlAreAskedToo() async throws {
        try await withPosts { f in
            try await fill(f)
            try await f.psql(
                """
                ALTER TABLE post ALTER labels TYPE text[] COLLATE "default", ALTER tags TYPE text[] COLLATE "sv-x-icu";
                UPDATE post SET labels = '{{a,NULL},{c,d}}' WHERE _id = '2';
                """
            )
            try await f.store.cache.reload()
            #expect(try await ids(f, Self.any("labels", .compare(.eq, "$", .null))) == "2")
            #expect(try await ids(f, Self.any("labels", .compare(.gt, "$", .string("b")))) == "2")
            #expect(try await ids(f, .compare(.eq, "tags.name", .string("blue"))) == "1 2")
        }
    }

    @Test func theLargestQuestionIsAnsweredInTime() async throws {
        try await withPosts { f in
            try await fill(f)
            try await f.psql(
                """
                UPDATE post SET labels = (SELECT array_agg(n::text) FROM generate_series(1, 10000) AS n);
                UPDATE post SET tags = labels;
                """
            )
            let parts = (0..<900).map { Predicate.compare(.eq, "$", .string("x\($0)")) }
            #expect(try await ids(f, Self.any("labels", .or(parts))) == "")
            let several = ["red", "blue", "x", "y"].map { Predicate.compare(.eq, "tags.name", .string($0)) }
            #expect(try await ids(f, .or(several)) == "")
        }
    }
}

extension RecordValue {
    fileprivate static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }
}
