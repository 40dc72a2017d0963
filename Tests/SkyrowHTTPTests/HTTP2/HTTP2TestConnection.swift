import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import SkyrowTestSupport
import Testing

/// The client's end of an HTTP/2 connection, frame by frame; it reads no more than it is told to.
///
/// ```swift
/// try await withHTTP2(port: port, tls: context) { connection in
///     try await connection.get("/a", on: 1)
///     let response = try await connection.response(on: 1)
/// }
/// ```
final class HTTP2TestConnection {
    private let outbound: NIOAsyncChannelOutboundWriter<HTTP2Frame>
    private var inbound: NIOAsyncChannelInboundStream<HTTP2Frame>.AsyncIterator
    private var kept: [HTTP2Frame] = []
    /// Ends whatever waits for the server.
    private let close: @Sendable () -> Void
    /// Bytes since the connection's window was last opened.
    private var taken = 0
    /// What the server said about its going away: the last request it answers, and why.
    private(set) var goAways: [(last: HTTP2StreamID, code: HTTP2ErrorCode)] = []

    fileprivate init(
        _ close: @escaping @Sendable () -> Void,
        _ inbound: NIOAsyncChannelInboundStream<HTTP2Frame>,
        _ outbound: NIOAsyncChannelOutboundWriter<HTTP2Frame>
    ) {
        self.close = close
        self.inbound = inbound.makeAsyncIterator()
        self.outbound = outbound
    }

    // MARK: - Sending

    func send(_ stream: HTTP2StreamID, _ payload: HTTP2Frame.FramePayload) async throws {
        try await outbound.write(HTTP2Frame(streamID: stream, payload: payload))
    }

    func head(
        _ method: String,
        _ path: String,
        on stream: HTTP2StreamID,
        headers: [(String, String)] = [],
        isWhole: Bool = false
    ) async throws {
        let block = HPACKHeaders(
            [(":method", method), (":path", path), (":scheme", "https"), (":authority", "localhost")] + headers
        )
        try await send(stream, .headers(.init(headers: block, endStream: isWhole)))
    }

    func body(_ bytes: ByteBuffer, on stream: HTTP2StreamID, isWhole: Bool = true) async throws {
        try await send(stream, .data(.init(data: .byteBuffer(bytes), endStream: isWhole)))
    }

    func get(_ path: String, on stream: HTTP2StreamID, headers: [(String, String)] = []) async throws {
        try await head("GET", path, on: stream, headers: headers, isWhole: true)
    }

    func post(_ path: String, _ text: String, on stream: HTTP2StreamID, headers: [(String, String)] = []) async throws {
        try await head("POST", path, on: stream, headers: headers)
        try await body(ByteBuffer(string: text), on: stream)
    }

    func finishSending() {
        outbound.finish()
    }

    // MARK: - Receiving

    /// Takes in one more frame of any kind, for later.
    func receive() async throws {
        guard let frame = try await next() else { throw ConnectionEnded() }
        if case .goAway(let last, let code, _) = frame.payload {
            goAways.append((last, code))
        } else {
            kept.append(frame)
        }
    }

    private func next() async throws -> HTTP2Frame? {
        try await waiting(for: "a frame from the server", giveUp: close) {
            try await inbound.next(isolation: #isolation)
        }
    }

    /// The next frame of any stream but the settings and windows; nil when the server has closed.
    func frame() async throws -> HTTP2Frame? {
        if !kept.isEmpty { return kept.removeFirst() }
        while let frame = try await next() {
            switch frame.payload {
            case .settings, .windowUpdate, .ping:
                continue
            case .goAway(let last, let code, _):
                goAways.append((last, code))
            default:
                return frame
            }
        }
        return nil
    }

    /// Lets the server send as much again, now and then.
    private func openWindow(_ bytes: Int) async throws {
        taken += bytes
        guard taken > 16_384 else { return }
        try await send(.rootStream, .windowUpdate(windowSizeIncrement: taken))
        taken = 0
    }

    /// The response on a stream; the frames of other streams wait.
    func response(on stream: HTTP2StreamID) async throws -> HTTP2TestResponse {
        var response = HTTP2TestResponse()
        var others: [HTTP2Frame] = []
        defer { kept = others + kept }
        while true {
            guard let frame = try await frame() else { throw ConnectionEnded() }
            guard frame.streamID == stream else {
                others.append(frame)
                continue
            }
            switch frame.payload {
            case .headers(let content):
                response.fields = content.headers.map { ($0.name, $0.value) }
                if content.endStream { return response }
            case .data(let content):
                if case .byteBuffer(let part) = content.data {
                    response.body += String(buffer: part)
                    try await openWindow(part.readableBytes)
                }
                if content.endStream { return response }
            case .rstStream(let code):
                response.reset = code
                return response
            default:
                continue
            }
        }
    }

    /// How the server ended a stream, its response passed over.
    func reset(of stream: HTTP2StreamID) async throws -> HTTP2ErrorCode {
        while let frame = try await frame() {
            if case .rstStream(let code) = frame.payload, frame.streamID == stream { return code }
        }
        throw ConnectionEnded()
    }

    /// Reads to the end of the connection; what the server said about it is in `goAways`.
    func waitForClose() async throws {
        do {
            while try await frame() != nil {}
        } catch let error as WaitTimedOut {
            throw error
        } catch {
            // A reset is a close as well.
        }
    }
}

/// A response as it came over HTTP/2.
struct HTTP2TestResponse {
    var fields: [(String, String)] = []
    var body = ""
    /// Set when the stream was reset in place of its end.
    var reset: HTTP2ErrorCode?

    var status: Int { self[":status"].flatMap { Int($0) } ?? 0 }

    subscript(_ name: String) -> String? {
        fields.first { $0.0 == name }?.1
    }
}

/// Opens an HTTP/2 connection for the length of `body`.
///
/// - Parameters:
///   - source: the address to connect from: every one of 127.0.0.0/8 is this machine's.
///   - window: how much of a response the server may send before it is asked for more.
///   - receiveBuffer: how much of it the system takes before it is read; much when nil.
///   - validates: whether the client refuses to send what is no HTTP/2.
func withHTTP2<Success>(
    port: Int,
    from source: String = "127.0.0.1",
    tls: NIOSSLContext,
    window: Int = Int(Int32.max),
    receiveBuffer: Int? = nil,
    validates: Bool = true,
    _ body: (HTTP2TestConnection) async throws -> Success
) async throws -> Success {
    var bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelOption(.allowRemoteHalfClosure, value: true)
    if let receiveBuffer { bootstrap = bootstrap.channelOption(.socketOption(.so_rcvbuf), value: receiveBuffer) }
    let channel =
        try await bootstrap
        .bind(to: SocketAddress(ipAddress: source, port: 0))
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                var configuration = NIOHTTP2Handler.ConnectionConfiguration()
                configuration.controlFrameRateLimit.maximumCount = 10_000
                configuration.initialSettings = [HTTP2Setting(parameter: .initialWindowSize, value: window)]
                configuration.headerBlockValidation = validates ? .enabled : .disabled
                configuration.contentLengthValidation = validates ? .enabled : .disabled
                try channel.pipeline.syncOperations.addHandlers(
                    NIOSSLClientHandler(context: tls, serverHostname: "localhost"),
                    NIOHTTP2Handler(mode: .client, connectionConfiguration: configuration)
                )
                return try NIOAsyncChannel<HTTP2Frame, HTTP2Frame>(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(isOutboundHalfClosureEnabled: true)
                )
            }
        }
    return try await channel.executeThenClose { inbound, outbound in
        try await body(HTTP2TestConnection({ channel.channel.close(promise: nil) }, inbound, outbound))
    }
}
