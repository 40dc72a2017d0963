import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP
@testable import SkyrowRemote

/// Requests to other services, for which our own server stands.
@Suite struct TransferEngineTests {
    private func fetcher(
        _ engine: TransferEngine,
        exceptions: [AddressRange] = [],
        proxy: WebProxy? = nil,
        certificate: TestCertificate? = nil,
        timeout: Duration = patience
    ) throws -> WebFetcher {
        try WebFetcher(exceptions, proxy, certificate?.files.certificate, timeout, engine)
    }

    private func plain(_ path: String, _ server: TestServer) throws -> WebRequest {
        WebRequest(try #require(WebAddress("http://127.0.0.1:\(server.port)\(path)", allowsLoopback: true)))
    }

    private func secure(_ path: String, _ port: Int, host: String = "localhost") throws -> WebRequest {
        WebRequest(try #require(WebAddress("https://\(host):\(port)\(path)")))
    }

    private func text(_ fetcher: WebFetcher, _ request: WebRequest) async throws -> String {
        String(decoding: try await fetcher.response(to: request).bytes, as: UTF8.self)
    }

    private func failure(_ fetcher: WebFetcher, _ request: WebRequest) async -> String {
        do throws(WebFailure) {
            return "a response with \(try await fetcher.response(to: request).status)"
        } catch {
            return error.description
        }
    }

    private static let loopback = AddressRange("127.0.0.0/8").map { [$0] } ?? []

    // MARK: Connections

    @Test func aConnectionIsUsedAgain() async throws {
        let counts = HTTPServerCounts()
        try await withServer(ScriptedResponder(), counts: counts) { server in
            let fetcher = try fetcher(TransferEngine())
            for number in 1...5 {
                let body = try await text(fetcher, plain("/\(number)", server))
                #expect(body == "GET /\(number)")
            }
            #expect(counts.statistics.accepted == 1)
        }
    }

    @Test func transfersShareAConnectionOfHTTP2() async throws {
        let certificate = try await TestCertificate()
        let counts = HTTPServerCounts()
        let responder = ScriptedResponder()
        try await withServer(responder, certificate: certificate.server(), counts: counts) { server in
            let fetcher = try fetcher(TransferEngine(), exceptions: Self.loopback, certificate: certificate)
            let first = try await text(fetcher, secure("/", server.port))
            #expect(first == "GET /")
            let request = try secure("/deaf", server.port)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...20 { group.addTask { try await text(fetcher, request) } }
                try await waiting(until: "20 requests to be worked on") { responder.requests == 21 }
                responder.gate.open()
                for try await text in group { #expect(text == "done") }
            }
            #expect(counts.statistics.accepted == 1)
        }
    }

    @Test func theThreadEndsAndComesBack() async throws {
        try await withServer(ScriptedResponder()) { server in
            let engine = TransferEngine(TransferEngine.Limits(idleTime: .zero))
            let fetcher = try fetcher(engine)
            for number in 1...50 {
                let body = try await text(fetcher, plain("/\(number)", server))
                #expect(body == "GET /\(number)")
                if number.isMultiple(of: 10) {
                    try await waiting(until: "the thread of an idle engine to end") { !engine.hasThread }
                }
            }
        }
    }

    // MARK: Bounds

    @Test func aServerHasABoundedNumberOfTransfersAndConnections() async throws {
        let counts = HTTPServerCounts()
        let slow = ScriptedResponder()
        try await withServer(slow, counts: counts) { server in
            let limits = TransferEngine.Limits(transfersOfServer: 10, connectionsOfServer: 3)
            let engine = TransferEngine(limits)
            let fetcher = try fetcher(engine)
            let request = try plain("/deaf", server)
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 1...10 { group.addTask { try await text(fetcher, request) } }
                try await waiting(until: "3 requests to be worked on") { slow.requests == 3 }
                try await waiting(until: "10 transfers to be under way") { engine.count == 10 }
                #expect(await failure(fetcher, request).contains("Too many transfers"))
                // Another server has its own share.
                try await withServer(ScriptedResponder()) { other in
                    let body = try await text(fetcher, plain("/", other))
                    #expect(body == "GET /")
                }
                #expect(slow.requests == 3 && counts.statistics.accepted == 3)
                slow.gate.open()
                for try await text in group { #expect(text == "done") }
            }
            #expect(try await text(fetcher, request) == "done")
            #expect(counts.statistics.accepted == 3)
        }
    }

    @Test func allTransfersHaveABound() async throws {
        let slow = ScriptedResponder()
        try await withServer(slow) { server in
            try await withServer(ScriptedResponder()) { other in
                let fetcher = try fetcher(TransferEngine(TransferEngine.Limits(transfers: 1)))
                let first = Task { try await text(fetcher, plain("/wait", server)) }
                try await slow.waiting.value()
                let refusal = try await failure(fetcher, plain("/", other))
                #expect(refusal.contains("Too many transfers"))
                slow.gate.open()
                #expect(try await first.value == "done")
                let body = try await text(fetcher, plain("/", other))
                #expect(body == "GET /")
            }
        }
    }

    /// The wait for a connection is part of a transfer's time.
    @Test func aTransferThatWaitsForAConnectionIsGivenUp() async throws {
        let slow = ScriptedResponder()
        try await withServer(slow) { server in
            let engine = TransferEngine(TransferEngine.Limits(connectionsOfServer: 1))
            let patient = try fetcher(engine)
            let impatient = try fetcher(engine, timeout: .milliseconds(100))
            let first = Task { try await text(patient, plain("/wait", server)) }
            try await slow.waiting.value()
            let refusal = try await failure(impatient, plain("/", server))
            #expect(refusal.contains("Timeout was reached"))
            slow.gate.open()
            #expect(try await first.value == "done")
            #expect(slow.requests == 1)
        }
    }

    // MARK: Cancellation

    @Test func aCancelledTransferEndsItsConnection() async throws {
        let slow = ScriptedResponder()
        try await withServer(slow) { server in
            let fetcher = try fetcher(TransferEngine())
            let task = Task { try await failure(fetcher, plain("/wait", server)) }
            try await slow.waiting.value()
            task.cancel()
            let end = try await waiting(for: "the end of a cancelled transfer") { try await task.value }
            #expect(end.contains("was cancelled"))
            try await slow.cancelled.value()
            let body = try await text(fetcher, plain("/", server))
            #expect(body == "GET /")
        }
    }

    /// A cancellation may come before the transfer begins, while it runs, and after its end.
    @Test func transfersMayBeCancelledAtAnyMoment() async throws {
        try await withServer(ScriptedResponder()) { server in
            let fetcher = try fetcher(TransferEngine(TransferEngine.Limits(idleTime: .zero)))
            var generator = SeededGenerator.forTest()
            for _ in 1...200 {
                let pauses = Int.random(in: 0...30, using: &generator)
                let task = Task { try await failure(fetcher, plain("/", server)) }
                for _ in 0..<pauses { await Task.yield() }
                task.cancel()
                let end = try await waiting(for: "the end of a cancelled transfer") { try await task.value }
                #expect(end == "a response with 200" || end.contains("was cancelled"))
            }
            let body = try await text(fetcher, plain("/", server))
            #expect(body == "GET /")
        }
    }

    // MARK: Addresses and proxies

    /// A connection that a request of another fetcher opened is not used by one that may not connect to its address.
    @Test func keptConnectionsAreJudgedToo() async throws {
        let certificate = try await TestCertificate()
        let responder = ScriptedResponder()
        try await withServer(responder, certificate: certificate.server()) { server in
            let engine = TransferEngine()
            let request = try secure("/", server.port)
            let allowed = try fetcher(engine, exceptions: Self.loopback, certificate: certificate)
            #expect(try await allowed.response(to: request).status == 200)
            let others = try fetcher(engine, certificate: certificate)
            #expect(await failure(others, request).contains("not a public address"))
            #expect(responder.requests == 1)
            #expect(try await allowed.response(to: request).status == 200)
        }
    }

    @Test func aProxyConnectsToWhatItIsAskedFor() async throws {
        let certificate = try await TestCertificate()
        try await withServer(ScriptedResponder(), certificate: certificate.server()) { server in
            let proxy = try await ConnectProxy(to: server.port)
            let fetcher = try fetcher(
                TransferEngine(),
                proxy: WebProxy("http://127.0.0.1:\(proxy.port)"),
                certificate: certificate
            )
            // The name is resolved by the proxy alone.
            for path in ["/a", "/b"] {
                let body = try await text(fetcher, secure(path, 443, host: "id.example.org"))
                #expect(body == "GET \(path)")
            }
            #expect(proxy.requests == ["CONNECT id.example.org:443 HTTP/1.1"])
            for (host, place) in [
                ("10.0.0.1", "10.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("localhost", "loopback"),
                ("x.localhost", "loopback"),
            ] {
                let refusal = try await failure(fetcher, secure("/", 443, host: host))
                #expect(refusal.contains(place) && refusal.contains("not a public address"), "\(refusal)")
            }
            #expect(proxy.requests.count == 1)
            // A service on the same machine, in development mode.
            try await withServer(ScriptedResponder()) { plainServer in
                let body = try await text(fetcher, plain("/", plainServer))
                #expect(body == "GET /")
            }
            #expect(proxy.requests.count == 1)
            try await proxy.stop()
        }
    }

    @Test func theRefusalOfAProxyIsNamed() async throws {
        let proxy = try await ConnectProxy(to: nil)
        let fetcher = try fetcher(TransferEngine(), proxy: WebProxy("http://127.0.0.1:\(proxy.port)"))
        let failure = try await failure(fetcher, secure("/", 443, host: "id.example.org"))
        #expect(failure.contains("status 403"), "\(failure)")
        try await proxy.stop()
    }

    @Test(arguments: [
        ("http://proxy.internal:3128", true), ("http://10.0.0.1:80", true), ("http://[::1]:3128", true),
        ("http://proxy.internal", false), ("https://proxy.internal:3128", false), ("proxy.internal:3128", false),
        ("http://user@proxy.internal:3128", false), ("http://user:secret@proxy.internal:3128", false),
        ("http://proxy.internal:3128/", false), ("http://proxy.internal:0", false), ("http://:3128", false),
        ("http://[::1]", false), ("http://a b:1", false), ("", false), ("http://a:1\r\nX: y", false),
    ])
    func proxiesAreRead(_ text: String, _ isProxy: Bool) {
        #expect((WebProxy(text) != nil) == isProxy)
    }
}
