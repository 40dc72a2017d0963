internal import Synchronization

/// Tasks that wait for events, each by a key.
package final class WaitingTasks<Key: Hashable & Sendable>: Sendable {
    private let lines = Mutex<[Key: WaiterLine<Deferred<Void>>]>([:])

    package init() {}

    /// Returns when ``wake(_:)`` matches the key, when the time has passed, and when the task is cancelled.
    ///
    /// - Parameters:
    ///   - sleep: Sleeps for the longest time to wait.
    ///   - isOver: Whether there is nothing to wait for; called after the task is registered, so that no event is missed.
    package func wait(
        for key: Key,
        during sleep: (@Sendable () async throws -> Void)? = nil,
        unless isOver: () -> Bool
    ) async {
        let waiter = Deferred<Void>()
        let ticket = lines.withLock { $0[key, default: WaiterLine()].enter(waiter) }
        defer {
            lines.withLock { lines in
                _ = lines[key]?.leave(ticket)
                if lines[key]?.isEmpty == true { lines[key] = nil }
            }
        }
        guard !isOver() else { return }
        await waiter.value(during: sleep) { _ in waiter.settle() }
    }

    /// Resumes the tasks whose keys satisfy the condition.
    package func wake(_ isOfThese: (Key) -> Bool = { _ in true }) {
        let woken = lines.withLock { lines in
            lines.isEmpty ? [] : lines.filter { isOfThese($0.key) }.values.flatMap(\.all)
        }
        for waiter in woken { waiter.settle() }
    }
}

/// The key of tasks that all wait for the same event.
package struct OneKey: Hashable, Sendable {
    package init() {}
}

extension WaitingTasks<OneKey> {
    package func wait(during sleep: (@Sendable () async throws -> Void)? = nil, unless isOver: () -> Bool) async {
        await wait(for: OneKey(), during: sleep, unless: isOver)
    }
}
