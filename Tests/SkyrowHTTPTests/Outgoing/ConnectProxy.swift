import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy that connects every name to one server, and notes the first line of each request.
final class ConnectProxy: Sendable {
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private let listener: any Channel
    private let lines: SharedLines

    var port: Int { listener.localAddress?.port ?? 0 }
    var requests: [String] { lines.all }

    /// - Parameter server: The port of the server on the loopback interface; nil if it refuses every request.
    init(to server: Int?) async throws {
        let lines = SharedLines()
        self.lines = lines
        listener = try await ServerBootstrap(group: group)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ConnectHandler(server, lines))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    func stop() async throws {
        try await listener.close()
        try await group.shutdownGracefully()
    }
}

final class SharedLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock(\.self) }

    func append(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

private final class ConnectHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let server: Int?
    private let lines: SharedLines
    private var head = ByteBuffer()
    private var hasHead = false

    init(_ server: Int?, _ lines: SharedLines) {
        self.server = server
        self.lines = lines
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var part = unwrapInboundIn(data)
        head.writeBuffer(&part)
        let text = String(buffer: head)
        guard !hasHead, text.hasSuffix("\r\n\r\n") else { return }
        hasHead = true
        lines.append(text.split(separator: "\r\n").first.map(String.init) ?? "")
        guard let server else {
            let refusal = ByteBuffer(string: "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return context.writeAndFlush(wrapOutboundOut(refusal), promise: nil)
        }
        let near = context.channel
        let this = NIOLoopBound(self, eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop).connect(host: "127.0.0.1", port: server).whenComplete { result in
            guard case .success(let far) = result else { return near.close(promise: nil) }
            do {
                try far.pipeline.syncOperations.addHandler(Forwarder(near))
                try near.pipeline.syncOperations.addHandler(Forwarder(far))
            } catch {
                near.close(promise: nil)
            }
            near.pipeline.syncOperations.removeHandler(this.value, promise: nil)
            near.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connected\r\n\r\n"), promise: nil)
        }
    }
}

extension ConnectHandler: RemovableChannelHandler {}

/// Sends what one connection receives on another, and closes them together.
private final class Forwarder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel

    init(_ other: any Channel) { self.other = other }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        other.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        other.close(promise: nil)
    }
}
