import Synchronization

/// How many connections are open, over all event loops.
final class ConnectionCount: Sendable {
    private let count = Atomic<Int>(0)

    /// Answers the new count.
    func increment() -> Int {
        count.wrappingAdd(1, ordering: .relaxed).newValue
    }

    func decrement() {
        count.wrappingSubtract(1, ordering: .relaxed)
    }
}

/// How many bytes of bodies are in memory, over all event loops.
final class ByteBudget: Sendable {
    private let limit: Int
    private let used = Atomic<Int>(0)

    init(_ limit: Int) {
        self.limit = limit
    }

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
