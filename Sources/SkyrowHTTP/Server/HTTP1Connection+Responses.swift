import NIOCore
import NIOHTTP1

extension HTTP1Connection {
    /// Takes the next waiting requests, as long as they are answered at once, and writes what there is in one go.
    func drain() {
        // A response that is ready at once, or a flush, calls back into here; the outer call carries on.
        guard !isDraining, let context, context.channel.isActive else { return }
        isDraining = true
        repeat {
            while canStart, let item = queue.popFirst() { start(item) }
            if hasUnflushedBytes {
                hasUnflushedBytes = false
                context.flush()
            }
        } while canStart && !queue.isEmpty
        isDraining = false

        guard case .open = phase else { return }
        if !context.channel.isWritable, stall == nil { expectProgress() }
        resumeReading()
        sendOwedContinue()
        if inputIsClosed && isIdle { finish() }
    }

    private var canStart: Bool {
        guard case .open = phase else { return false }
        // A client that does not read its responses gets no further ones made.
        return current == nil && context?.channel.isWritable == true
    }

    private func start(_ item: Item) {
        switch item {
        case .refusal(let fault, let head):
            let response = loop.responder.refuse(fault, head: head, id: loop.nextRequestID(), peer: peer.client)
            write(response, to: head, keepsAlive: false)
            finish(lingeringFor: loop.limits.linger)
        case .request(let request, let hold):
            start(request, hold)
        }
    }

    private func start(_ request: HTTPRequest, _ hold: BodyHold?) {
        lastNumber += 1
        let number = lastNumber
        current = Current(
            number: number,
            head: request.head,
            id: request.id,
            keepsAlive: request.head.isKeepAlive && !RequestAssembly.endsHTTP(request.head),
            deadline: request.arrival + loop.limits.response
        )
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let responder = loop.responder
        let task = Task.startingNow(on: loop.executor) {
            let response = await responder.respond(to: request)
            hold?.release()
            connection.value.send(response, number: number)
        }
        // A request that was answered without waiting has left already.
        if current?.number == number { current?.task = task }
    }

    private func send(_ response: HTTPResponse, number: UInt64) {
        // The connection may be gone, or the client may have had a timeout response.
        guard case .open = phase, let current, current.number == number else { return }
        self.current = nil
        headDeadline = .now() + loop.limits.idle
        let isLast = queue.isEmpty && (inputIsClosed || (shutdown != nil && isIdle))
        let keepsAlive = current.keepsAlive && !isLast && !response.endsConnection
        write(response, to: current.head, keepsAlive: keepsAlive)
        // A client that asked for the close sends nothing more; any other may have, and must not meet a reset.
        if !keepsAlive { finish(lingeringFor: current.keepsAlive ? loop.limits.linger : nil) }
        drain()
    }

    /// Gives up on the current request, which did not end after its cancellation.
    func abandonCurrent() {
        guard let current else { return }
        self.current = nil
        let response = loop.responder.refuse(.responseTimeout, head: current.head, id: current.id, peer: peer.client)
        write(response, to: current.head, keepsAlive: false)
        finish(lingeringFor: loop.limits.linger)
        drain()
    }

    private func write(_ response: HTTPResponse, to head: HTTPRequestHead?, keepsAlive: Bool) {
        guard let context else { return }
        let hasBody = head?.method != .HEAD && response.status.mayHaveResponseBody && response.body.readableBytes > 0
        let joinsBody = hasBody && response.body.readableBytes <= HTTP1Connection.joinedBodyLimit
        let capacity = response.headSize + (joinsBody ? response.body.readableBytes : 0)
        var buffer = context.channel.allocator.buffer(capacity: capacity)
        response.writeHead(
            into: &buffer,
            date: loop.dateLine(),
            keepsAlive: keepsAlive,
            version: head?.version ?? .http1_1
        )
        if joinsBody { buffer.writeImmutableBuffer(response.body) }
        context.write(wrapOutboundOut(buffer), promise: nil)
        if hasBody && !joinsBody {
            context.write(wrapOutboundOut(response.body), promise: response.account?.promise(on: loop.eventLoop))
        }
        hasUnflushedBytes = true
    }

    /// Up to here, copying a body behind its head costs less than a second buffer in the system call.
    private static let joinedBodyLimit = 16 * 1024

    /// Closes once everything is written: at once, or with time for the client to read it.
    ///
    /// A socket that is closed while it holds unread bytes sends a reset, which would take the response away
    /// from a client that still sends; so our side closes first, and the rest follows when the client has closed its own.
    func finish(lingeringFor time: TimeAmount? = nil) {
        guard let context else { return }
        phase = .finishing
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { result in
            let connection = connection.value
            guard case .success = result, let time, !connection.inputIsClosed, case .finishing = connection.phase else {
                connection.close()
                return
            }
            connection.phase = .lingering(until: .now() + time)
            connection.context?.close(mode: .output, promise: nil)
        }
        hasUnflushedBytes = false
        if case .finishing = phase { expectProgress() }
    }
}
