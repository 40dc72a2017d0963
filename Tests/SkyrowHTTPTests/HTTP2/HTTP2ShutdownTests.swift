import NIOCore
import NIOHTTP2
import Testing

@testable import SkyrowHTTP

@Suite struct HTTP2ShutdownTests {
    @Test func requestsUnderWayAreAnsweredBeforeTheConnectionCloses() async throws {
        let responder = ScriptedResponder()
        try await withHTTP2Server(responder) { server, connection in
            try await connection.get("/wait", on: 1)
            try await responder.waiting.value()
            await server.shutDown()
            // First that it will end, then where: now nothing more is taken.
            while connection.goAways.count < 2 { try await connection.receive() }
            responder.gate.open()
            #expect(try await connection.response(on: 1).body == "done")
            try await connection.waitForClose()
            #expect(connection.goAways.map(\.last) == [.maxID, 1, 1])
            #expect(connection.goAways.allSatisfy { $0.code == .noError })
        }
    }

    /// A large response leaves whole, though it is far from read when its stream ends.
    @Test func aLargeAnswerIsReadWholeDuringShutdown() async throws {
        let responder = ScriptedResponder()
        // However slowly the machine lets the client read.
        let limits = HTTPLimits(linger: .seconds(120), shutdown: .seconds(120))
        try await withHTTP2Server(responder, limits: limits) { server, connection in
            try await connection.get("/big", on: 1)
            try await responder.waiting.value()
            await server.shutDown()
            #expect(try await connection.response(on: 1).body.utf8.count == 4 << 20)
            try await connection.waitForClose()
        }
    }

    @Test func aClientThatDoesNotAnswerDoesNotHoldUpTheShutdown() async throws {
        let limits = HTTPLimits(linger: .milliseconds(50))
        try await withServer(ScriptedResponder(), limits: limits, certificate: TestCertificate().server()) { server in
            try await withConnection(port: server.port) { _ in await server.shutDown() }
        }
    }

    struct Row: Sendable {
        enum Event: Sendable {
            case begin(open: Int)
            case arrived
            case closed(open: Int)
        }
        var event: Event
        var step: GoAwaySequence.Step?

        init(_ event: Event, _ step: GoAwaySequence.Step?) {
            self.event = event
            self.step = step
        }
    }

    @Test(arguments: [
        // Nothing under way.
        [Row(.begin(open: 0), .end), Row(.begin(open: 0), nil), Row(.arrived, nil), Row(.closed(open: 0), nil)],
        // A request under way, and another that crossed the announcement.
        [
            Row(.begin(open: 1), .announce), Row(.closed(open: 1), nil), Row(.arrived, .nameLast), Row(.arrived, nil),
            Row(.closed(open: 1), nil), Row(.closed(open: 0), .end), Row(.closed(open: 0), nil),
        ],
        // The last one ends before the client has said that it knows.
        [Row(.begin(open: 1), .announce), Row(.closed(open: 0), .end), Row(.arrived, nil)],
        // Nothing was announced.
        [Row(.arrived, nil), Row(.closed(open: 0), nil), Row(.begin(open: 1), .announce)],
    ])
    func theEndIsAnnouncedThenNamedThenDone(_ rows: [Row]) {
        var sequence = GoAwaySequence()
        for row in rows {
            let step =
                switch row.event {
                case .begin(let open): sequence.begin(openStreams: open)
                case .arrived: sequence.announcementArrived()
                case .closed(let open): sequence.streamClosed(openStreams: open)
                }
            #expect(step == row.step, "\(row.event)")
        }
    }
}
