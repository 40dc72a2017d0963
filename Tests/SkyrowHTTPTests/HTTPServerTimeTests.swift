import NIOCore
import SkyrowHTTP
import SkyrowTestSupport
import Testing

@Suite struct HTTPServerTimeTests {
    @Test(arguments: ["", "GET /a HTTP/1.1\r\nhost", "GET /a HTTP/1.1\r\nhost: x\r\n"])
    func aConnectionWithoutAWholeHeadIsClosed(sent: String) async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(firstHead: .milliseconds(50))) { server in
            try await withConnection(port: server.port) { connection in
                if !sent.isEmpty { try await connection.send(sent) }
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func anIdleConnectionIsClosed() async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(idle: .milliseconds(500))) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/a")
                #expect(try await connection.response().status == 200)
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func workThatTakesTooLongIsCancelledAndAnswersInItsOwnWords() async throws {
        let responder = ScriptedResponder()
        // However late it answers then.
        let limits = HTTPLimits(response: .milliseconds(500), cancellation: .hours(1))
        try await withServer(responder, limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                let response = try await connection.response()
                #expect(response.body == "cancelled")
                try await connection.get("/a")
                #expect(try await connection.response().body == "GET /a")
            }
        }
    }

    @Test func workThatDoesNotHeedItsCancellationIsAnsweredFor() async throws {
        let responder = ScriptedResponder()
        let limits = HTTPLimits(response: .milliseconds(50), cancellation: .milliseconds(50))
        try await withServer(responder, limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/deaf")
                let response = try await connection.response()
                #expect(response.status == 503)
                #expect(response.body == "responseTimeout")
                #expect(try await connection.isClosedByServer())
            }
            responder.gate.open()
        }
    }

    @Test func workIsCancelledWhenItsClientResetsTheConnection() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await resetAfterSending("GET /wait HTTP/1.1\r\nhost: x\r\n\r\n", port: server.port) {
                try await responder.waiting.value()
            }
            try await responder.cancelled.value()
        }
    }

    /// An orderly close looks like that of a client which only stops sending.
    @Test func workIsCancelledWhenItsClientClosesTheConnection() async throws {
        let responder = ScriptedResponder()
        let limits = HTTPLimits(response: .seconds(3600), departureCheck: .milliseconds(20))
        try await withServer(responder, limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                try await responder.waiting.value()
            }
            try await responder.cancelled.value()
        }
    }

    @Test(arguments: [true, false])
    func aClientThatOnlyStopsSendingIsAskedAndAnswered(isModern: Bool) async throws {
        let responder = ScriptedResponder()
        let limits = HTTPLimits(departureCheck: .milliseconds(20))
        try await withServer(responder, limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                let version = isModern ? "1.1" : "1.0"
                try await connection.send("GET /wait HTTP/\(version)\r\nhost: x\r\nconnection: keep-alive\r\n\r\n")
                connection.finishSending()
                try await responder.waiting.value()
                if isModern { #expect(try await connection.response().status == 102) }
                responder.gate.open()
                var response = try await connection.response()
                while isModern, response.status == 102 { response = try await connection.response() }
                #expect(response.body == "done")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aClientThatDoesNotReadGetsNoFurtherAnswersMade() async throws {
        let responder = ScriptedResponder()
        let limits = HTTPLimits(connections: 1, writeStall: .milliseconds(100))
        try await withServer(responder, limits: limits) { server in
            try await withStalledReader(port: server.port) { stalled in
                try await stalled.send(String(repeating: "GET /big HTTP/1.1\r\nhost: x\r\n\r\n", count: 20))
                try await responder.waiting.value()
                // The one connection there may be is free again once the stalled one was given up.
                try await waiting(until: "the stalled connection is given up") {
                    // A refused connection may close under the request.
                    let status = try? await withConnection(port: server.port) { connection in
                        try await connection.get("/a")
                        return try await connection.response().status
                    }
                    return status == 200
                }
            }
            // With the channel's buffer full of the first response, the second was not begun.
            #expect(responder.requests == 2)
        }
    }

    @Test func aClientThatReadsSlowlyGetsAllOfIt() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                for _ in 0..<3 { try await connection.get("/big") }
                for _ in 0..<3 { #expect(try await connection.response().body.utf8.count == 4 << 20) }
            }
        }
    }
}
