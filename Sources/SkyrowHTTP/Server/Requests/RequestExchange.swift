import NIOCore
import NIOHTTP1
import SkyrowConcurrency
import SkyrowModel

/// A request with what belongs to it: its lifecycle decides, and its connection performs.
///
/// It belongs to the event loop of its connection. It is an object because it moves from the one that arrives to the one that
/// waits and on to the one that is worked on: as a value it would be copied each time, with all that it refers to.
final class RequestExchange {
    let head: HTTPRequestHead
    let id: RequestID
    /// What follows is another protocol, so the connection ends after this request.
    let endsHTTP: Bool
    var lifecycle: RequestLifecycle
    /// The parts of a streamed body; nil when the body is collected.
    let parts: RequestBodyStream?
    private(set) var bytes = ByteBuffer()
    /// What the body takes of the memory; nil as long as it is not decided whose memory that is.
    private var hold: BodyHold?
    private var task: Task<Void, Never>?
    /// Has an endless response send something, while there is one.
    private(set) var probe: (@Sendable () -> Void)?
    /// The service, as long as it waits for room for the next part of its response.
    var writer: Deferred<Bool>?

    /// - Parameter hasBody: whether a body may follow whatever the head says.
    /// - Returns: the request, and what is to be done with it first.
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

    /// Takes the memory that the lifecycle asks for; returns what is to be done next.
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

    /// The service has taken a part of the streamed body.
    func taken(_ count: Int) {
        lifecycle.taken(count)
        hold?.release(count)
    }

    /// Begins the work; returns the memory of the collected body, which is given back when the service returns.
    func begin(at time: NIODeadline, in loop: EventLoopContext) -> BodyHold? {
        lifecycle.started(at: time, loop.limits)
        guard parts == nil else { return nil }
        defer { hold = nil }
        return hold
    }

    /// The request for the service, which alone has its body then: a stream in response may last for days.
    ///
    /// - Parameters:
    ///   - client: the other end of the connection.
    ///   - time: when the work began.
    func takeRequest(from client: Client, at time: NIODeadline) -> HTTPRequest {
        let body = parts.map { RequestBody.stream($0) } ?? .collected(bytes)
        bytes = ByteBuffer()
        return HTTPRequest(head: head, body: body, id: id, peer: client, arrival: time)
    }

    /// Keeps the task of the work, so that it can be cancelled, unless that of the response's parts has followed it.
    func keep(_ task: Task<Void, Never>) {
        if lifecycle.output != .streaming { self.task = task }
    }

    /// Makes the parts of the response, in a task of their own: one keeps memory for the deepest call that it has made, as long as it
    /// lasts, and a stream may last for days.
    ///
    /// - Parameters:
    ///   - output: what takes the parts.
    ///   - number: which of the responses of the output it is.
    ///   - end: gets at last whether all parts were made.
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

    /// Has a response end by itself that would otherwise go on.
    func endEndlessResponse() {
        if lifecycle.isEndless { task?.cancel() }
    }

    /// Ends the request: cancels what is left of the work, and gives everything back.
    ///
    /// - Parameters:
    ///   - reason: what the reader of a streamed body gets.
    ///   - cancels: whether the work is of no use any more.
    func end(_ reason: any Error = CancellationError(), cancels: Bool = true) {
        if cancels { task?.cancel() }
        probe = nil
        hold?.release()
        hold = nil
        parts?.fail(reason)
        writer.take()?.settle(false)
    }
}
