import SkyrowConcurrency
package import SkyrowModel
import SkyrowSystem
import Synchronization

/// The limits on concurrent and waiting reads.
package struct ReadLimits: Hashable, Sendable {
    /// Concurrent reads, without those of the classes `join` and `scan`.
    package var running: Int
    /// Concurrent reads of the class `join`.
    package var joins: Int
    /// Concurrent reads of the class `scan`.
    package var scans: Int
    /// Reads waiting in the queue.
    package var waiting: Int
    /// The share of both that one client may have.
    package var share: ClientShare
    /// The maximum time in the queue.
    package var patience: Duration

    package init(
        running: Int = 256,
        joins: Int = 64,
        scans: Int = 16,
        waiting: Int = 4096,
        share: ClientShare = ClientShare(),
        patience: Duration = .seconds(10)
    ) {
        self.running = running
        self.joins = joins
        self.scans = scans
        self.waiting = waiting
        self.share = share
        self.patience = patience
    }
}

/// The numbers of running and waiting reads.
package struct ReadCounts: Hashable, Sendable {
    package var running: Int
    package var waiting: Int
}

/// Admits reads, each client up to its share, and queues the others (``TurnQueue``).
package final class ReadAdmission: Sendable {
    /// A waiting read: it receives why its wait ended, or nil when it is admitted.
    private typealias Waiter = Deferred<WaitEnd?>

    private struct State {
        var queue: TurnQueue
        var waiters: [TurnQueue.Ticket: Waiter] = [:]
        var lastTicket: TurnQueue.Ticket = 0
    }

    private let state: Mutex<State>
    private let patience: Duration

    init(_ limits: ReadLimits) {
        patience = limits.patience
        state = Mutex(
            State(
                queue: TurnQueue(
                    TurnQueue.Limits(
                        running: limits.running,
                        ofClient: limits.share.client(of: limits.running),
                        waiting: limits.waiting,
                        waitingOfClient: limits.share.client(of: limits.waiting)
                    )
                )
            )
        )
    }

    /// The numbers of running and waiting reads.
    var counts: ReadCounts { state.withLock { ReadCounts(running: $0.queue.running, waiting: $0.queue.waiting) } }

    /// Waits until a read of this client is admitted; `leave` ends it.
    ///
    /// Throws `131 RateLimited` when too many reads of the client wait, `135 Overloaded` when too many of all clients do or the
    /// read waited too long, and `122 ResponseTimeout` when its task is cancelled.
    package func enter(_ client: ClientKey) async throws(SkyrowError) {
        // A /48 counts as one client: separate shares for its 256 networks would be unfair.
        let key = client.site ?? client
        let (arrival, ticket, waiter) = state.withLock { state -> (TurnQueue.Arrival, TurnQueue.Ticket, Waiter?) in
            state.lastTicket += 1
            let arrival = state.queue.arrive(state.lastTicket, of: key)
            guard arrival == .waits else { return (arrival, state.lastTicket, nil) }
            let waiter = Waiter()
            state.waiters[state.lastTicket] = waiter
            return (arrival, state.lastTicket, waiter)
        }
        if let waiter { return try await wait(ticket, waiter) }
        switch arrival {
        case .runs, .waits:
            return
        case .clientIsFull:
            throw SkyrowError(
                .rateLimited,
                "Too many reads of this client are queued; try again in a moment.",
                info: ["retry_after": .integer(1)]
            )
        case .isFull:
            throw SkyrowError(.overloaded, "Too many reads are queued; try again in a moment.")
        }
    }

    /// Ends an admitted read, and admits the next one.
    package func leave(_ client: ClientKey) {
        let next = state.withLock { state in
            state.queue.leave(client.site ?? client).flatMap { state.waiters.removeValue(forKey: $0) }
        }
        next?.settle(nil)
    }

    private func wait(_ ticket: TurnQueue.Ticket, _ waiter: Waiter) async throws(SkyrowError) {
        let patience = patience
        let end = await waiter.value {
            try await ServiceTimer.sleep(for: patience)
        } _: { end in
            self.state.withLock { state in
                state.queue.giveUp(ticket) ? state.waiters.removeValue(forKey: ticket) : nil
            }?.settle(end)
        }
        switch end {
        case nil:
            return
        case .late:
            throw SkyrowError(.overloaded, "The read was queued for longer than \(patience); try again in a moment.")
        case .cancelled:
            throw SkyrowError(.responseTimeout, "The request was cancelled while the read was queued.")
        }
    }
}
