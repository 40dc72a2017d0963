import NIOCore

/// The state machine of one request, from its head to the end of its response, for HTTP/1.1 and HTTP/2.
///
/// Events go in, with the time where it matters, and actions come out. It holds no bytes, channel or task. Each request ends
/// once, in one of four ways: with the response of its service, with a refusal, with the end of its connection or stream during
/// the response (`abort`), or without a response because its client has left.
///
/// It has two halves. The input is the body, which is collected or streamed to the service. The output is the response, which is
/// complete at once or follows in parts. With a streamed body both proceed at the same time.
struct RequestLifecycle: Sendable {
    /// What the connection must do.
    enum Action: Hashable, Sendable {
        /// Take memory for the body; ``claimed(_:)`` gets the outcome.
        case claim(Claim)
        /// Enough of the request has arrived for the service to begin; ``started(at:_:)`` follows when the request is started.
        case ready
        /// End the streamed body for the service.
        case endBody
        /// Write a part of the response.
        case write
        /// Complete the response.
        case finish
        /// Respond in place of the service, and cancel its work.
        case refuse(HTTPFault)
        /// Cancel the work, which may still respond.
        case cancel
        /// End the connection or the stream during the response, and cancel the work.
        case abort
        /// Drop the request without a response, and cancel the work.
        case drop
    }

    /// The bytes of the body for which memory is taken.
    enum Claim: Hashable, Sendable {
        /// The first `bytes` of at least `expected`. The head determines to whom they are charged.
        case judged(bytes: Int, expected: Int)
        /// A body that arrived completely at once. It is released very soon, so its head is not examined.
        case whole(Int)
        /// Further bytes.
        case more(Int)
    }

    enum Input: Hashable, Sendable {
        case arriving
        case complete
    }

    enum Output: Hashable, Sendable {
        /// The body has not arrived, or earlier responses have not been sent. Next: working, ended.
        case waiting
        /// The service works on its response. Next: streaming, ended.
        case working
        /// The head of the response was sent, and parts of its body follow. Next: ended.
        case streaming
        /// No more output.
        case ended
    }

    /// How many bytes of a streamed body wait for the service before reading from the client is suspended.
    static let window = 128 * 1024

    let isStreamed: Bool
    /// Upper bound on the bytes of the body.
    let limit: Int
    private(set) var input = Input.arriving
    private(set) var output = Output.waiting
    private(set) var isReady = false
    /// Whether the client waits for `100 Continue`.
    private(set) var owesContinue = false
    /// The bytes of the body that have arrived, and those of them that wait for the service.
    private(set) var received = 0
    private(set) var buffered = 0
    private(set) var isCancelled = false
    /// Whether the response may last indefinitely.
    private(set) var isEndless = false

    private var announced = 0
    private var isClaimed = false
    /// Whether the service has asked for the streamed body.
    private var isAwaited = false
    /// Whether the client reads parts of the response.
    private var isWritable = true
    /// The remaining bytes of a response whose length was announced.
    private var remaining: Int?
    /// Whether the service has read or written anything since the last check.
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

    // MARK: - Receiving the body

    /// Whether arriving bytes of the body are kept.
    var takesBody: Bool { input == .arriving && output != .ended }

    /// Whether reading from the client is suspended because enough bytes wait for the service.
    var isFull: Bool { isStreamed && buffered >= RequestLifecycle.window }

    /// Notes that the head was read and examined.
    mutating func begin(_ head: HeadExamination, _ limits: HTTPLimits) -> Action? {
        if let fault = head.fault { return fail(fault) }
        owesContinue = head.expectsContinue
        announced = head.announcedLength
        if isStreamed {
            // A body without a length may be long.
            return head.hasBody ? .claim(.judged(bytes: 0, expected: announced > 0 ? announced : .max)) : ready()
        }
        return announced > limits.smallBody ? .claim(.judged(bytes: 0, expected: announced)) : nil
    }

    /// Notes that a part of the body has arrived.
    mutating func received(_ bytes: Int, _ limits: HTTPLimits) -> Action? {
        guard takesBody else { return nil }
        guard bytes <= limit - received else { return fail(.bodyTooLarge) }
        received += bytes
        // A client does not have to wait for the interim response.
        owesContinue = false
        if isStreamed { buffered += bytes }
        if isClaimed { return .claim(.more(bytes)) }
        // The first bytes of a short body are not counted until they stay in memory.
        guard received > limits.smallBody || isStreamed else { return nil }
        return .claim(.judged(bytes: received, expected: max(announced, received)))
    }

    /// Notes that no more arrives for now, so the received part of the body stays in memory.
    mutating func paused() -> Action? {
        guard takesBody, !isClaimed, received > 0 else { return nil }
        return .claim(.judged(bytes: received, expected: max(announced, received)))
    }

    /// Notes that the body is complete.
    ///
    /// - Parameter waits: Whether responses to other requests come first.
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

    /// Notes whether memory was taken for the body.
    mutating func claimed(_ fault: HTTPFault?) -> Action? {
        guard output != .ended else { return nil }
        if let fault { return fail(fault) }
        isClaimed = true
        return !isReady && (isStreamed || input == .complete) ? ready() : nil
    }

    /// Whether to send `100 Continue` now. A client does not begin with a streamed body that the service refuses by its head.
    var continueIsDue: Bool { owesContinue && output != .ended && (!isStreamed || isAwaited) }

    mutating func continueSent() {
        owesContinue = false
    }

    /// Notes that the service waits for a part of the streamed body.
    mutating func awaited() {
        isAwaited = true
    }

    /// Notes that the service has read a part of the streamed body.
    mutating func taken(_ bytes: Int) {
        buffered -= bytes
        hasProgressed = true
    }

    private mutating func ready() -> Action {
        isReady = true
        return .ready
    }

    // MARK: - Responses of the service

    /// Notes that the service begins.
    ///
    /// - Parameter time: The start of the `limits.response` that the service has to respond.
    mutating func started(at time: NIODeadline, _ limits: HTTPLimits) {
        guard output == .waiting, isReady else { return }
        output = .working
        workDeadline = time + limits.response
    }

    /// Notes that the service has responded with a complete body.
    mutating func responded() -> Action? {
        guard output == .working else { return nil }
        end()
        return .finish
    }

    /// Notes that the service has responded with a head; parts of the body follow.
    ///
    /// - Parameters:
    ///   - length: The total bytes of the parts, if the head announces it.
    ///   - isEndless: Whether the service may keep the client waiting indefinitely.
    mutating func responded(streaming length: Int?, isEndless: Bool = false) -> Action? {
        guard output == .working else { return nil }
        output = .streaming
        self.isEndless = isEndless
        remaining = length
        hasProgressed = true
        return .write
    }

    /// Whether parts of the response are still sent to the client.
    private var takesParts: Bool { output == .streaming && !isCancelled }
    /// Whether parts are sent and the client has read enough of the earlier ones.
    var hasRoom: Bool { takesParts && isWritable }

    /// Notes that the service has produced a part of the body; returns nil when the client gets no more parts.
    mutating func produced(_ bytes: Int) -> Action? {
        guard takesParts else { return nil }
        hasProgressed = true
        if let remaining {
            guard bytes <= remaining else { return abort() }
            self.remaining = remaining - bytes
        }
        return .write
    }

    /// Notes that the service has produced the last part.
    ///
    /// - Parameter succeeded: Whether it did so without an error.
    mutating func responseEnded(succeeded: Bool) -> Action? {
        guard output == .streaming else { return nil }
        guard succeeded, remaining ?? 0 == 0 else { return abort() }
        end()
        return .finish
    }

    /// Notes that the client reads parts of the response, or has stopped reading for now.
    mutating func writabilityChanged(_ isWritable: Bool) {
        guard self.isWritable != isWritable else { return }
        self.isWritable = isWritable
        hasProgressed = output == .streaming
    }

    // MARK: - Departure of the client

    /// Notes that the connection or the stream is closed.
    mutating func clientLeft() -> Action? {
        guard output != .ended else { return nil }
        end()
        return .drop
    }

    /// Notes that the client sends nothing more. An incomplete request is dropped; a complete one still gets its response.
    mutating func inputClosed() -> Action? {
        guard takesBody else { return nil }
        guard output == .waiting else { return abort() }
        end()
        return .drop
    }

    /// Notes that the input is not the rest of a request.
    mutating func inputFailed(_ fault: HTTPFault) -> Action? {
        takesBody ? fail(fault) : nil
    }

    // MARK: - Deadlines

    /// Checks the deadlines.
    ///
    /// - Parameter isReadHeldBack: Whether reading from the client is suspended.
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

    /// Whether the client waits for the service, and not the other way round.
    private var isWaitingForService: Bool {
        if isEndless { return false }
        if output == .streaming, !isWritable { return false }
        return !(isStreamed && input == .arriving && buffered == 0 && !owesContinue)
    }

    // MARK: - Closing

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
