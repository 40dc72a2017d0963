import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// The records that arrays of references lead to travel with those that have the arrays.
@Suite(.timeLimit(.minutes(60))) struct IncludedListsTests {
    private static let tag = RecordType(
        name: type("tag"),
        fields: [
            field("name"): .string, field("parent"): .reference(type("tag")), field("rank"): .integer,
            field("related"): .array(.reference(type("tag"))),
        ]
    )
    private static let post = RecordType(
        name: type("post"),
        fields: [
            field("tags"): .array(.reference(type("tag"))), field("origin"): .reference(type("post")),
            field("readers"): .array(.reference(.user)),
        ]
    )

    private func save(
        _ f: RecordsFixture,
        _ recordID: String,
        _ fields: KeyValuePairs<String, RecordValue>,
        access: AccessList? = nil,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws {
        var draft = draft(recordID, fields)
        draft.access = access
        try await f.save([draft], caller, in: scope)
    }

    private func tags(_ ids: String...) -> RecordValue { .array(ids.map { .reference(id("tag/\($0)")) }) }

    private func fill(_ f: RecordsFixture) async throws {
        _ = try await f.store.createTypes([Self.tag, Self.post])
        try await save(f, "tag/red", ["name": .string("red"), "rank": .integer(3), "related": tags("blue", "secret")])
        try await save(
            f,
            "tag/blue",
            ["name": .string("blue"), "rank": .integer(1), "parent": .reference(id("tag/red"))]
        )
        try await save(
            f,
            "tag/green",
            [
                "name": .string("green"), "rank": .integer(2), "parent": .reference(id("tag/red")),
                "related": tags("blue"),
            ]
        )
        try await save(f, "tag/secret", ["name": .string("secret"), "rank": .integer(0)], access: AccessList([]))
        try await save(f, "post/1", ["tags": tags("green", "secret", "red", "blue")])
        try await save(f, "post/2", ["tags": tags("gone", "blue", "blue"), "origin": .reference(id("post/1"))])
        try await save(f, "post/3", ["tags": .array([])])
        try await save(f, "post/4", [:])
    }

    private func inclusion(_ name: String, _ change: (inout Inclusion) -> Void = { _ in }) -> Inclusion {
        var inclusion = Inclusion(name: "x", keyPath: path(name))
        change(&inclusion)
        return inclusion
    }

    private func lists(
        _ f: RecordsFixture,
        _ inclusion: Inclusion,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone,
        _ change: (inout RecordQuery) -> Void = { _ in }
    ) async throws -> [String] {
        var query = RecordQuery(type: type("post"), include: [inclusion])
        change(&query)
        let found = try await f.store.query(query, in: scope, caller: caller)
        return try found.records.map { source in
            let list = try #require(source.collected()?.lists["x"])
            return list.records.map(\.id.id).joined(separator: " ") + (list.count.map { " of \($0)" } ?? "")
        }
    }

    @Test func listsTravelWithTheirRecords() async throws {
        try await withRecords { f in
            try await fill(f)
            let rank = [SortKey(path("rank"))]
            let rows: [(Inclusion, [String], [String])] = [
                (
                    inclusion("tags"), ["green secret red blue", "blue blue", "", ""],
                    ["green red blue", "blue blue", "", ""]
                ),
                (
                    inclusion("tags") { $0.limit = 2 }, ["green secret", "blue blue", "", ""],
                    ["green red", "blue blue", "", ""]
                ),
                (
                    inclusion("tags") { ($0.sort, $0.limit, $0.countsRecords) = (rank, 2, true) },
                    ["secret blue of 4", "blue blue of 2", " of 0", " of 0"],
                    ["blue green of 3", "blue blue of 2", " of 0", " of 0"]
                ),
                (
                    inclusion("tags") { $0.sort = [SortKey(path("parent.name")), SortKey(path("name"), .descending)] },
                    ["green blue secret red", "blue blue", "", ""], ["green blue red", "blue blue", "", ""]
                ),
                // Most of what the arrays lead to is cut off.
                (
                    inclusion("tags") { ($0.limit, $0.countsRecords) = (1, true) },
                    ["green of 4", "blue of 2", " of 0", " of 0"], ["green of 3", "blue of 2", " of 0", " of 0"]
                ),
                (
                    inclusion("tags") { ($0.sort, $0.limit) = (rank, 1) }, ["secret", "blue", "", ""],
                    ["blue", "blue", "", ""]
                ),
                // Each record once where several ways lead to it.
                (inclusion("tags.parent"), ["red", "red", "", ""], ["red", "red", "", ""]),
                (inclusion("tags.related"), ["blue secret", "", "", ""], ["blue", "", "", ""]),
                (inclusion("tags.related.parent"), ["red", "", "", ""], ["red", "", "", ""]),
                (inclusion("origin.tags"), ["", "green secret red blue", "", ""], ["", "green red blue", "", ""]),
                (inclusion("tags._owner"), ["ann", "ann", "", ""], ["ann", "ann", "", ""]),
            ]
            for (inclusion, own, others) in rows {
                #expect(try await lists(f, inclusion) == own, "\(inclusion)")
                #expect(try await lists(f, inclusion, .bob) == others, "\(inclusion)")
                // The fields that a query sends do not matter, nor does the end from which a page is read.
                #expect(try await lists(f, inclusion) { $0.desiredFields = [] } == own, "\(inclusion)")
                let last = try await lists(f, inclusion) {
                    ($0.position, $0.limit, $0.sort, $0.counting) = (.last, 3, [SortKey(path("_id"))], .exact)
                }
                #expect(last == Array(own.dropFirst()), "\(inclusion)")
            }
        }
    }

    @Test func fieldsOfIncludedRecordsAreChosen() async throws {
        try await withRecords { f in
            try await fill(f)
            var query = RecordQuery(type: type("post"), predicate: .compare(.eq, "_id", .string("2")))
            var names = Inclusion(name: "names", keyPath: path("tags"))
            names.desiredFields = ["name"]
            var origin = Inclusion(name: "origin", keyPath: path("origin"))
            origin.omittedFields = ["tags"]
            var parents = Inclusion(name: "parents", keyPath: path("tags.parent"))
            parents.desiredFields = ["rank"]
            query.include = [names, origin, parents, Inclusion(name: "all", keyPath: path("tags"))]
            let record = try #require(
                try await f.store.query(query, in: .everyone, caller: .ann).records[0].collected()
            )
            func fields(_ record: Record?) -> [String]? { record?.fields.keys.map(\.rawValue).sorted() }
            #expect(fields(record.lists["names"]?.records[0]) == ["name"])
            #expect(fields(record.lists["all"]?.records[0]) == ["name", "parent", "rank"])
            #expect(fields(record.lists["parents"]?.records[0]) == ["rank"])
            #expect(fields(record.transient["origin"] ?? nil) == [])
        }
    }

    @Test func everyReferenceIsIncluded() async throws {
        try await withRecords { f in
            try await fill(f)
            let query = RecordQuery(type: type("tag"), include: [Inclusion(name: "*", keyPath: path("*"))])
            let records = try await f.store.query(query, in: .everyone, caller: .bob).records.map { $0.collected() }
            #expect(records.map { $0?.transient.keys.sorted() } == [["parent"], ["parent"], ["parent"]])
            #expect(records.map { $0?.transient["parent"]??.id } == [id("tag/red"), id("tag/red"), nil])
        }
    }

    @Test func privateRecordsIncludeTheirOwnAndPublicOnes() async throws {
        try await withRecords { f in
            try await fill(f)
            try await save(f, "tag/mine", ["name": .string("mine")], in: .user("ann"))
            try await save(f, "post/p", ["tags": tags("mine", "red", "secret")], in: .user("ann"))
            #expect(try await lists(f, inclusion("tags"), in: .user("ann")) == ["mine red secret"])
            // What psql let a public record refer to stays private.
            try await f.psql("UPDATE post SET tags = ARRAY['~ann/mine', 'red'] WHERE _id = '1'")
            #expect(try await lists(f, inclusion("tags"), .bob)[0] == "red")
            #expect(try await lists(f, inclusion("tags"), .master, in: .union).contains("mine red"))
        }
    }

    @Test func whatHasNoMeaningIsRefusedByPath() async throws {
        try await withRecords { f in
            try await fill(f)
            let rows: [(Inclusion, ErrorCode, String)] = [
                (inclusion("tags.name"), .recordQueryInvalid, "include.x"),
                (inclusion("tags.missing"), .recordQueryInvalid, "include.x"),
                (inclusion("origin") { $0.limit = 1 }, .invalidArgument, "include.x.limit"),
                (inclusion("origin") { $0.sort = [SortKey(path("_id"))] }, .invalidArgument, "include.x.sort"),
                (
                    inclusion("tags") { $0.sort = [SortKey(path("missing"))] }, .recordQueryInvalid,
                    "include.x.sort[0][0]"
                ),
                (
                    inclusion("tags") { $0.sort = [SortKey(path("related.rank"))] }, .recordQueryInvalid,
                    "include.x.sort[0][0]"
                ),
                (inclusion("tags") { $0.desiredFields = ["name", "x"] }, .recordQueryInvalid, "include.x.select[1]"),
                (inclusion("readers") { $0.omittedFields = ["x"] }, .recordQueryInvalid, "include.x.omit[0]"),
                (inclusion("tags.parent") { $0.countsRecords = true }, .invalidArgument, "include.x.count"),
                (inclusion("tags.related") { $0.countsRecords = true }, .invalidArgument, "include.x.count"),
                (
                    inclusion("tags.related.related.related.related.related.related.related.related"),
                    .recordQueryInvalid, "include.x"
                ),
            ]
            for (inclusion, code, path) in rows {
                let error = await #expect(throws: SkyrowError.self) { try await lists(f, inclusion) }
                #expect(error?.code == code && error?.path == path, "\(inclusion): \(String(describing: error))")
            }
            let denied = await #expect(throws: SkyrowError.self) {
                try await lists(f, inclusion("readers") { $0.sort = [SortKey(path("email"))] }, .anonymous)
            }
            #expect(denied?.code == .recordQueryDenied)
        }
    }

    /// Ten thousand records may be sent along, in a moment, and not one more.
    @Test func theRecordsOfAResponseAreBounded() async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes([Self.tag, Self.post])
            try await f.psql(
                """
                INSERT INTO tag (_id) SELECT n::text FROM generate_series(1, 1000) AS n;
                INSERT INTO post (_id, tags) SELECT n::text, (SELECT array_agg(_id) FROM tag) FROM generate_series(1, 101) AS n;
                """
            )
            let all = inclusion("tags") { $0.limit = 1000 }
            #expect(try await lists(f, all) { $0.limit = 10 }.count == 10)
            #expect(try await lists(f, inclusion("tags")).count == 100)
            for (limit, inclusion) in [(11, all), (99, all), (101, inclusion("tags") { $0.limit = 1 })] {
                let error = await #expect(throws: SkyrowError.self) {
                    try await lists(f, inclusion) { $0.limit = limit }
                }
                #expect(error?.code == .invalidArgument && error?.path == "include", "\(limit)")
            }
            // The same list under several names counts as often as it is sent.
            let names = ["a", "b"].map { Inclusion(name: $0, keyPath: path("tags")) }
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.query(RecordQuery(type: type("post"), include: names), in: .everyone, caller: .ann)
            }
            #expect(error?.path == "include")
        }
    }

    /// Statements depend on what is included and not on how many records there are.
    @Test func everyListIsOneStatement() async throws {
        let once: (inout PostgresConfiguration) -> Void = { $0.sendsSlowStatementsOnce() }
        try await withRecords(on: .logging(), configure: once) { f in
            try await fill(f)
            let rows: [([String], Int)] = [
                (["tags"], 2), (["tags", "tags"], 2), (["tags", "tags.parent", "tags._owner", "origin"], 2),
                (["tags", "origin.tags"], 3), (["tags.related"], 3), (["tags.related.related"], 3), (["readers"], 1),
                (["tags", "tags.related", "tags.parent.related"], 4),
            ]
            for (paths, count) in rows {
                for limit in [2, 4] {
                    let include = paths.enumerated().map { Inclusion(name: "\($0)", keyPath: path($1)) }
                    let query = RecordQuery(type: type("post"), include: include, limit: limit)
                    let statements = try await f.database.statements {
                        _ = try await f.store.query(query, in: .everyone, caller: .ann)
                    }.filter { $0.contains("\"app\".") }
                    #expect(statements.count == count, "\(paths): \(statements.joined(separator: "\n"))")
                }
            }
        }
    }
}
