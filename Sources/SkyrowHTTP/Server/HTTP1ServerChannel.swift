import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The pipeline of a connection in place of Hummingbird's own: the HTTP decoder and `HTTP1Connection`, nothing else.
///
/// Hummingbird's server accepts connections, hands them here, and waits for them to close when it shuts down.
struct HTTP1ServerChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let channel: any Channel
    }

    private let contexts: [ObjectIdentifier: NIOLoopBoundBox<EventLoopContext>]
    private let limits: HTTPLimits
    private let connections: ConnectionCount

    init(group: any EventLoopGroup, limits: HTTPLimits, counts: HTTPServerCounts, responder: any HTTPResponder) {
        connections = counts.connections
        var contexts: [ObjectIdentifier: NIOLoopBoundBox<EventLoopContext>] = [:]
        for loop in group.makeIterator() {
            let context = EventLoopContext(
                eventLoop: loop,
                limits: limits,
                bodyBudget: counts.bodies,
                responder: responder
            )
            contexts[ObjectIdentifier(loop)] = .makeBoxSendingValue(context, eventLoop: loop)
        }
        self.contexts = contexts
        self.limits = limits
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
        guard let context = contexts[ObjectIdentifier(channel.eventLoop)]?.value,
            open <= limits.connections + HTTP1ServerChannel.refusalsAtOnce
        else {
            // Too many even to be told so.
            connections.refuse()
            connections.decrement()
            channel.close(promise: nil)
            return
        }
        let isTooMany = open > limits.connections
        if isTooMany { connections.refuse() }
        let peer = Client(address: channel.remoteAddress.flatMap(ClientAddress.init), isSecure: false)
        let connection = HTTP1Connection(loop: context, peer: peer, refusal: isTooMany ? .overloaded : nil) {
            connections.decrement()
        }
        if isTooMany {
            try channel.pipeline.syncOperations.addHandler(connection)
        } else {
            try channel.pipeline.syncOperations.addHandlers(makeDecoder(), connection)
        }
    }

    private func makeDecoder() -> ByteToMessageHandler<HTTPRequestDecoder> {
        var decoderLimits = NIOHTTPDecoderLimitConfiguration()
        decoderLimits.maxHeaderFieldSize = limits.headerField
        decoderLimits.maxHeaderListSize = limits.headerList
        decoderLimits.maxHeaderFieldCount = limits.headerCount
        return ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: decoderLimits))
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
