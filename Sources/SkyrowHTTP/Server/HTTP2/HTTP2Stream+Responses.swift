import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import SkyrowModel

extension HTTP2Stream {
    func start(_ request: HTTPRequest, _ hold: BodyHold?) {
        phase = .responding(Work(head: request.head, id: request.id, deadline: request.arrival + loop.limits.response))
        let stream = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let responder = loop.responder
        let task = Task.startingNow(on: loop.executor) {
            let response = await responder.respond(to: request)
            hold?.release()
            stream.value.send(response)
        }
        // A request that was answered without waiting has left already.
        if case .responding(var work) = phase {
            work.task = task
            phase = .responding(work)
        }
    }

    private func send(_ response: HTTPResponse) {
        // The client may be gone, or may have had a timeout response.
        guard case .responding(let work) = phase else { return }
        write(response, to: work.head)
        if response.endsConnection { connection.beginEnd() }
    }

    /// Cancels work that takes too long, then gives up on work that does not end then.
    func escalate(_ work: Work, now: NIODeadline) {
        if work.isCancelled {
            write(
                loop.responder.refuse(.responseTimeout, head: work.head, id: work.id, peer: connection.peer.client),
                to: work.head
            )
        } else {
            var work = work
            work.isCancelled = true
            work.deadline = now + loop.limits.cancellation
            phase = .responding(work)
            work.task?.cancel()
        }
    }

    func write(_ response: HTTPResponse, to head: HTTPRequestHead?) {
        guard let context else { return }
        phase = .writing
        var body = head?.method != .HEAD && response.status.mayHaveResponseBody ? response.body : ByteBuffer()
        let headers = HPACKHeaders(response, date: loop.dateLine())
        var isLast = body.readableBytes == 0
        lastProgress = .now()
        write(.headers(.init(headers: headers, endStream: isLast)), bytes: 0, isLast: isLast, in: context)
        // In pieces, so that it shows when a client takes them.
        while !isLast, let piece = body.readSlice(length: min(body.readableBytes, HTTP2Stream.pieceSize)) {
            isLast = body.readableBytes == 0
            let payload = HTTP2Frame.FramePayload.data(.init(data: .byteBuffer(piece), endStream: isLast))
            let account = isLast ? response.account : nil
            write(payload, bytes: piece.readableBytes, isLast: isLast, account: account, in: context)
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
        written.futureResult.whenComplete { result in
            // The stream may have ended long before its bytes leave.
            unreadResponses.add(-bytes)
            withExtendedLifetime(account) {}
            if case .success = result { stream.value.pieceLeft(isLast: isLast) }
        }
        context.write(wrapOutboundOut(payload), promise: written)
    }

    private func pieceLeft(isLast: Bool) {
        connection.pieceLeft()
        guard case .writing = phase else { return }
        lastProgress = isLast ? nil : .now()
        // The response is complete and the request is not: there is no use in sending the rest (RFC 9113, 8.1).
        if isLast, !inputHasEnded { reset(.noError) }
    }

    /// What one frame of the usual size holds.
    private static let pieceSize = 16 * 1024
}
