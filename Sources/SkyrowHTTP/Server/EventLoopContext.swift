import NIOCore
import SkyrowProtocol

/// The state shared by the connections of one event loop; accessed only on that loop, so it needs no locks.
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

    /// The `date` line of the current second.
    func dateLine() -> [UInt8] {
        date.refresh()
        return date.line
    }

    func nextRequestID() -> RequestID {
        ids.next()
    }

    /// How long a client may read nothing of its responses; at least one tick.
    var patience: TimeAmount { max(unreadResponses.patience(usual: limits.writeStall), limits.tick) }

    // MARK: - Deadlines

    // A scheduled task per deadline would cost one or two heap operations per request. Checking every connection a few times a
    // second costs next to nothing; deadlines may be late by a tick.

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
        // A copy, since a connection that closes here removes itself.
        for connection in Array(connections.values) { connection.checkDeadlines(now: now) }
    }
}
