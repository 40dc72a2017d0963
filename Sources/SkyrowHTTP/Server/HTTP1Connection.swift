import NIOCore
import NIOHTTP1
import SkyrowConcurrency

/// The server's end of one HTTP/1.1 connection: it carries out what the lifecycles of its requests and its sequence decide.
///
/// It sits right behind the HTTP decoder and writes bytes. Requests that a client pipelines wait in `queue`. One of them
/// is worked on at a time, so responses leave in the order of the requests. All of it runs on the connection's event loop.
/// Reading is here, responding in HTTP1Connection+Responses, time and the end in HTTP1Connection+Deadlines.
final class HTTP1Connection: ChannelDuplexHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = IOData

    /// What waits for its turn.
    enum Item {
        case request(RequestExchange, arrival: NIODeadline)
        /// Nothing comes after it.
        case refusal(HTTPFault, HTTPRequestHead?)
    }

    /// The request that is being worked on.
    struct Current {
        let number: UInt64
        let exchange: RequestExchange
        var keepsAlive = false
        var isChunked = false
        /// The system sends a region of a file; the next part waits until it has.
        var isSendingFile = false
    }

    let loop: EventLoopContext
    let peer: ConnectionPeer
    private(set) var onClose: @Sendable () -> Void
    var context: ChannelHandlerContext?
    var sequence: HTTP1Sequence

    /// The request whose body arrives, unless it is being worked on already.
    var arriving: RequestExchange?
    var queue = CircularBuffer<Item>(initialCapacity: 2)
    var current: Current?
    var lastNumber: UInt64 = 0
    private(set) var readIsHeldBack = false

    var isDraining = false
    var hasUnflushedBytes = false
    /// Bytes of a streamed response that left without a pause; others have their turn in between.
    var burst = 0
    /// What the client has left to read; nil while it reads as fast as it is served.
    var stall: Stall? {
        didSet { loop.unreadResponses.add((stall?.bytes ?? 0) - (oldValue?.bytes ?? 0)) }
    }

    /// - Parameter refusal: the response to a connection that is one too many.
    init(
        loop: EventLoopContext,
        peer: ConnectionPeer,
        refusal: HTTPFault? = nil,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.peer = peer
        self.onClose = onClose
        sequence = HTTP1Sequence(loop.limits, now: .now())
        if let refusal { refuse(refusal, head: nil) }
    }

    /// What is to be done at the end of the connection; from here on it is another's affair.
    func handOver() -> @Sendable () -> Void {
        defer { onClose = {} }
        return onClose
    }

    var isIdle: Bool { current == nil && queue.isEmpty && arriving == nil }

    // MARK: - The connection opens and closes

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        // Behind TLS the connection is open already.
        if !queue.isEmpty { drain() }
    }

    func channelActive(context: ChannelHandlerContext) {
        drain()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
    }

    // MARK: - Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard sequence.takesInput else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head)
        case .body(let part): receive(part)
        case .end: completeBody()
        }
    }

    func read(context: ChannelHandlerContext) {
        if holdsBackReads {
            readIsHeldBack = true
        } else {
            context.read()
        }
    }

    private var holdsBackReads: Bool {
        queue.count >= loop.limits.pipelinedRequests || (arriving ?? current?.exchange)?.lifecycle.isFull == true
    }

    func resumeReading() {
        guard readIsHeldBack, !holdsBackReads else { return }
        readIsHeldBack = false
        context?.read()
    }

    private func begin(_ head: HTTPRequestHead) {
        let (exchange, action) = RequestExchange.begin(head, in: loop)
        arriving = exchange
        perform(action, isCurrent: false)
        sendOwedContinue()
    }

    func sendOwedContinue() {
        if current == nil, queue.isEmpty, arriving?.lifecycle.owesContinue == true {
            arriving?.lifecycle.continueSent()
        } else if current?.exchange.lifecycle.owesContinue == true {
            current?.exchange.lifecycle.continueSent()
        } else {
            return
        }
        sendInterim("HTTP/1.1 100 Continue\r\n\r\n")
    }

    func sendInterim(_ head: StaticString) {
        guard let context else { return }
        var buffer = context.channel.allocator.buffer(capacity: 32)
        buffer.writeStaticString(head)
        context.writeAndFlush(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
    }

    private func receive(_ part: ByteBuffer) {
        let bytes = part.readableBytes
        if arriving != nil {
            perform(arriving?.lifecycle.received(bytes, loop.limits), isCurrent: false)
            if arriving?.parts == nil { arriving?.keep(part) }
            arriving?.parts?.push(part)
        } else if let parts = current?.exchange.parts {
            perform(current?.exchange.lifecycle.received(bytes, loop.limits), isCurrent: true)
            parts.push(part)
        }
    }

    /// What of a body has come without its end stays in memory from here on.
    func channelReadComplete(context: ChannelHandlerContext) {
        if arriving != nil { perform(arriving?.lifecycle.paused(), isCurrent: false) }
        context.fireChannelReadComplete()
    }

    private func completeBody() {
        if arriving != nil {
            let waits = current != nil || !queue.isEmpty || context?.channel.isWritable != true
            perform(arriving?.lifecycle.bodyEnded(waits: waits), isCurrent: false)
        } else {
            perform(current?.exchange.lifecycle.bodyEnded(waits: false), isCurrent: true)
        }
    }

    // MARK: - What the lifecycle of a request decides

    /// - Parameter isCurrent: whether it is the request that is being worked on, and not the one that arrives.
    func perform(_ action: RequestLifecycle.Action?, isCurrent: Bool) {
        guard let action else { return }
        switch action {
        case .claim(let claim):
            let next =
                isCurrent
                ? current?.exchange.claim(claim, from: peer, in: loop)
                : arriving?.claim(claim, from: peer, in: loop)
            perform(next, isCurrent: isCurrent)
        case .ready:
            becomeReady()
        case .endBody:
            completeParts(isCurrent: isCurrent)
        case .refuse(let fault):
            if isCurrent { refuseCurrent(fault) } else { refuse(fault, head: arriving?.head) }
        case .cancel:
            current?.exchange.cancel()
        case .abort:
            endCurrent()
            close()
        case .drop:
            dropArriving()
        case .write, .finish:
            // The response that asked for it goes on.
            break
        }
    }

    /// A collected body is here, or the head of a streamed one.
    private func becomeReady() {
        let now = NIODeadline.now()
        sequence.requestArrived(now: now, loop.limits)
        if let exchange = arriving, exchange.parts == nil {
            arriving = nil
            queue.append(.request(exchange, arrival: now))
        }
        drain()
    }

    private func completeParts(isCurrent: Bool) {
        guard !isCurrent else {
            current?.exchange.parts?.finish()
            return
        }
        guard let exchange = arriving else { return }
        exchange.parts?.finish()
        // Its turn has not come yet, and the next request may arrive.
        arriving = nil
        queue.append(.request(exchange, arrival: .now()))
    }

    private func dropArriving() {
        arriving?.end()
        arriving = nil
    }

    /// Queues a refusal behind the responses that come before it.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?) {
        guard sequence.refuse() else { return }
        dropArriving()
        queue.append(.refusal(fault, head))
        drain()
    }

    // MARK: - Events

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        current?.exchange.lifecycle.writabilityChanged(isWritable)
        guard isWritable else { return }
        if sequence.isOpen { stall = nil }
        burst = 0
        if current?.isSendingFile == false { current?.exchange.writer.take()?.settle(true) }
        drain()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            sequence.beginShutdown(now: .now(), loop.limits)
            current?.exchange.endEndlessResponse()
            // Sooner than the next look at the clock.
            let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
            loop.eventLoop.scheduleTask(in: loop.limits.lastRequest) { connection.value.checkDeadlines(now: .now()) }
        } else if case .inputClosed? = event as? ChannelEvent {
            inputWasClosed()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else {
            close()
            return
        }
        switch error {
        case .invalidEOFState:
            // The client left in the middle of a request.
            inputWasClosed()
        case .headerOverflow:
            refuse(.headerTooLarge, head: arriving?.head)
        default:
            failToParse()
        }
    }

    /// A body that is being worked on already ends here, and with it the connection.
    private func failToParse() {
        if arriving == nil, current?.exchange.lifecycle.takesBody == true {
            perform(current?.exchange.lifecycle.inputFailed(.malformed), isCurrent: true)
        } else {
            refuse(.malformed, head: arriving?.head)
        }
    }
}
