package import NIOCore
internal import SkyrowActions

/// What one server takes from its clients, in bytes, counts and time.
package struct HTTPLimits: Sendable, Hashable {
    /// Bytes of one body; more gets 413.
    package var body: Int
    /// Bytes of all bodies that wait in memory at once; more gets 503.
    package var bodiesInMemory: Int
    /// Bytes of a body whose request has no accepted key or token in its head; more gets 401. So much of every
    /// body may be taken from the reserve for small ones.
    package var smallBody: Int
    /// The part of connections and of memory for bodies that one client may hold, in percent; beyond it gets 429.
    package var clientShare: Int
    /// Bytes a second that a body brings at least, over each `bodyWindow`; 0 is no limit.
    package var bodyRate: Int
    /// Bytes of all responses that wait for clients to read them; beyond, who reads nothing for a second is closed.
    package var unreadResponses: Int
    /// Bytes of one response, and of all the results of a batch together.
    package var responseBytes: Int
    /// Bytes of all results that are being made or wait for clients to read them; one client has half of it at most.
    package var responseMemory: Int
    /// Bytes of one header field, name and value.
    package var headerField: Int
    /// Bytes of all header fields of a request.
    package var headerList: Int
    package var headerCount: Int
    /// Open connections; one more gets 503 and closed.
    package var connections: Int
    /// Requests of one connection that wait for the responses before them; then its socket is not read.
    package var pipelinedRequests: Int
    /// Requests of one HTTP/2 connection at once.
    package var streams: Int
    /// Requests that one HTTP/2 client may reset within 30 s; one more closes its connection.
    package var resets: Int

    /// From the opening of a connection to the end of its TLS handshake.
    package var handshake: TimeAmount
    /// From the opening of a connection, or the end of its handshake, to its first complete head.
    package var firstHead: TimeAmount
    /// From one response to the next complete head.
    package var idle: TimeAmount
    /// From a head to the end of its body.
    package var bodyTime: TimeAmount
    /// How long a body may bring less than `bodyRate`.
    package var bodyWindow: TimeAmount
    /// From a request to its response; then the work is cancelled.
    package var response: TimeAmount
    /// For cancelled work to respond by itself.
    package var cancellation: TimeAmount
    /// Without progress of a client that reads a response slowly.
    package var writeStall: TimeAmount
    /// How often a client that has closed its side, and waits for its response, is asked whether it is still there.
    package var departureCheck: TimeAmount
    /// For a refused client to read why, before the connection is closed under it.
    package var linger: TimeAmount
    /// During a shutdown, for a request that was already under way to an idle connection.
    package var lastRequest: TimeAmount
    /// For accepted requests to finish during a shutdown.
    package var shutdown: TimeAmount
    /// WebSockets and event streams.
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

    /// Bytes that a body brings in each `bodyWindow` at least.
    var bodyProgress: Int {
        Int(Double(bodyRate) * Double(bodyWindow.nanoseconds) / 1e9)
    }

    /// How often deadlines are looked at: a quarter of the shortest, between 5 ms and 1 s.
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
