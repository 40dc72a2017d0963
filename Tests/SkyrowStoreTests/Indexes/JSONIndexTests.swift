import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Indexes of values inside JSON: they are advised, built, known again in the catalogue, and used.
@Suite(.timeLimit(.minutes(60))) struct JSONIndexTests {
    private typealias Value = TableIndex.Key.JSONValue

    private static func inside(_ name: String, _ type: JSONValueType) -> KeyPath {
        var path = path(name)
        path.jsonType = type
        return path
    }

    private static func definition(_ fields: [IndexField], unique: Bool = false) -> IndexDefinition {
        IndexDefinition(of: type("note"), fields, isUnique: unique)
    }

    private func build(_ f: RecordsFixture, _ definition: IndexDefinition) async throws -> String {
        let asked = try await f.store.createIndex(definition)
        let isDone = try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass()
        #expect(isDone)
        try await f.store.cache.reload()
        return asked.name
    }

    private static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    /// A question, and the index that it lacks.
    private typealias Row = (predicate: Predicate?, sort: [SortKey], field: IndexField)

    private static let rows: [Row] = {
        let (width, name, at) = (
            inside("tags.size.w", .number), inside("tags.name", .string), inside("tags.at", .datetime)
        )
        let last = IndexField("tags.at", as: .datetime, .descending)
        return [
            (
                .between(.keyPath(width), .integer(10), .integer(100)), [SortKey(width)],
                IndexField("tags.size.w", as: .number)
            ),
            (
                .compare(.lt, "tags.size.w", .number(7.5)), [SortKey(width, .descending)],
                IndexField("tags.size.w", as: .number, .descending)
            ),
            (.comparison(.eq, .keyPath(name), .value(.string("n77"))), [], IndexField("tags.name", as: .string)),
            (nil, [SortKey(name)], IndexField("tags.name", as: .string)),
            (.comparison(.gt, .keyPath(at), .value(.datetime(.infinity))), [SortKey(at, .descending)], last),
            (nil, [SortKey(at, .descending)], last),
            (
                .comparison(.in, .keyPath(inside("tags.list.0", .number)), .list([.integer(3), .integer(40)])), [],
                IndexField("tags.list.0", as: .number)
            ),
        ]
    }()

    @Test func anAdvisedIndexIsUsedOnceItIsThere() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, tags) SELECT 'n' || n, jsonb_build_object(
                    'size', jsonb_build_object('w', n), 'name', 'n' || n, 'list', jsonb_build_array(n),
                    'at', to_char(timestamp '2020-01-01' + n * interval '1 hour', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                ) FROM generate_series(1, 40000) AS n;
                ANALYZE note
                """
            )
            try await f.store.cache.reload()
            try await f.store.readSizes()
            let access = RecordAccess(.master, in: .everyone, for: .reading)
            for row in Self.rows {
                let query = RecordQuery(type: type("note"), predicate: row.predicate, sort: row.sort, limit: 20)
                let expected = try await f.query(row.predicate) {
                    $0.sort = row.sort
                    $0.limit = 20
                }
                let before = try await f.store.explain(query, .plan, with: access)
                #expect(before.costClass == .scan)
                let index = try #require(before.advice.compactMap(\.index).first, "\(query)")
                #expect(index == Self.definition([row.field]))
                let name = try await build(f, index)
                try await f.psql("ANALYZE note")
                let after = try await f.store.explain(query, .plan, with: access)
                #expect(after.advice.isEmpty && after.costClass == .indexed, "\(row.field.text): \(after.advice)")
                for plan in try await plans(f, query) {
                    #expect(
                        plan.contains(name) && (row.sort.isEmpty || !plan.contains("Sort")),
                        "\(row.field.text): \(plan)"
                    )
                }
                let found = try await f.query(row.predicate) {
                    $0.sort = row.sort
                    $0.limit = 20
                }
                #expect(found == expected)
                // The next page begins in the index.
                let page = try await f.store.query(query, in: .everyone, caller: .master)
                if page.hasMore, let cursor = page.cursor, !row.sort.isEmpty {
                    var next = query
                    next.position = .after(cursor)
                    let second = try await f.store.query(next, in: .everyone, caller: .master)
                    #expect(second.records.count == 20)
                }
                _ = try await f.store.deleteIndex(IndexDeletion(name: name))
                let isDone = try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass()
                #expect(isDone)
                try await f.store.cache.reload()
            }
        }
    }

    /// The plans of a query with its values and for all values.
    private func plans(_ f: RecordsFixture, _ query: RecordQuery) async throws -> [String] {
        let table = try #require(f.store.cache.current[query.type])
        let statement = try QueryStatement(
            query,
            table: table,
            catalog: f.store.cache.current,
            access: RecordAccess(.master, in: .everyone, for: .reading)
        )
        return try await f.client.withTransaction { transaction in
            var plans: [String] = []
            for mode in ["force_generic_plan", "force_custom_plan"] {
                _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                plans.append(
                    try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                )
            }
            return plans
        }
    }

    /// Whichever way an index was made, its trees say what it has.
    @Test func theCatalogueKnowsTheValues() async throws {
        try await withRecords { f in
            let long = String(repeating: "a", count: 63)
            let steps = (0..<16).map { $0 == 3 ? "12" : $0 == 5 ? long : "s\($0)" }
            let deep = IndexField("tags.\(steps.joined(separator: "."))", as: .datetime, .descending)
            let wanted = Self.definition([IndexField("title"), deep, IndexField("tags.a", as: .string)])
            let name = try await build(f, wanted)
            let unique = try await build(f, Self.definition([IndexField("tags.b", as: .boolean)], unique: true))
            try await f.psql(
                """
                CREATE INDEX by_hand ON note (_json_number(tags #> '{a,b}') DESC NULLS LAST);
                CREATE INDEX by_name ON note (_json_text(tags #> '{a}'));
                CREATE INDEX of_other ON note (_json_number(tags -> 'a'));
                CREATE INDEX of_all ON note (_json_number(tags));
                CREATE INDEX with_blank ON note (_json_number(tags #> '{a b}'));
                CREATE INDEX of_null ON note (_json_number(tags #> '{a,NULL}'));
                CREATE INDEX of_none ON note (_json_number(tags #> '{}'));
                CREATE INDEX negated ON note ((- _json_number(tags #> '{a}')));
                """
            )
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("note")])
            let keys = try #require(table.index(named: name)).keys
            #expect(
                keys.map(\.json) == [
                    nil, Value("tags", steps, .datetime), Value("tags", ["a"], .string), nil,
                ]
            )
            #expect(
                keys.map(\.isDescending) == [false, true, false, false]
                    && keys.map(\.column) == ["title", nil, nil, "_id"]
            )
            #expect(table.fields(ofIndex: name) == [field("title"), field("tags"), field("tags")])
            #expect(table.texts(ofIndex: name) == [field("title"), field("tags")])
            #expect(table.index(named: unique)?.keys.map(\.json) == [nil, Value("tags", ["b"], .boolean)])
            #expect(table.index(named: "by_hand")?.keys.map(\.json) == [Value("tags", ["a", "b"], .number)])
            for other in ["of_other", "of_all", "with_blank", "of_null", "of_none", "negated"] {
                #expect(table.index(named: other)?.keys.map(\.json) == [nil], "\(other)")
                #expect(table.index(named: other)?.keys.map(\.form) == [.other], "\(other)")
            }
            let orders = table.orders
            #expect(orders.contains(Value("tags", ["b"], .boolean), in: .everyone))
            #expect(!orders.contains(Value("tags", ["b"], .boolean), in: .union))
            // NULL is at the other end, and a text in another order than that of bytes.
            #expect(!orders.contains(Value("tags", ["a", "b"], .number), in: .everyone))
            #expect(!orders.contains(Value("tags", ["a"], .string), in: .everyone))
            // A json field is saved at any length beside them.
            #expect(table[field("tags")]?.maximumBytes == nil)
            let listed = try await f.store.indexes(of: type("note"))
            #expect(listed.first { $0.name == name }?.definition == wanted)
            #expect(listed.first { $0.name == "by_hand" }?.state == .foreign)
        }
    }

    @Test func aRenamedFieldKeepsItsIndex() async throws {
        try await withRecords { f in
            let name = try await build(f, Self.definition([IndexField("tags.a", as: .number), IndexField("title")]))
            _ = try await f.store.renameField(
                FieldRename(type: type("note"), field: field("tags"), newName: field("meta"))
            )
            try await f.store.cache.reload()
            let table = try #require(f.store.cache.current[type("note")])
            #expect(table.index(named: name)?.keys.first?.json == Value("meta", ["a"], .number))
            let listed = try await f.store.indexes(of: type("note"))
            #expect(
                listed.first { $0.name == name }?.definition
                    == Self.definition([IndexField("meta.a", as: .number), IndexField("title")])
            )
        }
    }

    @Test func whatAnIndexRefusesNamesTheField() async throws {
        try await withRecords { f in
            _ = try await build(f, Self.definition([IndexField("tags.email", as: .string)], unique: true))
            _ = try await build(f, Self.definition([IndexField("tags.note", as: .string)]))
            try await f.save("note/1", ["tags": Self.json(#"{"email":"a@example.org"}"#)])
            var random = SeededGenerator.forTest()
            let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
            let noise = String((0..<4000).map { _ in random.element(letters) })
            let rows: [(id: String, tags: String, code: ErrorCode?)] = [
                ("2", #"{"email":"b@example.org"}"#, nil), ("3", #"{"email":1}"#, nil), ("4", #"{"email":1}"#, nil),
                ("5", #"{"email":"a@example.org","x":2}"#, .duplicated),
                ("6", "{\"other\":\"\(noise)\"}", nil), ("7", "{\"note\":\"\(noise)\"}", .invalidArgument),
            ]
            for row in rows {
                let outcome = try await f.store.save(
                    [.draft(draft("note/\(row.id)", ["tags": Self.json(row.tags)]))],
                    in: .everyone,
                    caller: .ann,
                    atomic: false
                )[0]
                guard case .failure(let error, _) = outcome else {
                    #expect(row.code == nil, "\(row.id)")
                    continue
                }
                #expect(
                    error.code == row.code && error.info["arguments"] == .list([.string("tags")]),
                    "\(row.id): \(error)"
                )
            }
        }
    }
}
