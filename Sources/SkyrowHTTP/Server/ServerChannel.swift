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
    private let certificate: ServerCertificate?
    private let clients: ClientIdentification
    private let counts: HTTPServerCounts

    init(
        group: any EventLoopGroup,
        limits: HTTPLimits,
        certificate: ServerCertificate?,
        clients: ClientIdentification,
        counts: HTTPServerCounts,
        responder: any HTTPResponder
    ) {
        var contexts: [ObjectIdentifier: NIOLoopBoundBox<EventLoopContext>] = [:]
        for loop in group.makeIterator() {
            let context = EventLoopContext(
                eventLoop: loop,
                limits: limits,
                clients: clients,
                counts: counts,
                responder: responder
            )
            contexts[ObjectIdentifier(loop)] = .makeBoxSendingValue(context, eventLoop: loop)
        }
        self.contexts = contexts
        self.certificate = certificate
        self.clients = clients
        self.counts = counts
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try addHandlers(to: channel, logger: logger)
            return Value(channel: channel)
        }
    }

    private func addHandlers(to channel: any Channel, logger: Logger) throws {
        let client = Client(
            address: channel.remoteAddress.flatMap(ClientAddress.init),
            isSecure: certificate != nil
        )
        let isProxy = clients.isProxy(client)
        let usage = isProxy ? nil : counts.clients.usage(of: clients.key(of: client))
        let connections = counts.connections
        let verdict = connections.add(usage)
        let refusal: HTTPFault? =
            switch verdict {
            case .refused(let fault): fault
            case .open, .dropped: nil
            }
        guard let loop = contexts[ObjectIdentifier(channel.eventLoop)]?.value, verdict != .dropped else {
            connections.close(verdict, usage)
            channel.close(promise: nil)
            return
        }
        let opening = Opening(
            loop: loop,
            peer: ConnectionPeer(client: client, usage: usage, isProxy: isProxy),
            refusal: refusal,
            onClose: { connections.close(verdict, usage) }
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
}
