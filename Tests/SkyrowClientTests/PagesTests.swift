import SkyrowJSON
import SkyrowModel
import Testing

@testable import SkyrowClient

/// Pages of a query, asked for one after another.
@Suite struct PagesTests {
    private static func page(_ ids: [Int], cursor: String?, hasMore: Bool, _ more: String = "") -> String {
        let records = ids.map { "{\"_id\":\"note/\($0)\",\"_type\":\"record\",\"_access\":null}" }.joined(
            separator: ","
        )
        let cursor = cursor.map { "\"\($0)\"" } ?? "null"
        return "{\"records\":[\(records)],\"info\":{\"cursor\":\(cursor),\"has_more\":\(hasMore)\(more)}}"
    }

    /// The parameters of each call beside the database.
    private func sent(_ scripted: ScriptedClient) -> [String] {
        scripted.transport.requests.map { request in
            let text = try? JSONDocument(request.body).withRoot { root in
                root["params"].map { String(decoding: $0.source, as: UTF8.self) }
            }
            return (text ?? nil)?.replacing(#""database_id":"_public","record_type":"note","#, with: "") ?? ""
        }
    }

    @Test func aPageIsAskedForAndRead() async throws {
        let scripted = ScriptedClient([
            .result(Self.page([1], cursor: "c", hasMore: true, #","count":10000,"count_kind":"at_least""#)),
            .result(Self.page([], cursor: nil, hasMore: false)),
        ])
        let query = try RecordQuery("note").sorted(by: "a", .descending, .last).limited(to: 20)
        let page = try await scripted.client.publicDatabase.query(query.after("x").required().counted(.estimate))
        #expect(page.cursor == "c" && page.hasMore && page.count == 10_000 && page.countKind == .atLeast)
        let empty = try await scripted.client.publicDatabase.query(query.last(3))
        #expect(empty.cursor == nil && !empty.hasMore && empty.count == nil && empty.countKind == nil)
        let sort = #""sort":[[{"$type":"keypath","$val":"a"},"desc","nulls_last"]]"#
        #expect(
            sent(scripted) == [
                "{\(sort),\"limit\":20,\"after\":\"x\",\"required\":true,\"count\":\"estimate\"}",
                "{\(sort),\"limit\":3,\"last\":true}",
            ]
        )
    }

    @Test func includedRecordsStandInTheirPlaces() async throws {
        let person = #"{"_id":"person/9","_type":"record","_access":null,"name":"Ada"}"#
        let records = [1, 2].map {
            #"{"_id":"film/\#($0)","_type":"record","_access":null,"_transient":{"author":"person/9","cast":["person/9"]}}"#
        }
        let info = #""info":{"cursor":null,"has_more":false}"#
        let scripted = ScriptedClient([
            .result("{\"records\":[\(records.joined(separator: ","))],\"included\":{\"person/9\":\(person)},\(info)}"),
            .result("{\"records\":[],\(info)}"),
        ])
        let query = try RecordQuery("note").including("author").includingEachOnce()
        let page = try await scripted.client.publicDatabase.query(query)
        let ada = try #require(page.included[try RecordID("person/9")])
        #expect(ada.fields[try FieldName("name")] == .string("Ada"))
        #expect(page.records.map { $0.transient["author"] } == [ada, ada])
        #expect(page.records.map { $0.lists["cast"]?.records } == [[ada], [ada]])
        let empty = try await scripted.client.publicDatabase.query(RecordQuery("note"))
        #expect(empty.included.isEmpty)
        let include = #""include":{"author":{"$type":"keypath","$val":"author"}},"include_form":"table""#
        #expect(sent(scripted) == ["{\(include),\"limit\":100}", #"{"limit":100}"#])
    }

    @Test func pagesFollowEachOther() async throws {
        let scripted = ScriptedClient([
            .result(Self.page([1, 2], cursor: "a", hasMore: true)),
            .result(Self.page([3, 4], cursor: "b", hasMore: true)),
            .result(Self.page([5], cursor: "c", hasMore: false)),
        ])
        let query = try RecordQuery("note").limited(to: 2, offset: 7).required().counted()
        var ids: [[String]] = []
        for try await page in scripted.client.publicDatabase.pages(of: query) { ids.append(page.records.map(\.id.id)) }
        #expect(ids == [["1", "2"], ["3", "4"], ["5"]])
        #expect(
            sent(scripted) == [
                #"{"limit":2,"offset":7,"required":true,"count":true}"#, #"{"limit":2,"after":"a"}"#,
                #"{"limit":2,"after":"b"}"#,
            ]
        )
    }

    @Test func recordsOfTheLastPageComeBackwards() async throws {
        let scripted = ScriptedClient([
            .result(Self.page([4, 5], cursor: "a", hasMore: true)),
            .result(Self.page([2, 3], cursor: "b", hasMore: true)),
            .result(Self.page([1], cursor: "c", hasMore: false)),
        ])
        var ids: [String] = []
        for try await record in try scripted.client.publicDatabase.records(of: RecordQuery("note").last(2)) {
            ids.append(record.id.id)
        }
        #expect(ids == ["5", "4", "3", "2", "1"])
        #expect(
            sent(scripted) == [#"{"limit":2,"last":true}"#, #"{"limit":2,"before":"a"}"#, #"{"limit":2,"before":"b"}"#]
        )
    }

    @Test func noRecordsAreNoPagesToCome() async throws {
        let scripted = ScriptedClient([.result(Self.page([], cursor: nil, hasMore: false))])
        var count = 0
        for try await _ in try scripted.client.publicDatabase.records(of: RecordQuery("note")) { count += 1 }
        #expect(count == 0)
    }

    @Test func anErrorEndsThePages() async throws {
        let scripted = ScriptedClient([.result(Self.page([1], cursor: "a", hasMore: true))])
        var pages = try scripted.client.publicDatabase.pages(of: RecordQuery("note")).makeAsyncIterator()
        #expect(try await pages.next()?.records.count == 1)
        await #expect(throws: ClientError.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
    }
}
