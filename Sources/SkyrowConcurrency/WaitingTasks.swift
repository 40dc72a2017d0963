internal import Synchronization

/// Tasks that wait for something to happen, by what they wait for.
package final class WaitingTasks<Key: Hashable & Sendable>: Sendable {
    private let lines = Mutex<[Key: WaiterLine<Deferred<Void>>]>([:])

    package init() {}

    /// Returns when ``wake(_:)`` names the key, when the time is over and when the task is cancelled.
    ///
    /// - Parameters:
    ///   - sleep: sleeps for as long as is waited at most.
    ///   - isOver: whether there is nothing to wait for; asked after the task counts as waiting, so that nothing is missed.
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

    /// Lets those go on whose key is of this kind.
    package func wake(_ isOfThese: (Key) -> Bool = { _ in true }) {
        let woken = lines.withLock { lines in
            lines.isEmpty ? [] : lines.filter { isOfThese($0.key) }.values.flatMap(\.all)
        }
        for waiter in woken { waiter.settle() }
    }
}

/// What all tasks wait for that wait for the same.
package struct OneKey: Hashable, Sendable {
    package init() {}
}

extension WaitingTasks<OneKey> {
    package func wait(during sleep: (@Sendable () async throws -> Void)? = nil, unless isOver: () -> Bool) async {
        await wait(for: OneKey(), during: sleep, unless: isOver)
    }
}
