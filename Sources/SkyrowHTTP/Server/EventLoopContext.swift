import NIOCore

/// What the connections of one event loop share; touched on that loop only, so nothing here is locked.
final class EventLoopContext {
    let eventLoop: any EventLoop
    let executor: EventLoopTaskExecutor
    let mailbox: LoopMailbox
    let limits: HTTPLimits
    let responder: any HTTPResponder

    let clients: ClientIdentification
    let table: ClientTable
    let bodies: BodyMemory
    let unreadResponses: UnreadResponses

    private var date = HTTPDateLine()
    private var ids = RequestIDGenerator()
    private var connections: [ObjectIdentifier: any TimedConnection] = [:]
    private var ticker: RepeatedTask?

    init(
        eventLoop: any EventLoop,
        limits: HTTPLimits,
        clients: ClientIdentification,
        counts: HTTPServerCounts,
        responder: any HTTPResponder
    ) {
        self.eventLoop = eventLoop
        executor = EventLoopTaskExecutor(eventLoop)
        mailbox = LoopMailbox(eventLoop)
        self.limits = limits
        self.responder = responder
        self.clients = clients
        table = counts.clients
        bodies = counts.bodies
        unreadResponses = counts.unreadResponses
    }

    /// The `date` line of this second.
    func dateLine() -> [UInt8] {
        date.refresh()
        return date.line
    }

    func nextRequestID() -> RequestID {
        ids.next()
    }

    /// How long a client may take nothing of its responses; at least from one look to the next.
    var patience: TimeAmount {
        max(unreadResponses.patience(usual: limits.writeStall), limits.tick)
    }

    // MARK: - Deadlines

    // A scheduled task for each deadline would cost a heap operation or two a request. Looking at every connection a few
    // times a second costs next to nothing, and deadlines may be late by a tick.

    func add(_ connection: any TimedConnection) {
        connections[ObjectIdentifier(connection)] = connection
        if ticker == nil { startTicker() }
    }

    func remove(_ connection: any TimedConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty {
            ticker?.cancel()
            ticker = nil
        }
    }

    private func startTicker() {
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        ticker = eventLoop.scheduleRepeatedTask(initialDelay: limits.tick, delay: limits.tick) { _ in
            bound.value.checkDeadlines(now: .now())
        }
    }

    private func checkDeadlines(now: NIODeadline) {
        // A copy, since a connection that is closed here removes itself.
        for connection in Array(connections.values) {
            connection.checkDeadlines(now: now)
        }
    }
}
