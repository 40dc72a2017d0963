internal import Synchronization

/// A gate that lets one task pass at a time, in the order of arrival.
///
/// ```swift
/// try await gate.pass { try await changeSchema() }
/// ```
package final class SerialGate: Sendable {
    private struct State {
        var isOccupied = false
        /// Each waiter gets true when it is admitted, false when it was cancelled.
        var line = WaiterLine<Deferred<Bool>>()
    }

    private let state = Mutex(State())

    package init() {}

    /// The number of waiting tasks.
    var waiting: Int { state.withLock(\.line.count) }

    /// Waits for admission, runs `body`, and admits the next task.
    ///
    /// Throws `CancellationError` without calling `body` when the task is cancelled while it waits.
    package func pass<Success>(_ body: () async throws -> Success) async throws -> Success {
        guard await enter() else { throw CancellationError() }
        defer { leave() }
        return try await body()
    }

    private func enter() async -> Bool {
        let place = state.withLock { state -> (WaiterLine<Deferred<Bool>>.Ticket, Deferred<Bool>)? in
            guard state.isOccupied else {
                state.isOccupied = true
                return nil
            }
            let waiter = Deferred<Bool>()
            return (state.line.enter(waiter), waiter)
        }
        guard let (ticket, waiter) = place else { return true }
        return await waiter.value { _ in self.state.withLock { $0.line.leave(ticket) }?.settle(false) }
    }

    private func leave() {
        let next = state.withLock { state in
            let next = state.line.serve()
            state.isOccupied = next != nil
            return next
        }
        next?.settle(true)
    }
}
