import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A page with its included records in a table says what the page says in which they are nested, and each of them once.
@Suite(.timeLimit(.minutes(60))) struct IncludedTableTests {
    private static let person = RecordType(
        name: type("person"),
        fields: [
            field("name"): .string, field("city"): .string, field("boss"): .reference(type("person")),
            field("secret"): .string,
        ]
    )
    private static let film = RecordType(
        name: type("film"),
        fields: [
            field("title"): .string, field("author"): .reference(type("person")),
            field("cast"): .array(.reference(type("person"))),
            field("next"): .reference(type("film")),
        ]
    )

    private func withFilms(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            _ = try await f.store.createTypes([Self.person, Self.film])
            try await f.save("person/1", ["name": .string("Ada"), "city": .string("Graz")])
            try await f.save("person/2", ["name": .string("Bea"), "boss": .reference(id("person/1"))])
            try await f.save("person/3", ["name": .string("Cyd")], access: AccessList([]))
            for number in 0..<12 {
                let author = number % 4 == 3 ? nil : RecordValue.reference(id("person/\(number % 4 + 1)"))
                let cast = (0..<number % 5).map { RecordValue.reference(id("person/\($0 % 4 + 1)")) }
                var fields: [String: RecordValue] = ["title": .string("f\(number)"), "cast": .array(cast)]
                fields["author"] = author
                if number > 0 { fields["next"] = .reference(id("film/\(number - 1)")) }
                try await f.save("film/\(number)", fields)
            }
            try await body(f)
        }
    }

    /// What a client of JSON-RPC reads of a page.
    private struct Page {
        var records: [Record]
        var included: [RecordID: Record]
        var text: String
    }

    private func page(
        _ f: RecordsFixture,
        _ query: RecordQuery,
        _ form: IncludeForm,
        _ caller: Caller = .ann,
        in scope: DatabaseScope = .everyone
    ) async throws -> Page {
        var query = query
        query.includeForm = form
        let result = try await f.store.query(query, in: scope, caller: caller)
        let writer = JSONWriter()
        writer.response(Actions.recordQuery.writer(of: .found(result)), in: .rpc(RPCID(1)))
        let bytes = writer.withUnsafeBytes { Array($0) }
        return try JSONDocument(bytes).withRoot { root in
            let answer = try #require(root["result"])
            #expect((answer["included"] == nil) == (form == .nested))
            var included: [RecordID: Record] = [:]
            var count = 0
            for (name, record) in answer["included"]?.uniqueMembers ?? [] {
                included[try RecordID(name)] = try Record(record)
                #expect(record["_id"]?.string == name)
                count += 1
            }
            #expect(count == answer["included"]?.count ?? 0)
            let records = try #require(answer["records"]).elements.map { try Record($0, included: included) }
            return Page(records: records, included: included, text: String(decoding: bytes, as: UTF8.self))
        }
    }

    private func inclusion(_ name: String, _ target: String, _ change: (inout Inclusion) -> Void = { _ in })
        -> Inclusion
    {
        var inclusion = Inclusion(name: name, keyPath: path(target))
        change(&inclusion)
        return inclusion
    }

    @Test func bothFormsSayTheSame() async throws {
        try await withFilms { f in
            let rows: [([Inclusion], forAnn: [String], forBob: [String])] = [
                ([], [], []),
                ([inclusion("author", "author")], ["person/1", "person/2", "person/3"], ["person/1", "person/2"]),
                (
                    [inclusion("a", "author"), inclusion("b", "author")], ["person/1", "person/2", "person/3"],
                    ["person/1", "person/2"]
                ),
                ([inclusion("boss", "author.boss")], ["person/1"], ["person/1"]),
                ([inclusion("cast", "cast")], ["person/1", "person/2", "person/3"], ["person/1", "person/2"]),
                (
                    [inclusion("cast", "cast") { ($0.limit, $0.countsRecords) = (2, true) }],
                    ["person/1", "person/2"], ["person/1", "person/2"]
                ),
                ([inclusion("bosses", "cast.boss")], ["person/1"], ["person/1"]),
                (
                    [inclusion("cast", "cast"), inclusion("author", "author"), inclusion("owner", "_owner")],
                    ["person/1", "person/2", "person/3", "user/ann"], ["person/1", "person/2", "user/ann"]
                ),
                ([inclusion("next", "next.author")], ["person/1", "person/2", "person/3"], ["person/1", "person/2"]),
                (
                    [inclusion("*", "*")], (0...10).map { "film/\($0)" } + ["person/1", "person/2", "person/3"],
                    (0...10).map { "film/\($0)" } + ["person/1", "person/2"]
                ),
            ]
            for (include, forAnn, forBob) in rows {
                for (caller, expected) in [(Caller.ann, forAnn), (.bob, forBob)] {
                    for position in [RecordQuery.Position.first, .last] {
                        for counting in [RecordQuery.Counting?.none, .exact] {
                            var query = RecordQuery(type: type("film"), include: include)
                            query.position = position
                            query.counting = counting
                            let nested = try await page(f, query, .nested, caller)
                            let table = try await page(f, query, .table, caller)
                            #expect(nested.records == table.records, "\(include)")
                            #expect(table.included.keys.map(\.description).sorted() == expected.sorted(), "\(include)")
                        }
                    }
                }
            }
        }
    }

    @Test func sharedRecordsAreSentOnce() async throws {
        try await withFilms { f in
            let query = RecordQuery(
                type: type("film"),
                include: [inclusion("cast", "cast"), inclusion("author", "author")]
            )
            let nested = try await page(f, query, .nested)
            let table = try await page(f, query, .table)
            func count(_ text: String, of part: String) -> Int {
                text.split(separator: part, omittingEmptySubsequences: false).count - 1
            }
            #expect(count(nested.text, of: #""name":"Ada""#) == 12)
            #expect(count(table.text, of: #""name":"Ada""#) == 1)
            #expect(table.text.utf8.count * 3 < nested.text.utf8.count * 2)
            #expect(table.text.contains(#""cast":["person/1","person/2"]"#))
            // An empty page has an empty table.
            var none = query
            none.predicate = .compare(.eq, "title", .string("none"))
            #expect(try await page(f, none, .table).included.isEmpty)
            none.type = type("nothing")
            none.predicate = nil
            #expect(try await page(f, none, .table).included.isEmpty)
        }
    }

    @Test func aRecordHasTheFieldsThatAnyInclusionAsksFor() async throws {
        try await withFilms { f in
            let names = inclusion("names", "cast") { $0.desiredFields = ["name"] }
            let city = inclusion("city", "author") { $0.desiredFields = ["city"] }
            let bosses = inclusion("bosses", "author.boss") { $0.omittedFields = ["secret", "city"] }
            let all = inclusion("all", "next.author")
            let next = inclusion("next", "next") { $0.desiredFields = [] }
            let rows: [([Inclusion], [String], films: [String])] = [
                ([names], ["name"], []), ([names, city], ["city", "name"], []),
                ([city, names, next], ["city", "name"], []),
                ([bosses], ["name"], []), ([bosses, city], ["city", "name"], []),
                ([names, all], ["city", "name"], []), ([next, inclusion("n", "next")], [], ["cast", "next", "title"]),
            ]
            for (include, person, film) in rows {
                let query = RecordQuery(type: type("film"), sort: [SortKey(path("title"))], include: include)
                let table = try await page(f, query, .table)
                let ada = table.included[id("person/1")]?.fields.keys.map(\.rawValue).sorted() ?? []
                #expect(ada == person, "\(include)")
                let other = table.included[id("film/4")]?.fields.keys.map(\.rawValue).filter { $0 != "author" }.sorted()
                #expect(other ?? [] == film, "\(include)")
            }
        }
    }

    /// A field that is withheld from the caller is withheld in the table, and a record that is hidden is no entry.
    @Test func theTableShowsNoMoreThanItsCallerSees() async throws {
        try await withFilms { f in
            try await f.psql(#"UPDATE "user" SET email = _id || '@example.org'"#)
            try await f.save("film/b", ["title": .string("b")], .bob)
            let query = RecordQuery(type: type("film"), include: [inclusion("owner", "_owner")])
            let email = field("email")
            let table = try await page(f, query, .table).included
            #expect(table[id("user/ann")]?.fields[email] == .string("ann@example.org"))
            #expect(table[id("user/bob")] != nil && table[id("user/bob")]?.fields[email] == nil)
            let hidden = RecordQuery(type: type("film"), include: [inclusion("author", "author")])
            let page = try await page(f, hidden, .table, .bob)
            #expect(!page.text.contains("Cyd"))
            #expect(page.included[id("person/3")] == nil)
            // Of the field alone, the reference is there as it is without an inclusion.
            #expect(page.records.contains { $0.fields[field("author")] == .reference(id("person/3")) })
        }
    }

    @Test func twoRecordsOfOneIDAreBothThere() async throws {
        try await withFilms { f in
            let ann = DatabaseScope.user("ann")
            // The first refers to the public record, before there is a private one.
            try await f.save("film/a", ["author": .reference(id("person/1"))], in: ann)
            try await f.save("person/1", ["name": .string("Eve")], in: ann)
            try await f.save("film/b", ["author": .reference(id("person/1"))], in: ann)
            try await f.psql(
                "UPDATE film SET author = '1' WHERE _id = '~ann/a'; UPDATE film SET author = '~ann/1' WHERE _id = '~ann/b'"
            )
            let query = RecordQuery(
                type: type("film"),
                sort: [SortKey(path("_id"))],
                include: [inclusion("x", "author"), inclusion("y", "author")]
            )
            for sort in [SortKey.Direction.ascending, .descending] {
                var query = query
                query.sort[0].direction = sort
                let nested = try await page(f, query, .nested, in: ann)
                let table = try await page(f, query, .table, in: ann)
                let names = table.records.map { $0.transient["x"]??.fields[field("name")] }
                #expect(
                    names
                        == (sort == .ascending ? [.string("Ada"), .string("Eve")] : [.string("Eve"), .string("Ada")])
                )
                #expect(nested.records == table.records)
                #expect(table.included.count == 1)
            }
        }
    }
}
