import NIOCore

/// What becomes of one request, from its head to the end of its response, over HTTP/1.1 and HTTP/2 alike.
///
/// Events go in, with the clock where time matters, and what is to be done comes out. The value holds no bytes, no
/// channel and no task. Each request ends in one of four ways, once: with the response of its service, with a refusal,
/// with an end of its connection or stream in the middle (`abort`), or without a response because its client has left.
///
/// There are two halves. The input is the body, which is collected or streamed to the service. The output is the
/// response, which is complete at once or follows in parts. For a streamed body both go on at the same time.
struct RequestLifecycle: Sendable {
    /// What is to be done.
    enum Action: Hashable, Sendable {
        /// Memory is to be taken for the body; ``claimed(_:)`` takes the outcome.
        case claim(Claim)
        /// As much of the request is here as the service needs to begin; ``started(at:_:)`` follows in its turn.
        case ready
        /// The service is to see the end of the streamed body.
        case endBody
        /// A part of the response is to be written.
        case write
        /// The response is complete.
        case finish
        /// The server responds in place of the service, whose work is cancelled.
        case refuse(HTTPFault)
        /// The work is cancelled. It may still respond.
        case cancel
        /// The connection, or the stream, ends in the middle of the response, and the work is cancelled.
        case abort
        /// The request is dropped without a response, and the work is cancelled.
        case drop
    }

    /// For which bytes of the body memory is taken.
    enum Claim: Hashable, Sendable {
        /// The first `bytes`, of `expected` at least. The head decides whose memory it is.
        case judged(bytes: Int, expected: Int)
        /// A body that arrived whole at once: it is gone again in a moment, so its head is not looked at.
        case whole(Int)
        /// Some more.
        case more(Int)
    }

    enum Input: Hashable, Sendable {
        case arriving
        case complete
    }

    enum Output: Hashable, Sendable {
        /// The body has not arrived, or the responses before this one have not left. Next: working, ended.
        case waiting
        /// The service works on its response. Next: streaming, ended.
        case working
        /// The head of the response has left, and parts of its body follow. Next: ended.
        case streaming
        /// Nothing comes out any more.
        case ended
    }

    /// How many bytes of a streamed body wait for the service before the client is made to wait.
    static let window = 64 * 1024

    let isStreamed: Bool
    /// Bytes that the body may have.
    let limit: Int
    private(set) var input = Input.arriving
    private(set) var output = Output.waiting
    private(set) var isReady = false
    /// The client waits for `100 Continue`.
    private(set) var owesContinue = false
    /// Bytes of the body that have arrived, and those of them that wait for the service to take them.
    private(set) var received = 0
    private(set) var buffered = 0
    private(set) var isCancelled = false
    /// Whether the response goes on for as long as the service likes.
    private(set) var isEndless = false

    private var announced = 0
    private var isClaimed = false
    /// Whether the client takes parts of the response.
    private var isWritable = true
    /// What is left of a response whose length was announced.
    private var remaining: Int?
    /// Whether the service has taken or given anything since the clock was looked at.
    private var hasProgressed = false
    private let bodyDeadline: NIODeadline
    private var workDeadline: NIODeadline
    private var pace: BodyPace

    init(_ mode: RequestBodyMode, _ limits: HTTPLimits, now: NIODeadline) {
        switch mode {
        case .collected(let limit):
            isStreamed = false
            self.limit = limit ?? limits.body
        case .streamed(let limit):
            isStreamed = true
            self.limit = limit
        }
        bodyDeadline = now + limits.bodyTime
        workDeadline = now + limits.response
        pace = BodyPace(from: now, limits)
    }

    // MARK: - The body arrives

    /// Whether what arrives of the body is kept.
    var takesBody: Bool { input == .arriving && output != .ended }

    /// Whether the client is to wait because the service has enough of the body to work on.
    var isFull: Bool { isStreamed && buffered >= RequestLifecycle.window }

    /// The head was read and examined.
    mutating func begin(_ head: HeadExamination, _ limits: HTTPLimits) -> Action? {
        if let fault = head.fault { return fail(fault) }
        owesContinue = head.expectsContinue
        announced = head.announcedLength
        if isStreamed {
            // Without a length it may be long.
            return head.hasBody ? .claim(.judged(bytes: 0, expected: announced > 0 ? announced : .max)) : ready()
        }
        return announced > limits.smallBody ? .claim(.judged(bytes: 0, expected: announced)) : nil
    }

    /// A part of the body has arrived.
    mutating func received(_ bytes: Int, _ limits: HTTPLimits) -> Action? {
        guard takesBody else { return nil }
        guard bytes <= limit - received else { return fail(.bodyTooLarge) }
        received += bytes
        if isStreamed { buffered += bytes }
        if isClaimed { return .claim(.more(bytes)) }
        // What has come of a short body at once is not counted before it stays.
        guard received > limits.smallBody || isStreamed else { return nil }
        return .claim(.judged(bytes: received, expected: max(announced, received)))
    }

    /// Nothing more arrives for now: what has come of the body stays in memory.
    mutating func paused() -> Action? {
        guard takesBody, !isClaimed, received > 0 else { return nil }
        return .claim(.judged(bytes: received, expected: max(announced, received)))
    }

    /// The body is complete.
    ///
    /// - Parameter waits: whether the responses to other requests come first.
    mutating func bodyEnded(waits: Bool) -> Action? {
        guard takesBody else { return nil }
        input = .complete
        owesContinue = false
        if isStreamed {
            hasProgressed = true
            return .endBody
        }
        if isClaimed || received == 0 { return ready() }
        return .claim(waits ? .judged(bytes: received, expected: received) : .whole(received))
    }

    /// Memory was taken for the body, or was not.
    mutating func claimed(_ fault: HTTPFault?) -> Action? {
        guard output != .ended else { return nil }
        if let fault { return fail(fault) }
        isClaimed = true
        return !isReady && (isStreamed || input == .complete) ? ready() : nil
    }

    mutating func continueSent() {
        owesContinue = false
    }

    /// The service has taken a part of the streamed body.
    mutating func taken(_ bytes: Int) {
        buffered -= bytes
        hasProgressed = true
    }

    private mutating func ready() -> Action {
        isReady = true
        return .ready
    }

    // MARK: - The service responds

    /// The service begins.
    ///
    /// - Parameter time: from when on it has `limits.response` to respond.
    mutating func started(at time: NIODeadline, _ limits: HTTPLimits) {
        guard output == .waiting, isReady else { return }
        output = .working
        workDeadline = time + limits.response
    }

    /// The service has responded, with a whole body.
    mutating func responded() -> Action? {
        guard output == .working else { return nil }
        end()
        return .finish
    }

    /// The service has responded with a head; parts of the body follow.
    ///
    /// - Parameters:
    ///   - length: how many bytes they have, where the head says so.
    ///   - isEndless: whether the service may keep the client waiting without end.
    mutating func responded(streaming length: Int?, isEndless: Bool = false) -> Action? {
        guard output == .working else { return nil }
        output = .streaming
        self.isEndless = isEndless
        remaining = length
        hasProgressed = true
        return .write
    }

    /// Whether the client gets what the service makes of the body.
    private var takesParts: Bool { output == .streaming && !isCancelled }
    /// The same, and whether the client has taken enough of what it got before.
    var hasRoom: Bool { takesParts && isWritable }

    /// The service has made a part of the body; nil when the client gets no more of it.
    mutating func produced(_ bytes: Int) -> Action? {
        guard takesParts else { return nil }
        hasProgressed = true
        if let remaining {
            guard bytes <= remaining else { return abort() }
            self.remaining = remaining - bytes
        }
        return .write
    }

    /// The service has made the last part.
    ///
    /// - Parameter succeeded: whether there was no error on the way.
    mutating func responseEnded(succeeded: Bool) -> Action? {
        guard output == .streaming else { return nil }
        guard succeeded, remaining ?? 0 == 0 else { return abort() }
        end()
        return .finish
    }

    /// The client takes parts of the response, or takes none for now.
    mutating func writabilityChanged(_ isWritable: Bool) {
        guard self.isWritable != isWritable else { return }
        self.isWritable = isWritable
        hasProgressed = output == .streaming
    }

    // MARK: - The client leaves

    /// The connection or the stream is gone.
    mutating func clientLeft() -> Action? {
        guard output != .ended else { return nil }
        end()
        return .drop
    }

    /// The client sends nothing more. Half a request is no request; a whole one still gets its response.
    mutating func inputClosed() -> Action? {
        guard takesBody else { return nil }
        guard output == .waiting else { return abort() }
        end()
        return .drop
    }

    /// What arrives is not the rest of a request.
    mutating func inputFailed(_ fault: HTTPFault) -> Action? {
        takesBody ? fail(fault) : nil
    }

    // MARK: - Time

    /// Looks at the clock.
    ///
    /// - Parameter isReadHeldBack: whether the server does not read what the client sends.
    mutating func check(now: NIODeadline, isReadHeldBack: Bool, _ limits: HTTPLimits) -> Action? {
        guard output != .ended else { return nil }
        if input == .arriving {
            let waits = isReadHeldBack || owesContinue || isFull
            let isTooSlow = pace.isTooSlow(bytes: received, isWaiting: waits, now: now, limits)
            if isTooSlow || (!isStreamed && now >= bodyDeadline) { return fail(.requestTimeout) }
        }
        guard output != .waiting else { return nil }
        if !isCancelled, hasProgressed || !isWaitingForService {
            hasProgressed = false
            if isStreamed || output == .streaming { workDeadline = now + limits.response }
            return nil
        }
        guard now >= workDeadline else { return nil }
        if isCancelled { return fail(.responseTimeout) }
        isCancelled = true
        workDeadline = now + limits.cancellation
        return .cancel
    }

    /// Whether it is the service that keeps the client waiting, and not the other way round.
    private var isWaitingForService: Bool {
        if isEndless { return false }
        if output == .streaming, !isWritable { return false }
        return !(isStreamed && input == .arriving && buffered == 0)
    }

    // MARK: - The end

    private mutating func fail(_ fault: HTTPFault) -> Action {
        let hasBegun = output == .streaming
        end()
        return hasBegun ? .abort : .refuse(fault)
    }

    private mutating func abort() -> Action {
        end()
        return .abort
    }

    private mutating func end() {
        output = .ended
    }
}
