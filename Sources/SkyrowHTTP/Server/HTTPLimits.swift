package import NIOCore
internal import SkyrowActions

/// The limits of one server on its clients, in bytes, counts and time.
package struct HTTPLimits: Sendable, Hashable {
    /// Bytes of one body; a larger one gets 413.
    package var body: Int
    /// Bytes of all bodies that wait in memory; a further one gets 503.
    package var bodiesInMemory: Int
    /// Bytes of a body whose request has no accepted key or token in its head; a larger one gets 401. Up to this many bytes of
    /// every body may come from the reserve for small bodies.
    package var smallBody: Int
    /// The share of connections and body memory that one client may hold, in percent; above it a client gets 429.
    package var clientShare: Int
    /// Minimum bytes per second of a body, over each `bodyWindow`; 0 disables the limit.
    package var bodyRate: Int
    /// Bytes of all responses that wait for clients to read them; above it, a client that reads nothing for a second is closed.
    package var unreadResponses: Int
    /// Bytes of one response, and of all results of a batch together.
    package var responseBytes: Int
    /// Bytes of all results that are being produced or wait for clients to read them; one client has at most half.
    package var responseMemory: Int
    /// Bytes of one header field, name and value.
    package var headerField: Int
    /// Bytes of all header fields of a request.
    package var headerList: Int
    package var headerCount: Int
    /// Open connections; a further one gets 503 and is closed.
    package var connections: Int
    /// Pipelined requests of one connection that wait for earlier responses; above it the socket is not read.
    package var pipelinedRequests: Int
    /// Concurrent requests of one HTTP/2 connection.
    package var streams: Int
    /// Requests that one HTTP/2 client may reset within 30 s; a further reset closes its connection.
    package var resets: Int

    /// Time from the opening of a connection to the end of its TLS handshake.
    package var handshake: TimeAmount
    /// Time from the opening of a connection, or the end of its handshake, to its first complete head.
    package var firstHead: TimeAmount
    /// Time from one response to the next complete head.
    package var idle: TimeAmount
    /// Time from a head to the end of its body.
    package var bodyTime: TimeAmount
    /// How long a body may be slower than `bodyRate`.
    package var bodyWindow: TimeAmount
    /// Time from a request to its response; after it the work is cancelled.
    package var response: TimeAmount
    /// How long cancelled work may take to respond by itself.
    package var cancellation: TimeAmount
    /// How long a client may read nothing of its response.
    package var writeStall: TimeAmount
    /// How often the server probes a client that has closed its side and waits for its response.
    package var departureCheck: TimeAmount
    /// How long a refused client may read the reason before its connection is closed.
    package var linger: TimeAmount
    /// How long an idle connection stays open in a shutdown, for a request that is already on its way.
    package var lastRequest: TimeAmount
    /// How long accepted requests may take to finish in a shutdown.
    package var shutdown: TimeAmount
    /// The limits of WebSockets and event streams.
    package var live: LiveLimits

    package init(
        body: Int = 8 * 1024 * 1024,
        bodiesInMemory: Int = 256 * 1024 * 1024,
        smallBody: Int = 64 * 1024,
        clientShare: Int = ClientShare.usualPercent,
        bodyRate: Int = 1024,
        unreadResponses: Int = 256 * 1024 * 1024,
        responseBytes: Int = 32 * 1024 * 1024,
        responseMemory: Int = 128 * 1024 * 1024,
        headerField: Int = 16 * 1024,
        headerList: Int = 64 * 1024,
        headerCount: Int = 100,
        connections: Int = 10_000,
        pipelinedRequests: Int = 16,
        streams: Int = 100,
        resets: Int = 200,
        handshake: TimeAmount = .seconds(15),
        firstHead: TimeAmount = .seconds(15),
        idle: TimeAmount = .seconds(75),
        bodyTime: TimeAmount = .seconds(60),
        bodyWindow: TimeAmount = .seconds(10),
        response: TimeAmount = .seconds(60),
        cancellation: TimeAmount = .seconds(2),
        writeStall: TimeAmount = .seconds(30),
        departureCheck: TimeAmount = .seconds(2),
        linger: TimeAmount = .seconds(2),
        lastRequest: TimeAmount = .milliseconds(100),
        shutdown: TimeAmount = .seconds(30),
        live: LiveLimits = LiveLimits()
    ) {
        self.body = body
        self.bodiesInMemory = bodiesInMemory
        self.smallBody = smallBody
        self.clientShare = clientShare
        self.bodyRate = bodyRate
        self.unreadResponses = unreadResponses
        self.responseBytes = responseBytes
        self.responseMemory = responseMemory
        self.headerField = headerField
        self.headerList = headerList
        self.headerCount = headerCount
        self.connections = connections
        self.pipelinedRequests = pipelinedRequests
        self.streams = streams
        self.resets = resets
        self.handshake = handshake
        self.firstHead = firstHead
        self.idle = idle
        self.bodyTime = bodyTime
        self.bodyWindow = bodyWindow
        self.response = response
        self.cancellation = cancellation
        self.writeStall = writeStall
        self.departureCheck = departureCheck
        self.linger = linger
        self.lastRequest = lastRequest
        self.shutdown = shutdown
        self.live = live
    }

    /// Minimum bytes of a body in each `bodyWindow`.
    var bodyProgress: Int { Int(Double(bodyRate) * Double(bodyWindow.nanoseconds) / 1e9) }

    /// How often deadlines are checked: a quarter of the shortest one, between 5 ms and 1 s.
    var tick: TimeAmount {
        let times =
            [
                handshake, firstHead, idle, bodyTime, bodyWindow, response, cancellation, writeStall, departureCheck,
                linger,
                shutdown,
            ] + live.times
        let quarter = (times.min()?.nanoseconds ?? 0) / 4
        return .nanoseconds(min(max(quarter, 5_000_000), 1_000_000_000))
    }
}
