import NIOCore
import NIOTLS

/// Waits for the end of a TLS handshake, makes room for the protocol that was agreed on, and leaves.
///
/// It sits behind the TLS handler. What the client sends right after its handshake is decrypted only when this is done,
/// so nothing has to be kept for later connections.
final class TLSNegotiation: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer

    private let loop: EventLoopContext
    private let deadline: NIODeadline
    private let onAgreement: (_ protocol: String?, _ channel: any Channel) throws -> Void
    /// nil once the connection is handed over.
    private var onClose: (@Sendable () -> Void)?
    private var context: ChannelHandlerContext?
    private var isQuiescing = false

    /// - Parameter onAgreement: adds the handlers of a protocol, which from then on count the connection.
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
            // The client may have a request ready; the protocol's own handler sends GOAWAY.
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
        // A peer that did not finish the handshake was no client.
        context.close(promise: nil)
    }

    func checkDeadlines(now: NIODeadline) {
        if now >= deadline { context?.close(promise: nil) }
    }
}
