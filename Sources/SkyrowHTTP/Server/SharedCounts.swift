import NIOCore
import Synchronization

/// What the connections of a server share over all event loops; its owner looks at it for metrics.
package final class HTTPServerCounts: Sendable {
    let connections = ConnectionCount()
    let bodies: ByteBudget
    let unreadAnswers: UnreadAnswers

    package init(limits: HTTPLimits = HTTPLimits()) {
        bodies = ByteBudget(limits.bodiesInMemory)
        unreadAnswers = UnreadAnswers(limit: limits.unreadAnswers)
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

/// How many connections there are and were.
final class ConnectionCount: Sendable {
    private let count = Atomic<Int>(0)
    private let total = Atomic<Int>(0)
    private let tooMany = Atomic<Int>(0)

    var open: Int { count.load(ordering: .relaxed) }
    var accepted: Int { total.load(ordering: .relaxed) }
    var refused: Int { tooMany.load(ordering: .relaxed) }

    /// Answers the new count.
    func increment() -> Int {
        total.wrappingAdd(1, ordering: .relaxed)
        return count.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func decrement() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }

    /// Counts one that was too many.
    func refuse() {
        tooMany.wrappingAdd(1, ordering: .relaxed)
    }
}

/// How many bytes of bodies are in memory, over all event loops.
final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(_ limit: Int) {
        self.limit = limit
    }

    var bytes: Int { used.load(ordering: .relaxed) }

    /// Takes bytes out of the budget; false when there are not so many left.
    func reserve(_ count: Int) -> Bool {
        guard used.wrappingAdd(count, ordering: .relaxed).newValue <= limit else {
            release(count)
            return false
        }
        return true
    }

    func release(_ count: Int) {
        used.wrappingSubtract(count, ordering: .relaxed)
    }
}

/// How many bytes of answers wait for their clients to read them, over all event loops.
final class UnreadAnswers: Sendable {
    private let limit: Int
    private let bytes = Atomic<Int>(0)

    init(limit: Int) {
        self.limit = limit
    }

    func add(_ count: Int) {
        bytes.wrappingAdd(count, ordering: .relaxed)
    }

    func patience(usual: TimeAmount) -> TimeAmount {
        UnreadAnswers.patience(bytes: bytes.load(ordering: .relaxed), limit: limit, usual: usual)
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
