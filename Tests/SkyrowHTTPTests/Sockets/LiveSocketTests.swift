import NIOCore
import SkyrowActions
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Messages that a service sends by itself over WebSockets.
@Suite struct LiveSocketTests {
    private func withSocket(
        _ limits: LiveLimits = LiveLimits(),
        http: HTTPLimits = HTTPLimits(),
        _ body: (LiveResponder, SocketClient, Int) async throws -> Void
    ) async throws {
        let responder = LiveResponder(limits)
        var http = http
        http.live = limits
        try await withServer(responder, limits: http) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(socketHead(path: "/socket"))
                #expect(try await connection.response().status == 101)
                try await body(responder, SocketClient(connection), server.port)
            }
        }
    }

    @Test func messagesArriveAsNotificationsInOrder() async throws {
        try await withSocket { responder, socket, _ in
            let outlet = try await responder.socket()
            for index in 0..<500 { outlet.send(LiveMessage.test("\(index)")) }
            outlet.send(LiveMessage(.checkpoint, parameters: [Array(#"{"ready":true}"#.utf8)], token: "AQ"))
            for index in 0..<500 {
                let message = try await socket.nextText()
                #expect(message["jsonrpc"].string == "2.0")
                #expect(message["method"].string == "live:changes")
                #expect(message["params"]["text"].string == "\(index)")
                #expect(message["id"] == .null)
            }
            #expect(try await socket.nextText()["method"].string == "live:checkpoint")
            try await waiting(until: "nothing waits") { responder.connections.statistics.bufferBytes == 0 }
        }
    }

    @Test func longMessagesArriveWhole() async throws {
        try await withSocket { responder, socket, _ in
            let outlet = try await responder.socket()
            for count in [0, 80, 90, 200, 65_400, 65_600, 500_000, 3_000_000] {
                outlet.send(LiveMessage.ofBytes(count))
                #expect(try await socket.nextText()["params"]["text"].string?.utf8.count == count)
            }
        }
    }

    /// A client that reads nothing falls behind, loses what waited, and has room again when it reads; the responses to its calls come.
    @Test func aSlowReaderFallsBehindAndCatchesUp() async throws {
        let limits = LiveLimits(buffer: 100_000, ping: .hours(1), silence: .hours(2), lagging: .hours(1))
        try await withSocket(limits) { responder, socket, port in
            let outlet = try await responder.socket()
            var sent = 0
            // What the systems on both sides keep is filled first.
            try await waiting(until: "it falls behind") {
                outlet.send(LiveMessage.ofBytes(50_000))
                sent += 1
                return responder.events.contains(.fellBehind)
            }
            #expect(responder.connections.statistics.bufferBytes <= 300_000)
            #expect(responder.connections.statistics.laggings == 1)
            // Others are served.
            try await withConnection(port: port) { other in
                try await other.get("/")
                #expect(try await other.response().body == "hello")
            }
            // Beside the reading, which may come to the end of what there is before this is noted.
            async let again: Void = {
                try await waiting(until: "it has caught up", hearing: [responder]) {
                    responder.events.contains(.caughtUp)
                }
                outlet.send(LiveMessage.test("again"))
            }()
            var received = 0
            while true {
                let text = try await socket.nextText()["params"]["text"].string
                if text == "again" { break }
                #expect(text?.utf8.count == 50_000)
                received += 1
            }
            try await again
            #expect(received < sent)
        }
    }

    @Test func aClientThatLagsForTooLongIsClosed() async throws {
        let limits = LiveLimits(buffer: 100_000, lagging: .milliseconds(400))
        try await withSocket(limits) { responder, socket, _ in
            let outlet = try await responder.socket()
            try await waiting(until: "the connection has ended") {
                outlet.send(LiveMessage.ofBytes(50_000))
                return responder.events.contains(.ended)
            }
            #expect(responder.events.contains(.fellBehind))
            // It reads what there is, and then the reason, if that still fitted in.
            let code: UInt16?
            do {
                code = try await socket.closure().code
            } catch is ConnectionEnded {
                code = 4408
            } catch is IOError {
                code = 4408
            }
            #expect(code == 4408)
            let rest = responder.connections.statistics
            #expect(rest.webSockets == 0 && rest.bufferBytes == 0 && rest.laggings > 0, "\(rest)")
        }
    }

    /// The memory for all of them is full: the one that has most of it falls behind, and the others go on.
    @Test func ofAllTheLargestFallsBehind() async throws {
        let limits = LiveLimits(
            buffer: 10_000_000,
            memory: 3_000_000,
            ping: .hours(1),
            silence: .hours(2),
            lagging: .hours(1)
        )
        try await withSocket(limits) { responder, socket, port in
            let slow = try await responder.socket()
            try await withConnection(port: port) { connection in
                try await connection.send(socketHead(path: "/socket"))
                #expect(try await connection.response().status == 101)
                let reader = SocketClient(connection)
                let quick = try await responder.socket(1)
                var sent = 0
                while !responder.events.contains(.fellBehind) {
                    slow.send(LiveMessage.ofBytes(100_000))
                    quick.send(LiveMessage.test("\(sent)"))
                    #expect(try await reader.nextText()["params"]["text"].string == "\(sent)")
                    sent += 1
                    try #require(sent < 1000)
                }
                #expect(responder.connections.statistics.bufferBytes <= 3_200_000)
                #expect(responder.connections.statistics.laggings == 1)
            }
        }
    }

    @Test func theServiceClosesAfterWhatItHasSent() async throws {
        for (reason, code) in [
            (.sessionEnded, 4401), (.tooSlow, 4408), (.restarting(retryAfter: .seconds(3)), 1012),
        ] as [(LiveClosure, UInt16)] {
            try await withSocket { responder, socket, _ in
                let outlet = try await responder.socket()
                outlet.send(LiveMessage.test("last"))
                outlet.close(reason)
                #expect(try await socket.nextText()["params"]["text"].string == "last")
                let closure = try await socket.closure()
                #expect(closure.code == code)
                if code == 1012 { #expect(closure.reason == #"{"retry_after":3.0}"#) }
                try await socket.sendClose(code)
                #expect(try await socket.connection.isClosedByServer())
                try await waiting(until: "the conversation has ended", hearing: [responder]) {
                    responder.events == [.ended]
                }
            }
        }
    }

    @Test func theLargestSharesAreChosen() {
        let shares = [("a", 10), ("b", 50), ("c", 30)].map { (share: $0.0, bytes: $0.1) }
        #expect(LiveMemory.largest(shares, over: 100) == [])
        #expect(LiveMemory.largest(shares, over: 89) == ["b"])
        #expect(LiveMemory.largest(shares, over: 39) == ["b", "c"])
        #expect(LiveMemory.largest(shares, over: 0) == ["b", "c", "a"])
    }
}
