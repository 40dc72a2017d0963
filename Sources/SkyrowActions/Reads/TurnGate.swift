import SkyrowConcurrency
import SkyrowSystem
import Synchronization

/// Admits the work of clients, each up to its share, and has the rest wait for its turn (``TurnQueue``).
final class TurnGate: Sendable {
    /// Why work was not admitted.
    enum Refusal: Error, Hashable, Sendable {
        /// Too much work of this client waits.
        case clientIsFull
        /// Too much work waits.
        case isFull
        /// It waited for too long.
        case late
        case cancelled
    }

    /// The end of a wait: why it was given up, or nil for work that is admitted.
    private typealias Waiter = Deferred<WaitEnd?>

    private struct State {
        var queue: TurnQueue
        var waiters: [TurnQueue.Ticket: Waiter] = [:]
        var lastTicket: TurnQueue.Ticket = 0
    }

    private let state: Mutex<State>

    init(_ limits: TurnQueue.Limits) {
        state = Mutex(State(queue: TurnQueue(limits)))
    }

    /// The numbers of admitted and waiting work.
    var counts: ReadCounts { state.withLock { ReadCounts(running: $0.queue.running, waiting: $0.queue.waiting) } }

    /// Waits until work of this client is admitted; `leave` ends it. Throws ``Refusal``.
    ///
    /// - Parameter patience: The longest wait.
    func enter(_ client: ClientKey, within patience: Duration) async throws(Refusal) {
        let (arrival, ticket, waiter) = state.withLock { state -> (TurnQueue.Arrival, TurnQueue.Ticket, Waiter?) in
            state.lastTicket += 1
            let arrival = state.queue.arrive(state.lastTicket, of: client)
            guard arrival == .waits else { return (arrival, state.lastTicket, nil) }
            let waiter = Waiter()
            state.waiters[state.lastTicket] = waiter
            return (arrival, state.lastTicket, waiter)
        }
        if let waiter { return try await wait(ticket, waiter, within: patience) }
        switch arrival {
        case .runs, .waits: return
        case .clientIsFull: throw .clientIsFull
        case .isFull: throw .isFull
        }
    }

    private func wait(
        _ ticket: TurnQueue.Ticket,
        _ waiter: Waiter,
        within patience: Duration
    ) async throws(Refusal) {
        let end = await waiter.value {
            try await ServiceTimer.sleep(for: patience)
        } _: { end in
            self.state.withLock { state in
                state.queue.giveUp(ticket) ? state.waiters.removeValue(forKey: ticket) : nil
            }?.settle(end)
        }
        switch end {
        case nil: return
        case .late: throw .late
        case .cancelled: throw .cancelled
        }
    }

    /// Ends admitted work, and admits the next.
    func leave(_ client: ClientKey) {
        let next = state.withLock { state in
            state.queue.leave(client).flatMap { state.waiters.removeValue(forKey: $0) }
        }
        next?.settle(nil)
    }
}
