import NIOCore
import NIOHTTP1
import SkyrowConcurrency

/// The server's end of one HTTP/1.1 connection; performs what the lifecycles of its requests and its sequence decide.
///
/// It follows the HTTP decoder in the pipeline and writes bytes. Pipelined requests wait in `queue`. One request is processed at
/// a time, so responses are sent in the order of the requests. All of it runs on the connection's event loop. Reading is in this
/// file, responding in HTTP1Connection+Responses, deadlines and closing in HTTP1Connection+Deadlines.
final class HTTP1Connection: ChannelDuplexHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = IOData

    /// An entry of the queue.
    enum Item {
        case request(RequestExchange, arrival: NIODeadline)
        /// The last entry; no request follows it.
        case refusal(HTTPFault, HTTPRequestHead?)
    }

    /// The request being processed.
    struct Current {
        let number: UInt64
        let exchange: RequestExchange
        var keepsAlive = false
        var isChunked = false
        /// Whether the system is sending a region of a file; the next part waits for it.
        var isSendingFile = false
    }

    let loop: EventLoopContext
    let peer: ConnectionPeer
    private(set) var onClose: @Sendable () -> Void
    var context: ChannelHandlerContext?
    var sequence: HTTP1Sequence

    /// The request whose body is arriving, unless it is already being processed.
    var arriving: RequestExchange?
    var queue = CircularBuffer<Item>(initialCapacity: 2)
    var current: Current?
    var lastNumber: UInt64 = 0
    private(set) var heldRead = HeldRead()

    var isDraining = false
    var hasUnflushedBytes = false
    /// The bytes of a streamed response written without a pause; the loop serves other connections between bursts.
    var burst = 0
    /// The stall timer, while the client has bytes to read; nil while it reads as fast as it is served.
    var stall: Stall? { didSet { loop.unreadResponses.add((stall?.bytes ?? 0) - (oldValue?.bytes ?? 0)) } }

    /// - Parameter refusal: The response to a connection above the limit.
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

    /// Returns the close handler and removes it here: another handler now owns the connection.
    func handOver() -> @Sendable () -> Void {
        defer { onClose = {} }
        return onClose
    }

    var isIdle: Bool { current == nil && queue.isEmpty && arriving == nil }

    // MARK: - Opening and closing

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        // Behind TLS the connection is already active.
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
        if heldRead.begins(unless: holdsBackReads) { context.read() }
    }

    private var holdsBackReads: Bool {
        queue.count >= loop.limits.pipelinedRequests || (arriving ?? current?.exchange)?.lifecycle.isFull == true
    }

    func resumeReading() {
        if heldRead.resumes(unless: holdsBackReads) { context?.read() }
    }

    private func begin(_ head: HTTPRequestHead) {
        let (exchange, action) = RequestExchange.begin(head, in: loop)
        arriving = exchange
        perform(action, isCurrent: false)
        sendOwedContinue()
    }

    func sendOwedContinue() {
        if current == nil, queue.isEmpty, arriving?.lifecycle.continueIsDue == true {
            arriving?.lifecycle.continueSent()
        } else if current?.exchange.lifecycle.continueIsDue == true {
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

    /// The received part of an incomplete body stays in memory until more arrives.
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

    // MARK: - Lifecycle actions

    /// - Parameter isCurrent: Whether the action is for the request being processed, and not for the arriving one.
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
            // The response that caused the action continues.
            break
        }
    }

    /// Queues or starts a request whose collected body, or whose head in case of a streamed body, is complete.
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
        // The request still waits, and the next one may arrive.
        arriving = nil
        queue.append(.request(exchange, arrival: .now()))
    }

    private func dropArriving() {
        arriving?.end()
        arriving = nil
    }

    /// Queues a refusal after the responses that precede it.
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
            // Checks the deadlines earlier than the next tick would.
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

    /// Ends the body of a request that is already being processed, and with it the connection; otherwise refuses the request.
    private func failToParse() {
        if arriving == nil, current?.exchange.lifecycle.takesBody == true {
            perform(current?.exchange.lifecycle.inputFailed(.malformed), isCurrent: true)
        } else {
            refuse(.malformed, head: arriving?.head)
        }
    }
}
