import SkyrowJSON
import SkyrowModel
import Testing

@testable import SkyrowClient

/// The pages of a change feed against a script.
@Suite struct ChangeFeedTests {
    private static func record(_ id: Int, _ revision: Int = 1) -> String {
        #"{"_id":"note/\#(id)","_type":"record","_access":null,"_revision":\#(revision),"title":"Milk","stars":3}"#
    }

    /// A page of `changes:fetch`; its end is like `"token":"b"`.
    private static func page(_ end: String, _ changed: String...) -> ScriptedTransport.Line {
        .result("{\"changed\":[\(changed.joined(separator: ","))],\"removed\":[],\(end)}")
    }

    private static func reset(_ reason: String) -> ScriptedTransport.Line { page(#""reset":"\#(reason)""#) }

    /// A page of `changes:compare` with revisions by id.
    private static func pairs(_ revisions: [Int: Int], _ end: String) -> ScriptedTransport.Line {
        let pairs = revisions.sorted { $0.key < $1.key }.map { "[\"\($0.key)\",\($0.value)]" }
        return .result("{\"records\":[\(pairs.joined(separator: ","))],\(end)}")
    }

    private func id(_ id: Int) throws -> RecordID { try RecordID("note/\(id)") }

    /// A feed that continues from the token `a` for a client that holds the records 1 and 2.
    private func feed(_ scripted: ScriptedClient, of query: RecordQuery? = nil) throws -> ChangeFeed {
        let held = [try id(1): Int64(1), try id(2): 1]
        return scripted.client.publicDatabase.changes(
            of: try query ?? RecordQuery("note"),
            from: ChangeFeed.Position("ta"),
            waiting: nil
        ) { held }
    }

    /// The method of each request with its parameters behind those of the query.
    private func sent(_ scripted: ScriptedClient) -> [String] {
        scripted.transport.requests.indices.map { index in
            scripted.parameters(index)
                .replacing(#""database_id":"_public","#, with: "").replacing(#""record_type":"note","#, with: "")
        }
    }

    @Test func aResetIsComparedFor() async throws {
        let scripted = ScriptedClient([
            Self.reset("access"), Self.pairs([1: 1], #""cursor":"c""#), Self.pairs([3: 7], #""token":"b""#),
            .result("[\(Self.record(3, 7))]"), Self.page(#""token":"d""#),
        ])
        var pages: [ChangePage] = []
        for try await page in try feed(scripted) { pages.append(page) }
        #expect(pages.map(\.removed) == [[try id(2)], []])
        #expect(pages.map { $0.changed.map(\.id) } == [[try id(3)], []])
        #expect(pages.map(\.position.description) == ["tb", "td"])
        #expect(pages.map(\.isUpToDate) == [false, true] && pages.allSatisfy { !$0.beginsAnew })
        #expect(
            sent(scripted) == [
                #"changes:fetch {"since":"a","limit":100}"#, #"changes:compare {"limit":5000}"#,
                #"changes:compare {"cursor":"c","limit":5000}"#, #"record:fetch {"ids":["note/3"]}"#,
                #"changes:fetch {"since":"b","limit":100}"#,
            ]
        )
    }

    @Test(arguments: ["access", "branch", "expired"])
    func aComparisonThatIsResetStartsAgain(reason: String) async throws {
        let scripted = ScriptedClient([
            Self.reset("access"), Self.pairs([1: 1, 9: 9], #""cursor":"c""#), Self.pairs([:], #""reset":"\#(reason)""#),
            Self.pairs([1: 1], #""token":"b""#), Self.page(#""token":"d""#),
        ])
        var pages: [ChangePage] = []
        for try await page in try feed(scripted) { pages.append(page) }
        // Nothing is left of the first comparison.
        #expect(pages.map(\.removed) == [[try id(2)], []] && pages.allSatisfy { $0.changed.isEmpty && !$0.beginsAnew })
        #expect(sent(scripted).dropFirst(3).first == #"changes:compare {"limit":5000}"#)
        #expect(scripted.pauses == [.seconds(1)] && scripted.transport.isAtItsEnd)
    }

    /// Revisions tell nothing after a change of the type, nor after a reason that this version does not define.
    @Test(arguments: ["schema", "later"], [true, false])
    func otherResetsStartOver(reason: String, whileComparing: Bool) async throws {
        let reset =
            whileComparing
            ? [Self.reset("expired"), Self.pairs([:], #""reset":"\#(reason)""#)] : [Self.reset(reason)]
        let scripted = ScriptedClient(
            reset + [Self.page(#""cursor":"c""#, Self.record(1)), Self.page(#""token":"b""#, Self.record(3))]
        )
        var pages: [ChangePage] = []
        for try await page in try feed(scripted) { pages.append(page) }
        #expect(pages.map(\.beginsAnew) == [true, false] && pages.allSatisfy { $0.removed.isEmpty })
        #expect(pages.map { $0.changed.map(\.id) } == [[try id(1)], [try id(3)]])
        #expect(sent(scripted).dropFirst(reset.count).first == #"changes:fetch {"limit":100}"#)
        #expect(scripted.pauses.isEmpty && scripted.transport.isAtItsEnd)
    }

    private static func failure(_ id: Int, _ code: Int) -> String {
        #"{"_id":"note/\#(id)","_type":"error","name":"Name","code":\#(code),"message":"No."}"#
    }

    @Test func aRecordThatIsGoneMeanwhileIsLeftToTheNextPage() async throws {
        let scripted = ScriptedClient([
            Self.reset("access"), Self.pairs([1: 2, 2: 2], #""token":"b""#),
            .result("[\(Self.failure(1, 110)),\(Self.record(2, 2))]"),
        ])
        var pages = try feed(scripted).makeAsyncIterator()
        let page = try await pages.next()
        #expect(page?.changed.map(\.id) == [try id(2)] && page?.removed == [])
    }

    /// Without the record its token would claim more than the client holds.
    @Test(arguments: [102, 131, 135, 10000])
    func aRecordThatCannotBeFetchedEndsTheFeed(code: Int) async throws {
        let scripted = ScriptedClient([
            Self.reset("access"), Self.pairs([1: 1, 2: 2], #""token":"b""#), .result("[\(Self.failure(2, code))]"),
        ])
        var pages = try feed(scripted).makeAsyncIterator()
        let error = await #expect(throws: ClientError.self) { try await pages.next() }
        #expect(error?.serverCode?.rawValue == code)
        #expect(try await pages.next() == nil && scripted.transport.isAtItsEnd)
    }

    @Test func comparedRecordsHaveTheFieldsOfTheQuery() async throws {
        let scripted = ScriptedClient([
            Self.reset("access"), Self.pairs([1: 2, 2: 1], #""token":"b""#), .result("[\(Self.record(1, 2))]"),
        ])
        var pages = try feed(scripted, of: RecordQuery("note").selecting(["title"])).makeAsyncIterator()
        let page = try await pages.next()
        #expect(page?.changed.map(\.fields) == [[try FieldName("title"): .string("Milk")]])
    }

    /// A record that is left out would count as removed.
    @Test(arguments: [
        #"{"records":[["1"]],"token":"b"}"#, #"{"records":[["1","1"]],"token":"b"}"#, #"{"records":["1"],"token":"b"}"#,
        #"{"records":[["",1]],"token":"b"}"#, #"{"records":[["1",1]]}"#,
    ])
    func aComparisonThatCannotBeReadEndsTheFeed(result: String) async throws {
        let scripted = ScriptedClient([Self.reset("access"), .result(result)])
        var pages = try feed(scripted).makeAsyncIterator()
        let error = await #expect(throws: ClientError.self) { try await pages.next() }
        #expect(error?.code == .invalidResponse)
    }

    @Test func aPositionThatIsNotAcceptedStartsOver() async throws {
        let scripted = ScriptedClient([.error(134, "InvalidToken"), Self.page(#""token":"b""#, Self.record(3))])
        var pages: [ChangePage] = []
        for try await page in try feed(scripted) { pages.append(page) }
        #expect(pages.map(\.beginsAnew) == [true])
        #expect(pages.map { $0.changed.map(\.id) } == [[try id(3)]])
        #expect(sent(scripted) == [#"changes:fetch {"since":"a","limit":100}"#, #"changes:fetch {"limit":100}"#])
        // Without a position there is nothing to give up.
        let refused = ScriptedClient([.error(134, "InvalidToken")])
        var none = try refused.client.publicDatabase.changes(of: RecordQuery("note")).makeAsyncIterator()
        let error = await #expect(throws: ClientError.self) { try await none.next() }
        #expect(error?.serverCode == .invalidToken && refused.transport.isAtItsEnd)
    }

    /// Failed once: half a second became none, and the feed asked again without end.
    @Test(arguments: [(Duration.milliseconds(500), 1), (.milliseconds(1_500), 2), (.seconds(25), 25), (.zero, 0)])
    func theTimeToWaitIsRoundedUp(waiting: Duration, seconds: Int) async throws {
        let scripted = ScriptedClient([Self.page(#""token":"b""#), Self.page(#""token":"c""#, Self.record(3))])
        let feed = try scripted.client.publicDatabase.changes(of: RecordQuery("note"), waiting: waiting)
        var pages = feed.makeAsyncIterator()
        for _ in 0..<2 { #expect(try await pages.next() != nil) }
        #expect(sent(scripted).last == #"changes:fetch {"since":"b","limit":100,"wait":\#(seconds)}"#)
    }

    @Test func aFeedThatIsCancelledWhileItComparesEnds() async throws {
        let scripted = ScriptedClient([Self.reset("access"), .lost])
        let feed = try scripted.client.publicDatabase.changes(
            of: RecordQuery("note"),
            from: ChangeFeed.Position("ta")
        ) {
            withUnsafeCurrentTask { $0?.cancel() }
            return [:]
        }
        let page = try await Task {
            var pages = feed.makeAsyncIterator()
            return try await pages.next()
        }.value
        #expect(page == nil && scripted.transport.isAtItsEnd)
    }
}
