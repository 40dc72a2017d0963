import NIOCore
import NIOHTTP1

/// The server's end of one HTTP/1.1 connection: collects requests, has them served one after another, enforces time limits.
///
/// It sits right behind the HTTP decoder and writes bytes. Requests that a client pipelines wait in `queue`; one of them
/// is answered at a time, so responses leave in the order of the requests. All of it runs on the connection's event loop.
/// Reading and collecting is here, responding in HTTP1Connection+Responses, time in HTTP1Connection+Deadlines.
final class HTTP1Connection: ChannelDuplexHandler, TimedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    enum Phase {
        /// Requests are read and served. Next: finishing, closed.
        case open
        /// The last response is being written. Next: lingering, closed.
        case finishing
        /// Our side is closed; what still comes is dropped until the client closes its side. Next: closed.
        case lingering(until: NIODeadline)
        case closed
    }

    /// What waits for its turn.
    enum Item {
        case request(HTTPRequest, BodyHold?)
        /// Nothing comes after it.
        case refusal(HTTPFault, HTTPRequestHead?)
    }

    /// The request that is being served.
    struct Current {
        let number: UInt64
        let head: HTTPRequestHead
        let id: RequestID
        let keepsAlive: Bool
        var deadline: NIODeadline
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    let loop: EventLoopContext
    let peer: ConnectionPeer
    let onClose: @Sendable () -> Void
    var context: ChannelHandlerContext?
    var phase = Phase.open

    private var assembly: RequestAssembly?
    /// Set once a refusal is queued: whatever else the client sends is dropped.
    private var isDeaf = false
    private(set) var inputIsClosed = false
    private var readIsHeldBack = false
    /// When a client that has closed its side is asked next whether it is still there.
    var nextDepartureCheck: NIODeadline?
    var queue = CircularBuffer<Item>(initialCapacity: 2)

    var current: Current?
    var lastNumber: UInt64 = 0
    var isDraining = false
    var hasUnflushedBytes = false

    /// By when the next head must have come.
    var headDeadline: NIODeadline
    /// What the client has left to read; nil while it reads as fast as it is answered.
    var stall: Stall? {
        didSet { loop.unreadResponses.add((stall?.bytes ?? 0) - (oldValue?.bytes ?? 0)) }
    }
    /// By when an idle connection and by when any connection closes, once the server shuts down.
    var shutdown: (idle: NIODeadline, all: NIODeadline)?

    /// - Parameter refusal: the fault that a connection beyond the limit gets.
    init(
        loop: EventLoopContext,
        peer: ConnectionPeer,
        refusal: HTTPFault? = nil,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.peer = peer
        self.onClose = onClose
        headDeadline = .now() + loop.limits.firstHead
        if let refusal { refuse(refusal, head: nil) }
    }

    /// Whether the body that is arriving is late, or comes too slowly.
    func bodyIsLate(now: NIODeadline) -> Bool {
        guard let assembly else { return false }
        return now >= assembly.deadline
            || self.assembly?.isTooSlow(isWaiting: readIsHeldBack, now: now, loop.limits) == true
    }

    var isIdle: Bool { current == nil && queue.isEmpty && assembly == nil }

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

    private func end() {
        if case .closed = phase { return }
        phase = .closed
        stall = nil
        // The client is gone. A write that has been sent goes on in the database.
        current?.task?.cancel()
        dropAssembly()
        while let item = queue.popFirst() {
            if case .request(_, let hold) = item { hold?.release() }
        }
        loop.remove(self)
        onClose()
    }

    func close() {
        context?.close(promise: nil)
    }

    // MARK: - Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDeaf, case .open = phase else { return }
        switch unwrapInboundIn(data) {
        case .head(let head): begin(head)
        case .body(let part): collect(part)
        case .end: complete()
        }
    }

    func read(context: ChannelHandlerContext) {
        if queue.count >= loop.limits.pipelinedRequests {
            readIsHeldBack = true
        } else {
            context.read()
        }
    }

    func resumeReading() {
        guard readIsHeldBack, queue.count < loop.limits.pipelinedRequests else { return }
        readIsHeldBack = false
        context?.read()
    }

    private func begin(_ head: HTTPRequestHead) {
        let examination = HeadExamination(head, bodyLimit: loop.limits.body)
        var assembly = RequestAssembly(head: head, limits: loop.limits)
        var fault = examination.fault
        if fault == nil, examination.announcedLength > loop.limits.smallBody {
            fault = assembly.settle(from: peer, announced: examination.announcedLength, in: loop)
        }
        if let fault {
            refuse(fault, head: head)
            return
        }
        self.assembly = assembly
        if RequestAssembly.expectsContinue(head) {
            self.assembly?.owesContinue = true
            sendOwedContinue()
        }
    }

    func sendOwedContinue() {
        guard assembly?.owesContinue == true, current == nil, queue.isEmpty, let context else { return }
        assembly?.owesContinue = false
        var buffer = context.channel.allocator.buffer(capacity: 32)
        buffer.writeStaticString("HTTP/1.1 100 Continue\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
    }

    private func collect(_ part: ByteBuffer) {
        guard let fault = assembly?.take(part, from: peer, in: loop) else { return }
        refuse(fault, head: assembly?.head)
    }

    /// What of a body has come without its end stays in memory from here on.
    func channelReadComplete(context: ChannelHandlerContext) {
        if let assembly, assembly.hold == nil, assembly.body.readableBytes > 0,
            let fault = self.assembly?.settle(from: peer, in: loop)
        {
            refuse(fault, head: assembly.head)
        }
        context.fireChannelReadComplete()
    }

    private func complete() {
        let waits = current != nil || !queue.isEmpty || context?.channel.isWritable != true
        if let fault = assembly?.complete(from: peer, waits: waits, in: loop) {
            refuse(fault, head: assembly?.head)
            return
        }
        guard let assembly else { return }
        self.assembly = nil
        let now = NIODeadline.now()
        headDeadline = now + loop.limits.idle
        let request = HTTPRequest(
            head: assembly.head,
            body: assembly.body,
            id: loop.nextRequestID(),
            peer: peer.client,
            arrival: now
        )
        queue.append(.request(request, assembly.hold))
        drain()
    }

    private func dropAssembly() {
        assembly?.hold?.release()
        assembly = nil
    }

    /// Queues a refusal behind the responses that come before it.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?) {
        guard !isDeaf else { return }
        isDeaf = true
        dropAssembly()
        queue.append(.refusal(fault, head))
        drain()
    }

    // MARK: - Events

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            if case .open = phase { stall = nil }
            drain()
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            let now = NIODeadline.now()
            shutdown = (idle: now + loop.limits.lastRequest, all: now + loop.limits.shutdown)
            // Sooner than the next look at the clock.
            let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
            loop.eventLoop.scheduleTask(in: loop.limits.lastRequest) { connection.value.checkDeadlines(now: .now()) }
        } else if case .inputClosed? = event as? ChannelEvent {
            inputWasClosed()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    private func inputWasClosed() {
        inputIsClosed = true
        switch phase {
        case .open:
            // Half a request is no request; whole ones are still served.
            dropAssembly()
            nextDepartureCheck = .now() + loop.limits.departureCheck
            if isIdle { finish() }
        case .finishing, .closed:
            break
        case .lingering:
            close()
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
            refuse(.headerTooLarge, head: assembly?.head)
        default:
            refuse(.malformed, head: assembly?.head)
        }
    }
}
