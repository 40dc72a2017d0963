import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import SkyrowConcurrency
import SkyrowModel

extension HTTP2Stream {
    func start() {
        guard let exchange else { return }
        let time = NIODeadline.now()
        let hold = exchange.begin(at: time, in: loop)
        exchange.parts?.observe { [weak self] in
            self?.taken($0)
        } onWait: { [weak self] in
            self?.awaited()
        }
        let stream = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let started = NIOLoopBound(exchange, eventLoop: loop.eventLoop)
        let (responder, client) = (loop.responder, connection.peer.client)
        let task = Task.startingNow(on: loop.executor) {
            let response = await responder.respond(to: started.value.takeRequest(from: client, at: time))
            hold?.release()
            guard let parts = stream.value.respond(response) else { return }
            started.value.startStream(parts, on: stream.value, number: 0, in: stream.value.loop) {
                stream.value.endStream(succeeded: $0)
            }
        }
        // A request that was responded to without suspension has already ended.
        if exchange.lifecycle.output != .ended { exchange.keep(task) }
    }

    // MARK: - Responses of the service

    /// Writes the response, or its head; returns the stream of its remaining parts, if any.
    private func respond(_ response: HTTPResponse) -> ResponseStream? {
        let method = exchange?.head.method
        let stream = response.stream(for: method, sendsFiles: false)
        // No interim response can follow the head. A service that responds in parts may read the body meanwhile.
        if stream != nil { awaited() }
        let action =
            if let stream {
                exchange?.lifecycle.responded(streaming: stream.length, isEndless: stream.isEndless)
            } else {
                exchange?.lifecycle.responded()
            }
        // The client may be gone, or the request may have been refused because of its deadline.
        guard action != nil else { return nil }
        write(response, to: method, isLast: stream == nil)
        if stream == nil { exchange?.end(cancels: false) }
        if response.endsConnection { connection.beginEnd() }
        return stream
    }

    private func endStream(succeeded: Bool) {
        guard let action = exchange?.lifecycle.responseEnded(succeeded: succeeded) else { return }
        guard action == .finish, let context else {
            perform(action)
            return
        }
        exchange?.end(cancels: false)
        let end = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))
        write(end, bytes: 0, isLast: true, in: context)
        context.flush()
    }

    // MARK: - Responses of the server

    /// Responds in place of the service; further input of the stream is dropped.
    func refuse(_ fault: HTTPFault, head: HTTPRequestHead?) {
        let id = exchange?.id ?? loop.nextRequestID()
        exchange?.end(fault)
        let response = loop.responder.refuse(fault, head: head, id: id, peer: connection.peer.client)
        write(response, to: head?.method, isLast: true)
    }

    // MARK: - Writing

    private func write(_ response: HTTPResponse, to method: HTTPMethod?, isLast: Bool) {
        guard let context else { return }
        var body = isLast ? response.bytes(for: method) ?? ByteBuffer() : ByteBuffer()
        let headers = HPACKHeaders(response, date: loop.dateLine())
        var endsHere = isLast && body.readableBytes == 0
        write(.headers(.init(headers: headers, endStream: endsHere)), bytes: 0, isLast: endsHere, in: context)
        // In pieces, so that the progress of the client shows.
        while isLast, !endsHere, let piece = body.readSlice(length: min(body.readableBytes, HTTP2Stream.pieceSize)) {
            endsHere = body.readableBytes == 0
            let payload = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(piece), endStream: endsHere))
            let account = endsHere ? response.account : nil
            write(payload, bytes: piece.readableBytes, isLast: endsHere, account: account, in: context)
        }
        context.flush()
    }

    private func write(
        _ payload: HTTP2Frame.FramePayload,
        bytes: Int,
        isLast: Bool,
        account: ResponseAccount? = nil,
        in context: ChannelHandlerContext
    ) {
        let written = context.eventLoop.makePromise(of: Void.self)
        let stream = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let unreadResponses = loop.unreadResponses
        unreadResponses.add(bytes)
        unsent += 1
        lastProgress = .now()
        written.futureResult.whenComplete { result in
            // The stream may end long before its bytes are sent.
            unreadResponses.add(-bytes)
            withExtendedLifetime(account) {}
            if case .success = result { stream.value.pieceLeft(isLast: isLast) }
        }
        context.write(wrapOutboundOut(payload), promise: written)
    }

    private func pieceLeft(isLast: Bool) {
        connection.pieceLeft()
        guard !isClosed else { return }
        unsent -= 1
        lastProgress = unsent == 0 ? nil : .now()
        // The response is complete but the request is not: the rest of the request is useless (RFC 9113, 8.1).
        if isLast, !inputHasEnded { reset(.noError) }
    }

    /// The payload of one frame of the usual size.
    private static let pieceSize = 16 * 1024
}

extension HTTP2Stream: ResponseOutput {
    // It accepts no offers: its parts are split into frames, which wait for the client's window.
    func write(_ part: IOData, of number: UInt64, _ writer: Deferred<Bool>) {
        guard let context, case .byteBuffer(var rest) = part, exchange?.writer == nil,
            let action = exchange?.lifecycle.produced(part.readableBytes)
        else {
            writer.settle(false)
            return
        }
        guard action == .write else {
            writer.settle(false)
            perform(action)
            return
        }
        exchange?.writer = writer
        burst += rest.readableBytes
        while let piece = rest.readSlice(length: min(rest.readableBytes, HTTP2Stream.pieceSize)),
            piece.readableBytes > 0
        {
            let payload = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(piece), endStream: false))
            write(payload, bytes: piece.readableBytes, isLast: false, in: context)
        }
        context.flush()
        if context.channel.isWritable { continueStream() }
    }

    /// Lets the service produce the next part. A client that reads everything at once still shares its event loop with others.
    private func continueStream() {
        guard burst > HTTP2Stream.burstLimit else {
            exchange?.writer.take()?.settle(true)
            return
        }
        burst = 0
        let stream = NIOLoopBound(self, eventLoop: loop.eventLoop)
        loop.eventLoop.scheduleTask(in: .microseconds(20)) { stream.value.continueStream() }
    }

    private static let burstLimit = 1024 * 1024
}
