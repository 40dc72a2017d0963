import NIOCore

/// What the connections of one event loop share; touched on that loop only, so nothing here is locked.
final class EventLoopContext {
    let eventLoop: any EventLoop
    let executor: EventLoopTaskExecutor
    let limits: HTTPLimits
    let responder: any HTTPResponder

    let bodyBudget: ByteBudget

    private var date = HTTPDate()
    private var ids = RequestIDGenerator()
    private var connections: [ObjectIdentifier: HTTP1Connection] = [:]
    private var ticker: RepeatedTask?

    init(eventLoop: any EventLoop, limits: HTTPLimits, bodyBudget: ByteBudget, responder: any HTTPResponder) {
        self.eventLoop = eventLoop
        executor = EventLoopTaskExecutor(eventLoop)
        self.limits = limits
        self.responder = responder
        self.bodyBudget = bodyBudget
    }

    /// The `date` line of this second.
    func dateLine() -> [UInt8] {
        date.refresh()
        return date.line
    }

    func nextRequestID() -> RequestID {
        ids.next()
    }

    // MARK: - Deadlines

    // A scheduled task for each deadline would cost a heap operation or two a request. Looking at every connection a few
    // times a second costs next to nothing, and deadlines may be late by a tick.

    func add(_ connection: HTTP1Connection) {
        connections[ObjectIdentifier(connection)] = connection
        if ticker == nil { startTicker() }
    }

    func remove(_ connection: HTTP1Connection) {
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
