import Foundation
import NIOCore
import NIOSSL
import SkyrowHTTP
import SkyrowModel
import SkyrowTestSupport
import Testing

/// HTTP/1.1 over TLS.
@Suite struct TLSServerTests {
    @Test func requestsAreAnsweredOneAfterAnother() async throws {
        let certificate = try await TestCertificate()
        try await withServer(ScriptedResponder(), certificate: certificate.server()) { server in
            try await withConnection(port: server.port, tls: certificate.client()) { connection in
                try await connection.get("/a")
                #expect(try await connection.response().body == "GET /a")
                let body = String(repeating: "x", count: 300_000)
                try await connection.post("/echo", body)
                #expect(try await connection.response().body == body)
                try await connection.get("/big")
                #expect(try await connection.response().body.utf8.count == 4 << 20)
                try await connection.get("/b", headers: [("Connection", "close")])
                #expect(try await connection.response().body == "GET /b")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func answersOnlyOverTLSTellBrowsersToComeByIt() async throws {
        let certificate = try await TestCertificate()
        try await withService(certificate: certificate.server()) { service in
            try await withConnection(port: service.port, tls: certificate.client()) { connection in
                try await connection.get("/healthz")
                #expect(try await connection.response()["strict-transport-security"] == "max-age=3600")
            }
        }
        let proxies = try TrustedProxies([#require(AddressRange("127.0.0.1"))])
        try await withService(proxies: proxies) { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get("/healthz")
                #expect(try await connection.response()["strict-transport-security"] == nil)
                try await connection.get("/healthz", headers: [("X-Forwarded-Proto", "https")])
                #expect(try await connection.response()["strict-transport-security"] == "max-age=3600")
            }
        }
    }

    @Test(arguments: [
        (TLSVersion.tlsv11, false), (.tlsv12, true), (.tlsv13, true),
    ])
    func onlyTLS12AndLaterIsSpoken(version: TLSVersion, isSpoken: Bool) async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client { configuration in
            configuration.minimumTLSVersion = version
            configuration.maximumTLSVersion = version
        }
        try await expectHandshake(isSpoken, certificate, client)
    }

    @Test(arguments: [
        (NIOTLSCipher.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true),
        (.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, true),
        (.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true),
        (.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false),
        (.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, false),
    ])
    func ciphersWithoutAuthenticationAreRefused(cipher: NIOTLSCipher, isTaken: Bool) async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client { configuration in
            configuration.maximumTLSVersion = .tlsv12
            configuration.cipherSuiteValues = [cipher]
        }
        try await expectHandshake(isTaken, certificate, client)
    }

    private func expectHandshake(_ succeeds: Bool, _ certificate: TestCertificate, _ client: NIOSSLContext) async throws
    {
        try await withServer(ScriptedResponder(), certificate: certificate.server()) { server in
            func response() async throws -> String {
                try await withConnection(port: server.port, tls: client) { connection in
                    try await connection.get("/a")
                    return try await connection.response().body
                }
            }
            if succeeds {
                let body = try await response()
                #expect(body == "GET /a")
            } else {
                await #expect(throws: (any Error).self) { try await response() }
            }
        }
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{ff}\u{1}\u{0}"])
    func whoeverDoesNotFinishAHandshakeIsClosed(sent: String) async throws {
        let certificate = try await TestCertificate()
        let limits = HTTPLimits(handshake: .milliseconds(100))
        try await withServer(ScriptedResponder(), limits: limits, certificate: certificate.server()) { server in
            try await withConnection(port: server.port) { connection in
                // It may be closed before that.
                if !sent.isEmpty { try? await connection.send(sent) }
                // What comes before the close is at most an alert of TLS.
                try await waiting(until: "the server has closed") { try await connection.isClosedByServer() }
            }
        }
    }

    @Test func oneConnectionTooManyIsToldSo() async throws {
        let certificate = try await TestCertificate()
        let limits = HTTPLimits(connections: 1)
        try await withServer(ScriptedResponder(), limits: limits, certificate: certificate.server()) { server in
            let client = try certificate.client()
            try await withConnection(port: server.port, tls: client) { first in
                try await first.get("/a")
                _ = try await first.response()
                try await withConnection(port: server.port, tls: client) { second in
                    let response = try await second.response()
                    #expect(response.status == 503)
                    #expect(try await second.isClosedByServer())
                }
                try await first.get("/b")
                #expect(try await first.response().body == "GET /b")
            }
        }
    }

    @Test func aClientThatClosesItsSideGetsItsAnswer() async throws {
        let certificate = try await TestCertificate()
        let responder = ScriptedResponder()
        try await withServer(responder, certificate: certificate.server()) { server in
            try await withConnection(port: server.port, tls: certificate.client()) { connection in
                try await connection.get("/wait")
                try await responder.waiting.value()
                connection.finishSending()
                responder.gate.open()
                #expect(try await connection.response().body == "done")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aRequestUnderWayIsAnsweredDuringShutdown() async throws {
        let certificate = try await TestCertificate()
        let responder = ScriptedResponder()
        try await withServer(responder, certificate: certificate.server()) { server in
            try await withConnection(port: server.port, tls: certificate.client()) { connection in
                try await server.shutDown(whileResponding: connection, from: responder)
            }
        }
    }

    // MARK: - A new certificate

    @Test func newConnectionsGetTheNewCertificateAndOldOnesGoOn() async throws {
        let certificate = try await TestCertificate(name: "first")
        let shown = try certificate.server()
        try await withServer(ScriptedResponder(), certificate: shown) { server in
            let first = try certificate.client()
            try await withConnection(port: server.port, tls: first) { old in
                try await old.get("/a")
                _ = try await old.response()
                try await certificate.make(name: "second")
                shown.reload()
                let second = try certificate.client()
                #expect(try await answers(server, second))
                let oldAnswers = try await answers(server, first)
                #expect(!oldAnswers)
                try await old.get("/b")
                #expect(try await old.response().body == "GET /b")
            }
        }
    }

    @Test func changedFilesAreNoticed() async throws {
        let certificate = try await TestCertificate(name: "first")
        let shown = try certificate.server(interval: .milliseconds(5))
        try await withServer(ScriptedResponder(), certificate: shown) { server in
            let watching = Task { try await shown.run() }
            defer { watching.cancel() }
            try await certificate.make(name: "second")
            let second = try certificate.client()
            try await waiting(until: "the second certificate is shown") { try await answers(server, second) }
        }
    }

    /// Whether a client that trusts one certificate gets a response.
    private func answers(_ server: TestServer, _ client: NIOSSLContext) async throws -> Bool {
        do {
            return try await withConnection(port: server.port, tls: client) { connection in
                try await connection.get("/a")
                return try await connection.response().status == 200
            }
        } catch {
            return false
        }
    }
}
