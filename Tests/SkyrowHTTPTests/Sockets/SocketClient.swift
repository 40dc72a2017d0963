import NIOCore
import NIOSSL
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// A WebSocket whose every frame a test makes itself, over a raw connection.
///
/// ```swift
/// try await withSocket(port: service.port, key: TestService.apiKey) { socket in
///     let reply = try await socket.call("me", "{}")
/// }
/// ```
final class SocketClient {
    /// A frame as it came over the wire.
    struct Frame: Equatable {
        var isFinal = true
        var opcode: UInt8
        var payload: ByteBuffer

        var text: String { String(buffer: payload) }
        /// The code of a close frame.
        var code: UInt16? { payload.getInteger(at: payload.readerIndex) }
        var reason: String {
            String(
                buffer: payload.getSlice(at: payload.readerIndex + 2, length: payload.readableBytes - 2) ?? ByteBuffer()
            )
        }
    }

    enum Opcode {
        static let continuation: UInt8 = 0
        static let text: UInt8 = 1
        static let binary: UInt8 = 2
        static let close: UInt8 = 8
        static let ping: UInt8 = 9
        static let pong: UInt8 = 10
    }

    let connection: RawConnection
    private var lastID = 0

    init(_ connection: RawConnection) {
        self.connection = connection
    }

    // MARK: - Frames

    /// The bytes of a frame of a client.
    static func frame(
        _ opcode: UInt8,
        _ payload: ByteBuffer = ByteBuffer(),
        isFinal: Bool = true,
        isMasked: Bool = true,
        reserved: UInt8 = 0
    ) -> ByteBuffer {
        var buffer = ByteBuffer()
        buffer.writeInteger((isFinal ? 0x80 : 0) | reserved << 4 | opcode)
        let mask: UInt8 = isMasked ? 0x80 : 0
        switch payload.readableBytes {
        case ..<126: buffer.writeInteger(mask | UInt8(payload.readableBytes))
        case ..<65_536:
            buffer.writeInteger(mask | 126)
            buffer.writeInteger(UInt16(payload.readableBytes))
        default:
            buffer.writeInteger(mask | 127)
            buffer.writeInteger(UInt64(payload.readableBytes))
        }
        guard isMasked else {
            buffer.writeImmutableBuffer(payload)
            return buffer
        }
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        buffer.writeBytes(key)
        buffer.writeBytes(payload.readableBytesView.enumerated().map { $0.element ^ key[$0.offset % 4] })
        return buffer
    }

    func send(_ opcode: UInt8, _ text: String = "", isFinal: Bool = true) async throws {
        try await connection.send(SocketClient.frame(opcode, ByteBuffer(string: text), isFinal: isFinal))
    }

    func send(text: String) async throws {
        try await send(Opcode.text, text)
    }

    func sendClose(_ code: UInt16) async throws {
        try await connection.send(SocketClient.frame(Opcode.close, ByteBuffer(integer: code)))
    }

    /// Reads the next frame, which must not be masked.
    func next() async throws -> Frame {
        var head = try await connection.bytes(2)
        let first: UInt8 = head.readInteger() ?? 0
        let second: UInt8 = head.readInteger() ?? 0
        #expect(second & 0x80 == 0, "A server does not mask.")
        var length = Int(second & 0x7F)
        if length == 126 {
            var long = try await connection.bytes(2)
            length = Int(long.readInteger(as: UInt16.self) ?? 0)
        } else if length == 127 {
            var long = try await connection.bytes(8)
            length = Int(long.readInteger(as: UInt64.self) ?? 0)
        }
        let payload = length == 0 ? ByteBuffer() : try await connection.bytes(length)
        return Frame(isFinal: first & 0x80 != 0, opcode: first & 0x0F, payload: payload)
    }

    /// Reads the next frame that is a text.
    func nextText() async throws -> JSONValue {
        var frame = try await next()
        // A test on a busy machine may take longer than the time between two pings.
        while frame.opcode == Opcode.ping { frame = try await next() }
        #expect(frame.opcode == Opcode.text, "\(frame)")
        return try JSONValue(frame.text)
    }

    /// Reads up to the close frame.
    func closure() async throws -> (code: UInt16?, reason: String) {
        while true {
            let frame = try await next()
            guard frame.opcode == Opcode.close else { continue }
            return (frame.code, frame.reason)
        }
    }

    // MARK: - Calls

    /// Sends a call; returns its id.
    @discardableResult
    func request(_ method: String, _ params: String = "{}") async throws -> Int {
        lastID += 1
        try await send(text: #"{"jsonrpc":"2.0","id":\#(lastID),"method":"\#(method)","params":\#(params)}"#)
        return lastID
    }

    /// Sends a message and returns the next one, as a response.
    func response(to message: String) async throws -> RawResponse {
        try await send(text: message)
        while true {
            let text = try await next().text
            // What the service says by itself has a method.
            if try JSONValue(text)["method"].string == nil { return RawResponse(status: 200, fields: [], body: text) }
        }
    }

    /// Makes a call and returns its response, while no other is under way.
    func call(_ method: String, _ params: String = "{}") async throws -> JSONValue {
        let id = try await request(method, params)
        let response = try await nextText()
        #expect(response["id"].integer == id)
        return response
    }
}

/// The head of a request for a WebSocket.
func socketHead(
    path: String = "/rpc",
    method: String = "GET",
    version: String = "13",
    key: String? = "dGhlIHNhbXBsZSBub25jZQ==",
    connection: String = "Upgrade",
    upgrade: String = "websocket",
    headers: [(String, String)] = []
) -> String {
    var lines = ["\(method) \(path) HTTP/1.1", "host: localhost", "connection: \(connection)", "upgrade: \(upgrade)"]
    lines.append("sec-websocket-version: \(version)")
    if let key { lines.append("sec-websocket-key: \(key)") }
    lines += headers.map { "\($0): \($1)" }
    return lines.joined(separator: "\r\n") + "\r\n\r\n"
}

/// Opens a WebSocket for the length of `body`.
func withSocket<Success>(
    port: Int,
    key: String? = nil,
    token: String? = nil,
    headers: [(String, String)] = [],
    from source: String = "127.0.0.1",
    tls: NIOSSLContext? = nil,
    _ body: (SocketClient) async throws -> Success
) async throws -> Success {
    var headers = headers
    if let key { headers.append(("x-skygear-api-key", key)) }
    if let token { headers.append(("authorization", "Bearer \(token)")) }
    return try await withConnection(port: port, from: source, tls: tls) { connection in
        try await connection.send(socketHead(headers: headers))
        let response = try await connection.response()
        #expect(response.status == 101, "\(response)")
        #expect(response["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        return try await body(SocketClient(connection))
    }
}
