import NIOCore
import NIOHTTP2
import SkyrowHTTP
import SkyrowModel
import SkyrowTestSupport
import Testing

/// What one client can take of a server, and what another gets meanwhile.
@Suite struct ClientShareTests {
    /// Opens connections one inside the other and hands them all to `body`.
    private func withConnections(
        _ count: Int,
        port: Int,
        from source: String,
        _ opened: [RawConnection] = [],
        _ body: ([RawConnection]) async throws -> Void
    ) async throws {
        guard opened.count < count else {
            try await body(opened)
            return
        }
        try await withConnection(port: port, from: source) { connection in
            try await withConnections(count, port: port, from: source, opened + [connection], body)
        }
    }

    private func expectService(port: Int, from source: String, body: String = "x") async throws {
        try await withConnection(port: port, from: source) { connection in
            try await connection.post("/echo", body)
            let response = try await connection.response()
            #expect(response.status == 200)
            #expect(response.body == body)
        }
    }

    @Test func oneAddressOpensNoMoreThanItsShareOfConnections() async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(connections: 40)) { server in
            try await withConnections(10, port: server.port, from: "127.0.0.1") { connections in
                for connection in connections {
                    try await connection.get("/a")
                    #expect(try await connection.response().status == 200)
                }
                try await withConnection(port: server.port, from: "127.0.0.1") { eleventh in
                    let refusal = try await eleventh.response()
                    #expect(refusal.status == 429)
                    #expect(refusal.body == "clientShareExceeded")
                    #expect(try await eleventh.isClosedByServer())
                }
                try await expectService(port: server.port, from: "127.0.0.2")
            }
            // Closed connections have been given back.
            try await waitForService(port: server.port, from: "127.0.0.1")
        }
    }

    /// The server may see the end of connections a moment after their clients.
    private func waitForService(port: Int, from source: String) async throws {
        try await waiting(until: "the server has given connections back") {
            let status = try? await withConnection(port: port, from: source) { connection in
                try await connection.get("/a")
                return try await connection.response().status
            }
            return status == 200
        }
    }

    @Test func aProxyHasNoShareOfConnections() async throws {
        let clients = try ClientIdentification(proxies: TrustedProxies([#require(AddressRange("127.0.0.1"))]))
        try await withServer(ScriptedResponder(), limits: HTTPLimits(connections: 8), clients: clients) { server in
            try await withConnections(8, port: server.port, from: "127.0.0.1") { connections in
                for connection in connections {
                    try await connection.get("/a")
                    #expect(try await connection.response().status == 200)
                }
            }
        }
    }

    /// Waits until this number of bytes of bodies is in memory.
    private func waitForBodies(_ bytes: Int, _ counts: HTTPServerCounts) async throws {
        try await waiting(until: "\(bytes) bytes of bodies have arrived") { counts.statistics.bodyBytes >= bytes }
    }

    /// The attack of 77 connections, with fewer bytes.
    @Test func halfSentBodiesOfOneAddressKeepNobodyElseOut() async throws {
        // A slow machine takes its time to open 77 connections, and no limit of time is what this is about.
        let limits = HTTPLimits(
            body: 10_000,
            bodiesInMemory: 80_000,
            smallBody: 100,
            bodyRate: 0,
            connections: 400,
            firstHead: .minutes(10),
            bodyTime: .minutes(10)
        )
        let counts = HTTPServerCounts(limits: limits)
        try await withServer(ScriptedResponder(), limits: limits, counts: counts) { server in
            let head = "POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n"
            let half = head + String(repeating: "x", count: 8999)
            try await withConnections(77, port: server.port, from: "127.0.0.1") { connections in
                // A quarter of the memory is 20,000 bytes: two of them.
                for connection in connections[..<2] { try await connection.send(half) }
                try await waitForBodies(17_998, counts)
                for connection in connections[2...] {
                    try await connection.send(half)
                    let refusal = try await connection.response()
                    #expect(refusal.status == 429)
                    #expect(refusal.body == "clientShareExceeded")
                }
                try await expectService(port: server.port, from: "127.0.0.2", body: String(repeating: "y", count: 9000))
                try await expectService(port: server.port, from: "127.0.0.1")
            }
        }
    }

    @Test func behindAProxyEachClientHasItsShareOfBodies() async throws {
        let clients = try ClientIdentification(proxies: TrustedProxies([#require(AddressRange("127.0.0.1"))]))
        let limits = HTTPLimits(body: 10_000, bodiesInMemory: 40_000, smallBody: 100)
        let counts = HTTPServerCounts(limits: limits)
        try await withServer(ScriptedResponder(), limits: limits, clients: clients, counts: counts) { server in
            func head(_ client: String, _ length: Int) -> String {
                "POST /echo HTTP/1.1\r\nhost: x\r\nx-forwarded-for: \(client)\r\ncontent-length: \(length)\r\n\r\n"
            }
            try await withConnections(3, port: server.port, from: "127.0.0.1") { connections in
                try await connections[0].send(head("192.0.2.1", 9000) + String(repeating: "x", count: 8999))
                try await waitForBodies(8999, counts)
                try await connections[1].send(head("192.0.2.1", 9000) + String(repeating: "x", count: 8999))
                #expect(try await connections[1].response().status == 429)
                try await connections[2].send(head("192.0.2.2", 9000) + String(repeating: "y", count: 9000))
                #expect(try await connections[2].response().status == 200)
                try await connections[0].send("x")
                #expect(try await connections[0].response().status == 200)
            }
        }
    }

    struct HeadRow: Sendable {
        var standing: String
        var framing: String
        var body: String
        var status: Int
    }

    @Test(arguments: [
        // Refused at the head, before a byte of the body.
        HeadRow(standing: "missing", framing: "content-length: 101", body: "", status: 401),
        HeadRow(standing: "missing", framing: "content-length: 101\r\nexpect: 100-continue", body: "", status: 401),
        // Without a length once there is more of it than may be.
        HeadRow(
            standing: "missing",
            framing: "transfer-encoding: chunked",
            body: "65\r\n\(String(repeating: "x", count: 101))\r\n",
            status: 401
        ),
        HeadRow(
            standing: "missing",
            framing: "content-length: 100",
            body: String(repeating: "x", count: 100),
            status: 200
        ),
        HeadRow(
            standing: "unverified",
            framing: "content-length: 101",
            body: String(repeating: "x", count: 101),
            status: 200
        ),
        HeadRow(
            standing: "accepted",
            framing: "content-length: 1000",
            body: String(repeating: "x", count: 1000),
            status: 200
        ),
    ])
    func aLongBodyNeedsAKeyInTheHead(_ row: HeadRow) async throws {
        let limits = HTTPLimits(body: 1000, bodiesInMemory: 8000, smallBody: 100)
        try await withServer(ScriptedResponder(), limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                let head = "POST /echo HTTP/1.1\r\nhost: x\r\nstanding: \(row.standing)\r\n\(row.framing)\r\n\r\n"
                try await connection.send(head + row.body)
                let response = try await connection.response()
                #expect(response.status == row.status)
                if row.status == 401 { #expect(response.body == "credentialsRequired") }
            }
        }
    }

    @Test func aSlowBodyIsGivenUp() async throws {
        let limits = HTTPLimits(bodyRate: 1000, bodyTime: .hours(1), bodyWindow: .milliseconds(100))
        try await withServer(ScriptedResponder(), limits: limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.send("POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nabc")
                let response = try await connection.response()
                #expect(response.status == 408)
                #expect(response.body == "requestTimeout")
            }
        }
        try await withHTTP2Server(limits: limits) { _, connection in
            try await connection.head("POST", "/echo", on: 1)
            try await connection.body(ByteBuffer(string: "abc"), on: 1, isWhole: false)
            #expect(try await connection.response(on: 1).status == 408)
        }
    }

    @Test func manyStreamsOfOneConnectionShareWhatTheirClientHas() async throws {
        let limits = HTTPLimits(body: 1000, bodiesInMemory: 8000, smallBody: 100)
        try await withHTTP2Server(limits: limits) { _, connection in
            // A quarter of 8000 bytes for half-sent bodies of 900.
            for number in 0..<10 {
                let stream = HTTP2StreamID(2 * number + 1)
                try await connection.head("POST", "/echo", on: stream)
                try await connection.body(ByteBuffer(repeating: 65, count: 900), on: stream, isWhole: false)
            }
            for number in 2..<10 {
                #expect(try await connection.response(on: HTTP2StreamID(2 * number + 1)).status == 429)
            }
            for number in 0..<2 {
                let stream = HTTP2StreamID(2 * number + 1)
                try await connection.body(ByteBuffer(string: "A"), on: stream)
                #expect(try await connection.response(on: stream).status == 200)
            }
        }
    }

    @Test func everyAnswerForbidsCachesAndGuesses() async throws {
        try await withServer(ScriptedResponder(), limits: HTTPLimits(body: 10)) { server in
            for request in ["GET /a", "OPTIONS /a", "HEAD /a", "GET /b c"] {
                try await withConnection(port: server.port) { connection in
                    try await connection.send("\(request) HTTP/1.1\r\nhost: x\r\n\r\n")
                    let response = try await connection.response(toHead: request.hasPrefix("HEAD"))
                    #expect(response["cache-control"] == "no-store")
                    #expect(response["x-content-type-options"] == "nosniff")
                }
            }
        }
        try await withHTTP2Server { _, connection in
            try await connection.get("/a", on: 1)
            let response = try await connection.response(on: 1)
            #expect(response["cache-control"] == "no-store")
            #expect(response["x-content-type-options"] == "nosniff")
            #expect(response["server"] == "Skyrow")
        }
    }
}
