import NIOCore

/// How long a WebSocket lives, and how it ends: decides, with the clock passed in, and does nothing.
struct WebSocketLifecycle: Sendable {
    enum Phase: Hashable, Sendable {
        /// Messages are taken. Next: finishing, closing, closed.
        case open
        /// What was taken is carried out, and nothing more is taken. Next: closing, closed.
        case finishing(SocketClosure, until: NIODeadline)
        /// Our close frame is on its way, and the client's is waited for. Next: closed.
        case closing(until: NIODeadline)
        case closed
    }

    enum Action: Hashable, Sendable {
        case ping
        /// A close frame is to be sent, behind what was written.
        case sendClose(SocketClosure)
        /// The client's close frame is answered with one that has its code, and the connection ends.
        case confirmClose(UInt16?)
        /// The connection ends.
        case end
    }

    private(set) var phase = Phase.open
    private var isAuthenticated: Bool
    private let authenticationDeadline: NIODeadline
    private var lastHeard: NIODeadline
    private var nextPing: NIODeadline
    /// The message that arrives and is not complete.
    private var arriving: (number: UInt64, deadline: NIODeadline, pace: BodyPace)?

    init(_ limits: HTTPLimits, isAuthenticated: Bool, now: NIODeadline) {
        self.isAuthenticated = isAuthenticated
        authenticationDeadline = now + limits.live.authentication
        lastHeard = now
        nextPing = now + limits.live.ping
    }

    var isOpen: Bool { phase == .open }
    /// Whether the client's frames are looked at.
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

    // MARK: - The end

    /// The connection ends after the calls that were taken.
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

    /// Everything that was taken is carried out, and all responses have left.
    mutating func becameIdle(now: NIODeadline, _ limits: LiveLimits) -> Action? {
        guard case .finishing(let closure, _) = phase else { return nil }
        return close(closure, now: now, limits)
    }

    /// The connection ends at once.
    mutating func close(_ closure: SocketClosure, now: NIODeadline, _ limits: LiveLimits) -> Action? {
        switch phase {
        case .open, .finishing:
            phase = .closing(until: now + limits.closing)
            return .sendClose(closure)
        case .closing, .closed:
            return nil
        }
    }

    /// The client's close frame is here.
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

    /// The close frame that confirms the client's has left, or will not.
    mutating func confirmed(now: NIODeadline) {
        phase = .closing(until: now)
    }

    /// False when it was closed before.
    mutating func closed() -> Bool {
        defer { phase = .closed }
        return phase != .closed
    }

    // MARK: - Time

    /// Looks at the clock.
    ///
    /// - Parameters:
    ///   - partial: the message that arrives and is not complete; nil between messages.
    ///   - isReadHeldBack: whether the server does not read what the client sends.
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
            // While its socket is not read, nothing can be heard of the client.
            if isReadHeldBack { lastHeard = now }
            if now >= lastHeard + limits.live.silence { return close(.silent, now: now, limits.live) }
            guard now >= nextPing else { return nil }
            nextPing = now + limits.live.ping
            return .ping
        }
    }

    /// A message may be as slow as a body.
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

/// A message that has not arrived whole.
struct PartialMessage: Hashable, Sendable {
    /// Its place among all messages of the connection.
    let number: UInt64
    /// How much of it is here.
    let bytes: Int
}
