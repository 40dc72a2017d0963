package import NIOCore

/// The limits of a process on long-lived connections: WebSockets and event streams.
package struct LiveLimits: Sendable, Hashable {
    /// Whether live connections are enabled.
    package var isOn: Bool
    /// Upper bounds on open connections: in total, of one user, and of one client address; a further one is closed with 4429.
    package var connections: Int
    package var connectionsOfUser: Int
    package var connectionsOfClient: Int
    /// Upper bounds on the bytes of live messages that wait for one connection, and for all of them.
    package var buffer: Int
    package var memory: Int
    /// Concurrent calls of one WebSocket; above it the socket is not read.
    package var calls: Int
    /// Control frames that a client may send within `controlWindow`.
    package var controlFrames: Int
    package var controlWindow: TimeAmount

    /// Time from the opening of a WebSocket without credentials to `connection:authenticate`.
    package var authentication: TimeAmount
    /// How often a client is pinged, and after how long without input its connection is closed.
    package var ping: TimeAmount
    package var silence: TimeAmount
    /// A connection is closed with 4408 when it lags for `lagging`, or when it falls behind `falls` times within `fallsWithin`.
    package var lagging: TimeAmount
    package var falls: Int
    package var fallsWithin: TimeAmount
    /// How long to wait for the other side to confirm the close of a WebSocket.
    package var closing: TimeAmount
    /// The period over which clients reconnect after a restart.
    package var restartSpread: TimeAmount
    /// How often an event stream sends a comment when nothing else is sent.
    package var heartbeat: TimeAmount

    package init(
        isOn: Bool = true,
        connections: Int = 10_000,
        connectionsOfUser: Int = 50,
        connectionsOfClient: Int = 200,
        buffer: Int = 1024 * 1024,
        memory: Int = 64 * 1024 * 1024,
        calls: Int = 32,
        controlFrames: Int = 100,
        controlWindow: TimeAmount = .seconds(10),
        authentication: TimeAmount = .seconds(10),
        ping: TimeAmount = .seconds(25),
        silence: TimeAmount = .seconds(60),
        lagging: TimeAmount = .seconds(30),
        falls: Int = 3,
        fallsWithin: TimeAmount = .seconds(60),
        closing: TimeAmount = .seconds(2),
        restartSpread: TimeAmount = .seconds(10),
        heartbeat: TimeAmount = .seconds(15)
    ) {
        self.isOn = isOn
        self.connections = connections
        self.connectionsOfUser = connectionsOfUser
        self.connectionsOfClient = connectionsOfClient
        self.buffer = buffer
        self.memory = memory
        self.calls = calls
        self.controlFrames = controlFrames
        self.controlWindow = controlWindow
        self.authentication = authentication
        self.ping = ping
        self.silence = silence
        self.lagging = lagging
        self.falls = falls
        self.fallsWithin = fallsWithin
        self.closing = closing
        self.restartSpread = restartSpread
        self.heartbeat = heartbeat
    }

    /// The times that determine how often an event loop checks.
    var times: [TimeAmount] { [authentication, ping, silence, lagging, closing, heartbeat] }
}
