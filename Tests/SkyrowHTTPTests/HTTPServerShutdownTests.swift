import NIOCore
import SkyrowHTTP
import SkyrowTestSupport
import Testing

@Suite struct HTTPServerShutdownTests {
    @Test func whatWasAcceptedIsFinished() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await server.shutDown(whileResponding: connection, from: responder)
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func idleConnectionsAreClosed() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/a")
                _ = try await connection.response()
                await server.shutDown()
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func workThatDoesNotEndIsCutOff() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder, limits: HTTPLimits(shutdown: .milliseconds(100))) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                try await responder.waiting.value()
                await server.shutDown()
                try await responder.cancelled.value()
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aCancelledServerClosesItsConnectionsAtOnce() async throws {
        let responder = ScriptedResponder()
        let listening = Gate<Int>("the server to listen")
        let server = HTTPServer(
            host: "127.0.0.1",
            port: 0,
            limits: HTTPLimits().waitingForBusyMachines,
            responder: responder,
            logger: .silent,
            onRunning: { listening.open($0) }
        )
        let serving = Task { try await server.run() }
        try await withConnection(port: try await listening.value()) { connection in
            try await connection.get("/wait")
            try await responder.waiting.value()
            serving.cancel()
            #expect(try await connection.isClosedByServer())
        }
        try await waiting(for: "the server to end") { try await serving.value }
        try await responder.cancelled.value()
    }

    @Test func underLoadEveryRequestTakenUpIsAnswered() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            let responses = try await withThrowingTaskGroup(of: Int.self) { clients in
                for _ in 0..<32 {
                    clients.addTask { try await responsesUntilClosed(port: server.port) }
                }
                try await responder.busy.value()
                await server.shutDown()
                return try await clients.reduce(0, +)
            }
            #expect(responses == responder.requests)
        }
    }
}

/// Sends one request after another until the server closes the connection; returns how many were answered.
private func responsesUntilClosed(port: Int) async throws -> Int {
    try await withConnection(port: port) { connection in
        var responses = 0
        while true {
            do {
                try await connection.post("/echo", "hello")
                let response = try await connection.response()
                #expect(response.body == "hello")
                responses += 1
                if response["connection"] == "close" { return responses }
            } catch {
                // The server closed the idle connection while the request was on its way, and has not seen it.
                return responses
            }
        }
    }
}

extension TestServer {
    /// Shuts down while a request is being answered, and requires that no other client is let in and that its response comes.
    func shutDown(whileResponding connection: RawConnection, from responder: ScriptedResponder) async throws {
        try await connection.get("/wait")
        try await responder.waiting.value()
        await shutDown()
        await #expect(throws: (any Error).self) {
            // The listening socket closes soon after; until then connections may still be accepted.
            // Only a wait in vain is no error of the connection.
            do {
                try await waiting(until: "no connection is accepted") {
                    try await withConnection(port: port) { _ in }
                    return false
                }
            } catch let error as WaitTimedOut {
                Issue.record(error)
            }
        }
        responder.gate.open()
        let response = try await connection.response()
        #expect(response.body == "done")
        #expect(response["connection"] == "close")
    }
}
