import NIOCore
import NIOHTTP1
import SkyrowConcurrency
import SkyrowModel
import SkyrowProtocol

/// A request with everything that belongs to it: its lifecycle decides, and its connection performs.
///
/// It belongs to the event loop of its connection. It is a class because it moves from arriving to queued to current; a value
/// would be copied each time, with all of its references.
final class RequestExchange {
    let head: HTTPRequestHead
    let id: RequestID
    /// Whether another protocol follows, so that the connection ends after this request.
    let endsHTTP: Bool
    var lifecycle: RequestLifecycle
    /// The parts of a streamed body; nil when the body is collected.
    let parts: RequestBodyStream?
    private(set) var bytes = ByteBuffer()
    /// The memory of the body; nil until it is decided to whom it is charged.
    private var hold: BodyHold?
    private var task: Task<Void, Never>?
    /// Makes an endless response send something, while there is one.
    private(set) var probe: (@Sendable () -> Void)?
    /// The writer of the response, while it waits for room for the next part.
    var writer: Deferred<Bool>?

    /// - Parameter hasBody: Whether a body may follow regardless of the head.
    /// - Returns: The request, and the first action.
    static func begin(
        _ head: HTTPRequestHead,
        hasBody: Bool = false,
        in loop: EventLoopContext
    ) -> (RequestExchange, RequestLifecycle.Action?) {
        let mode = loop.responder.bodyMode(of: head)
        let lifecycle = RequestLifecycle(mode, loop.limits, now: .now())
        let examination = HeadExamination(head, bodyLimit: lifecycle.limit, hasBody: hasBody)
        let exchange = RequestExchange(
            head: head,
            id: loop.nextRequestID(),
            endsHTTP: examination.endsHTTP,
            lifecycle: lifecycle,
            parts: lifecycle.isStreamed ? RequestBodyStream(on: loop.eventLoop) : nil
        )
        let action = exchange.lifecycle.begin(examination, loop.limits)
        return (exchange, action)
    }

    private init(
        head: HTTPRequestHead,
        id: RequestID,
        endsHTTP: Bool,
        lifecycle: RequestLifecycle,
        parts: RequestBodyStream?
    ) {
        self.head = head
        self.id = id
        self.endsHTTP = endsHTTP
        self.lifecycle = lifecycle
        self.parts = parts
    }

    /// Takes the memory that the lifecycle asks for; returns the next action.
    func claim(
        _ claim: RequestLifecycle.Claim,
        from peer: ConnectionPeer,
        in loop: EventLoopContext
    ) -> RequestLifecycle.Action? {
        lifecycle.claimed(take(claim, from: peer, in: loop))
    }

    private func take(
        _ claim: RequestLifecycle.Claim,
        from peer: ConnectionPeer,
        in loop: EventLoopContext
    ) -> HTTPFault? {
        switch claim {
        case .judged(let bytes, let expected):
            switch loop.hold(head, from: peer, bytes: bytes, expected: expected) {
            case .success(let hold): self.hold = hold
            case .failure(let fault): return fault
            }
        case .whole(let bytes):
            var hold = BodyHold(loop.bodies, pool: .accepted, usage: peer.usage)
            if let fault = hold.take(bytes) { return fault }
            self.hold = hold
        case .more(let bytes):
            return hold?.take(bytes)
        }
        return nil
    }

    /// Keeps a part of a collected body, for which memory was taken.
    func keep(_ part: ByteBuffer) {
        if bytes.readableBytes == 0 {
            // Most bodies arrive in one part, which is kept without a copy.
            bytes = part
        } else {
            bytes.writeImmutableBuffer(part)
        }
    }

    /// Notes that the service has read a part of the streamed body.
    func taken(_ count: Int) {
        lifecycle.taken(count)
        hold?.release(count)
    }

    /// Begins the work; returns the memory of the collected body, which is released when the service returns.
    func begin(at time: NIODeadline, in loop: EventLoopContext) -> BodyHold? {
        lifecycle.started(at: time, loop.limits)
        guard parts == nil else { return nil }
        defer { hold = nil }
        return hold
    }

    /// Returns the request for the service and drops the body here, because a streamed response may last for days.
    ///
    /// - Parameters:
    ///   - client: The other end of the connection.
    ///   - time: When the work began.
    func takeRequest(from client: Client, at time: NIODeadline) -> HTTPRequest {
        let body = parts.map { RequestBody.stream($0) } ?? .collected(bytes)
        bytes = ByteBuffer()
        return HTTPRequest(head: head, body: body, id: id, peer: client, arrival: time)
    }

    /// Keeps the task of the work so that it can be cancelled, unless the task of the response's parts has replaced it.
    func keep(_ task: Task<Void, Never>) {
        if lifecycle.output != .streaming { self.task = task }
    }

    /// Produces the parts of the response in a separate task: a task keeps the memory of its deepest call until it ends, and a
    /// stream may last for days.
    ///
    /// - Parameters:
    ///   - output: The receiver of the parts.
    ///   - number: Which of the output's responses it is.
    ///   - end: Called at the end with whether all parts were produced.
    func startStream(
        _ stream: ResponseStream,
        on output: any ResponseOutput,
        number: UInt64,
        in loop: EventLoopContext,
        end: @escaping (_ succeeded: Bool) -> Void
    ) {
        probe = stream.probe
        let writer = ResponseWriter(output, number: number, in: loop)
        let end = NIOLoopBound(end, eventLoop: loop.eventLoop)
        let task = Task.startingNow(on: loop.executor) {
            do {
                try await stream.make(writer)
                end.value(true)
            } catch {
                end.value(false)
            }
        }
        if Task.isCancelled { task.cancel() }
        if lifecycle.output != .ended { self.task = task }
    }

    /// Cancels the work, which may still respond.
    func cancel() {
        task?.cancel()
        parts?.fail(CancellationError())
        writer.take()?.settle(false)
    }

    /// Makes an endless response end by itself.
    func endEndlessResponse() {
        if lifecycle.isEndless { task?.cancel() }
    }

    /// Ends the request: cancels the rest of the work and releases all resources.
    ///
    /// - Parameters:
    ///   - reason: The error for the reader of a streamed body.
    ///   - cancels: Whether to cancel the work.
    func end(_ reason: any Error = CancellationError(), cancels: Bool = true) {
        if cancels { task?.cancel() }
        probe = nil
        hold?.release()
        hold = nil
        parts?.fail(reason)
        writer.take()?.settle(false)
    }
}
