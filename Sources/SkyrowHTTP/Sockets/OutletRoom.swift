import SkyrowConcurrency
import Synchronization

/// The bytes of live messages that a connection has accepted and not sent, and the tasks that wait until there are none.
///
/// A byte is pending until the event loop has taken its message, and held until it is sent. It is held before it ceases to be
/// pending, or a task could take the connection for empty.
final class OutletRoom: Sendable {
    private let limit: Int
    private let pending = Atomic<Int>(0)
    private let held = Atomic<Int>(0)
    private let hasEnded = Atomic(false)
    private let waiting = WaitingTasks<OneKey>()

    /// - Parameter limit: The bytes that may be pending, unless they are of a single message.
    init(limit: Int) {
        self.limit = limit
    }

    private var isEmpty: Bool { pending.load(ordering: .relaxed) == 0 && held.load(ordering: .relaxed) == 0 }

    /// Adds the bytes of a message; false when it does not fit.
    func enter(_ bytes: Int) -> Bool {
        let total = pending.add(bytes, ordering: .relaxed).newValue
        guard total > limit, total != bytes else { return true }
        pending.subtract(bytes, ordering: .relaxed)
        // The event loop may have seen these bytes when it took the last others, and does not look again.
        waiting.wake()
        return false
    }

    /// Called by the event loop when it has queued or dropped a message, after ``hold(_:)``.
    func taken(_ bytes: Int) {
        pending.subtract(bytes, ordering: .relaxed)
        if isEmpty { waiting.wake() }
    }

    /// Called by the event loop with the bytes of live messages that the connection holds.
    func hold(_ bytes: Int) {
        held.store(bytes, ordering: .relaxed)
        // Messages that came meanwhile are not waited for, or a busy connection would have no room for long.
        if bytes == 0 { waiting.wake() }
    }

    /// Notes that the connection is gone.
    func end() {
        hasEnded.store(true, ordering: .relaxed)
        waiting.wake()
    }

    /// Waits until all accepted messages have been sent, the connection has ended, or the time is over.
    func wait(during sleep: @escaping @Sendable () async throws -> Void) async {
        await waiting.wait(during: sleep) { isEmpty || hasEnded.load(ordering: .relaxed) }
    }
}
