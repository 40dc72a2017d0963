import Foundation
import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowClient

/// A live query against streams that a test speaks through.
@Suite struct LiveQueryTests {
    private static func record(_ id: Int, _ revision: Int = 1, _ more: String = "") -> String {
        #"{"_id":"task/\#(id)","_type":"record","_access":null,"_revision":\#(revision)\#(more)}"#
    }

    private static func change(_ name: String, _ event: String, _ id: Int, _ revision: Int = 1, _ more: String = "")
        -> String
    {
        #"{"subscription":"\#(name)","event":"\#(event)","record":\#(record(id, revision))\#(more)}"#
    }

    private static func gone(_ name: String, _ event: String, _ id: Int) -> String {
        #"{"subscription":"\#(name)","event":"\#(event)","id":"task/\#(id)"}"#
    }

    private func id(_ id: Int) throws -> RecordID { try RecordID("task/\(id)") }

    private func tasks(_ scripted: StreamingClient) throws -> LiveQuery {
        scripted.client.publicDatabase.live(try RecordQuery("task"))
    }

    /// What an event is, in short: `created 1`.
    private static func short(_ event: LiveEvent) -> String {
        let name =
            switch event {
            case .initial: "initial"
            case .created: "created"
            case .entered: "entered"
            case .updated: "updated"
            case .left: "left"
            case .deleted: "deleted"
            case .changed: "changed"
            case .removed: "removed"
            case .ready: "ready"
            case .reset(let reason): "reset \(reason)"
            }
        return event.id.map { "\(name) \($0.id)" } ?? name
    }

    /// Reads some events of a query.
    private func read(_ count: Int, _ iterator: inout LiveQuery.AsyncIterator) async throws -> [String] {
        var events: [String] = []
        while events.count < count, let event = try await iterator.next() { events.append(Self.short(event)) }
        return events
    }

    /// Iterates in a task of its own, so that a test can speak meanwhile.
    private final class Log: Changing {
        let changes = ChangeSignal()
        private let state = Mutex<(events: [LiveEvent], hasEnded: Bool, error: ClientError?)>(([], false, nil))
        private let task: Mutex<Task<Void, Never>?>

        init(_ query: LiveQuery) {
            task = Mutex(nil)
            task.withLock { task in
                task = Task { [self] in
                    do {
                        for try await event in query {
                            state.withLock { $0.events.append(event) }
                            changes.notify()
                        }
                    } catch {
                        state.withLock { $0.error = error as? ClientError }
                    }
                    state.withLock { $0.hasEnded = true }
                    changes.notify()
                }
            }
        }

        var events: [LiveEvent] { state.withLock { $0.events } }
        var short: [String] { events.map(LiveQueryTests.short) }
        var hasEnded: Bool { state.withLock { $0.hasEnded } }
        var error: ClientError? { state.withLock { $0.error } }
        func cancel() { task.withLock { $0?.cancel() } }

        func waits(for events: [String]) async throws {
            do {
                try await waiting(until: "the query says \(events)", hearing: [self]) {
                    short.count >= events.count
                }
            } catch {
                Issue.record("\(short) instead of \(events)")
                throw error
            }
            #expect(short == events)
        }
    }

    @Test func aQueryIsSubscribedToAndTold() async throws {
        let scripted = StreamingClient(session: Session(userID: "ann", accessToken: "secret"))
        let query = scripted.client.privateDatabase.live(
            try RecordQuery("task").filter(Field("done") == false).selecting(["title"])
        )
        let log = Log(query.only([.created, .deleted]).watching(["title"]).withPrevious(["title"]))
        let stream = try await scripted.transport.stream(1)
        #expect(stream.request.url.absoluteString == "http://service.example/base/rpc")
        let headers = Dictionary(uniqueKeysWithValues: stream.request.headers.map { ($0.name, $0.value) })
        #expect(headers["Accept"] == "text/event-stream" && headers["Authorization"] == "Bearer secret")
        #expect(headers["X-Skygear-API-Key"] == "key")
        #expect(
            String(decoding: stream.request.body, as: UTF8.self)
                == #"[{"jsonrpc":"2.0","id":1,"method":"live:subscribe","params":{"subscription":"q1","database_id":"_private","#
                + #""record_type":"task","predicate":["eq",{"$type":"keypath","$val":"done"},false],"#
                + #""desired_keys":["title"],"events":["created","deleted"],"watch":["title"],"previous":["title"],"initial":true}}]"#
        )
        stream.say(("response", #"{"jsonrpc":"2.0","id":1,"result":{"subscription":"q1","source":"logical"}}"#))
        stream.changes("initial", Self.change("q1", "changed", 1))
        stream.checkpoint(["q1": "a"], ready: true)
        stream.say(raw: ": ping\n\n")
        stream.say(
            ("live:later", "{}"),
            ("live:changes", #"{"phase":"live","changes":[{"subscription":"q1","event":"new kind","id":"task/9"}]}"#)
        )
        stream.changes(
            "live",
            Self.change("q1", "created", 2),
            Self.change("q1", "entered", 3, 1, #","previous":{"title":"x","done":true}"#),
            Self.change("q1", "updated", 1, 2, #","previous":{"title":null}"#),
            Self.change("q1", "left", 2, 3),
            Self.gone("q1", "deleted", 3)
        )
        try await log.waits(for: ["initial 1", "ready", "created 2", "entered 3", "updated 1", "left 2", "deleted 3"])
        guard case .entered(_, let entered) = log.events[3], case .updated(let record, let updated) = log.events[4]
        else {
            Issue.record("\(log.events)")
            return
        }
        #expect(entered == [try FieldName("title"): .string("x"), try FieldName("done"): .boolean(true)])
        #expect(updated == [try FieldName("title"): .null] && record.revision == 2)
        log.cancel()
        try await waiting(until: "the query and its stream end", hearing: [log, stream]) {
            log.hasEnded && stream.hasEnded
        }
        #expect(log.error == nil)
    }

    @Test func anInterruptionIsBridged() async throws {
        let scripted = StreamingClient([.accepted, .lost, .response("busy", status: 503)])
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        first.changes("initial", Self.change("q1", "changed", 1))
        first.checkpoint(["q1": "a"], ready: true)
        first.changes("live", Self.change("q1", "created", 2))
        try await log.waits(for: ["initial 1", "ready", "created 2"])
        first.fail()
        // One attempt is lost, one meets a proxy without a service.
        let fourth = try await scripted.transport.stream(4)
        #expect(fourth.subscriptions["q1"]?.contains(#""since":"a""#) == true)
        #expect(fourth.subscriptions["q1"]?.contains("initial") == false)
        fourth.changes(
            "resume",
            Self.change("q1", "changed", 2),
            Self.gone("q1", "removed", 1),
            Self.gone("q1", "removed", 9)
        )
        fourth.checkpoint(["q1": "b"], ready: true)
        try await log.waits(for: ["initial 1", "ready", "created 2", "changed 2", "removed 1", "ready"])
        // Each longer than the one before, none longer than it may be.
        let pauses = scripted.pauses
        #expect(pauses.count == 3)
        for (pause, longest) in zip(pauses, [Duration.milliseconds(500), .seconds(1), .seconds(2)]) {
            #expect(pause >= longest / 2 && pause <= longest)
        }
        // A service that ends says when to come back.
        fourth.say(raw: "retry: 9000\n\n")
        fourth.end()
        _ = try await scripted.transport.stream(5)
        let asked = try #require(scripted.pauses.last)
        #expect(asked >= .seconds(9) && asked <= .seconds(13.5))
        log.cancel()
    }

    @Test func aSilentStreamIsTakenForBroken() async throws {
        let scripted = StreamingClient(silence: .milliseconds(50))
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        _ = try await scripted.transport.stream(2)
        #expect(first.hasEnded)
        #expect(!scripted.pauses.isEmpty)
        log.cancel()
    }

    @Test func allQueriesShareAStream() async throws {
        let scripted = StreamingClient()
        let first = Log(try tasks(scripted))
        let one = try await scripted.transport.stream(1)
        one.checkpoint(["q1": "a"], ready: true)
        try await first.waits(for: ["ready"])
        let second = Log(scripted.client.publicDatabase.live(try RecordQuery("note")).withoutInitial())
        let two = try await scripted.transport.stream(2)
        try await waiting(until: "the first stream ends", hearing: [one]) { one.hasEnded }
        #expect(two.subscriptions.keys.sorted() == ["q1", "q2"])
        #expect(two.subscriptions["q1"]?.contains(#""since":"a""#) == true)
        two.changes("live", Self.change("q2", "created", 1), Self.change("q1", "created", 2))
        try await first.waits(for: ["ready", "created 2"])
        try await second.waits(for: ["created 1"])
        // The other goes on, without what has ended.
        first.cancel()
        let three = try await scripted.transport.stream(3)
        #expect(three.subscriptions.keys.sorted() == ["q2"])
        // It had no token, and began without records.
        three.changes("live", Self.change("q2", "created", 4))
        try await second.waits(for: ["created 1", "reset gap", "created 4"])
        second.cancel()
        try await waiting(until: "the last stream ends", hearing: [three]) { three.hasEnded }
    }

    @Test func otherRightsAreCompared() async throws {
        let scripted = StreamingClient(calls: [
            .result(#"{"records":[["1",1]],"token":null,"cursor":"c","more":true,"reset":null}"#),
            .result(#"{"records":[["2",9]],"token":"u","cursor":null,"more":false,"reset":null}"#),
            .result("[\(Self.record(2, 9, #","title":"Milk","secret":1"#))]"),
        ])
        let query = scripted.client.publicDatabase.live(try RecordQuery("task").selecting(["title"]))
        let log = Log(query)
        let first = try await scripted.transport.stream(1)
        first.changes("initial", Self.change("q1", "changed", 1), Self.change("q1", "changed", 3))
        first.checkpoint(["q1": "a"], ready: true)
        first.reset("q1", "access", #","retry_after":1.5"#)
        let second = try await scripted.transport.stream(2)
        #expect(second.subscriptions["q1"]?.contains(#""since":"u""#) == true)
        try await log.waits(for: ["initial 1", "initial 3", "ready", "reset access", "removed 3", "changed 2"])
        // As the query has it, not as the fetch has.
        #expect(log.events.last?.record?.fields == [try FieldName("title"): .string("Milk")])
        #expect(scripted.pauses.contains(.milliseconds(1500)))
        #expect(scripted.transport.calls.isAtItsEnd)
        log.cancel()
    }

    @Test func aTokenThatIsNotAcceptedIsComparedFor() async throws {
        let scripted = StreamingClient(calls: [
            .result(#"{"records":[["1",1]],"token":"u","cursor":null,"more":false,"reset":null}"#)
        ])
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        first.changes("initial", Self.change("q1", "changed", 1))
        first.checkpoint(["q1": "a"], ready: true)
        first.end()
        let second = try await scripted.transport.stream(2)
        second.say(
            (
                "response",
                #"{"jsonrpc":"2.0","id":1,"error":{"code":134,"message":"No.","data":{"name":"InvalidToken"}}}"#
            )
        )
        let third = try await scripted.transport.stream(3)
        #expect(third.subscriptions["q1"]?.contains(#""since":"u""#) == true)
        third.checkpoint(["q1": "v"], ready: true)
        try await log.waits(for: ["initial 1", "ready", "reset expired", "ready"])
        log.cancel()
    }

    @Test(arguments: [#"{"records":[["1",1]],"token":null,"cursor":null}"#, #"{"records":[["1"]],"token":"u"}"#])
    func aComparisonThatCannotBeReadEndsTheQuery(result: String) async throws {
        let scripted = StreamingClient(calls: [.result(result)])
        let log = Log(try tasks(scripted))
        let stream = try await scripted.transport.stream(1)
        stream.changes("initial", Self.change("q1", "changed", 1))
        stream.checkpoint(["q1": "a"], ready: true)
        stream.reset("q1", "access")
        try await waiting(until: "the query ends", hearing: [log]) { log.hasEnded }
        #expect(log.error?.code == .invalidResponse && log.short == ["initial 1", "ready", "reset access"])
    }

    @Test func aComparisonWaitsForTheService() async throws {
        let failure = #"{"_id":"task/1","_type":"error","name":"UnexpectedError","code":10000,"message":"No."}"#
        let lost = Array(repeating: ScriptedTransport.Line.lost, count: 9)
        let scripted = StreamingClient(
            calls: lost + [
                .result(#"{"records":[["1",2]],"token":"u","cursor":null,"more":false,"reset":null}"#),
                .result("[\(failure)]"), .result("[\(Self.record(1, 2))]"),
            ]
        )
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        first.changes("initial", Self.change("q1", "changed", 1))
        first.checkpoint(["q1": "a"], ready: true)
        first.reset("q1", "branch")
        let second = try await scripted.transport.stream(2)
        #expect(second.subscriptions["q1"]?.contains(#""since":"u""#) == true)
        try await log.waits(for: ["initial 1", "ready", "reset branch", "changed 1"])
        #expect(scripted.transport.calls.isAtItsEnd)
        log.cancel()
    }

    @Test func aQueryThatIsCancelledWhileItComparesEnds() async throws {
        let scripted = StreamingClient(calls: [.cancelling(.error(102, "PermissionDenied"))])
        let log = Log(try tasks(scripted))
        let stream = try await scripted.transport.stream(1)
        stream.checkpoint(["q1": "a"], ready: true)
        stream.reset("q1", "access")
        try await waiting(until: "the query ends", hearing: [log]) { log.hasEnded }
        #expect(log.error == nil && scripted.transport.calls.isAtItsEnd)
    }

    @Test func whatIsTooMuchComesAgain() async throws {
        let scripted = StreamingClient()
        scripted.transport.whenOpened(1) { stream in
            stream.changes("initial", Self.change("q1", "changed", 1))
            stream.checkpoint(["q1": "a"], ready: true)
        }
        scripted.transport.whenOpened(2) { stream in
            stream.changes("resume", Self.change("q1", "changed", 30))
            stream.checkpoint(["q1": "c"], ready: true)
        }
        var iterator = try tasks(scripted).buffering(bytes: 300).makeAsyncIterator()
        #expect(try await read(2, &iterator) == ["initial 1", "ready"])
        // Nothing is read meanwhile.
        let first = scripted.transport.streams[0]
        for number in 2...30 { first.changes("live", Self.change("q1", "created", number)) }
        first.checkpoint(["q1": "b"])
        first.end()
        // Without a subscription that follows there is no second stream.
        try await waiting(until: "the stream is read to its end", hearing: [scripted]) { scripted.pauses.count == 1 }
        #expect(try await read(2, &iterator) == ["changed 30", "ready"])
        let second = scripted.transport.streams[1]
        #expect(second.subscriptions["q1"]?.contains(#""since":"a""#) == true)
    }

    @Test func aBeginningThatIsTooMuchIsReadInPages() async throws {
        // The service is away for longer than a call is repeated.
        let scripted = StreamingClient(calls: [
            .lost, .lost, .lost, .lost, .lost,
            .result(
                #"{"changed":[\#(Self.record(1))],"removed":[],"token":null,"cursor":"c","more":true,"reset":null}"#
            ),
            .result(
                #"{"changed":[\#(Self.record(2))],"removed":[],"token":"t","cursor":null,"more":false,"reset":null}"#
            ),
        ])
        scripted.transport.whenOpened(1) { $0.changes("initial", Self.change("q1", "changed", 1)) }
        scripted.transport.whenOpened(2) { $0.checkpoint(["q1": "u"], ready: true) }
        var iterator = try tasks(scripted).buffering(bytes: 100).makeAsyncIterator()
        #expect(try await read(1, &iterator) == ["initial 1"])
        let first = scripted.transport.streams[0]
        for number in 2...30 { first.changes("initial", Self.change("q1", "changed", number)) }
        first.end()
        try await waiting(until: "the stream is read to its end", hearing: [scripted]) { scripted.pauses.count == 1 }
        #expect(try await read(3, &iterator) == ["initial 1", "initial 2", "ready"])
        #expect(scripted.transport.streams[1].subscriptions["q1"]?.contains(#""since":"t""#) == true)
    }

    struct Refusal: Sendable {
        var head: StreamingTransport.Head = .accepted
        var error: String?
        var serverCode: ErrorCode?
        var code = ClientError.Code.refused
        /// How many streams it takes.
        var streams = 1
    }

    @Test(arguments: [
        Refusal(
            error: #"{"code":102,"message":"No.","data":{"name":"PermissionDenied"}}"#,
            serverCode: .permissionDenied
        ),
        Refusal(error: #"{"code":120,"message":"No."}"#, serverCode: .recordQueryInvalid),
        // Each attempt is answered alike.
        Refusal(error: #"{"code":135,"message":"No."}"#, serverCode: .overloaded, streams: 4),
        Refusal(
            head: .response(#"{"jsonrpc":"2.0","id":null,"error":{"code":103,"message":"No key."}}"#, status: 401),
            serverCode: .accessKeyNotAccepted
        ),
        Refusal(
            head: .response(#"[{"jsonrpc":"2.0","id":1,"error":{"code":111,"message":"No."}}]"#, status: 200),
            serverCode: .notSupported
        ),
        Refusal(head: .response("<html>", status: 200), code: .invalidResponse),
        Refusal(head: .response("[]", status: 200), code: .invalidResponse),
    ])
    func aRefusalEndsANewQuery(refusal: Refusal) async throws {
        let scripted = StreamingClient([refusal.head])
        let log = Log(try tasks(scripted))
        if let error = refusal.error {
            for number in 1...refusal.streams {
                try await scripted.transport.stream(number)
                    .say(("response", #"{"jsonrpc":"2.0","id":1,"error":\#(error)}"#))
            }
        }
        try await waiting(until: "the query ends", hearing: [log]) { log.hasEnded }
        #expect(log.error?.code == refusal.code)
        #expect(log.error?.serverCode == refusal.serverCode)
        #expect(log.short == [])
        #expect(scripted.transport.streams.count == refusal.streams)
    }

    @Test func anOverloadedServiceIsWaitedFor() async throws {
        let scripted = StreamingClient()
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        first.checkpoint(["q1": "a"], ready: true)
        try await log.waits(for: ["ready"])
        first.end()
        for number in 2...9 {
            try await scripted.transport.stream(number).say(
                (
                    "response",
                    #"{"jsonrpc":"2.0","id":1,"error":{"code":135,"message":"No.","data":{"info":{"retry_after":20}}}}"#
                )
            )
        }
        let last = try await scripted.transport.stream(10)
        last.checkpoint(["q1": "b"], ready: true)
        try await log.waits(for: ["ready", "ready"])
        #expect(scripted.pauses.contains { $0 >= .seconds(20) && $0 <= .seconds(30) })
        log.cancel()
    }

    @Test(arguments: [(131, 429), (135, 503)])
    func aServiceThatOpensNoStreamSaysWhenToComeBack(code: Int, status: Int) async throws {
        let error = #"{"code":\#(code),"message":"No.","data":{"name":"Name","info":{"retry_after":60}}}"#
        let scripted = StreamingClient([
            .response(#"{"jsonrpc":"2.0","id":null,"error":\#(error)}"#, status: status)
        ])
        let log = Log(try tasks(scripted))
        try await scripted.transport.stream(2).checkpoint(["q1": "a"], ready: true)
        try await log.waits(for: ["ready"])
        let pauses = scripted.pauses
        #expect(pauses.count == 1 && pauses.allSatisfy { $0 >= .seconds(60) && $0 <= .seconds(90) }, "\(pauses)")
        log.cancel()
    }

    @Test(arguments: [
        ("live:changes", "no JSON"), ("live:changes", "{}"), ("live:changes", #"{"changes":[{"event":"created"}]}"#),
        ("live:changes", #"{"changes":[{"subscription":"q1","event":"created"}]}"#),
        ("live:changes", #"{"changes":[{"subscription":"q1","event":"created","record":{}}]}"#),
        ("live:changes", #"{"changes":[{"subscription":"q1","event":"deleted","id":"no id"}]}"#),
        ("live:reset", "{}"), ("response", "]"),
    ])
    func whatCannotBeReadEndsANewQuery(name: String, data: String) async throws {
        let scripted = StreamingClient()
        let log = Log(try tasks(scripted))
        try await scripted.transport.stream(1).say((name, data))
        try await waiting(until: "the query ends", hearing: [log]) { log.hasEnded }
        #expect(log.error?.code == .invalidResponse)
        #expect(log.short == [])
    }

    @Test func anEndedSessionEndsItsQueries() async throws {
        let session = Session(userID: "ann", accessToken: "secret")
        let scripted = StreamingClient(session: session)
        let log = Log(try tasks(scripted))
        let stream = try await scripted.transport.stream(1)
        stream.checkpoint(["q1": "a"], ready: true)
        stream.reset("q1", "session", #","code":104"#)
        try await waiting(until: "the query ends", hearing: [log]) { log.hasEnded }
        #expect(log.error?.serverCode == .accessTokenNotAccepted)
        #expect(scripted.client.session == nil)
    }

    /// The reset of each subscription may be what was lost.
    @Test func aStreamThatIsClosedForTheSessionEndsItsQueries() async throws {
        let scripted = StreamingClient(session: Session(userID: "ann", accessToken: "secret"))
        let log = Log(try tasks(scripted))
        let stream = try await scripted.transport.stream(1)
        stream.checkpoint(["q1": "a"], ready: true)
        try await log.waits(for: ["ready"])
        stream.say(("close", #"{"code":4401,"reason":"The session has ended; log in again."}"#))
        try await waiting(until: "the query ends", hearing: [log, stream]) { log.hasEnded && stream.hasEnded }
        #expect(log.error?.serverCode == .accessTokenNotAccepted)
        #expect(scripted.client.session == nil && scripted.transport.streams.count == 1)
    }

    /// Whatever the reason, the next stream goes on from the last checkpoints; the pauses are in seconds.
    @Test(
        arguments: [
            (#"{"code":1012,"retry_after":4.2}"#, 4.2...6.3, 4.2...6.3),
            (#"{"code":1012,"retry_after":40}"#, 40...60, 40...60),
            (#"{"code":4408,"reason":"The client reads too slowly."}"#, 0.25...0.5, 0.25...0.5),
            (#"{"code":4429,"reason":"Too many live connections are open."}"#, 0.25...0.5, 0.5...1),
            (#"{"code":4499}"#, 0.25...0.5, 0.25...0.5), (#"{}"#, 0.25...0.5, 0.25...0.5),
        ] as [(String, ClosedRange<Double>, ClosedRange<Double>)]
    )
    func aClosedStreamIsOpenedAgain(
        _ reason: String,
        _ first: ClosedRange<Double>,
        _ second: ClosedRange<Double>
    ) async throws {
        let scripted = StreamingClient(session: Session(userID: "ann", accessToken: "secret"))
        let log = Log(try tasks(scripted))
        for number in 1...2 {
            let stream = try await scripted.transport.stream(number)
            stream.checkpoint(["q1": "a\(number)"], ready: true)
            try await log.waits(for: Array(repeating: "ready", count: number))
            // The connection stays open, and what comes behind the end counts no more.
            stream.say(("close", reason), ("live:reset", #"{"subscription":"q1","reason":"access"}"#))
            let next = try await scripted.transport.stream(number + 1)
            #expect(stream.hasEnded)
            #expect(next.subscriptions["q1"]?.contains(#""since":"a\#(number)""#) == true)
        }
        #expect(scripted.pauses.count == 2 && scripted.client.session != nil && !log.hasEnded)
        for (pause, range) in zip(scripted.pauses, [first, second]) {
            #expect(range.contains(pause / .seconds(1)), "\(pause)")
        }
        log.cancel()
    }

    @Test func anotherUserGetsAnotherStream() async throws {
        let scripted = StreamingClient(session: Session(userID: "ann", accessToken: "a"))
        let log = Log(try tasks(scripted))
        let first = try await scripted.transport.stream(1)
        scripted.client.store(Session(userID: "ben", accessToken: "b"))
        let second = try await scripted.transport.stream(2)
        #expect(second.request.headers.contains { $0.name == "Authorization" && $0.value == "Bearer b" })
        try await waiting(until: "the first stream ends", hearing: [first]) { first.hasEnded }
        // A renewed token of the same user leaves it alone.
        scripted.client.store(Session(userID: "ben", accessToken: "c"))
        second.checkpoint(["q1": "a"], ready: true)
        try await log.waits(for: ["ready"])
        #expect(!second.hasEnded && scripted.transport.streams.count == 2)
        log.cancel()
    }

    @Test func whatALiveQueryHasNotIsRefused() async throws {
        let task = try RecordQuery("task")
        let rows: [(RecordQuery, String)] = [
            (task.sorted(by: "title"), "sort"), (task.limited(to: 5), "limit"),
            (task.limited(to: 100, offset: 1), "limit"),
            (task.including("list"), "include"), (task.omitting(["title"]), "omit"), (task.after("c"), "cursor"),
            (task.required(), "required"), (task.counted(), "count"),
        ]
        for (query, part) in rows {
            let scripted = StreamingClient()
            var iterator = scripted.client.publicDatabase.live(query).makeAsyncIterator()
            let error = await #expect(throws: ClientError.self) { try await iterator.next() }
            #expect(error?.serverCode == .invalidArgument && error?.message == "A live query cannot have \(part).")
            #expect(try await iterator.next() == nil)
            #expect(scripted.transport.streams.isEmpty)
        }
    }

    @Test func aTransportWithoutStreamsSaysSo() async throws {
        let scripted = ScriptedClient([])
        var iterator = scripted.client.publicDatabase.live(try RecordQuery("task")).makeAsyncIterator()
        let error = await #expect(throws: ClientError.self) { try await iterator.next() }
        #expect(error?.message == "This transport has no event streams, which live queries need.")
    }

    @Test func aDroppedIteratorEndsTheStream() async throws {
        let scripted = StreamingClient()
        scripted.transport.whenOpened(1) { $0.checkpoint(["q1": "a"], ready: true) }
        do {
            var iterator = try tasks(scripted).makeAsyncIterator()
            #expect(try await read(1, &iterator) == ["ready"])
        }
        let stream = scripted.transport.streams[0]
        try await waiting(until: "the stream ends", hearing: [stream]) { stream.hasEnded }
    }

    @Test func recordsAreKeptCurrent() async throws {
        let scripted = StreamingClient()
        scripted.transport.whenOpened(1) { stream in
            stream.changes("initial", Self.change("q1", "changed", 1), Self.change("q1", "changed", 2))
            stream.checkpoint(["q1": "a"], ready: true)
        }
        var iterator = try tasks(scripted).only([.created]).records.makeAsyncIterator()
        let begun = try await iterator.next()
        #expect(begun?.sorted().map(\.id.id) == ["1", "2"])
        let stream = scripted.transport.streams[0]
        #expect(stream.subscriptions["q1"]?.contains("events") == false)
        // Repeats say nothing; a commit is one change.
        stream.changes("resume", Self.change("q1", "changed", 1), Self.gone("q1", "removed", 9))
        stream.changes("live", Self.change("q1", "created", 3), Self.gone("q1", "deleted", 1))
        let next = try await iterator.next()
        #expect(next?.sorted().map(\.id.id) == ["2", "3"])
        #expect(next?.count == 2 && next?.isEmpty == false)
        let third = next?[try id(3)]
        #expect(third?.revision == 1)
    }
}
