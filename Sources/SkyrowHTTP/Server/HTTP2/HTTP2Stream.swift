import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// One request of an HTTP/2 connection: collects it, has it answered, keeps time. Its responding is in
/// HTTP2Stream+Responses.
final class HTTP2Stream: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    enum Phase {
        /// Next: responding, writing, closed.
        case receiving
        /// Next: writing, closed.
        case responding(Work)
        /// Next: closed.
        case writing
        case closed
    }

    /// The response that is being made.
    struct Work {
        let head: HTTPRequestHead
        let id: RequestID
        var deadline: NIODeadline
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    let connection: HTTP2Connection
    var loop: EventLoopContext { connection.loop }
    var context: ChannelHandlerContext?
    var phase = Phase.receiving
    private var assembly: RequestAssembly?
    private(set) var inputHasEnded = false

    /// When the client last took a piece of the response, as long as there are more.
    var lastProgress: NIODeadline?

    init(connection: HTTP2Connection) {
        self.connection = connection
    }

    // MARK: - The stream opens and closes

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let id = try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)
        connection.add(self, id: id ?? .rootStream)
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
        // The client is gone. A write that has been sent goes on in the database.
        if case .responding(let work) = phase { work.task?.cancel() }
        phase = .closed
        dropAssembly()
        connection.remove(self)
    }

    // MARK: - Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let content):
            // A second block is what follows a body, of which nothing is taken.
            if assembly == nil { begin(content.headers) }
            if content.endStream { complete() }
        case .data(let content):
            if case .byteBuffer(let part) = content.data { collect(part) }
            if content.endStream { complete() }
        default:
            // The HTTP/2 handler has seen to it.
            break
        }
    }

    private func begin(_ block: HPACKHeaders) {
        guard case .receiving = phase else { return }
        guard connection.admits() else {
            reset(.refusedStream)
            return
        }
        let head = HTTPRequestHead(block)
        if let refusal = connection.refusal {
            refuse(refusal, head: head)
        } else if block.exceed(loop.limits) {
            refuse(.headerTooLarge, head: head)
        } else if let head {
            begin(head)
        } else {
            refuse(.malformed, head: nil)
        }
    }

    private func begin(_ head: HTTPRequestHead) {
        let examination = HeadExamination(head, bodyLimit: loop.limits.body)
        var assembly = RequestAssembly(head: head, limits: loop.limits)
        var fault = examination.fault
        if fault == nil, examination.announcedLength > loop.limits.smallBody {
            fault = assembly.settle(from: connection.peer, announced: examination.announcedLength, in: loop)
        }
        if let fault {
            refuse(fault, head: head)
            return
        }
        self.assembly = assembly
        if RequestAssembly.expectsContinue(head) { sendContinue() }
    }

    private func sendContinue() {
        let payload = HTTP2Frame.FramePayload.headers(.init(headers: [":status": "100"]))
        context?.writeAndFlush(wrapOutboundOut(payload), promise: nil)
    }

    private func collect(_ part: ByteBuffer) {
        guard let fault = assembly?.take(part, from: connection.peer, in: loop) else { return }
        refuse(fault, head: assembly?.head)
    }

    /// What of a body has come without its end stays in memory from here on.
    func channelReadComplete(context: ChannelHandlerContext) {
        if let assembly, assembly.hold == nil, assembly.body.readableBytes > 0,
            let fault = self.assembly?.settle(from: connection.peer, in: loop)
        {
            refuse(fault, head: assembly.head)
        }
        context.fireChannelReadComplete()
    }

    private func complete() {
        inputHasEnded = true
        // Requests of one connection do not wait for each other.
        if let fault = assembly?.complete(from: connection.peer, waits: false, in: loop) {
            refuse(fault, head: assembly?.head)
            return
        }
        guard let assembly else { return }
        self.assembly = nil
        start(
            HTTPRequest(
                head: assembly.head,
                body: assembly.body,
                id: loop.nextRequestID(),
                peer: connection.peer.client
            ),
            assembly.hold
        )
    }

    private func dropAssembly() {
        assembly?.hold?.release()
        assembly = nil
    }

    /// Responds in place of the service; what else the client sends is dropped.
    private func refuse(_ fault: HTTPFault, head: HTTPRequestHead?) {
        dropAssembly()
        write(
            loop.responder.refuse(fault, head: head, id: loop.nextRequestID(), peer: connection.peer.client),
            to: head
        )
    }

    /// The connection will bring nothing more; half a request is no request.
    func inputWasClosed() {
        if case .receiving = phase { reset(.cancel) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: - Time

    func checkDeadlines(now: NIODeadline) {
        if let lastProgress, now >= lastProgress + loop.patience, connection.isWritable {
            // The client reads, but does not ask for more of this.
            reset(.cancel)
            return
        }
        if let assembly,
            now >= assembly.deadline
                || self.assembly?.isTooSlow(isWaiting: false, now: now, loop.limits) == true
        {
            refuse(.requestTimeout, head: assembly.head)
        }
        if case .responding(let work) = phase, now >= work.deadline { escalate(work, now: now) }
    }

    func reset(_ code: HTTP2ErrorCode) {
        context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }
}
