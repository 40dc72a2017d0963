import NIOCore
import NIOHPACK
import NIOHTTP2
import SkyrowHTTP
import SkyrowTestSupport
import Testing

/// What one HTTP/2 client may ask for, and what happens beyond.
@Suite struct HTTP2LimitTests {
    struct RefusalRow: Sendable {
        var limits = HTTPLimits()
        var headers: [(String, String)] = []
        var bodyBytes = 0
        var status: Int
    }

    @Test(arguments: [
        RefusalRow(limits: HTTPLimits(body: 1000), bodyBytes: 1001, status: 413),
        RefusalRow(limits: HTTPLimits(body: 1000), headers: [("content-length", "1001")], status: 413),
        RefusalRow(limits: HTTPLimits(body: 1000), bodyBytes: 1000, status: 200),
        RefusalRow(limits: HTTPLimits(bodiesInMemory: 1000), bodyBytes: 1001, status: 503),
        RefusalRow(
            limits: HTTPLimits(headerField: 100),
            headers: [("x", String(repeating: "x", count: 100))],
            status: 431
        ),
        RefusalRow(
            limits: HTTPLimits(headerField: 100),
            headers: [("x", String(repeating: "x", count: 99))],
            status: 200
        ),
        RefusalRow(limits: HTTPLimits(headerCount: 8), headers: (0..<5).map { ("x\($0)", "x") }, status: 431),
        RefusalRow(limits: HTTPLimits(headerCount: 8), headers: (0..<4).map { ("x\($0)", "x") }, status: 200),
        RefusalRow(headers: [("expect", "wonders")], status: 417),
        RefusalRow(limits: HTTPLimits(bodyTime: .milliseconds(50)), status: 408),
    ])
    func aRequestBeyondTheLimitsIsRefusedAndTheNextIsAnswered(_ row: RefusalRow) async throws {
        try await withHTTP2Server(limits: row.limits) { _, connection in
            try await connection.head("POST", "/echo", on: 1, headers: row.headers)
            if row.bodyBytes > 0 || row.status == 200 {
                let body = ByteBuffer(repeating: 65, count: row.bodyBytes)
                try await connection.body(body, on: 1, isWhole: row.status == 200)
            }
            #expect(try await connection.response(on: 1).status == row.status)
            // The rest of the request is not wanted.
            if row.status != 200 { #expect(try await connection.reset(of: 1) == .noError) }
            try await connection.get("/a", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /a")
        }
    }

    /// A proxy may carry other people's requests on the same connection.
    @Test(arguments: [
        [("X-Upper", "1")], [("connection", "close")], [("transfer-encoding", "chunked")], [(":path", "/b")],
        [("x", "a\r\nb: c")], [("content-length", "1"), ("content-length", "2")],
    ])
    func aMalformedRequestIsResetAndTheNextIsAnswered(headers: [(String, String)]) async throws {
        try await withHTTP2Server(validates: false) { _, connection in
            try await connection.get("/a", on: 1, headers: headers)
            #expect(try await connection.reset(of: 1) == .protocolError)
            try await connection.get("/b", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /b")
        }
    }

    @Test func aRequestWithoutAPathIsRefused() async throws {
        try await withHTTP2Server(validates: false) { _, connection in
            let block: HPACKHeaders = [":method": "CONNECT", ":authority": "elsewhere:443"]
            try await connection.send(1, .headers(.init(headers: block, endStream: true)))
            let response = try await connection.response(on: 1)
            #expect(response.status == 400 || response.reset == .protocolError)
        }
    }

    enum Attack: Sendable, CaseIterable {
        /// CVE-2023-44487
        case rapidReset
        case pings
        case settings
        case emptyData

        func start(on connection: HTTP2TestConnection, limits: HTTPLimits) async throws {
            switch self {
            case .rapidReset:
                for number in 0...limits.resets {
                    let stream = HTTP2StreamID(2 * number + 1)
                    try await connection.get("/wait", on: stream)
                    try await connection.send(stream, .rstStream(.cancel))
                }
            case .pings:
                for number in 0...500 {
                    try await connection.send(
                        .rootStream,
                        .ping(HTTP2PingData(withInteger: UInt64(number)), ack: false)
                    )
                }
            case .settings:
                for _ in 0...500 { try await connection.send(.rootStream, .settings(.settings([]))) }
            case .emptyData:
                try await connection.head("POST", "/echo", on: 1)
                for _ in 0...5 { try await connection.body(ByteBuffer(), on: 1, isWhole: false) }
            }
        }
    }

    @Test(arguments: Attack.allCases)
    func anAttackEndsItsConnectionAndNoOther(_ attack: Attack) async throws {
        let limits = HTTPLimits(headerList: 20_000, streams: 10, resets: 20)
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["h2"])
        try await withServer(ScriptedResponder(), limits: limits, certificate: certificate.server()) { server in
            try await withHTTP2(port: server.port, tls: client) { bystander in
                try await withHTTP2(port: server.port, tls: client) { attacker in
                    // The connection may be gone before the attack is over.
                    try? await attack.start(on: attacker, limits: limits)
                    try await attacker.waitForClose()
                    #expect(attacker.goAways.last?.code != .noError)
                    #expect(!attacker.goAways.isEmpty)
                }
                try await bystander.get("/a", on: 1)
                #expect(try await bystander.response(on: 1).body == "GET /a")
            }
        }
    }

    /// Frames that a well-made client does not send.
    enum RawAttack: Sendable, CaseIterable {
        case tooManyStreams
        /// CVE-2024-27316
        case endlessContinuation
        case headersBeyondTheLimit
        case notHTTP2
        case frameTooLong

        func bytes(_ limits: HTTPLimits) -> ByteBuffer {
            var buffer = ByteBuffer(
                string: self == .notHTTP2 ? "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n" : RawAttack.preface
            )
            buffer.writeFrame(type: 4, flags: 0, stream: 0, [])
            // :method GET, :path /wait, :scheme https, :authority x
            let head: [UInt8] = [0x82, 0x04, 5] + Array("/wait".utf8) + [0x87, 0x41, 1, 0x78]
            switch self {
            case .tooManyStreams:
                let count = limits.streams + limits.resets + 1
                for number in 0..<count { buffer.writeFrame(type: 1, flags: 5, stream: 2 * number + 1, head) }
            case .endlessContinuation:
                buffer.writeFrame(type: 1, flags: 1, stream: 1, head)
                for _ in 0..<100 { buffer.writeFrame(type: 9, flags: 0, stream: 1, [0x40, 1, 0x78, 1, 0x78]) }
            case .headersBeyondTheLimit:
                // x: a value of 126 bytes, again and again from the table.
                let field: [UInt8] = [0x40, 1, 0x78, 126] + [UInt8](repeating: 0x78, count: 126)
                let again = [UInt8](repeating: 0xbe, count: limits.headerList / 100)
                buffer.writeFrame(type: 1, flags: 5, stream: 1, head + field + again)
            case .notHTTP2:
                break
            case .frameTooLong:
                buffer.writeBytes([0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1])
            }
            return buffer
        }

        private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    }

    @Test(arguments: RawAttack.allCases)
    func framesBeyondTheLimitsEndTheConnection(_ attack: RawAttack) async throws {
        let limits = HTTPLimits(headerList: 20_000, streams: 10, resets: 20)
        let certificate = try await TestCertificate()
        let responder = ScriptedResponder()
        try await withServer(responder, limits: limits, certificate: certificate.server()) { server in
            let client = try certificate.client(protocols: ["h2"])
            try await withConnection(port: server.port, tls: client) { connection in
                try await connection.send(attack.bytes(limits))
                try await waiting(until: "the server has closed") { try await connection.isClosedByServer() }
            }
            #expect(responder.requests <= limits.streams)
        }
    }

    @Test func workThatTakesTooLongIsAnsweredFor() async throws {
        let responder = ScriptedResponder()
        // However late it answers then.
        let patient = HTTPLimits(response: .milliseconds(500), cancellation: .hours(1))
        try await withHTTP2Server(responder, limits: patient) { _, connection in
            try await connection.get("/wait", on: 1)
            #expect(try await connection.response(on: 1).body == "cancelled")
        }
        let deaf = ScriptedResponder()
        // Long enough for the next request on a busy machine.
        let limits = HTTPLimits(response: .seconds(5), cancellation: .milliseconds(50))
        try await withHTTP2Server(deaf, limits: limits) { _, connection in
            try await connection.get("/deaf", on: 1)
            #expect(try await connection.response(on: 1).status == 503)
            try await connection.get("/a", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /a")
            deaf.gate.open()
        }
    }

    @Test func aClientThatNeverReadsItsAnswerLosesIt() async throws {
        try await withHTTP2Server(limits: HTTPLimits(writeStall: .milliseconds(100)), window: 10_000) { _, connection in
            try await connection.get("/big", on: 1)
            // Not a window is opened.
            #expect(try await connection.reset(of: 1) == .cancel)
            try await connection.get("/a", on: 3)
            #expect(try await connection.response(on: 3).body == "GET /a")
        }
    }

    @Test(arguments: [
        HTTPLimits(firstHead: .milliseconds(500)),
        HTTPLimits(idle: .milliseconds(500)),
    ])
    func anIdleConnectionIsClosedInOrder(limits: HTTPLimits) async throws {
        try await withHTTP2Server(limits: limits) { _, connection in
            if limits.idle == .milliseconds(500) {
                try await connection.get("/a", on: 1)
                _ = try await connection.response(on: 1)
            }
            try await connection.waitForClose()
            #expect(connection.goAways.map(\.code) == [.noError])
        }
    }

    @Test func oneConnectionTooManyIsToldSo() async throws {
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["h2"])
        // On a busy machine a client may take long for its handshake and its first request.
        let limits = HTTPLimits(connections: 1, handshake: .hours(1), firstHead: .hours(1))
        try await withServer(ScriptedResponder(), limits: limits, certificate: certificate.server()) { server in
            try await withHTTP2(port: server.port, tls: client) { first in
                try await first.get("/a", on: 1)
                _ = try await first.response(on: 1)
                try await withHTTP2(port: server.port, tls: client) { second in
                    try await second.get("/a", on: 1)
                    #expect(try await second.response(on: 1).status == 503)
                    try await second.waitForClose()
                }
                try await first.get("/b", on: 3)
                #expect(try await first.response(on: 3).body == "GET /b")
            }
        }
    }
}

extension ByteBuffer {
    /// Writes an HTTP/2 frame (RFC 9113, 4.1).
    fileprivate mutating func writeFrame(type: UInt8, flags: UInt8, stream: Int, _ payload: [UInt8]) {
        writeBytes([
            UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 0xff), UInt8(payload.count & 0xff), type, flags,
        ])
        writeInteger(UInt32(stream))
        writeBytes(payload)
    }
}
