import NIOCore

/// When an HTTP/1.1 connection takes requests, and how it ends: decides, with the clock passed in, and does nothing.
struct HTTP1Sequence: Sendable {
    enum Phase: Hashable, Sendable {
        /// Requests are read and responded to. Next: finishing, closed.
        case open
        /// The last response is being written. Next: lingering, closed.
        case finishing
        /// The server's side is closed; what still comes is dropped until the client closes its side. Next: closed.
        case lingering(until: NIODeadline)
        case closed
    }

    enum Step: Hashable, Sendable {
        /// Everything that was written is to leave; then ``lastWritten(succeeded:lingersFor:now:)``.
        case finish(lingersFor: TimeAmount?)
        /// The server closes its side and drops what still comes.
        case linger
        case close
        /// An interim response is to show whether the client is still there.
        case probe
    }

    private(set) var phase = Phase.open
    /// Set with the last request or refusal: whatever else the client sends is dropped.
    private(set) var isDeaf = false
    private(set) var inputIsClosed = false
    /// By when the next head must have come.
    private(set) var headDeadline: NIODeadline
    /// When a client that has closed its side is probed next.
    private var nextProbe: NIODeadline?
    /// By when an idle connection and by when any connection closes, once the server shuts down.
    private var shutdown: (idle: NIODeadline, all: NIODeadline)?

    init(_ limits: HTTPLimits, now: NIODeadline) {
        headDeadline = now + limits.firstHead
    }

    var isOpen: Bool { phase == .open }
    /// Whether what the client sends is looked at.
    var takesInput: Bool { isOpen && !isDeaf }

    // MARK: - Requests

    mutating func requestArrived(now: NIODeadline, _ limits: HTTPLimits) {
        headDeadline = now + limits.idle
    }

    /// A refusal is queued; nothing comes after it. False when there is one already.
    mutating func refuse() -> Bool {
        guard !isDeaf else { return false }
        isDeaf = true
        return true
    }

    /// A response begins; returns whether the connection stays open after it.
    ///
    /// - Parameters:
    ///   - wantsClose: whether the client, the response, or what is left of the request's body asks for the end.
    ///   - isLast: whether no other request has arrived, not even a part of one.
    mutating func responseBegins(wantsClose: Bool, isLast: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Bool {
        headDeadline = now + limits.idle
        return !wantsClose && !(isLast && (inputIsClosed || shutdown != nil))
    }

    /// The response has been given to the connection whole.
    mutating func responseEnded(now: NIODeadline, _ limits: HTTPLimits) {
        headDeadline = now + limits.idle
    }

    // MARK: - The end

    /// The last response is written; returns what to do, once.
    mutating func finish(lingersFor time: TimeAmount?) -> Step? {
        guard isOpen else { return nil }
        phase = .finishing
        return .finish(lingersFor: time)
    }

    /// The last byte has left, or could not.
    ///
    /// A socket that is closed while it holds unread bytes sends a reset, which would take the response away
    /// from a client that still sends. So the server's side closes first, and the rest when the client has closed its own.
    mutating func lastWritten(succeeded: Bool, lingersFor time: TimeAmount?, now: NIODeadline) -> Step {
        guard succeeded, let time, !inputIsClosed, phase == .finishing else { return .close }
        phase = .lingering(until: now + time)
        return .linger
    }

    /// The client has closed its side.
    mutating func inputClosed(isIdle: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Step? {
        inputIsClosed = true
        switch phase {
        case .open:
            nextProbe = now + limits.departureCheck
            return isIdle ? finish(lingersFor: nil) : nil
        case .lingering:
            return .close
        case .finishing, .closed:
            return nil
        }
    }

    /// False when it was closed before.
    mutating func closed() -> Bool {
        defer { phase = .closed }
        return phase != .closed
    }

    mutating func beginShutdown(now: NIODeadline, _ limits: HTTPLimits) {
        shutdown = (idle: now + limits.lastRequest, all: now + limits.shutdown)
    }

    // MARK: - Time

    mutating func check(now: NIODeadline, isIdle: Bool, _ limits: HTTPLimits) -> Step? {
        if let shutdown, now >= shutdown.all, phase != .closed { return .close }
        switch phase {
        case .open:
            if let shutdown, isIdle, now >= shutdown.idle {
                // A request that comes even now meets a closed connection, not a reset.
                return finish(lingersFor: limits.lastRequest)
            }
            if isIdle, now >= headDeadline { return .close }
            guard let nextProbe, now >= nextProbe else { return nil }
            self.nextProbe = now + limits.departureCheck
            return .probe
        case .lingering(let until):
            return now >= until ? .close : nil
        case .finishing, .closed:
            return nil
        }
    }
}
