import Foundation
import NIOCore
import NIOHTTP2
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Bodies and responses as streams over HTTP/1.1: order, bounds of memory, and every way to end early.
@Suite struct StreamTests {
    /// What may wait in memory: the window, and what one look at the socket brings.
    static let bufferBound = RequestLifecycle.window + 512 * 1024

    private func withEndpoint(
        limits: HTTPLimits = HTTPLimits(),
        limit: Int = 1 << 31,
        _ body: (RawConnection, StreamEndpoint, HTTPServerCounts) async throws -> Void
    ) async throws {
        let counts = HTTPServerCounts(limits: limits)
        let endpoint = StreamEndpoint(limit: limit, counts: counts)
        try await withServer(StreamResponder(endpoint: endpoint), limits: limits, counts: counts) { server in
            try await withConnection(port: server.port) { try await body($0, endpoint, counts) }
            try await waiting(until: "the memory of bodies is given back") { counts.statistics.bodyBytes == 0 }
        }
    }

    private func post(_ path: String, _ fields: String) -> String {
        "POST \(path) HTTP/1.1\r\nhost: x\r\n\(fields)\r\n\r\n"
    }

    @Test func aLongBodyPassesInBoundedMemory() async throws {
        try await withEndpoint { connection, endpoint, counts in
            let total = streamedBytes
            try await connection.send(post("/stream/count?slow", "content-length: \(total)"))
            let part = ByteBuffer(repeating: 120, count: 1 << 20)
            var rest = total
            while rest > 0 {
                try await connection.send(part.getSlice(at: 0, length: min(rest, 1 << 20)) ?? part)
                rest -= min(rest, 1 << 20)
            }
            #expect(try await connection.response().body == "\(total)")
            #expect(endpoint.record.largestBytes <= Self.bufferBound)
            // The connection is as good as before.
            try await connection.get("/stream/bytes?10&length")
            #expect(try await connection.response().body == "xxxxxxxxxx")
        }
    }

    @Test func aLongResponsePassesInBoundedMemory() async throws {
        try await withEndpoint { connection, endpoint, _ in
            let total = streamedBytes
            try await connection.get("/stream/bytes?\(total)&length")
            #expect(try await connection.response(toHead: true)["content-length"] == "\(total)")
            var read = 0
            var largest = 0
            while read < total {
                if read < 20 << 20 { try await Task.sleep(for: .milliseconds(1)) }
                read += try await connection.skip(upTo: total - read)
                largest = max(largest, endpoint.record.producedBytes - read)
            }
            // What the systems on both sides keep, of which the server knows nothing, is the most of it.
            #expect(largest <= 24 << 20)
            try await connection.get("/stream/bytes?10&length")
            #expect(try await connection.response().body == "xxxxxxxxxx")
        }
    }

    /// Each part comes back before the next is sent.
    @Test func bodyAndResponseGoOnAtTheSameTime() async throws {
        // Short parts that wait for each other bring few bytes a second on a slow machine.
        try await withEndpoint(limits: HTTPLimits(bodyRate: 0)) { connection, _, _ in
            try await connection.send(post("/stream/echo", "transfer-encoding: chunked"))
            var head: RawResponse?
            for number in 0..<20 {
                let text = "part \(number)"
                try await connection.send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n")
                if head == nil { head = try await connection.response(toHead: true) }
                #expect(try await connection.chunk() == text)
            }
            #expect(head?["transfer-encoding"] == "chunked")
            // A response that begins before its request has ended is the last one.
            #expect(head?["connection"] == "close")
            try await connection.send("0\r\n\r\n")
            #expect(try await connection.chunk() == "")
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test func aStreamedBodyWaitsForItsTurn() async throws {
        try await withEndpoint { connection, _, _ in
            try await connection.get("/stream/bytes?300000&length")
            try await connection.send(post("/stream/count", "content-length: 500000"))
            try await connection.send(ByteBuffer(repeating: 120, count: 500_000))
            try await connection.get("/stream/bytes?3&length")
            #expect(try await connection.response().body.utf8.count == 300_000)
            #expect(try await connection.response().body == "500000")
            #expect(try await connection.response().body == "xxx")
        }
    }

    @Test func continueIsSentWhenTheRouteBegins() async throws {
        try await withEndpoint { connection, _, _ in
            try await connection.send(post("/stream/count", "content-length: 2\r\nexpect: 100-continue"))
            #expect(try await connection.response().status == 100)
            try await connection.send("ok")
            #expect(try await connection.response().body == "2")
        }
    }

    /// A route that does not read the body does not ask for it; one whose response goes along with it asks before its head.
    @Test func continueIsNotSentForABodyThatIsRefused() async throws {
        try await withEndpoint { connection, _, _ in
            try await connection.send(post("/stream/echo", "content-length: 2\r\nexpect: 100-continue"))
            #expect(try await connection.response().status == 100)
            #expect(try await connection.response(toHead: true).status == 200)
            try await connection.send("ok")
            #expect(try await connection.chunk() == "ok")
        }
        try await withEndpoint { connection, _, _ in
            try await connection.send(post("/stream/refuse", "content-length: 2\r\nexpect: 100-continue"))
            let refusal = try await connection.response()
            #expect(refusal.status == 403)
            #expect(refusal["connection"] == "close")
        }
    }

    @Test(arguments: [
        ("POST /stream/count HTTP/1.1\r\nhost: x\r\ncontent-length: 1001\r\n\r\n", 413),
        ("POST /stream/count HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3E9\r\n", 413),
        ("POST /stream/count HTTP/1.1\r\nhost: x\r\nstranger: yes\r\ntransfer-encoding: chunked\r\n\r\n", 401),
        ("POST /stream/count HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc", 408),
        ("POST /stream/count HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST /stream/refuse HTTP/1.1\r\nhost: x\r\ncontent-length: 500\r\n\r\nabc", 403),
        ("POST /stream/idle HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc", 200),
    ])
    func aBodyThatIsNotTakenWholeEndsTheConnection(request: String, status: Int) async throws {
        // Only what is about time has little of it.
        let limits =
            switch status {
            case 408: HTTPLimits(bodyWindow: .milliseconds(200))
            case 200: HTTPLimits(response: .milliseconds(200), cancellation: .hours(1))
            default: HTTPLimits()
            }
        try await withEndpoint(limits: limits, limit: 1000) { connection, _, _ in
            try await connection.send(request)
            if request.hasSuffix("3E9\r\n") { try await connection.send(String(repeating: "x", count: 1001)) }
            let answer = try await connection.response()
            #expect(answer.status == status)
            if status == 200 {
                // Its body was here, so there is no reason to close.
                #expect(answer.body == "cancelled")
            } else {
                #expect(answer["connection"] == "close")
                #expect(try await connection.isClosedByServer())
            }
        }
    }

    @Test func aClientThatLeavesInTheMiddleOfABodyEndsTheWork() async throws {
        let counts = HTTPServerCounts()
        let endpoint = StreamEndpoint(counts: counts)
        try await withServer(StreamResponder(endpoint: endpoint), counts: counts) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send(post("/stream/count", "content-length: 1000000"))
                try await connection.send(ByteBuffer(repeating: 120, count: 10_000))
                try await endpoint.record.began.value()
            }
            #expect(try await endpoint.record.ended.value() == "CancellationError()")
            try await waiting(until: "the memory of bodies is given back") { counts.statistics.bodyBytes == 0 }
        }
    }

    @Test func aClientThatLeavesInTheMiddleOfAResponseEndsTheWork() async throws {
        let endpoint = StreamEndpoint()
        try await withServer(StreamResponder(endpoint: endpoint)) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.get("/stream/bytes?\(1 << 40)")
                _ = try await connection.response(toHead: true)
                _ = try await connection.skip(upTo: 100_000)
            }
            #expect(try await endpoint.record.ended.value() == "CancellationError()")
        }
    }

    @Test func aClientThatReadsNothingIsGivenUp() async throws {
        let endpoint = StreamEndpoint()
        let limits = HTTPLimits(writeStall: .milliseconds(100))
        try await withServer(StreamResponder(endpoint: endpoint), limits: limits) { server in
            try await withStalledReader(port: server.port) { reader in
                try await reader.send("GET /stream/bytes?\(1 << 40) HTTP/1.1\r\nhost: x\r\n\r\n")
                #expect(try await endpoint.record.ended.value() == "CancellationError()")
                try await reader.waitForClose()
            }
        }
    }

    @Test(arguments: ["hang", "fail", "short"])
    func aResponseThatIsNotWholeEndsWithItsConnection(path: String) async throws {
        // On a busy machine the first part is not there at once.
        let limits = path == "hang" ? HTTPLimits(response: .seconds(5), cancellation: .milliseconds(100)) : HTTPLimits()
        try await withEndpoint(limits: limits) { connection, _, _ in
            try await connection.get("/stream/\(path)")
            let head = try await connection.response(toHead: true)
            #expect(head.status == 200)
            if path == "short" {
                #expect(try await connection.skip(upTo: 4) == 4)
            } else {
                #expect(try await connection.chunk() == "part")
            }
            // Without the end that would say that this was all.
            #expect(try await connection.isClosedByServer())
        }
    }

    @Test func streamsSuitOldClientsAndHEAD() async throws {
        try await withEndpoint { connection, _, _ in
            try await connection.get("/stream/bytes?100&length", method: "HEAD")
            #expect(try await connection.response(toHead: true)["content-length"] == "100")
            try await connection.get("/stream/hang", method: "HEAD")
            #expect(try await connection.response(toHead: true)["transfer-encoding"] == "chunked")
            try await connection.send("GET /stream/bytes?5 HTTP/1.0\r\nconnection: keep-alive\r\n\r\n")
            let head = try await connection.response(toHead: true)
            #expect(head["transfer-encoding"] == nil)
            #expect(head["connection"] == "close")
            #expect(try await connection.skip(upTo: 5) == 5)
            #expect(try await connection.isClosedByServer())
        }
    }

    /// The same endpoint beside those of the service, with what every response of the service carries.
    @Test func anEndpointBesideTheServiceStreams() async throws {
        let endpoint = StreamEndpoint(limit: 1_000_000)
        try await withService(endpoints: ["/stream/": endpoint]) { service in
            try await withConnection(port: service.port) { connection in
                let key = "x-skygear-api-key: \(TestService.apiKey)"
                try await connection.send(post("/stream/count", "content-length: 500000\r\n\(key)"))
                try await connection.send(ByteBuffer(repeating: 120, count: 500_000))
                let counted = try await connection.response()
                #expect(counted.body == "500000")
                #expect(counted["x-skygear-request-id"]?.isEmpty == false)
                try await connection.get("/stream/bytes?100000")
                #expect(try await connection.response(toHead: true)["transfer-encoding"] == "chunked")
                #expect(try await connection.chunk().utf8.count == 50_000)
                #expect(try await connection.chunk().utf8.count == 50_000)
                #expect(try await connection.chunk().isEmpty)
                // A stranger's body is refused at its head.
                try await connection.send(post("/stream/count", "content-length: 500000"))
                #expect(try await connection.response().status == 401)
            }
        }
    }

    // MARK: - Files

    private func withFile(_ body: (String, String) async throws -> Void) async throws {
        let text = (0..<200_000).map { "\($0)," }.joined()
        let path = FileManager.default.temporaryDirectory.appending(path: "skyrow-\(UUID()).txt").path
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body(path, text)
    }

    @Test(arguments: [false, true])
    func aFileOrARangeOfItIsSent(isSecure: Bool) async throws {
        let certificate = try await TestCertificate()
        let endpoint = StreamEndpoint()
        try await withFile { path, text in
            try await withServer(
                StreamResponder(endpoint: endpoint),
                certificate: isSecure ? certificate.server() : nil
            ) { server in
                let tls = isSecure ? try certificate.client() : nil
                try await withConnection(port: server.port, tls: tls) { connection in
                    for _ in 0..<2 {
                        try await connection.get("/stream/file?\(path)")
                        #expect(try await connection.response().body == text)
                    }
                    try await connection.get("/stream/file?\(path)&1000-1100")
                    let range = try await connection.response()
                    #expect(range.status == 206)
                    #expect(range.body == String(text.dropFirst(1000).prefix(100)))
                    try await connection.get("/stream/file?\(path)", method: "HEAD")
                    #expect(try await connection.response(toHead: true)["content-length"] == "\(text.utf8.count)")
                    for refused in ["\(path)&0-99999999", "\(path).missing", "/dev/null", "/"] {
                        try await connection.get("/stream/file?\(refused)")
                        #expect(try await connection.response().status == 404)
                    }
                }
            }
        }
    }

    @Test func overHTTP2AFileIsSentInParts() async throws {
        try await withFile { path, text in
            try await withHTTP2Server(StreamResponder(endpoint: StreamEndpoint())) { _, connection in
                try await connection.get("/stream/file?\(path)", on: 1)
                #expect(try await connection.response(on: 1).body == text)
                try await connection.get("/stream/file?\(path)&1000-1100", on: 3)
                #expect(try await connection.response(on: 3).body == String(text.dropFirst(1000).prefix(100)))
            }
        }
    }
}
