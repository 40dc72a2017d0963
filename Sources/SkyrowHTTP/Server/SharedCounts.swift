import NIOCore
import Synchronization

/// What the connections of a server share over all event loops; its owner looks at it for metrics.
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

/// What a server has before it and has taken in so far.
package struct HTTPServerStatistics: Hashable, Sendable {
    /// The connections that are open.
    package let connections: Int
    /// All that were ever opened, and those of them that were one too many.
    package let accepted: Int
    package let refused: Int
    /// The bytes of bodies in memory.
    package let bodyBytes: Int
}

/// How many bytes of responses wait for their clients to read them, over all event loops.
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

    /// Clients that read nothing must not fill the memory: beyond the limit they get a second, beyond its double none.
    static func patience(bytes: Int, limit: Int, usual: TimeAmount) -> TimeAmount {
        switch bytes {
        case ...limit: usual
        case ...(limit * 2): min(usual, .seconds(1))
        default: .zero
        }
    }
}
