import NIOCore
import NIOHTTP2
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// Bodies and responses as streams over HTTP/2, where the windows of the client and of the server bound them.
@Suite struct HTTP2StreamTests {
    private func withEndpoint(
        limits: HTTPLimits = HTTPLimits(),
        limit: Int = 1 << 31,
        window: Int = Int(Int32.max),
        _ body: (HTTP2TestConnection, StreamEndpoint) async throws -> Void
    ) async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["h2"])
        let counts = HTTPServerCounts(limits: limits)
        let endpoint = StreamEndpoint(limit: limit, counts: counts)
        let responder = StreamResponder(endpoint: endpoint)
        try await withServer(responder, limits: limits, certificate: certificate.server(), counts: counts) { server in
            try await withHTTP2(port: server.port, tls: client, window: window) { try await body($0, endpoint) }
            try await waiting(until: "the memory of bodies is given back") { counts.statistics.bodyBytes == 0 }
        }
    }

    /// Many times the bounds below; no system keeps more than a window of HTTP/2.
    private static let total = streamedBytes / 8

    @Test func aLongBodyPassesInBoundedMemory() async throws {
        try await withEndpoint { connection, endpoint in
            try await connection.head("POST", "/stream/count?slow", on: 1)
            let part = ByteBuffer(repeating: 120, count: 16_000)
            var rest = Self.total
            while rest > 0 {
                let length = min(rest, 16_000)
                rest -= length
                try await connection.body(part.getSlice(at: 0, length: length) ?? part, on: 1, isWhole: rest == 0)
            }
            #expect(try await connection.response(on: 1).body == "\(Self.total)")
            #expect(endpoint.record.largestBytes <= StreamTests.bufferBound)
        }
    }

    /// The client opens its window by what it has read, and no more is made than fits.
    @Test func aLongResponsePassesInBoundedMemory() async throws {
        try await withEndpoint(window: 200_000) { connection, endpoint in
            let total = Self.total
            try await connection.get("/stream/bytes?\(total)", on: 1)
            var read = 0
            var largest = 0
            while read < total {
                let frame = try #require(try await connection.frame())
                guard case .data(let content) = frame.payload, case .byteBuffer(let bytes) = content.data
                else { continue }
                largest = max(largest, endpoint.record.producedBytes - read)
                read += bytes.readableBytes
                if bytes.readableBytes > 0 {
                    for stream in [HTTP2StreamID.rootStream, 1] {
                        let payload = HTTP2Frame.FramePayload.windowUpdate(windowSizeIncrement: bytes.readableBytes)
                        try await connection.send(stream, payload)
                    }
                }
            }
            #expect(read == total)
            // The window, a part that waits for it, and one that is being made.
            #expect(largest <= 200_000 + 3 * 50_000)
        }
    }

    @Test func bodyAndResponseGoOnAtTheSameTime() async throws {
        // Short parts that wait for each other bring few bytes a second on a slow machine.
        try await withEndpoint(limits: HTTPLimits(bodyRate: 0)) { connection, _ in
            try await connection.head("POST", "/stream/echo", on: 1)
            for number in 0..<20 {
                try await connection.body(ByteBuffer(string: "part \(number)"), on: 1, isWhole: false)
                var text = ""
                while text.isEmpty {
                    let frame = try #require(try await connection.frame())
                    if case .data(let content) = frame.payload, case .byteBuffer(let bytes) = content.data {
                        text = String(buffer: bytes)
                    }
                }
                #expect(text == "part \(number)")
            }
            try await connection.body(ByteBuffer(), on: 1)
            #expect(try await connection.response(on: 1).reset == nil)
        }
    }

    @Test func otherStreamsGoOnMeanwhile() async throws {
        try await withEndpoint(window: 100_000) { connection, _ in
            try await connection.send(.rootStream, .windowUpdate(windowSizeIncrement: 1 << 20))
            // Neither is read on: the one waits for its route, the other for its client.
            try await connection.head("POST", "/stream/idle", on: 1)
            let part = ByteBuffer(repeating: 120, count: 16_000)
            for _ in 0..<15 { try await connection.body(part, on: 1, isWhole: false) }
            try await connection.get("/stream/bytes?1000000", on: 3)
            try await connection.head("POST", "/stream/count", on: 5)
            try await connection.body(ByteBuffer(string: "abc"), on: 5)
            #expect(try await connection.response(on: 5).body == "3")
            // The server would wait for both when it ends.
            try await connection.send(1, .rstStream(.cancel))
            try await connection.send(3, .rstStream(.cancel))
        }
    }

    @Test(arguments: [
        ("/stream/count", [("content-length", "1001")], 0, 413),
        ("/stream/count", [], 1001, 413),
        ("/stream/count", [("stranger", "yes")], 3, 401),
        ("/stream/count", [], 3, 408),
        ("/stream/refuse", [], 3, 403),
    ])
    func aBodyThatIsNotTakenWholeEndsTheStream(
        path: String,
        fields: [(String, String)],
        bytes: Int,
        status: Int
    ) async throws {
        let limits = status == 408 ? HTTPLimits(bodyWindow: .milliseconds(200)) : HTTPLimits()
        try await withEndpoint(limits: limits, limit: 1000) { connection, _ in
            try await connection.head("POST", path, on: 1, headers: fields)
            if bytes > 0 { try await connection.body(ByteBuffer(repeating: 65, count: bytes), on: 1, isWhole: false) }
            #expect(try await connection.response(on: 1).status == status)
            #expect(try await connection.reset(of: 1) == .noError)
            try await connection.get("/stream/bytes?3&length", on: 3)
            #expect(try await connection.response(on: 3).body == "xxx")
        }
    }

    @Test(arguments: ["/stream/count", "/stream/bytes?\(1 << 40)"])
    func aClientThatLeavesInTheMiddleEndsTheWork(path: String) async throws {
        try await withEndpoint(window: 100_000) { connection, endpoint in
            try await connection.head("POST", path, on: 1)
            try await connection.body(ByteBuffer(repeating: 65, count: 10_000), on: 1, isWhole: false)
            try await endpoint.record.began.value()
            try await connection.send(1, .rstStream(.cancel))
            #expect(try await endpoint.record.ended.value() == "CancellationError()")
        }
    }

    @Test(arguments: ["hang", "fail", "short"])
    func aResponseThatIsNotWholeEndsItsStream(path: String) async throws {
        // On a busy machine the first part is not there at once.
        let limits = path == "hang" ? HTTPLimits(response: .seconds(5), cancellation: .milliseconds(100)) : HTTPLimits()
        try await withEndpoint(limits: limits) { connection, _ in
            try await connection.get("/stream/\(path)", on: 1)
            let answer = try await connection.response(on: 1)
            #expect(answer.status == 200)
            // A reset may overtake what was sent before it.
            #expect(answer.body == "part" || answer.body.isEmpty)
            #expect(answer.reset == .internalError)
        }
    }
}
