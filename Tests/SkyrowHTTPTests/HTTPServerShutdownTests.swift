import NIOCore
import SkyrowHTTP
import Testing

@Suite struct HTTPServerShutdownTests {
    @Test func whatWasAcceptedIsFinished() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/wait")
                await responder.waiting.value()
                await server.shutDown()
                await #expect(throws: (any Error).self) {
                    // The listening socket closes soon after; until then connections may still be accepted.
                    while true { try await withConnection(port: server.port) { _ in } }
                }
                responder.gate.open()
                let answer = try await connection.answer()
                #expect(answer.body == "done")
                #expect(answer["connection"] == "close")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func idleConnectionsAreClosed() async throws {
        try await withServer(ScriptedResponder()) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/a")
                _ = try await connection.answer()
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
                await responder.waiting.value()
                await server.shutDown()
                await responder.cancelled.value()
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func underLoadEveryRequestSentIsAnswered() async throws {
        let responder = ScriptedResponder()
        try await withServer(responder, threads: 2) { server in
            try await withThrowingTaskGroup(of: Void.self) { clients in
                for _ in 0..<32 {
                    clients.addTask {
                        try await withConnection(port: server.port) { connection in
                            while true {
                                try await connection.post("/echo", "hello")
                                let answer = try await connection.answer()
                                #expect(answer.body == "hello")
                                if answer["connection"] == "close" { return }
                            }
                        }
                    }
                }
                await responder.busy.value()
                await server.shutDown()
                try await clients.waitForAll()
            }
        }
    }
}
