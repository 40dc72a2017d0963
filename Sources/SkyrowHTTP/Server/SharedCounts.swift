import NIOCore
import Synchronization

/// The counts that a server's connections share across event loops; their owner reads them for metrics.
package final class HTTPServerCounts: Sendable {
    let connections: ConnectionCount
    let bodies: BodyMemory
    let clients = ClientTable()
    let unreadResponses: UnreadResponses
    package let live: LiveConnections

    package init(limits: HTTPLimits = HTTPLimits()) {
        connections = ConnectionCount(limits)
        bodies = BodyMemory(limits)
        unreadResponses = UnreadResponses(limit: limits.unreadResponses)
        live = LiveConnections(limits.live)
    }

    package var statistics: HTTPServerStatistics {
        HTTPServerStatistics(
            connections: connections.open,
            accepted: connections.accepted,
            refused: connections.refused,
            bodyBytes: bodies.bytes
        )
    }
}

/// The current load of a server and its counters.
package struct HTTPServerStatistics: Hashable, Sendable {
    /// The open connections.
    package let connections: Int
    /// All connections that were ever opened, and those of them that were refused.
    package let accepted: Int
    package let refused: Int
    /// The bytes of bodies in memory.
    package let bodyBytes: Int
}

/// The bytes of responses that wait for clients to read them, across all event loops.
final class UnreadResponses: Sendable {
    private let limit: Int
    private let bytes = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ count: Int) {
        bytes.wrappingAdd(count, ordering: .relaxed)
    }

    func patience(usual: TimeAmount) -> TimeAmount {
        UnreadResponses.patience(bytes: bytes.load(ordering: .relaxed), limit: limit, usual: usual)
    }

    /// Clients that read nothing must not fill the memory: above the limit they get one second, above twice the limit none.
    static func patience(bytes: Int, limit: Int, usual: TimeAmount) -> TimeAmount {
        switch bytes {
        case ...limit: usual
        case ...(limit * 2): min(usual, .seconds(1))
        default: .zero
        }
    }
}
