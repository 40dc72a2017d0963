import NIOCore
import NIOHTTP1
import SkyrowModel

/// The pipeline of a connection: the HTTP decoder and `HTTP1Connection`.
///
/// With a certificate TLS comes first, and its handshake decides between HTTP/1.1 and HTTP/2.
struct ServerChannel: Sendable {
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

    func setUp(_ channel: any Channel) -> EventLoopFuture<Void> {
        channel.eventLoop.makeCompletedFuture { try addHandlers(to: channel) }
    }

    private func addHandlers(to channel: any Channel) throws {
        let client = Client(address: channel.remoteAddress.flatMap(ClientAddress.init), isSecure: certificate != nil)
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
}
