import NIOCore
import NIOHTTP1
import NIOWebSocket
import SkyrowModel

/// The server's end of one WebSocket; performs what its input, its lifecycle and its queue decide.
///
/// It replaces `HTTP1Connection` after an upgrade (RFC 6455), and follows SwiftNIO's frame decoder and encoder in the pipeline.
/// All of it runs on the connection's event loop. Reading is in this file, writing and closing in WebSocketConnection+Writing.
final class WebSocketConnection: ChannelDuplexHandler, TimedConnection {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    /// An outgoing message.
    enum Outgoing {
        case response(ByteBuffer, ResponseAccount?)
        case live(LiveText)
    }

    /// A message whose calls are running.
    struct Call {
        let task: Task<Void, Never>
        let bytes: Int
        var deadline: NIODeadline
        var isCancelled = false
    }

    let loop: EventLoopContext
    private let usage: ClientUsage?
    let counter: ReceivedBytes
    let connections: LiveConnections
    private let onClose: @Sendable () -> Void
    private(set) var conversation: (any SocketConversation)?
    private(set) var outlet: SocketOutlet?
    var seat: LiveSeat?
    var context: ChannelHandlerContext?

    var input = WebSocketInput()
    var lifecycle: WebSocketLifecycle
    var queue = OutboundQueue<Outgoing>()
    /// The share of its live messages in the memory, created with the first one.
    var share: LiveMemory.Share?

    /// Messages whose calls have not started; nil when empty.
    private var waiting: CircularBuffer<ByteBuffer>?
    private var waitingBytes = 0
    private var calls: [UInt64: Call] = [:]
    private var lastCall: UInt64 = 0
    /// The call that finished before its task was stored.
    private var finishedAtOnce: UInt64?
    private var runningBytes = 0
    /// The number of messages so far.
    private(set) var number: UInt64 = 0
    private var heldRead = HeldRead()
    private var hold: BodyHold?
    private var standing: RequestStanding
    private var isStarting = false

    var flushIsScheduled = false
    /// The content of the pong that is sent once the client reads.
    var owedPong: ByteBuffer?
    /// The stall timer, while the client has bytes to read; nil while it reads as fast as it is served.
    var stall: Stall? { didSet { loop.unreadResponses.add((stall?.bytes ?? 0) - (oldValue?.bytes ?? 0)) } }

    /// - Parameter usage: The usage to which the memory of its messages is charged.
    init(
        _ upgrade: SocketUpgrade,
        loop: EventLoopContext,
        usage: ClientUsage?,
        counter: ReceivedBytes,
        onClose: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.usage = usage
        self.counter = counter
        self.onClose = onClose
        conversation = upgrade.conversation
        connections = upgrade.connections
        seat = upgrade.seat
        standing = upgrade.conversation.standing
        lifecycle = WebSocketLifecycle(loop.limits, isAuthenticated: upgrade.conversation.isAuthenticated, now: .now())
    }

    var isIdle: Bool { calls.isEmpty && waiting == nil && queue.isEmpty && queue.leavingBytes == 0 }

    // MARK: - Opening and closing

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
        let outlet = SocketOutlet(self, in: loop)
        self.outlet = outlet
        if seat == nil {
            perform(lifecycle.close(.tooMany, now: .now(), loop.limits.live))
        } else {
            conversation?.begin(outlet)
        }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
    }

    /// Cleans up after the connection was closed.
    func end() {
        guard lifecycle.closed() else { return }
        stall = nil
        // A write that has been sent continues in the database.
        for call in calls.values { call.task.cancel() }
        calls = [:]
        waiting = nil
        queue.drop()
        share?.end()
        share = nil
        hold?.release()
        hold = nil
        loop.remove(self)
        conversation?.end()
        conversation = nil
        outlet?.room.end()
        outlet = nil
        seat = nil
        onClose()
    }

    // MARK: - Reading

    func read(context: ChannelHandlerContext) {
        if heldRead.begins(unless: holdsBackReads) { context.read() }
    }

    /// Reading is suspended while enough calls run or the client does not read its responses.
    private var holdsBackReads: Bool { lifecycle.isOpen && (waiting != nil || calls.count >= loop.limits.live.calls) }

    func resumeReading() {
        if heldRead.resumes(unless: holdsBackReads) { context?.read() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard lifecycle.takesFrames else { return }
        let frame = unwrapInboundIn(data)
        counter.taken(frame)
        let now = NIODeadline.now()
        lifecycle.heard(now: now)
        // While closing, only the close frame matters, so no message is kept.
        if case .closing = lifecycle.phase, frame.opcode != .connectionClose { return }
        switch input.receive(frame, now: now, loop.limits) {
        case .incomplete, .pong: break
        case .message(let message): receive(message)
        case .ping(let content): pong(content)
        case .close(let code): perform(lifecycle.receivedClose(code))
        case .fault(let closure): fail(closure)
        }
    }

    private func receive(_ message: ByteBuffer) {
        number += 1
        guard lifecycle.isOpen else { return }
        if waiting == nil { waiting = CircularBuffer(initialCapacity: 2) }
        waiting?.append(message)
        waitingBytes += message.readableBytes
        startCalls()
    }

    /// Notes that no more arrives for now: the received bytes are charged as memory, and queued frames are flushed.
    func channelReadComplete(context: ChannelHandlerContext) {
        takeMemory()
        if flushIsScheduled || owedPong != nil { flushNow() }
        context.fireChannelReadComplete()
    }

    private var heldBytes: Int { counter.held + input.heldBytes + waitingBytes + runningBytes }

    /// The incomplete message that is arriving.
    var partialMessage: PartialMessage? {
        let bytes = counter.held + input.heldBytes
        return bytes > 0 || input.isWithinMessage ? PartialMessage(number: number, bytes: bytes) : nil
    }

    /// Charges the received bytes to the client, as for request bodies.
    private func takeMemory() {
        let bytes = heldBytes
        let held = hold?.bytes ?? 0
        if bytes > held {
            if hold == nil { hold = makeHold() }
            if let fault = hold?.take(bytes - held) {
                fail(SocketClosure(fault))
                // Makes the frame decoder keep nothing of what the client sends until it has read the reason.
                counter.drops = true
            }
        } else if bytes < held {
            hold?.release(held - bytes)
            if bytes == 0 { hold = nil }
        }
    }

    private func makeHold() -> BodyHold {
        switch standing {
        case .accepted: BodyHold(loop.bodies, pool: .accepted, usage: usage)
        case .unverified: BodyHold(loop.bodies, pool: .unverified, usage: usage)
        case .missing: BodyHold(loop.bodies, pool: .unverified, usage: usage, limit: loop.limits.smallBody)
        }
    }

    // MARK: - Calls

    /// Starts waiting messages, up to the limit of concurrent calls and as long as the client reads.
    func startCalls() {
        // A message that finishes at once calls this method again; the outer call continues.
        guard !isStarting else { return }
        isStarting = true
        defer { isStarting = false }
        while waiting != nil, calls.count < concurrency, queue.waitingBytes <= loop.limits.smallBody,
            context?.channel.isWritable == true,
            let message = waiting?.popFirst()
        {
            if waiting?.isEmpty == true { waiting = nil }
            waitingBytes -= message.readableBytes
            start(message)
        }
    }

    /// Until the client is authenticated, each message waits for the previous one, which may authenticate it.
    private var concurrency: Int { conversation?.isAuthenticated == true ? loop.limits.live.calls : 1 }

    private func start(_ message: ByteBuffer) {
        guard let conversation else { return }
        lastCall += 1
        let call = lastCall
        let arrival = NIODeadline.now()
        let id = loop.nextRequestID()
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        finishedAtOnce = nil
        let task = Task.startingNow(on: loop.executor) {
            let reply = await conversation.respond(to: message, id: id, arrival: arrival)
            connection.value.finish(call, with: reply)
        }
        guard finishedAtOnce != call else { return }
        runningBytes += message.readableBytes
        calls[call] = Call(task: task, bytes: message.readableBytes, deadline: arrival + loop.limits.response)
    }

    private func finish(_ call: UInt64, with reply: SocketReply) {
        if let known = calls.removeValue(forKey: call) {
            runningBytes -= known.bytes
        } else {
            finishedAtOnce = call
        }
        guard lifecycle.phase != .closed else { return }
        if let message = reply.message { send(.response(message, reply.account), bytes: message.readableBytes) }
        if let closure = reply.closure { finish(closure) }
        startCalls()
        takeMemory()
        resumeReading()
    }

    /// Drops messages that have not started; further input is still read.
    func dropMessages() {
        waiting = nil
        waitingBytes = 0
        resumeReading()
    }

    // MARK: - Messages from other threads

    /// Handles content from another thread; returns whether there may be something to write.
    func take(_ content: LoopMailbox.Content) -> Bool {
        switch content {
        case .live(let text, let generation):
            defer { outlet?.room.taken(text.byteCount) }
            // After dropped messages it would leave a gap.
            guard lifecycle.phase != .closed, generation == queue.generation else { return false }
            return add(.live(text), bytes: text.byteCount, isLive: true)
        case .fallBehind:
            outlet?.noteFall()
            perform(queue.fallBehind(now: .now(), loop.limits.live))
            return false
        case .close(let closure):
            finish(closure)
            return true
        case .authenticated:
            becomeAuthenticated()
            return false
        }
    }

    /// Raises the message limit of a client that is now authenticated.
    private func becomeAuthenticated() {
        guard let conversation else { return }
        lifecycle.authenticated()
        standing = conversation.standing
        let bytes = hold?.bytes ?? 0
        hold?.release()
        hold = nil
        if bytes > 0 { takeMemory() }
    }

    // MARK: - Events

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        guard context.channel.isWritable else { return }
        stall = nil
        flushNow()
        startCalls()
        resumeReading()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            restart()
        } else if case .inputClosed? = event as? ChannelEvent {
            // A client that closes without a close frame is gone.
            close()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case NIOWebSocketError.invalidFrameLength: fail(.tooLarge)
        case is NIOWebSocketError: fail(.malformedControl)
        default: close()
        }
    }

    // MARK: - Deadlines

    func checkDeadlines(now: NIODeadline) {
        if conversation?.isDraining == true { restart() }
        if let channel = context?.channel, stall?.isOver(now: now, patience: loop.patience, on: channel) == true {
            fail(.tooSlow)
        }
        perform(queue.check(now: now, loop.limits.live))
        perform(
            lifecycle.check(now: now, partial: partialMessage, isReadHeldBack: heldRead.isHeldBack, loop.limits)
        )
        checkCalls(now: now)
    }

    private func checkCalls(now: NIODeadline) {
        for (call, known) in calls where now >= known.deadline {
            if known.isCancelled {
                fail(.failed)
                return
            }
            calls[call]?.isCancelled = true
            calls[call]?.deadline = now + loop.limits.cancellation
            known.task.cancel()
        }
    }
}

extension SocketClosure {
    /// Creates the closure for a message for which there is no memory.
    fileprivate init(_ fault: HTTPFault) {
        switch fault {
        case .clientShareExceeded: self = .shareExceeded
        case .credentialsRequired: self = .notAuthenticated
        default: self = .noMemory
        }
    }
}
