import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The pipeline of a connection in place of Hummingbird's own: the HTTP decoder and `HTTP1Connection`, nothing else.
///
/// Hummingbird's server accepts connections, hands them here, and waits for them to close when it shuts down. With a
/// certificate TLS comes first, and its handshake decides between HTTP/1.1 and HTTP/2.
struct ServerChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    private let contexts: [ObjectIdentifier: NIOLoopBoundBox<EventLoopContext>]
    private let limits: HTTPLimits
    private let certificate: ServerCertificate?
    private let connections: ConnectionCount

    init(
        group: any EventLoopGroup,
        limits: HTTPLimits,
        certificate: ServerCertificate?,
        counts: HTTPServerCounts,
        responder: any HTTPResponder
    ) {
        connections = counts.connections
        var contexts: [ObjectIdentifier: NIOLoopBoundBox<EventLoopContext>] = [:]
        for loop in group.makeIterator() {
            let context = EventLoopContext(
                eventLoop: loop,
                limits: limits,
                bodyBudget: counts.bodies,
                unreadAnswers: counts.unreadAnswers,
                responder: responder
            )
            contexts[ObjectIdentifier(loop)] = .makeBoxSendingValue(context, eventLoop: loop)
        }
        self.contexts = contexts
        self.limits = limits
        self.certificate = certificate
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try addHandlers(to: channel, logger: logger)
            return Value(channel: channel)
        }
    }

    private func addHandlers(to channel: any Channel, logger: Logger) throws {
        let open = connections.increment()
        let connections = connections
        guard let loop = contexts[ObjectIdentifier(channel.eventLoop)]?.value,
            open <= limits.connections + ServerChannel.refusalsAtOnce
        else {
            // Too many even to be told so.
            connections.refuse()
            connections.decrement()
            channel.close(promise: nil)
            return
        }
        let isTooMany = open > limits.connections
        if isTooMany { connections.refuse() }
        let opening = Opening(
            loop: loop,
            peer: Client(
                address: channel.remoteAddress.flatMap(ClientAddress.init),
                isSecure: certificate != nil
            ),
            refusal: isTooMany ? .overloaded : nil,
            onClose: { connections.decrement() }
        )
        if let certificate {
            try opening.addTLS(certificate, to: channel)
        } else {
            try opening.addHTTP1(to: channel)
        }
    }

    func handle(value: Value, logger: Logger) async {
        // The handlers do the work; the server waits for this to return before it ends.
        await withTaskCancellationHandler {
            try? await value.channel.closeFuture.get()
        } onCancel: {
            value.channel.close(promise: nil)
        }
    }

    /// How many connections beyond the limit are told that there are too many.
    private static let refusalsAtOnce = 128
}
