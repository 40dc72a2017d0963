package import NIOCore

/// What a process gives to connections that stay: WebSockets and event streams.
package struct LiveLimits: Sendable, Hashable {
    /// Whether there are any.
    package var isOn: Bool
    /// Open ones, in all, of one user and of one client address; one more is closed with 4429.
    package var connections: Int
    package var connectionsOfUser: Int
    package var connectionsOfClient: Int
    /// Bytes of live messages that wait for one connection, and for all of them.
    package var buffer: Int
    package var memory: Int
    /// Calls of one WebSocket that run at once; then its socket is not read.
    package var calls: Int
    /// Control frames that a client may send within `controlWindow`.
    package var controlFrames: Int
    package var controlWindow: TimeAmount

    /// From the opening of a WebSocket without credentials to `connection:authenticate`.
    package var authentication: TimeAmount
    /// How often a client is asked for a sign of life, and after how long without one its connection ends.
    package var ping: TimeAmount
    package var silence: TimeAmount
    /// How long a connection may lag before it is closed with 4408; or when it falls behind so often within such a time.
    package var lagging: TimeAmount
    package var falls: Int
    package var fallsWithin: TimeAmount
    /// For the other side to confirm the end of a WebSocket.
    package var closing: TimeAmount
    /// Over which time clients come back after a restart.
    package var restartSpread: TimeAmount
    /// How often an event stream has a comment when nothing else is sent.
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

    /// The times that an event loop has to look at.
    var times: [TimeAmount] { [authentication, ping, silence, lagging, closing, heartbeat] }
}
