import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Records in the order of a language, page by page, and who may not ask for one.
@Suite(.timeLimit(.minutes(60))) struct LanguageOrderTests {
    private static let names = ["z", "ö", "Z", "a", "å", "ä", "é", "e", "f", "co-op", "coop"]

    private func withTags(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            let tag = RecordType(
                name: type("tag"),
                fields: [
                    field("name"): .string, field("rank"): .integer, field("all"): .array(.reference(type("tag"))),
                ]
            )
            _ = try await f.store.createTypes([tag])
            for (place, name) in Self.names.enumerated() {
                try await f.save("tag/\(place)", ["name": .string(name), "rank": .integer(Int64(place % 2))])
            }
            try await f.save("tag/x", [:])
            try await f.psql("UPDATE tag SET \"all\" = ARRAY(SELECT _id FROM tag) WHERE _id = 'x'")
            try await body(f)
        }
    }

    private func key(_ language: String, _ name: String = "name", _ nulls: SortKey.Nulls? = nil) -> SortKey {
        var key = SortKey(path(name), .ascending, nulls)
        key.function = .collate(language)
        return key
    }

    @Test(
        arguments: [
            ("sv", ["a", "co-op", "coop", "e", "é", "f", "z", "Z", "å", "ä", "ö"]),
            ("de-AT", ["a", "å", "ä", "co-op", "coop", "e", "é", "f", "ö", "z", "Z"]),
        ]
    )
    func recordsHaveTheOrderOfALanguage(language: String, expected: [String]) async throws {
        try await withTags { f in
            let reader = PageReader(store: f.store)
            var query = RecordQuery(type: type("tag"), sort: [key(language)])
            let whole = try await reader.ids(query, by: 1000)
            let inWords = whole.map { Int($0).map { Self.names[$0] } }
            #expect(inWords.last == .some(nil))
            #expect(inWords.compactMap { $0 } == expected)
            for counting in [nil, RecordQuery.Counting.exact] {
                query.counting = counting
                for nulls in [nil, SortKey.Nulls.first] {
                    query.sort = [key(language, "name", nulls)]
                    let whole = try await reader.ids(query, by: 1000)
                    for isBackwards in [false, true] {
                        #expect(try await reader.ids(query, by: 3, isBackwards: isBackwards) == whole)
                    }
                }
            }
            // Behind another key, and with another language behind it.
            query.sort = [SortKey(path("rank")), key(language), key("und")]
            #expect(try await reader.ids(query, by: 3) == (try await reader.ids(query, by: 1000)))
        }
    }

    @Test func listsHaveTheOrderOfALanguage() async throws {
        try await withTags { f in
            var inclusion = Inclusion(name: "all", keyPath: path("all"))
            inclusion.sort = [key("sv")]
            inclusion.limit = 3
            var query = RecordQuery(
                type: type("tag"),
                predicate: .comparison(.eq, .keyPath(path("_id")), .value(.string("x"))),
                include: [inclusion]
            )
            let shortened = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect(shortened.records.first?.collected()?.lists["all"]?.records.map(\.id.id) == ["3", "9", "10"])
            query.include[0].sort = [key("xx")]
            let unknown = query
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.query(unknown, in: .everyone, caller: .ann)
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.path == "include.all.sort[0][0][3]")
        }
    }

    @Test func anOrderIsRefusedWhereThereIsNone() async throws {
        try await withTags { f in
            let language = RecordPredicate.comparison(
                .eq,
                .function(.collate("sv"), path("name")),
                .value(.string("a"))
            )
            var subquery = Subquery(type: type("tag"))
            subquery.sort = [key("sv")]
            subquery.limit = 1
            let rows: [(RecordQuery, String)] = [
                (RecordQuery(type: type("tag"), sort: [key("xx")]), "sort[0][0][3]"),
                (RecordQuery(type: type("tag"), sort: [SortKey(path("rank")), key("C\" DESC --")]), "sort[1][0][3]"),
                (RecordQuery(type: type("tag"), sort: [key("sv\u{0}")]), "sort[0][0][3]"),
                (RecordQuery(type: type("tag"), sort: [key("sv", "rank")]), "sort[0][0][2]"),
                (RecordQuery(type: type("tag"), predicate: language), "predicate[1][2]"),
                (
                    RecordQuery(
                        type: type("tag"),
                        predicate: .found(.keyPath(path("_id")), by: subquery, isNegated: false)
                    ),
                    "predicate[2].sort[0][0][2]"
                ),
            ]
            for (query, element) in rows {
                let error = await #expect(throws: SkyrowError.self, "\(element)") {
                    try await f.store.query(query, in: .everyone, caller: .ann)
                }
                #expect(error?.code == .invalidArgument, "\(element)")
                #expect(error?.path == element)
                let explained = await #expect(throws: SkyrowError.self, "\(element)") {
                    try await f.store.explain(query, .plan, with: RecordAccess(.master, in: .everyone, for: .reading))
                }
                #expect(explained?.path == element)
            }
        }
    }
}
