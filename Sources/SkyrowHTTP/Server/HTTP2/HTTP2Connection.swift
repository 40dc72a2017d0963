import NIOCore
import NIOHTTP2

/// The server's end of one HTTP/2 connection: opening, ending and deadlines. Its streams handle the requests.
///
/// It follows the HTTP/2 handler in the pipeline, which bounds the work that a client can cause without a request: header sizes,
/// continuations, pings, settings, resets, errors.
final class HTTP2Connection: ChannelInboundHandler, TimedConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private enum Phase {
        /// Next: ending, closed.
        case open
        /// The last frame is being written. Next: lingering, closed.
        case ending
        /// The server's side is closed. Next: closed.
        case lingering(until: NIODeadline)
        case closed
    }

    let loop: EventLoopContext
    let peer: ConnectionPeer
    /// The fault that every request gets on a connection above the limit.
    let refusal: HTTPFault?
    private let onClose: @Sendable () -> Void
    private(set) var context: ChannelHandlerContext?
    private var phase = Phase.open
    private var streams: [ObjectIdentifier: HTTP2Stream] = [:]
    private var lastStream = HTTP2StreamID.rootStream
    private var refusedStreams = 0
    private var goAway = GoAwaySequence()

    /// When the client last read something; nil while it reads as fast as it is served.
    private var stalledSince: NIODeadline?
    /// The deadline of the first or the next request.
    private var idleDeadline: NIODeadline
    /// The deadline for the client's acknowledgement of the shutdown.
    private var announcementDeadline: NIODeadline?
    /// When the connection closes in a shutdown of the server.
    private var shutdownDeadline: NIODeadline?

    init(loop: EventLoopContext, peer: ConnectionPeer, refusal: HTTPFault?, onClose: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.peer = peer
        self.refusal = refusal
        self.onClose = onClose
        idleDeadline = .now() + (refusal == nil ? loop.limits.firstHead : loop.limits.linger)
    }

    // MARK: - Opening and closing

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        loop.add(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    private func end() {
        if case .closed = phase { return }
        phase = .closed
        loop.remove(self)
        onClose()
    }

    private func close() {
        context?.close(promise: nil)
    }

    // MARK: - Streams

    func add(_ stream: HTTP2Stream, id: HTTP2StreamID) {
        streams[ObjectIdentifier(stream)] = stream
        lastStream = max(lastStream, id)
    }

    func remove(_ stream: HTTP2Stream) {
        guard streams.removeValue(forKey: ObjectIdentifier(stream)) != nil, streams.isEmpty else { return }
        idleDeadline = .now() + loop.limits.idle
        if refusal != nil { beginEnd() }
        perform(goAway.streamClosed(openStreams: 0))
    }

    /// Whether one more request is accepted.
    ///
    /// The HTTP/2 handler limits streams too, but only after the client has acknowledged the limit, which it may never do.
    func admits() -> Bool {
        guard streams.count > loop.limits.streams else { return true }
        refusedStreams += 1
        if refusedStreams > loop.limits.resets {
            writeGoAway(lastStream, .enhanceYourCalm, promise: nil)
            context?.flush()
            breakOff()
        }
        return false
    }

    // MARK: - Orderly shutdown

    /// Serves the requests that are on their way, and no later ones.
    func beginEnd() {
        announcementDeadline = .now() + loop.limits.linger
        perform(goAway.begin(openStreams: streams.count))
    }

    private func perform(_ step: GoAwaySequence.Step?) {
        guard let step, let context, case .open = phase else { return }
        switch step {
        case .announce:
            writeGoAway(.maxID, promise: nil)
            context.writeAndFlush(
                wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: .ping(HTTP2Connection.ping, ack: false))),
                promise: nil
            )
        case .nameLast:
            writeGoAway(lastStream, promise: nil)
            context.flush()
        case .end:
            phase = .ending
            let written = context.eventLoop.makePromise(of: Void.self)
            let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
            written.futureResult.whenComplete { _ in connection.value.linger() }
            writeGoAway(lastStream, promise: written)
            context.flush()
            if case .ending = phase { stalledSince = .now() }
        }
    }

    private func writeGoAway(
        _ last: HTTP2StreamID,
        _ code: HTTP2ErrorCode = .noError,
        promise: EventLoopPromise<Void>?
    ) {
        let payload = HTTP2Frame.FramePayload.goAway(lastStreamID: last, errorCode: code, opaqueData: nil)
        context?.write(wrapOutboundOut(HTTP2Frame(streamID: .rootStream, payload: payload)), promise: promise)
    }

    /// Closes the server's side; the rest follows when the client has closed its own. A socket that is closed with unread bytes
    /// sends a reset, which would discard the last responses.
    private func linger() {
        guard case .ending = phase else { return }
        stalledSince = nil
        phase = .lingering(until: .now() + loop.limits.linger)
        context?.close(mode: .output, promise: nil)
    }

    /// Arbitrary; at most one ping is outstanding.
    private static let ping = HTTP2PingData(withInteger: 0x536b_7972_6f77)

    // MARK: - Events

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .ping(HTTP2Connection.ping, ack: true) = unwrapInboundIn(data).payload {
            perform(goAway.announcementArrived())
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if case .open = phase { stalledSince = context.channel.isWritable ? nil : .now() }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            shutdownDeadline = .now() + loop.limits.shutdown
            beginEnd()
            for stream in Array(streams.values) { stream.exchange?.endEndlessResponse() }
        } else if case .inputClosed? = event as? ChannelEvent {
            inputWasClosed()
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }

    /// Complete requests are still served.
    private func inputWasClosed() {
        if case .lingering = phase {
            close()
            return
        }
        for stream in Array(streams.values) { stream.inputWasClosed() }
        beginEnd()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Frames that a client sends before it sees the shutdown are no reason to discard its last responses.
        guard case .open = phase, !NIOHTTP2Errors.isOfOneStream(error) else { return }
        // The HTTP/2 handler has sent the client the reason.
        breakOff()
    }

    /// Closes the connection of a misbehaving client. Its further input is not read, so that it causes no more work.
    private func breakOff() {
        try? context?.channel.syncOptions?.setOption(.autoRead, value: false)
        close()
    }

    // MARK: - Deadlines

    func checkDeadlines(now: NIODeadline) {
        for stream in Array(streams.values) { stream.checkDeadlines(now: now) }
        if let shutdownDeadline, now >= shutdownDeadline {
            close()
            return
        }
        if let stalledSince, now >= stalledSince + loop.patience {
            close()
            return
        }
        switch phase {
        case .open:
            if goAway.isAnnounced, let announcementDeadline, now >= announcementDeadline {
                perform(goAway.announcementArrived())
            } else if goAway.isOpen, streams.isEmpty, now >= idleDeadline {
                beginEnd()
            }
        case .lingering(let until):
            if now >= until { close() }
        case .ending, .closed:
            break
        }
    }

    /// Notes that the client has received a piece of a response.
    func pieceLeft() {
        if stalledSince != nil { stalledSince = .now() }
    }

    /// Whether the written bytes have left for the client.
    var isWritable: Bool { context?.channel.isWritable ?? false }
}
