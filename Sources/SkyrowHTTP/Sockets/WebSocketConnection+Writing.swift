import NIOCore
import NIOWebSocket
import SkyrowModel

extension WebSocketConnection {
    // MARK: - Messages

    func send(_ message: Outgoing, bytes: Int) {
        _ = add(message, bytes: bytes, isLive: false)
        scheduleFlush()
    }

    /// Queues a message; returns whether there is something to write.
    func add(_ message: Outgoing, bytes: Int, isLive: Bool) -> Bool {
        let action = queue.add(message, bytes: bytes, isLive: isLive, now: .now(), loop.limits.live)
        if isLive { countLiveBytes() }
        perform(action)
        return !queue.isEmpty
    }

    /// Flushes later in this iteration of the loop, so that its messages leave in one write.
    private func scheduleFlush() {
        guard !flushIsScheduled else { return }
        flushIsScheduled = true
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        loop.eventLoop.execute { connection.value.flushNow() }
    }

    func flushNow() {
        flushIsScheduled = false
        guard let context, context.channel.isActive else { return }
        var bytes = 0
        var liveBytes = 0
        var accounts: [ResponseAccount] = []
        var last: WebSocketFrame?
        func write(_ data: ByteBuffer, _ opcode: WebSocketOpcode) {
            if let last { context.write(wrapOutboundOut(last), promise: nil) }
            last = WebSocketFrame(fin: true, opcode: opcode, data: data)
        }
        while context.channel.isWritable, let (message, length, isLive) = queue.next() {
            bytes += length
            if isLive { liveBytes += length }
            switch message {
            case .response(let text, let account):
                if let account { accounts.append(account) }
                write(text, .text)
            case .live(let text):
                write(text.buffer(room: WebSocketConnection.frameHeadRoom), .text)
            }
        }
        if context.channel.isWritable, let content = owedPong {
            owedPong = nil
            write(content, .pong)
        }
        guard let end = last else { return }
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { [bytes, liveBytes, accounts] _ in
            withExtendedLifetime(accounts) {}
            connection.value.left(bytes, live: liveBytes)
        }
        context.write(wrapOutboundOut(end), promise: promise)
        context.flush()
        if !context.channel.isWritable, stall == nil { stall = Stall(of: context.channel) }
        startCalls()
    }

    private func left(_ bytes: Int, live: Int) {
        guard lifecycle.phase != .closed else { return }
        perform(queue.left(bytes, live: live))
        countLiveBytes()
        if isIdle { perform(lifecycle.becameIdle(now: .now(), loop.limits.live)) }
    }

    private func countLiveBytes() {
        outlet?.room.hold(queue.liveBytes)
        if share == nil {
            guard queue.liveBytes > 0, let outlet else { return }
            share = connections.memory.share { outlet.fallBehind() }
        }
        share?.set(queue.liveBytes)
    }

    private func write(
        _ data: ByteBuffer,
        _ opcode: WebSocketOpcode,
        in context: ChannelHandlerContext,
        promise: EventLoopPromise<Void>? = nil
    ) {
        context.write(wrapOutboundOut(WebSocketFrame(fin: true, opcode: opcode, data: data)), promise: promise)
    }

    /// Queues the pong for a ping. Only the latest ping is answered while the client does not read (RFC 6455, 5.5.3).
    func pong(_ content: ByteBuffer) {
        if case .closing = lifecycle.phase { return }
        owedPong = content
    }

    /// The maximum length of a frame header.
    private static let frameHeadRoom = 10

    // MARK: - Queue and lifecycle actions

    func perform(_ action: OutboundQueue<Outgoing>.Action?) {
        switch action {
        case nil: break
        case .fellBehind:
            outlet?.note(generation: queue.generation)
            connections.noteLagging()
            countLiveBytes()
            conversation?.fellBehind()
        case .caughtUp:
            outlet?.note(generation: queue.generation)
            conversation?.caughtUp()
        case .close:
            fail(.tooSlow)
        }
    }

    func perform(_ action: WebSocketLifecycle.Action?) {
        switch action {
        case nil: break
        case .ping:
            guard let context, context.channel.isWritable else { return }
            write(ByteBuffer(), .ping, in: context)
            context.flush()
        case .sendClose(let closure):
            queue.finish()
            sendClose(closure.payload)
            dropMessages()
            input = WebSocketInput()
        case .confirmClose(let code):
            queue.drop()
            dropMessages()
            var payload = ByteBuffer()
            if let code { payload.writeInteger(code) }
            let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
            sendClose(payload)?.whenComplete { _ in connection.value.close() }
            // In case the client does not read it.
            lifecycle.confirmed(now: .now() + loop.limits.live.closing)
        case .end:
            close()
        }
    }

    /// Writes the queued messages, even when the client does not read, followed by the close frame.
    @discardableResult
    private func sendClose(_ payload: ByteBuffer) -> EventLoopFuture<Void>? {
        guard let context else { return nil }
        // No frame may follow a close frame.
        owedPong = nil
        while let (message, _, _) = queue.next() {
            switch message {
            case .response(let text, _): write(text, .text, in: context)
            case .live(let text): write(text.buffer(), .text, in: context)
            }
        }
        let promise = context.eventLoop.makePromise(of: Void.self)
        write(payload, .connectionClose, in: context, promise: promise)
        context.flush()
        return promise.futureResult
    }

    // MARK: - Closing

    /// Ends the connection at once, without writing waiting messages.
    func fail(_ closure: SocketClosure) {
        queue.drop()
        perform(lifecycle.close(closure, now: .now(), loop.limits.live))
    }

    /// Ends the connection after the accepted messages.
    func finish(_ closure: SocketClosure) {
        let time = loop.limits.live.closing
        perform(lifecycle.finish(closure, isIdle: isIdle, within: time, now: .now(), loop.limits.live))
    }

    /// Ends the connection for a restart: running calls finish, and the client reconnects later.
    func restart() {
        guard lifecycle.isOpen else { return }
        let closure = SocketClosure.restarting(within: loop.limits.live.restartSpread)
        let time = loop.limits.shutdown
        perform(lifecycle.finish(closure, isIdle: isIdle, within: time, now: .now(), loop.limits.live))
    }

    func close() {
        context?.close(promise: nil)
    }
}
