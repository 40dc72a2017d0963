import NIOCore
import NIOHTTP1
import SkyrowConcurrency
import SkyrowProtocol

extension HTTP1Connection {
    /// Starts waiting requests as long as each is responded to at once, and writes the responses with one flush.
    func drain() {
        // A response that is ready at once, or a flush, calls this method again; the outer call continues.
        guard !isDraining, let context, context.channel.isActive else { return }
        isDraining = true
        repeat {
            while canStart, startNext() {}
            if hasUnflushedBytes {
                hasUnflushedBytes = false
                context.flush()
            }
        } while canStart && hasNext
        isDraining = false

        guard sequence.isOpen else { return }
        if !context.channel.isWritable, stall == nil { expectProgress() }
        resumeReading()
        sendOwedContinue()
        if sequence.inputIsClosed && isIdle { perform(sequence.finish(lingersFor: nil)) }
    }

    private var canStart: Bool {
        // A client that does not read its responses gets no further ones.
        sequence.isOpen && current == nil && context?.channel.isWritable == true
    }

    private var hasNext: Bool { !queue.isEmpty || arriving?.lifecycle.isReady == true }

    /// Starts the next request; returns false when none is ready.
    private func startNext() -> Bool {
        if let item = queue.popFirst() {
            switch item {
            case .refusal(let fault, let head): respond(to: head, with: fault, id: loop.nextRequestID())
            case .request(let exchange, let arrival): start(exchange, at: arrival)
            }
            return true
        }
        guard arriving?.lifecycle.isReady == true, let exchange = arriving else { return false }
        arriving = nil
        start(exchange, at: .now())
        return true
    }

    private func start(_ exchange: RequestExchange, at time: NIODeadline) {
        lastNumber += 1
        let number = lastNumber
        let hold = exchange.begin(at: time, in: loop)
        exchange.parts?.observe { [weak self] in
            self?.taken($0, of: number)
        } onWait: { [weak self] in
            self?.awaited(number: number)
        }
        current = Current(number: number, exchange: exchange)
        sendOwedContinue()
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let started = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
        let (responder, client) = (loop.responder, peer.client)
        let task = Task.startingNow(on: loop.executor) {
            let response = await responder.respond(to: started.value.takeRequest(from: client, at: time))
            hold?.release()
            guard let stream = connection.value.respond(response, number: number) else { return }
            started.value.startStream(stream, on: connection.value, number: number, in: connection.value.loop) {
                connection.value.endStream(number: number, succeeded: $0)
            }
        }
        // A request that was responded to without suspension is no longer current.
        if current?.number == number { current?.exchange.keep(task) }
    }

    /// Notes that the service has read a part of the body.
    private func taken(_ bytes: Int, of number: UInt64) {
        guard current?.number == number else { return }
        current?.exchange.taken(bytes)
        resumeReading()
    }

    /// Notes that the service waits for a part of the body.
    private func awaited(number: UInt64) {
        guard current?.number == number else { return }
        current?.exchange.lifecycle.awaited()
        sendOwedContinue()
    }

    // MARK: - Responses of the service

    /// Writes the response, or its head; returns the stream of its remaining parts, if any.
    private func respond(_ response: HTTPResponse, number: UInt64) -> ResponseStream? {
        // The connection may be closed, or the request may have been refused because of its deadline.
        guard sequence.isOpen, let current, current.number == number else { return nil }
        if let upgrade = response.upgrade {
            become(upgrade, with: response, for: current.exchange)
            return nil
        }
        let head = current.exchange.head
        let stream = response.stream(for: head.method, sendsFiles: !peer.client.isSecure)
        // No interim response can follow the head. A service that responds in parts may read the body meanwhile.
        if stream != nil { awaited(number: number) }
        let action =
            if let stream {
                self.current?.exchange.lifecycle.responded(streaming: stream.length, isEndless: stream.isEndless)
            } else {
                self.current?.exchange.lifecycle.responded()
            }
        guard action != nil else { return nil }
        let wantsClose =
            !head.isKeepAlive || current.exchange.endsHTTP || response.endsConnection
            || current.exchange.lifecycle.input != .complete
            || (stream != nil && response.body.length == nil && head.version.minor == 0)
        let keepsAlive = sequence.responseBegins(
            wantsClose: wantsClose,
            isLast: queue.isEmpty && arriving == nil,
            now: .now(),
            loop.limits
        )
        write(response, to: head, keepsAlive: keepsAlive)
        guard let stream else {
            completeResponse(keepsAlive: keepsAlive)
            return nil
        }
        self.current?.keepsAlive = keepsAlive
        self.current?.isChunked = response.body.length == nil && head.version.minor > 0
        hasUnflushedBytes = false
        context?.flush()
        return stream
    }

    private func completeResponse(keepsAlive: Bool) {
        let head = current?.exchange.head
        let endsHTTP = current?.exchange.endsHTTP == true
        let hasBodyLeft = current?.exchange.lifecycle.input != .complete
        current?.exchange.end(cancels: false)
        current = nil
        // A client that requested the close sends nothing more; any other may have, and must not get a reset.
        let closes = head?.isKeepAlive != true || endsHTTP
        if !keepsAlive { perform(sequence.finish(lingersFor: closes && !hasBodyLeft ? nil : loop.limits.linger)) }
        drain()
    }

    private func endStream(number: UInt64, succeeded: Bool) {
        guard let current, current.number == number else { return }
        guard case .finish? = self.current?.exchange.lifecycle.responseEnded(succeeded: succeeded) else {
            perform(.abort, isCurrent: true)
            return
        }
        if current.isChunked {
            var end = ByteBuffer()
            end.writeStaticString("0\r\n\r\n")
            context?.write(wrapOutboundOut(.byteBuffer(end)), promise: nil)
        }
        hasUnflushedBytes = true
        sequence.responseEnded(now: .now(), loop.limits)
        completeResponse(keepsAlive: current.keepsAlive)
    }

    // MARK: - Responses of the server

    /// Responds to the current request with a fault.
    func refuseCurrent(_ fault: HTTPFault) {
        guard let exchange = current?.exchange else { return }
        endCurrent(fault)
        respond(to: exchange.head, with: fault, id: exchange.id)
        drain()
    }

    func endCurrent(_ reason: any Error = CancellationError()) {
        current?.exchange.end(reason)
        current = nil
    }

    private func respond(to head: HTTPRequestHead?, with fault: HTTPFault, id: RequestID) {
        let response = loop.responder.refuse(fault, head: head, id: id, peer: peer.client)
        write(response, to: head, keepsAlive: false)
        perform(sequence.finish(lingersFor: loop.limits.linger))
    }

    // MARK: - Writing

    private func write(_ response: HTTPResponse, to head: HTTPRequestHead?, keepsAlive: Bool) {
        guard let context else { return }
        let body = response.bytes(for: head?.method)
        let length = body?.readableBytes ?? 0
        let joinsBody = length <= HTTP1Connection.joinedBodyLimit
        var buffer = context.channel.allocator.buffer(capacity: response.headSize + (joinsBody ? length : 0))
        response.writeHead(
            into: &buffer,
            date: loop.dateLine(),
            keepsAlive: keepsAlive,
            version: head?.version ?? .http1_1
        )
        if joinsBody, let body { buffer.writeImmutableBuffer(body) }
        context.write(wrapOutboundOut(.byteBuffer(buffer)), promise: nil)
        if !joinsBody, let body {
            let promise = response.account?.promise(on: loop.eventLoop)
            context.write(wrapOutboundOut(.byteBuffer(body)), promise: promise)
        }
        hasUnflushedBytes = true
    }

    /// Up to this size, copying a body behind its head costs less than a second buffer in the system call.
    private static let joinedBodyLimit = 16 * 1024
}

extension HTTP1Connection: ResponseOffers {
    func hasRoom(for number: UInt64) -> Bool {
        guard current?.number == number, let exchange = current?.exchange else { return false }
        return exchange.lifecycle.hasRoom && burst <= HTTP1Connection.burstLimit
    }

    func write(_ part: ByteBuffer, of number: UInt64) -> Bool {
        guard let context, current?.number == number, let exchange = current?.exchange,
            case .write? = exchange.lifecycle.produced(part.readableBytes)
        else { return false }
        write(.byteBuffer(part), isFile: false, number: number, in: context)
        burst += part.readableBytes
        guard exchange.lifecycle.hasRoom else {
            if stall == nil { expectProgress() }
            return false
        }
        return burst <= HTTP1Connection.burstLimit
    }

    func write(_ part: IOData, of number: UInt64, _ writer: Deferred<Bool>) {
        guard let context, current?.number == number, current?.exchange.writer == nil,
            let action = current?.exchange.lifecycle.produced(part.readableBytes)
        else {
            writer.settle(false)
            return
        }
        guard action == .write else {
            writer.settle(false)
            perform(action, isCurrent: true)
            return
        }
        guard part.readableBytes > 0 else {
            // The client may still have to read the previous part.
            if context.channel.isWritable { writer.settle(true) } else { current?.exchange.writer = writer }
            return
        }
        current?.exchange.writer = writer
        let isFile = if case .fileRegion = part { true } else { false }
        write(part, isFile: isFile, number: number, in: context)
        burst += part.readableBytes
        if !context.channel.isWritable {
            if stall == nil { expectProgress() }
        } else if !isFile {
            continueStream(number: number)
        }
    }

    private func write(_ part: IOData, isFile: Bool, number: UInt64, in context: ChannelHandlerContext) {
        let isChunked = current?.isChunked == true
        if isChunked, case .byteBuffer(let bytes) = part, bytes.readableBytes <= HTTP1Connection.joinedBodyLimit {
            context.writeAndFlush(wrapOutboundOut(.byteBuffer(.chunk(bytes))), promise: nil)
            return
        }
        if isChunked { context.write(wrapOutboundOut(.byteBuffer(.chunkHead(part.readableBytes))), promise: nil) }
        var written: EventLoopPromise<Void>?
        if isFile {
            // The file must stay open until the system has sent the region.
            written = context.eventLoop.makePromise()
            let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
            current?.isSendingFile = true
            written?.futureResult.whenSuccess { connection.value.fileRegionLeft(number: number) }
        }
        context.write(wrapOutboundOut(part), promise: written)
        if isChunked { context.write(wrapOutboundOut(.byteBuffer(.chunkTail)), promise: nil) }
        context.flush()
    }

    private func fileRegionLeft(number: UInt64) {
        guard current?.number == number else { return }
        current?.isSendingFile = false
        continueStream(number: number)
    }

    /// Lets the service produce the next part. A client that reads everything at once still shares its event loop with others.
    private func continueStream(number: UInt64) {
        guard current?.number == number else { return }
        guard burst > HTTP1Connection.burstLimit else {
            current?.exchange.writer.take()?.settle(true)
            return
        }
        burst = 0
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        loop.eventLoop.scheduleTask(in: .microseconds(20)) { connection.value.continueStream(number: number) }
    }

    private static let burstLimit = 1024 * 1024
}

extension ByteBuffer {
    /// A complete chunk.
    fileprivate static func chunk(_ bytes: ByteBuffer) -> ByteBuffer {
        let length = bytes.readableBytes
        var chunk = ByteBufferAllocator().buffer(capacity: length + 24)
        chunk.writeString(String(length, radix: 16))
        chunk.writeStaticString("\r\n")
        chunk.writeImmutableBuffer(bytes)
        chunk.writeStaticString("\r\n")
        return chunk
    }

    fileprivate static func chunkHead(_ length: Int) -> ByteBuffer {
        ByteBuffer(string: String(length, radix: 16) + "\r\n")
    }

    fileprivate static let chunkTail = ByteBuffer(staticString: "\r\n")
}
