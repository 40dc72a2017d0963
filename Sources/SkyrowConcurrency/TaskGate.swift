internal import Synchronization

/// A gate that lets a number of tasks pass at a time, in the order of arrival.
///
/// ```swift
/// let gate = TaskGate()
/// try await gate.pass { try await changeSchema() }
/// ```
package final class TaskGate: Sendable {
    /// As many tasks wait as may.
    package struct IsFull: Error {}

    private struct State {
        var inside = 0
        /// Each waiter gets true when it is admitted, false when it was cancelled.
        var line = WaiterLine<Deferred<Bool>>()
    }

    private let capacity: Int
    private let maximumWaiting: Int
    private let state = Mutex(State())

    /// - Parameters:
    ///   - capacity: how many tasks pass at a time.
    ///   - maximumWaiting: upper bound on the tasks that wait.
    package init(capacity: Int = 1, maximumWaiting: Int = .max) {
        self.capacity = capacity
        self.maximumWaiting = maximumWaiting
    }

    /// The number of waiting tasks.
    package var waiting: Int { state.withLock(\.line.count) }

    /// Waits for admission, runs `body`, and admits the next task.
    ///
    /// Throws ``IsFull`` if too many tasks wait, and `CancellationError` when the task is cancelled while it waits; `body` is not
    /// called then.
    package func pass<Success>(_ body: () async throws -> Success) async throws -> Success {
        guard try await enter() else { throw CancellationError() }
        defer { leave() }
        return try await body()
    }

    private func enter() async throws -> Bool {
        let place = try state.withLock { state throws(IsFull) -> (WaiterLine<Deferred<Bool>>.Ticket, Deferred<Bool>)? in
            guard state.inside >= capacity else {
                state.inside += 1
                return nil
            }
            guard state.line.count < maximumWaiting else { throw IsFull() }
            let waiter = Deferred<Bool>()
            return (state.line.enter(waiter), waiter)
        }
        guard let (ticket, waiter) = place else { return true }
        return await waiter.value { _ in self.state.withLock { $0.line.leave(ticket) }?.settle(false) }
    }

    private func leave() {
        // The place of this task is the next one's.
        let next = state.withLock { state in
            let next = state.line.serve()
            if next == nil { state.inside -= 1 }
            return next
        }
        next?.settle(true)
    }
}
