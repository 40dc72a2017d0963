import NIOCore
import NIOHTTP2
import NIOSSL
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What clients that read nothing may keep in memory.
@Suite struct UnreadResponsesTests {
    /// Waits until a server that takes one connection takes another.
    private func waitForRoom(on server: TestServer, tls: NIOSSLContext) async throws {
        try await waiting(until: "another connection is let in") {
            let response = try? await withConnection(port: server.port, tls: tls) { connection in
                try await connection.get("/a")
                return try await connection.response()
            }
            return response?.status == 200
        }
    }

    @Test(arguments: [
        (0, 30_000), (1000, 30_000), (1001, 1000), (2000, 1000), (2001, 0),
    ])
    func patienceEndsWhereMemoryDoes(bytes: Int, milliseconds: Int64) {
        let patience = UnreadResponses.patience(bytes: bytes, limit: 1000, usual: .seconds(30))
        #expect(patience == .milliseconds(milliseconds))
        #expect(UnreadResponses.patience(bytes: bytes, limit: 1000, usual: .zero) == .zero)
    }

    /// Each answer has 4 MB, most of which stays with the server; a client would have an hour to begin to read.
    @Test func whoReadsNothingIsDisconnectedWhenMemoryRunsOut() async throws {
        let limits = HTTPLimits(unreadResponses: 500_000, cancellation: .milliseconds(20), writeStall: .hours(1))
        let responder = ScriptedResponder()
        try await withServer(responder, limits: limits) { server in
            try await withStalledReader(port: server.port) { first in
                try await first.send("GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
                try await withStalledReader(port: server.port) { second in
                    try await second.send("GET /big HTTP/1.1\r\nhost: x\r\n\r\n")
                    try await first.waitForClose()
                    try await second.waitForClose()
                }
            }
            // Whoever reads is served as ever.
            try await withConnection(port: server.port) { connection in
                try await connection.get("/big")
                #expect(try await connection.response().body.utf8.count == 4 << 20)
            }
        }
    }

    @Test func overHTTP2TheStreamThatIsNotReadEnds() async throws {
        let limits = HTTPLimits(unreadResponses: 500_000, cancellation: .milliseconds(20), writeStall: .hours(1))
        try await withHTTP2Server(limits: limits, window: 10_000) { _, connection in
            try await connection.get("/big", on: 1)
            #expect(try await connection.reset(of: 1) == .cancel)
            try await connection.get("/a", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /a")
        }
    }

    /// The whole response may leave at once as far as HTTP/2 is concerned, and then waits for its client all the same.
    @Test func overHTTP2AConnectionThatIsNotReadEnds() async throws {
        let limits = HTTPLimits(
            unreadResponses: 500_000,
            connections: 1,
            idle: .hours(1),
            cancellation: .milliseconds(20),
            writeStall: .hours(1)
        )
        let certificate = try await TestCertificate()
        let responder = ScriptedResponder()
        try await withServer(responder, limits: limits, certificate: certificate.server()) { server in
            let client = try certificate.client(protocols: ["h2"])
            try await withHTTP2(port: server.port, tls: client, receiveBuffer: 16 * 1024) { unread in
                try await unread.send(.rootStream, .windowUpdate(windowSizeIncrement: 1 << 30))
                try await unread.get("/big", on: 1)
                try await responder.waiting.value()
                try await waitForRoom(on: server, tls: certificate.client())
                try await unread.waitForClose()
            }
        }
    }
}
