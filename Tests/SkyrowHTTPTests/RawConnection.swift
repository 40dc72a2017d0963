import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import SkyrowTestSupport
import Testing

/// A TCP connection that sends whatever bytes a test wants and reads responses one by one.
///
/// ```swift
/// try await withConnection(port: port) { connection in
///     try await connection.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
///     let response = try await connection.response()
/// }
/// ```
final class RawConnection {
    private let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private var received = ByteBuffer()
    /// Ends whatever waits for the server.
    private let close: @Sendable () -> Void

    fileprivate init(
        _ close: @escaping @Sendable () -> Void,
        _ inbound: NIOAsyncChannelInboundStream<ByteBuffer>,
        _ outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
    ) {
        self.close = close
        self.inbound = inbound.makeAsyncIterator()
        self.outbound = outbound
    }

    func send(_ text: String) async throws {
        try await outbound.write(ByteBuffer(string: text))
    }

    func send(_ bytes: ByteBuffer) async throws {
        try await outbound.write(bytes)
    }

    /// Sends a request with a body.
    func post(_ path: String, _ body: String, headers: [(String, String)] = []) async throws {
        let fields = headers.map { "\($0): \($1)\r\n" }.joined()
        let head = "POST \(path) HTTP/1.1\r\nhost: localhost\r\ncontent-length: \(body.utf8.count)\r\n\(fields)\r\n"
        try await send(head + body)
    }

    /// Sends a request without a body.
    func get(_ path: String, method: String = "GET", headers: [(String, String)] = []) async throws {
        let fields = headers.map { "\($0): \($1)\r\n" }.joined()
        try await send("\(method) \(path) HTTP/1.1\r\nhost: localhost\r\n\(fields)\r\n")
    }

    /// Closes this side only.
    func finishSending() {
        outbound.finish()
    }

    /// Reads the next response; throws when the connection ends before it is complete.
    ///
    /// - Parameter toHead: the response has no body, whatever its length says.
    func response(toHead: Bool = false) async throws -> RawResponse {
        try await waiting(for: "a response", giveUp: close) { try await readResponse(toHead: toHead) }
    }

    private func readResponse(toHead: Bool) async throws -> RawResponse {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) { head.append(try await byte()) }
        let lines = String(decoding: head, as: UTF8.self).components(separatedBy: "\r\n")
        let status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        var fields: [(String, String)] = []
        for line in lines.dropFirst() where !line.isEmpty {
            let parts = line.split(separator: ":", maxSplits: 1)
            fields.append((parts[0].lowercased(), String(parts[1].drop { $0 == " " })))
        }
        let length = fields.first { $0.0 == "content-length" }.flatMap { Int($0.1) } ?? 0
        let body = toHead ? ByteBuffer() : try await read(length)
        return RawResponse(status: status, fields: fields, body: String(buffer: body))
    }

    /// Passes over bytes of a body that come next; returns how many there were, 0 at the end of the connection.
    func skip(upTo count: Int) async throws -> Int {
        try await waiting(for: "a part of a body", giveUp: close) {
            if received.readableBytes == 0 {
                guard let more = try await inbound.next(isolation: #isolation) else { return 0 }
                received = more
            }
            let length = min(count, received.readableBytes)
            received.moveReaderIndex(forwardBy: length)
            return length
        }
    }

    /// Reads the next chunk of a body; empty for the last.
    func chunk() async throws -> String {
        try await waiting(for: "a chunk", giveUp: close) {
            var line: [UInt8] = []
            while !line.suffix(2).elementsEqual("\r\n".utf8) { line.append(try await byte()) }
            let length = try #require(Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16))
            let bytes = try await read(length)
            _ = try await read(2)
            return String(buffer: bytes)
        }
    }

    /// Reads the next bytes, whatever they are; throws when the connection ends before.
    func bytes(_ count: Int) async throws -> ByteBuffer {
        try await waiting(for: "\(count) bytes", giveUp: close) { try await read(count) }
    }

    /// True when the server closes the connection without another byte.
    func isClosedByServer() async throws -> Bool {
        guard received.readableBytes == 0 else { return false }
        return try await waiting(for: "the server to close the connection", giveUp: close) { try await hasEnded() }
    }

    private func hasEnded() async throws -> Bool {
        do {
            while let more = try await inbound.next(isolation: #isolation) {
                if more.readableBytes > 0 { return false }
            }
            return true
        } catch {
            // A reset is a close as well.
            return true
        }
    }

    private func byte() async throws -> UInt8 {
        while true {
            if let byte: UInt8 = received.readInteger() { return byte }
            guard let more = try await inbound.next(isolation: #isolation) else { throw ConnectionEnded() }
            received = more
        }
    }

    private func read(_ count: Int) async throws -> ByteBuffer {
        while received.readableBytes < count {
            guard var more = try await inbound.next(isolation: #isolation) else { throw ConnectionEnded() }
            received.writeBuffer(&more)
        }
        return received.readSlice(length: count) ?? ByteBuffer()
    }
}

struct ConnectionEnded: Error {}

/// A response as it came over the wire.
struct RawResponse {
    let status: Int
    let fields: [(String, String)]
    let body: String

    subscript(_ name: String) -> String? {
        fields.first { $0.0 == name }?.1
    }
}

/// Opens a connection for the length of `body`, over TLS when there is a context for it.
///
/// - Parameter source: the address to connect from: every one of 127.0.0.0/8 is this machine's.
func withConnection<Success>(
    port: Int,
    from source: String = "127.0.0.1",
    tls: NIOSSLContext? = nil,
    _ body: (RawConnection) async throws -> Success
) async throws -> Success {
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .channelOption(.allowRemoteHalfClosure, value: true)
        .bind(to: SocketAddress(ipAddress: source, port: 0))
        .connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                if let tls {
                    let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
                return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(
                    wrappingChannelSynchronously: channel,
                    configuration: .init(isOutboundHalfClosureEnabled: true)
                )
            }
        }
    return try await channel.executeThenClose { inbound, outbound in
        try await body(RawConnection({ channel.channel.close(promise: nil) }, inbound, outbound))
    }
}
