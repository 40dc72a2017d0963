import NIOCore

/// The state machine of an HTTP/1.1 connection: when it accepts requests, and how it ends. The clock is passed in.
struct HTTP1Sequence: Sendable {
    enum Phase: Hashable, Sendable {
        /// Requests are read and responded to. Next: finishing, closed.
        case open
        /// The last response is being written. Next: lingering, closed.
        case finishing
        /// The server's side is closed; further input is dropped until the client closes its side. Next: closed.
        case lingering(until: NIODeadline)
        case closed
    }

    enum Step: Hashable, Sendable {
        /// Flush everything that was written; ``lastWritten(succeeded:lingersFor:now:)`` follows.
        case finish(lingersFor: TimeAmount?)
        /// Close the server's side and drop further input.
        case linger
        case close
        /// Send an interim response, to detect whether the client is still there.
        case probe
    }

    private(set) var phase = Phase.open
    /// Set with the last request or refusal: further input is dropped.
    private(set) var isDeaf = false
    private(set) var inputIsClosed = false
    /// The deadline of the next head.
    private(set) var headDeadline: NIODeadline
    /// When a client that has closed its side is probed next.
    private var nextProbe: NIODeadline?
    /// When an idle connection, and when any connection, closes in a shutdown of the server.
    private var shutdown: (idle: NIODeadline, all: NIODeadline)?

    init(_ limits: HTTPLimits, now: NIODeadline) {
        headDeadline = now + limits.firstHead
    }

    var isOpen: Bool { phase == .open }
    /// Whether input is processed.
    var takesInput: Bool { isOpen && !isDeaf }

    // MARK: - Requests

    mutating func requestArrived(now: NIODeadline, _ limits: HTTPLimits) {
        headDeadline = now + limits.idle
    }

    /// Notes that a refusal is queued, after which nothing follows; returns false when one is already queued.
    mutating func refuse() -> Bool {
        guard !isDeaf else { return false }
        isDeaf = true
        return true
    }

    /// Notes that a response begins; returns whether the connection stays open after it.
    ///
    /// - Parameters:
    ///   - wantsClose: Whether the client, the response or an incomplete request body requires the end.
    ///   - isLast: Whether no further request has arrived, not even a part of one.
    mutating func responseBegins(wantsClose: Bool, isLast: Bool, now: NIODeadline, _ limits: HTTPLimits) -> Bool {
        headDeadline = now + limits.idle
        return !wantsClose && !(isLast && (inputIsClosed || shutdown != nil))
    }

    /// Notes that the complete response was passed to the channel.
    mutating func responseEnded(now: NIODeadline, _ limits: HTTPLimits) {
        headDeadline = now + limits.idle
    }

    // MARK: - Closing

    /// Notes that the last response is written; returns the next step, once.
    mutating func finish(lingersFor time: TimeAmount?) -> Step? {
        guard isOpen else { return nil }
        phase = .finishing
        return .finish(lingersFor: time)
    }

    /// Notes that the last byte was sent, or could not be.
    ///
    /// A socket that is closed with unread bytes sends a reset, which would discard the response of a client that still sends. So
    /// the server closes its own side first, and the rest when the client has closed its side.
    mutating func lastWritten(succeeded: Bool, lingersFor time: TimeAmount?, now: NIODeadline) -> Step {
        guard succeeded, let time, !inputIsClosed, phase == .finishing else { return .close }
        phase = .lingering(until: now + time)
        return .linger
    }

    /// Notes that the client has closed its side.
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

    /// Notes that the connection is closed; returns false when it already was.
    mutating func closed() -> Bool {
        defer { phase = .closed }
        return phase != .closed
    }

    mutating func beginShutdown(now: NIODeadline, _ limits: HTTPLimits) {
        shutdown = (idle: now + limits.lastRequest, all: now + limits.shutdown)
    }

    // MARK: - Deadlines

    mutating func check(now: NIODeadline, isIdle: Bool, _ limits: HTTPLimits) -> Step? {
        if let shutdown, now >= shutdown.all, phase != .closed { return .close }
        switch phase {
        case .open:
            if let shutdown, isIdle, now >= shutdown.idle {
                // A request that arrives even now finds an orderly close instead of a reset.
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
