import NIOCore
import NIOHTTP1
import NIOWebSocket

extension HTTP1Connection {
    /// Writes the response that ends HTTP on this connection, and turns the connection into a WebSocket.
    func become(_ upgrade: SocketUpgrade, with response: HTTPResponse, for exchange: RequestExchange) {
        guard exchange.lifecycle.responded() != nil, let context else { return }
        exchange.end(cancels: false)
        current = nil
        guard !sequence.inputIsClosed, queue.isEmpty, arriving == nil else {
            close()
            return
        }
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let usage = loop.usage(of: peer, exchange.head)
        // The future completes at once, on this loop.
        WebSocketHandshake.upgrader.buildUpgradeResponse(
            channel: context.channel,
            upgradeRequest: exchange.head,
            initialResponseHeaders: HTTPHeaders()
        ).whenComplete { result in
            connection.value.become(upgrade, with: response, answer: result, usage: usage)
        }
    }

    private func become(
        _ upgrade: SocketUpgrade,
        with response: HTTPResponse,
        answer: Result<HTTPHeaders, any Error>,
        usage: ClientUsage?
    ) {
        guard let context, case .success(let headers) = answer else {
            close()
            return
        }
        var response = response
        response.fields += headers.map { HTTPField($0.name.lowercased(), $0.value) }
        var buffer = context.channel.allocator.buffer(capacity: response.headSize)
        response.writeHead(into: &buffer, date: loop.dateLine(), keepsAlive: true, version: .http1_1)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        do {
            try replaceHandlers(upgrade, usage: usage, in: context.channel.pipeline.syncOperations)
        } catch {
            close()
        }
    }

    private func replaceHandlers(
        _ upgrade: SocketUpgrade,
        usage: ClientUsage?,
        in pipeline: ChannelPipeline.SynchronousOperations
    ) throws {
        let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
        let counter = ReceivedBytes()
        let frames = WebSocketFrameDecoder(maxFrameSize: min(loop.limits.body, Int(UInt32.max)))
        let socket = WebSocketConnection(upgrade, loop: loop, usage: usage, counter: counter, onClose: handOver())
        let wasHeldBack = heldRead.isHeldBack
        try pipeline.addHandlers(counter, ByteToMessageHandler(frames), WebSocketFrameEncoder(), socket)
        // Bytes that the client sent after its request go to the remaining handlers.
        pipeline.removeHandler(self, promise: nil)
        pipeline.removeHandler(context: decoder, promise: nil)
        if wasHeldBack { socket.context?.channel.read() }
    }
}
