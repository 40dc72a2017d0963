import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import SkyrowConcurrency

/// One request of an HTTP/2 connection; performs what the request's lifecycle decides.
///
/// Reading is in this file, responding in HTTP2Stream+Responses.
final class HTTP2Stream: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundIn = Never
    typealias OutboundOut = HTTP2Frame.FramePayload

    let connection: HTTP2Connection
    var loop: EventLoopContext { connection.loop }
    var context: ChannelHandlerContext?
    /// The request; nil before its head was read.
    var exchange: RequestExchange?
    private(set) var hasHead = false
    private(set) var inputHasEnded = false
    private(set) var isClosed = false
    private var heldRead = HeldRead()

    /// How many frames of the response are unsent, and when the client last received some.
    var unsent = 0
    var lastProgress: NIODeadline?
    /// The bytes of a streamed response written without a pause; the loop serves other connections between bursts.
    var burst = 0

    init(connection: HTTP2Connection) {
        self.connection = connection
    }

    // MARK: - Opening and closing

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
        if isClosed { return }
        isClosed = true
        // A write that has been sent continues in the database.
        perform(exchange?.lifecycle.clientLeft())
        connection.remove(self)
    }

    // MARK: - Reading

    func read(context: ChannelHandlerContext) {
        if heldRead.begins(unless: isFull) { context.read() }
    }

    private var isFull: Bool { exchange?.lifecycle.isFull == true }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .headers(let content):
            // A second block contains trailers, which are ignored.
            if !hasHead { begin(content.headers, hasBody: !content.endStream) }
            if content.endStream { completeBody() }
        case .data(let content):
            if case .byteBuffer(let part) = content.data { receive(part) }
            if content.endStream { completeBody() }
        default:
            // The HTTP/2 handler has processed it.
            break
        }
    }

    private func begin(_ block: HPACKHeaders, hasBody: Bool) {
        hasHead = true
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
            begin(head, hasBody: hasBody)
        } else {
            refuse(.malformed, head: nil)
        }
    }

    private func begin(_ head: HTTPRequestHead, hasBody: Bool) {
        let (exchange, action) = RequestExchange.begin(head, hasBody: hasBody, in: loop)
        self.exchange = exchange
        sendOwedContinue()
        perform(action)
    }

    private func sendOwedContinue() {
        guard exchange?.lifecycle.continueIsDue == true else { return }
        exchange?.lifecycle.continueSent()
        let payload = HTTP2Frame.FramePayload.headers(.init(headers: [":status": "100"]))
        context?.writeAndFlush(wrapOutboundOut(payload), promise: nil)
    }

    private func receive(_ part: ByteBuffer) {
        perform(exchange?.lifecycle.received(part.readableBytes, loop.limits))
        guard exchange?.lifecycle.takesBody == true else { return }
        if let parts = exchange?.parts {
            parts.push(part)
        } else {
            exchange?.keep(part)
        }
    }

    /// The received part of an incomplete body stays in memory until more arrives.
    func channelReadComplete(context: ChannelHandlerContext) {
        perform(exchange?.lifecycle.paused())
        context.fireChannelReadComplete()
    }

    private func completeBody() {
        inputHasEnded = true
        // The requests of one connection do not wait for each other.
        perform(exchange?.lifecycle.bodyEnded(waits: false))
    }

    // MARK: - Lifecycle actions

    func perform(_ action: RequestLifecycle.Action?) {
        guard let action else { return }
        switch action {
        case .claim(let claim): perform(exchange?.claim(claim, from: connection.peer, in: loop))
        case .ready: start()
        case .endBody: exchange?.parts?.finish()
        case .refuse(let fault): refuse(fault, head: exchange?.head)
        case .cancel: exchange?.cancel()
        case .abort:
            exchange?.end()
            reset(.internalError)
        case .drop:
            exchange?.end()
            reset(.cancel)
        case .write, .finish:
            // The response that caused the action continues.
            break
        }
    }

    /// Notes that the service has read a part of the body.
    func taken(_ bytes: Int) {
        exchange?.taken(bytes)
        if heldRead.resumes(unless: isFull) { context?.read() }
    }

    /// Notes that the service waits for a part of the body.
    func awaited() {
        exchange?.lifecycle.awaited()
        sendOwedContinue()
    }

    // MARK: - Events

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let isWritable = context.channel.isWritable
        exchange?.lifecycle.writabilityChanged(isWritable)
        if isWritable {
            burst = 0
            exchange?.writer.take()?.settle(true)
        }
        context.fireChannelWritabilityChanged()
    }

    /// Notes that the connection brings no more input; an incomplete request is dropped.
    func inputWasClosed() {
        perform(exchange?.lifecycle.inputClosed())
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    // MARK: - Deadlines

    func checkDeadlines(now: NIODeadline) {
        if let lastProgress, now >= lastProgress + loop.patience, connection.isWritable {
            // The client reads other responses, but does not open the window of this one.
            exchange?.end()
            reset(.cancel)
            return
        }
        perform(exchange?.lifecycle.check(now: now, isReadHeldBack: heldRead.isHeldBack, loop.limits))
    }

    func reset(_ code: HTTP2ErrorCode) {
        context?.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }
}
