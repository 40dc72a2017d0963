import NIOCore
import NIOTLS

/// Waits for the end of a TLS handshake, adds the handlers of the negotiated protocol, and removes itself.
///
/// It follows the TLS handler in the pipeline. Data that the client sends right after the handshake is decrypted only afterwards,
/// so nothing must be buffered.
final class TLSNegotiation: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer

    private let loop: EventLoopContext
    private let deadline: NIODeadline
    private let onAgreement: (_ protocol: String?, _ channel: any Channel) throws -> Void
    /// nil after the connection was handed over.
    private var onClose: (@Sendable () -> Void)?
    private var context: ChannelHandlerContext?
    private var isQuiescing = false

    /// - Parameter onAgreement: Adds the handlers of a protocol, which are then responsible for closing the connection's count.
    init(
        loop: EventLoopContext,
        onClose: @escaping @Sendable () -> Void,
        onAgreement: @escaping (_ protocol: String?, _ channel: any Channel) throws -> Void
    ) {
        self.loop = loop
        self.onClose = onClose
        self.onAgreement = onAgreement
        deadline = .now() + loop.limits.handshake
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        loop.remove(self)
        onClose?()
        onClose = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case TLSUserEvent.handshakeCompleted(let agreed):
            finish(context, agreed)
        case is ChannelShouldQuiesceEvent:
            // The client may be about to send a request; the protocol's handler sends GOAWAY.
            isQuiescing = true
        default:
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func finish(_ context: ChannelHandlerContext, _ agreed: String?) {
        let channel = context.channel
        do {
            try onAgreement(agreed, channel)
        } catch {
            channel.close(promise: nil)
            return
        }
        onClose = nil
        if isQuiescing { context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent()) }
        context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A peer that did not complete the handshake is not a client.
        context.close(promise: nil)
    }

    func checkDeadlines(now: NIODeadline) {
        if now >= deadline { context?.close(promise: nil) }
    }
}
