import NIOCore
import NIOHTTP1
import NIOWebSocket
import SkyrowModel

/// The server's end of one WebSocket: it carries out what its input, its lifecycle and its queue decide.
///
/// It takes the place of `HTTP1Connection` when the client has asked for it (RFC 6455), and sits behind SwiftNIO's frame decoder and
/// encoder. All of it runs on the connection's event loop. Reading is here, writing and the end in WebSocketConnection+Writing.
final class WebSocketConnection: ChannelDuplexHandler, TimedConnection {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    /// A message that is to be written.
    enum Outgoing {
        case response(ByteBuffer, ResponseAccount?)
        case live(LiveText)
    }

    /// A message whose calls run.
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
    /// What its live messages have of the memory, from the first of them on.
    var share: LiveMemory.Share?

    /// Messages that wait until others are through; nil while there are none.
    private var waiting: CircularBuffer<ByteBuffer>?
    private var waitingBytes = 0
    private var calls: [UInt64: Call] = [:]
    private var lastCall: UInt64 = 0
    /// The call that was done before its task was at hand.
    private var finishedAtOnce: UInt64?
    private var runningBytes = 0
    /// Counts messages.
    private(set) var number: UInt64 = 0
    private(set) var readIsHeldBack = false
    private var hold: BodyHold?
    private var standing: RequestStanding
    private var isStarting = false

    var flushIsScheduled = false
    /// The content of the pong that is owed, while the client does not read.
    var owedPong: ByteBuffer?
    /// What the client has left to read; nil while it reads as fast as it is served.
    var stall: Stall? {
        didSet { loop.unreadResponses.add((stall?.bytes ?? 0) - (oldValue?.bytes ?? 0)) }
    }

    /// - Parameter usage: whose share of the memory its messages take.
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
        lifecycle = WebSocketLifecycle(
            loop.limits,
            isAuthenticated: upgrade.conversation.isAuthenticated,
            now: .now()
        )
    }

    var isIdle: Bool { calls.isEmpty && waiting == nil && queue.isEmpty && queue.leavingBytes == 0 }

    // MARK: - The connection opens and closes

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

    /// The connection is gone.
    func end() {
        guard lifecycle.closed() else { return }
        stall = nil
        // A write that has been sent goes on in the database.
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
        outlet?.end()
        outlet = nil
        seat = nil
        onClose()
    }

    // MARK: - Reading

    func read(context: ChannelHandlerContext) {
        if holdsBackReads {
            readIsHeldBack = true
        } else {
            context.read()
        }
    }

    /// A client that has enough calls at work, or does not read its responses, is not read.
    private var holdsBackReads: Bool {
        lifecycle.isOpen && (waiting != nil || calls.count >= loop.limits.live.calls)
    }

    func resumeReading() {
        guard readIsHeldBack, !holdsBackReads else { return }
        readIsHeldBack = false
        context?.read()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard lifecycle.takesFrames else { return }
        let frame = unwrapInboundIn(data)
        counter.taken(frame)
        let now = NIODeadline.now()
        lifecycle.heard(now: now)
        // Of a connection that ends the close frame alone counts, so no message is kept.
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

    /// Nothing more has come for now: what is here stays in memory, and what was made leaves.
    func channelReadComplete(context: ChannelHandlerContext) {
        takeMemory()
        if flushIsScheduled || owedPong != nil { flushNow() }
        context.fireChannelReadComplete()
    }

    private var heldBytes: Int { counter.held + input.heldBytes + waitingBytes + runningBytes }

    /// The message that arrives and is not complete.
    var partialMessage: PartialMessage? {
        let bytes = counter.held + input.heldBytes
        return bytes > 0 || input.isWithinMessage ? PartialMessage(number: number, bytes: bytes) : nil
    }

    /// Counts the bytes that are here as those of the client, as bodies are.
    private func takeMemory() {
        let bytes = heldBytes
        let held = hold?.bytes ?? 0
        if bytes > held {
            if hold == nil { hold = makeHold() }
            if let fault = hold?.take(bytes - held) {
                fail(SocketClosure(fault))
                // What the client still sends until it has read why is not kept by the frame decoder, either.
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

    /// Starts the messages that wait, as many as may run at once and as the client reads.
    func startCalls() {
        // A message that is done at once calls back into here; the outer call carries on.
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

    /// Until the client has said who it is, each message waits for the one before it, which may be the one that says so.
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
        calls[call] = Call(
            task: task,
            bytes: message.readableBytes,
            deadline: arrival + loop.limits.response
        )
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

    /// Messages that have not begun are of no use any more; what the client still sends is read.
    func dropMessages() {
        waiting = nil
        waitingBytes = 0
        resumeReading()
    }

    // MARK: - Other threads

    /// Does what another thread asks for; returns whether there may be something to write.
    func take(_ content: LoopMailbox.Content) -> Bool {
        switch content {
        case .live(let text, let generation):
            outlet?.taken(text.byteCount)
            // Behind messages that were dropped it would leave a gap.
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

    /// The messages of a client that has said who it is may be longer.
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
            // Without a close frame the client is gone.
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

    // MARK: - Time

    func checkDeadlines(now: NIODeadline) {
        if conversation?.isDraining == true { restart() }
        if let channel = context?.channel, stall?.isOver(now: now, patience: loop.patience, on: channel) == true {
            fail(.tooSlow)
        }
        perform(queue.check(now: now, loop.limits.live))
        perform(
            lifecycle.check(
                now: now,
                partial: partialMessage,
                isReadHeldBack: readIsHeldBack,
                loop.limits
            )
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
    /// Why there is no memory for a message.
    fileprivate init(_ fault: HTTPFault) {
        switch fault {
        case .clientShareExceeded: self = .shareExceeded
        case .credentialsRequired: self = .notAuthenticated
        default: self = .noMemory
        }
    }
}
