import NIOCore
import NIOHTTP2
import SkyrowActions
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Event streams over HTTP/1.1 and HTTP/2.
@Suite struct EventStreamTests {
    /// Reads events from the chunks of a response.
    private final class Events {
        let connection: RawConnection
        private var text = ""

        init(_ connection: RawConnection) {
            self.connection = connection
        }

        /// The lines of the next event or comment; nil at the end of the stream.
        func next() async throws -> [String]? {
            while true {
                if let end = text.firstRange(of: "\n\n") {
                    defer { text = String(text[end.upperBound...]) }
                    return text[..<end.lowerBound].split(separator: "\n", omittingEmptySubsequences: false).map(
                        String.init
                    )
                }
                let more = try await connection.chunk()
                if more.isEmpty { return nil }
                text += more
            }
        }
    }

    private func withStream(
        _ limits: LiveLimits = LiveLimits(heartbeat: .hours(1)),
        http: HTTPLimits = HTTPLimits(),
        drain: Drain = Drain(),
        _ body: (LiveResponder, Events, TestServer) async throws -> Void
    ) async throws {
        let responder = LiveResponder(limits, drain: drain)
        var http = http
        http.live = limits
        try await withServer(responder, limits: http) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/stream", headers: [("accept", "text/event-stream")])
                let head = try await connection.response(toHead: true)
                #expect(head.status == 200)
                #expect(head["content-type"] == "text/event-stream")
                #expect(head["transfer-encoding"] == "chunked")
                #expect(head["cache-control"] == "no-store")
                let events = Events(connection)
                #expect(try await events.next() == ["retry: 2000"])
                #expect(try await events.next() == ["event: response", #"data: {"id":1}"#])
                try await body(responder, events, server)
            }
        }
    }

    @Test func messagesAreEventsWithTheTokenAsTheirID() async throws {
        try await withStream { responder, events, _ in
            let stream = try await responder.stream()
            stream.send(.test("a"))
            stream.send(LiveMessage(.checkpoint, parameters: [Array("{\n\"ready\":true}".utf8)], token: "AQ-_1"))
            #expect(try await events.next() == ["event: live:changes", #"data: {"text":"a"}"#])
            #expect(try await events.next() == ["event: live:checkpoint", #"data: { "ready":true}"#, "id: AQ-_1"])
            for index in 0..<300 { stream.send(.test("\(index)")) }
            for index in 0..<300 {
                #expect(try await events.next() == ["event: live:changes", "data: {\"text\":\"\(index)\"}"])
            }
        }
    }

    /// Over a real connection this is held together by `LiveStreamClientTests`.
    @Test func theEventsOfATicketHaveItsMark() {
        let message = LiveMessage(.checkpoint, parameters: [Array("{}".utf8)], token: "AQ")
        let event = ByteBuffer(event: message, id: EventID.text("AQ", "mark"))
        #expect(String(buffer: event) == "event: live:checkpoint\ndata: {}\nid: AQ.mark\n\n")
        #expect(String(buffer: ByteBuffer(event: message)) == "event: live:checkpoint\ndata: {}\nid: AQ\n\n")
    }

    @Test func aQuietStreamHasCommentsAndNoEnd() async throws {
        // In which it begins, even on a busy machine.
        let http = HTTPLimits(response: .seconds(3), cancellation: .seconds(2))
        // Beyond what a response may take otherwise.
        try await withStream(LiveLimits(heartbeat: .seconds(1)), http: http) { responder, events, _ in
            for _ in 0..<6 { #expect(try await events.next() == [":"]) }
            try await responder.stream().send(.test("still here"))
            var next = try await events.next()
            // Those of a busy machine's time until the message.
            while next == [":"] { next = try await events.next() }
            #expect(next == ["event: live:changes", #"data: {"text":"still here"}"#])
        }
        // Without anything to say at all.
        try await withStream(LiveLimits(heartbeat: .hours(1)), http: http) { responder, events, server in
            // A later request has exceeded the time that a response may take.
            try await withConnection(port: server.port) { other in
                try await other.get("/never")
                _ = try await other.response()
            }
            try await responder.stream().send(.test("still here"))
            #expect(try await events.next() == ["event: live:changes", #"data: {"text":"still here"}"#])
        }
    }

    @Test func itEndsWithTheReason() async throws {
        let rows: [(LiveClosure, [String])] = [
            (.sessionEnded, ["event: close", #"data: {"code":4401,"reason":"The session has ended; log in again."}"#]),
            (
                .restarting(retryAfter: .milliseconds(1500)),
                ["retry: 1500", "event: close", #"data: {"code":1012,"retry_after":1.5}"#]
            ),
        ]
        for (reason, lines) in rows {
            try await withStream { responder, events, _ in
                let stream = try await responder.stream()
                stream.send(.test("last"))
                stream.close(reason)
                #expect(try await events.next() == ["event: live:changes", #"data: {"text":"last"}"#])
                #expect(try await events.next() == lines)
                #expect(try await events.next() == nil)
                try await waiting(until: "it is given back") {
                    responder.connections.statistics
                        == LiveStatistics(webSockets: 0, eventStreams: 0, bufferBytes: 0, laggings: 0)
                }
            }
        }
    }

    @Test func aShutdownEndsItAndSaysWhenToComeBack() async throws {
        try await withStream { _, events, server in
            await server.shutDown()
            let last = try #require(try await events.next())
            #expect(
                last.first?.hasPrefix("retry: ") == true && last[1] == "event: close"
                    && last[2].hasPrefix(#"data: {"code":1012"#)
            )
            #expect(try await events.next() == nil)
        }
    }

    @Test func aSlowReaderFallsBehind() async throws {
        let limits = LiveLimits(buffer: 100_000, ping: .hours(1), silence: .hours(2), lagging: .hours(1))
        // On a busy machine it takes long until nothing more fits on the way.
        try await withStream(limits, http: HTTPLimits(writeStall: .hours(1))) { responder, events, _ in
            let stream = try await responder.stream()
            for _ in 0..<3 { stream.send(.test("early")) }
            try await waiting(until: "they are on their way") { responder.connections.statistics.bufferBytes == 0 }
            try await waiting(until: "it has fallen behind") {
                stream.send(.ofBytes(50_000))
                return responder.connections.statistics.laggings > 0
            }
            #expect(responder.connections.statistics.bufferBytes <= 400_000)
            // What had left before arrives.
            for _ in 0..<3 { #expect(try await events.next()?.last == #"data: {"text":"early"}"#) }
        }
    }

    /// Some are written by the event loop and some by the task of the response, which waits for the client.
    @Test func everyMessageArrivesInOrderHoweverTheClientReads() async throws {
        let limits = LiveLimits(
            buffer: 100_000_000,
            ping: .hours(1),
            silence: .hours(2),
            lagging: .hours(1),
            heartbeat: .milliseconds(1)
        )
        try await withStream(limits, http: HTTPLimits(writeStall: .hours(1))) { responder, events, _ in
            let stream = try await responder.stream()
            var random = SeededGenerator.forTest()
            var sent: [String] = []
            var place = 0
            func send(_ count: Int) {
                for _ in 0..<count {
                    // Short ones, those that are a chunk of several buffers, and more in a row than the system takes.
                    let length = [10, 400, 20_000, 100_000].randomElement(using: &random) ?? 0
                    sent.append("\(sent.count) " + String(repeating: "x", count: length))
                    #expect(stream.send(.test(sent[sent.count - 1]), in: 0))
                }
            }
            func read(_ count: Int) async throws {
                for _ in 0..<count {
                    var next = try await events.next()
                    // A heartbeat comes where nothing was written for a moment.
                    while next == [":"] { next = try await events.next() }
                    try #require(next == ["event: live:changes", "data: {\"text\":\"\(sent[place])\"}"])
                    place += 1
                }
            }
            for _ in 0..<20 {
                send(Int.random(in: 1...30, using: &random))
                try await read(Int.random(in: 0...(sent.count - place), using: &random))
            }
            try await read(sent.count - place)
            try await waiting(until: "nothing is held") { responder.connections.statistics.bufferBytes == 0 }
            #expect(responder.connections.statistics.laggings == 0)
        }
    }

    @Test func aMessageHasItsOwnEventWhateverCameBefore() {
        let connections = LiveConnections()
        let (first, second) = (LiveMessage.test("a"), LiveMessage.test("a", token: "AQ"))
        for message in [first, first, second, first, .test("b"), second] {
            #expect(connections.event(of: message) == ByteBuffer(event: message))
        }
    }

    @Test func itIsGivenUpWhenTheClientLeaves() async throws {
        let responder = LiveResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/stream")
                #expect(try await connection.response(toHead: true).status == 200)
                #expect(responder.connections.statistics.eventStreams == 1)
            }
            try await waiting(until: "it is given back") { responder.connections.statistics.eventStreams == 0 }
        }
    }

    /// An orderly close looks like that of a client which only stops sending.
    @Test func itIsGivenUpSoonWhenTheClientClosesTheConnection() async throws {
        let responder = LiveResponder(LiveLimits(heartbeat: .hours(1)))
        try await withServer(responder, limits: HTTPLimits(departureCheck: .milliseconds(20))) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/stream")
                #expect(try await connection.response(toHead: true).status == 200)
                // With unread bytes the system would send a reset by itself.
                #expect(try await connection.chunk().hasSuffix("data: {\"id\":1}\n\n"))
            }
            try await waiting(until: "it is given back") { responder.connections.statistics.eventStreams == 0 }
        }
    }

    @Test func aClientThatOnlyStopsSendingIsAskedAndGetsItsEvents() async throws {
        let http = HTTPLimits(departureCheck: .milliseconds(20))
        try await withStream(LiveLimits(heartbeat: .hours(1)), http: http) { responder, events, _ in
            events.connection.finishSending()
            for _ in 0..<3 { #expect(try await events.next() == [":"]) }
            try await responder.stream().send(.test("still here"))
            var next = try await events.next()
            while next == [":"] { next = try await events.next() }
            #expect(next == ["event: live:changes", #"data: {"text":"still here"}"#])
        }
    }

    @Test func overHTTP2ItIsTheSame() async throws {
        let certificate = try await TestCertificate()
        let responder = LiveResponder()
        try await withServer(responder, certificate: certificate.server()) { server in
            try await withHTTP2(port: server.port, tls: try certificate.client(protocols: ["h2"])) { connection in
                try await connection.get("/stream", on: 1)
                let stream = try await responder.stream()
                stream.send(.test("a"))
                stream.close(.sessionEnded)
                let response = try await connection.response(on: 1)
                #expect(response.status == 200)
                #expect(response.body.contains("event: live:changes\ndata: {\"text\":\"a\"}\n\n"))
                #expect(
                    response.body.hasSuffix(
                        "event: close\ndata: {\"code\":4401,\"reason\":\"The session has ended; log in again.\"}\n\n"
                    )
                )
            }
        }
    }
}
