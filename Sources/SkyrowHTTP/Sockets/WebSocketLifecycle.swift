import NIOCore

/// The state machine of a WebSocket's lifetime and close. The clock is passed in.
struct WebSocketLifecycle: Sendable {
    enum Phase: Hashable, Sendable {
        /// Messages are accepted. Next: finishing, closing, closed.
        case open
        /// Accepted calls are performed, and no more are accepted. Next: closing, closed.
        case finishing(SocketClosure, until: NIODeadline)
        /// The server's close frame was sent, and the client's is awaited. Next: closed.
        case closing(until: NIODeadline)
        case closed
    }

    enum Action: Hashable, Sendable {
        case ping
        /// Send a close frame after everything that was written.
        case sendClose(SocketClosure)
        /// Answer the client's close frame with one of the same code, and end the connection.
        case confirmClose(UInt16?)
        /// End the connection.
        case end
    }

    private(set) var phase = Phase.open
    private var isAuthenticated: Bool
    private let authenticationDeadline: NIODeadline
    private var lastHeard: NIODeadline
    private var nextPing: NIODeadline
    /// The incomplete message that is arriving.
    private var arriving: (number: UInt64, deadline: NIODeadline, pace: BodyPace)?

    init(_ limits: HTTPLimits, isAuthenticated: Bool, now: NIODeadline) {
        self.isAuthenticated = isAuthenticated
        authenticationDeadline = now + limits.live.authentication
        lastHeard = now
        nextPing = now + limits.live.ping
    }

    var isOpen: Bool { phase == .open }
    /// Whether the client's frames are processed.
    var takesFrames: Bool {
        switch phase {
        case .open, .finishing, .closing: true
        case .closed: false
        }
    }

    mutating func heard(now: NIODeadline) {
        lastHeard = now
    }

    mutating func authenticated() {
        isAuthenticated = true
    }

    // MARK: - Closing

    /// Ends the connection after the accepted calls.
    mutating func finish(
        _ closure: SocketClosure,
        isIdle: Bool,
        within time: TimeAmount,
        now: NIODeadline,
        _ limits: LiveLimits
    ) -> Action? {
        guard phase == .open else { return nil }
        guard !isIdle else { return close(closure, now: now, limits) }
        phase = .finishing(closure, until: now + time)
        return nil
    }

    /// Notes that all accepted calls are done and all responses are sent.
    mutating func becameIdle(now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard case .finishing(let closure, _) = phase else { return nil }
        return close(closure, now: now, limits)
    }

    /// Ends the connection at once.
    mutating func close(_ closure: SocketClosure, now: NIODeadline, _ limits: LiveLimits) -> Action? {
        switch phase {
        case .open, .finishing:
            phase = .closing(until: now + limits.closing)
            return .sendClose(closure)
        case .closing, .closed:
            return nil
        }
    }

    /// Notes that the client's close frame has arrived.
    mutating func receivedClose(_ code: UInt16?) -> Action? {
        switch phase {
        case .open, .finishing:
            phase = .closing(until: .distantFuture)
            return .confirmClose(code)
        case .closing:
            return .end
        case .closed:
            return nil
        }
    }

    /// Notes that the confirming close frame was written, so that the connection ends soon even if the client does not read it.
    mutating func confirmed(now: NIODeadline) {
        phase = .closing(until: now)
    }

    /// Notes that the connection is closed; returns false when it already was.
    mutating func closed() -> Bool {
        defer { phase = .closed }
        return phase != .closed
    }

    // MARK: - Deadlines

    /// Checks the deadlines.
    ///
    /// - Parameters:
    ///   - partial: The incomplete message that is arriving; nil between messages.
    ///   - isReadHeldBack: Whether reading from the client is suspended.
    mutating func check(
        now: NIODeadline,
        partial: PartialMessage?,
        isReadHeldBack: Bool,
        _ limits: HTTPLimits
    ) -> Action? {
        switch phase {
        case .closed:
            return nil
        case .closing(let until):
            return now >= until ? .end : nil
        case .finishing(let closure, let until):
            return now >= until ? close(closure, now: now, limits.live) : nil
        case .open:
            if !isAuthenticated, now >= authenticationDeadline {
                return close(.notAuthenticated, now: now, limits.live)
            }
            if isTooSlow(partial, now: now, isReadHeldBack, limits) {
                return close(.slowMessage, now: now, limits.live)
            }
            // While its socket is not read, the client cannot be heard.
            if isReadHeldBack { lastHeard = now }
            if now >= lastHeard + limits.live.silence { return close(.silent, now: now, limits.live) }
            guard now >= nextPing else { return nil }
            nextPing = now + limits.live.ping
            return .ping
        }
    }

    /// Whether a message is too slow, by the limits of request bodies.
    private mutating func isTooSlow(
        _ partial: PartialMessage?,
        now: NIODeadline,
        _ isReadHeldBack: Bool,
        _ limits: HTTPLimits
    ) -> Bool {
        guard let partial else {
            arriving = nil
            return false
        }
        guard arriving?.number == partial.number else {
            arriving = (partial.number, now + limits.bodyTime, BodyPace(from: now, limits))
            return false
        }
        if isReadHeldBack { arriving?.deadline = now + limits.bodyTime }
        return now >= arriving?.deadline ?? now
            || arriving?.pace.isTooSlow(bytes: partial.bytes, isWaiting: isReadHeldBack, now: now, limits) == true
    }
}

/// A message that has not arrived completely.
struct PartialMessage: Hashable, Sendable {
    /// Its number among all messages of the connection.
    let number: UInt64
    /// The bytes received so far.
    let bytes: Int
}
