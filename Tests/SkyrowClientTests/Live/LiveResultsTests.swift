import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowClient

/// A result that is kept current against streams that a test speaks through.
@Suite struct LiveResultsTests {
    private static func record(_ id: Int) -> String {
        #"{"_id":"task/\#(id)","_type":"record","_access":null,"_revision":1}"#
    }

    private static func placed(_ event: String, _ id: Int, at place: Int, of name: String = "q1") -> String {
        #"{"subscription":"\#(name)","event":"\#(event)","index":\#(place),"record":\#(record(id))}"#
    }

    private static func left(_ id: Int) -> String { #"{"subscription":"q1","event":"left","id":"task/\#(id)"}"# }

    private static func counted(_ count: Int) -> String {
        #"{"subscription":"q1","event":"counted","count":\#(count)}"#
    }

    private static func whole(_ stream: StreamingTransport.Stream, _ changes: String..., of name: String = "q1") {
        stream.say(
            (
                "live:changes",
                #"{"phase":"initial","subscription":"\#(name)","changes":[\#(changes.joined(separator: ","))]}"#
            )
        )
    }

    private func newest(_ scripted: StreamingClient) throws -> LiveResults<LivePage> {
        scripted.client.publicDatabase.watch(
            try RecordQuery("task").sorted(by: "due", .descending).limited(to: 3).counted()
        )
    }

    private func ids(_ page: LivePage?) -> [String]? { page?.records.map(\.id.id) }

    @Test func changesAreAppliedInTheirOrder() async throws {
        let scripted = StreamingClient()
        var pages = try newest(scripted).makeAsyncIterator()
        scripted.transport.whenOpened(1) { stream in
            stream.say(("response", #"{"jsonrpc":"2.0","id":1,"result":{"subscription":"q1","source":"logical"}}"#))
            // Nothing can change before the whole is there, and what is to come is passed over.
            stream.changes("live", Self.left(9))
            Self.whole(
                stream,
                Self.placed("entered", 1, at: 0),
                Self.placed("entered", 2, at: 1),
                Self.counted(2),
                #"{"subscription":"q1","event":"new kind","id":"task/9"}"#
            )
            stream.changes("live", Self.placed("entered", 3, at: 0), Self.counted(3))
            stream.changes("live", Self.placed("updated", 2, at: 0))
            stream.changes("live", Self.left(3), Self.placed("entered", 4, at: 99), Self.counted(7))
        }
        let first = try await pages.next()
        #expect(ids(first) == ["1", "2"] && first?.count == 2)
        let stream = try await scripted.transport.stream(1)
        #expect(
            String(decoding: stream.request.body, as: UTF8.self)
                == #"[{"jsonrpc":"2.0","id":1,"method":"live:watch","params":{"subscription":"q1","database_id":"_public","#
                + #""record_type":"task","sort":[[{"$type":"keypath","$val":"due"},"desc"]],"limit":3,"count":true}}]"#
        )
        let second = try await pages.next()
        #expect(ids(second) == ["3", "1", "2"] && second?.count == 3)
        #expect(ids(try await pages.next()) == ["2", "3", "1"])
        let last = try await pages.next()
        #expect(ids(last) == ["2", "1", "4"] && last?.count == 7)
    }

    @Test func anEmptyResultIsOne() async throws {
        let scripted = StreamingClient()
        var pages = try newest(scripted).makeAsyncIterator()
        scripted.transport.whenOpened(1) { Self.whole($0) }
        #expect(ids(try await pages.next()) == [])
    }

    @Test func groupsComeAsAWhole() async throws {
        let scripted = StreamingClient()
        let query = try AggregateQuery("task").grouped(by: "done").computing("n", .count)
        var results = scripted.client.publicDatabase.watch(query).makeAsyncIterator()
        scripted.transport.whenOpened(1) { stream in
            func computed(_ n: Int) -> String {
                #"{"subscription":"q1","event":"computed","result":{"groups":[{"done":true,"n":\#(n)}],"info":{"has_more":true}}}"#
            }
            Self.whole(stream, computed(1))
            stream.changes("live", computed(2))
        }
        #expect(try await results.next()?.groups.first?["n"] == .integer(1))
        let second = try await results.next()
        #expect(second?.groups.first?["n"] == .integer(2) && second?.hasMore == true)
        #expect(try await scripted.transport.stream(1).subscriptions["q1"]?.contains(#""group_by""#) == true)
    }

    /// Each row is a way to lose the stream or the query; the result comes again as a whole.
    @Test(
        arguments: [
            "lost", "gap", "access", "branch", "schema", "later",
        ]
    )
    func itComesAgainAsAWhole(_ how: String) async throws {
        let scripted = StreamingClient()
        var pages = try newest(scripted).makeAsyncIterator()
        scripted.transport.whenOpened(1) { stream in
            Self.whole(stream, Self.placed("entered", 1, at: 0))
            if how == "lost" { stream.fail() } else { stream.reset("q1", how, #","retry_after":1.5"#) }
        }
        scripted.transport.whenOpened(2) { Self.whole($0, Self.placed("entered", 2, at: 0)) }
        #expect(ids(try await pages.next()) == ["1"])
        #expect(ids(try await pages.next()) == ["2"])
        #expect(scripted.pauses.count == 1)
        if how != "lost" { #expect(scripted.pauses == [.milliseconds(1500)]) }
    }

    @Test func whatIsRefusedIsThrownAndEnds() async throws {
        let scripted = StreamingClient(session: Session(userID: "ann", accessToken: "secret"))
        var pages = try newest(scripted).makeAsyncIterator()
        scripted.transport.whenOpened(1) { stream in
            stream.say(
                (
                    "response",
                    #"{"jsonrpc":"2.0","id":1,"error":{"code":120,"message":"No.","data":{"name":"RecordQueryInvalid"}}}"#
                )
            )
        }
        let error = await #expect(throws: ClientError.self) { try await pages.next() }
        #expect(error?.serverCode == .recordQueryInvalid)
        #expect(try await pages.next() == nil)

        var second = try newest(scripted).makeAsyncIterator()
        scripted.transport.whenOpened(2) { stream in
            Self.whole(stream, of: "q2")
            stream.reset("q2", "session", #","code":104"#)
        }
        #expect(ids(try await second.next()) == [])
        let ended = await #expect(throws: ClientError.self) { try await second.next() }
        #expect(ended?.serverCode == .accessTokenNotAccepted)
        #expect(scripted.client.session == nil)
    }

    @Test func changesThatCannotBeReadEndTheStream() async throws {
        for change in [
            #"{"subscription":"q1","event":"counted"}"#, #"{"subscription":"q1","event":"computed"}"#,
            #"{"subscription":"q1","event":"left","id":"no id"}"#,
            #"{"subscription":"q1","event":"entered","index":0,"record":{}}"#,
        ] {
            let scripted = StreamingClient()
            var pages = try newest(scripted).makeAsyncIterator()
            scripted.transport.whenOpened(1) { Self.whole($0, change) }
            let error = await #expect(throws: ClientError.self) { try await pages.next() }
            #expect(error?.code == .invalidResponse, "\(change)")
        }
    }
}
