import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOSSL
import NIOWebSocket

/// An accepted connection that is getting its handlers.
struct Opening {
    let loop: EventLoopContext
    let peer: ConnectionPeer
    /// The fault for a connection above the limit.
    let refusal: HTTPFault?
    let onClose: @Sendable () -> Void

    func addHTTP1(to channel: any Channel) throws {
        let connection = HTTP1Connection(loop: loop, peer: peer, refusal: refusal, onClose: onClose)
        if refusal == nil {
            try channel.pipeline.syncOperations.addHandlers(makeDecoder(), connection)
        } else {
            try channel.pipeline.syncOperations.addHandler(connection)
        }
    }

    /// Instantiates the decoder types once, before there are connections.
    ///
    /// The runtime of Swift 6.3 has crashed on a null pointer (`isCanonicalStaticallySpecializedGenericMetadata`) when the first
    /// connection of a service instantiated the decoder's type while another thread instantiated another type: twice in some
    /// thousand starts of a debug build.
    static func instantiateDecoder() {
        _ = ByteToMessageHandler(HTTPRequestDecoder())
        _ = ByteToMessageHandler(WebSocketFrameDecoder())
    }

    private func makeDecoder() -> ByteToMessageHandler<HTTPRequestDecoder> {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = loop.limits.headerField
        limits.maxHeaderListSize = loop.limits.headerList
        limits.maxHeaderFieldCount = loop.limits.headerCount
        return ByteToMessageHandler(
            HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes, limitConfiguration: limits)
        )
    }

    func addHTTP2(to channel: any Channel) throws {
        let connection = HTTP2Connection(loop: loop, peer: peer, refusal: refusal, onClose: onClose)
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        let configuration = NIOHTTP2Handler.Configuration(loop.limits)
        let handler = NIOHTTP2Handler(
            mode: .server,
            eventLoop: channel.eventLoop,
            connectionConfiguration: configuration.connection,
            streamConfiguration: configuration.stream,
            inboundStreamInitializer: { stream in
                stream.eventLoop.makeCompletedFuture {
                    try stream.pipeline.syncOperations.addHandler(HTTP2Stream(connection: bound.value))
                }
            }
        )
        try channel.pipeline.syncOperations.addHandlers(handler, connection)
    }

    func addTLS(_ certificate: ServerCertificate, to channel: any Channel) throws {
        let opening = self
        let negotiation = TLSNegotiation(loop: loop, onClose: onClose) { agreed, channel in
            if agreed == "h2" {
                try opening.addHTTP2(to: channel)
            } else {
                try opening.addHTTP1(to: channel)
            }
        }
        try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: certificate.context), negotiation)
    }
}
