import NIOCore
import NIOWebSocket

/// Counts the received bytes that the following frame decoder keeps.
final class ReceivedBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Bytes of incomplete frames.
    private(set) var held = 0
    /// Whether input is read and dropped, because there is no memory for it.
    ///
    /// The connection is not closed at once: unread bytes would reset it, and the client might not get the reason.
    var drops = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !drops else { return }
        held += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    /// Notes that a frame is complete.
    func taken(_ frame: WebSocketFrame) {
        let length = frame.length
        let head = 2 + (length > 65_535 ? 8 : length > 125 ? 2 : 0) + (frame.maskKey == nil ? 0 : 4)
        held -= head + length
    }
}
