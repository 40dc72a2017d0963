import NIOCore
import NIOWebSocket

/// Counts the bytes that have come and that the frame decoder behind it keeps.
final class ReceivedBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// Bytes of frames that are not complete.
    private(set) var held = 0
    /// Whether what comes is read and dropped, since there is no memory for it.
    ///
    /// The connection is not closed at once: unread bytes would reset it, and the client might not learn why it ends.
    var drops = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !drops else { return }
        held += unwrapInboundIn(data).readableBytes
        context.fireChannelRead(data)
    }

    /// A frame is complete.
    func taken(_ frame: WebSocketFrame) {
        let length = frame.length
        let head = 2 + (length > 65_535 ? 8 : length > 125 ? 2 : 0) + (frame.maskKey == nil ? 0 : 4)
        held -= head + length
    }
}
