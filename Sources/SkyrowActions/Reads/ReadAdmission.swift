import SkyrowConcurrency
package import SkyrowModel
import SkyrowSystem
import Synchronization

/// How many reads run at once, and how many may wait.
package struct ReadLimits: Hashable, Sendable {
    /// Reads that run at once, those of the classes `join` and `scan` apart.
    package var running: Int
    /// Reads of the class `join` that run at once.
    package var joins: Int
    /// Reads of the class `scan` that run at once.
    package var scans: Int
    /// Reads that wait for their turn.
    package var waiting: Int
    /// The part of both that one client may have.
    package var share: ClientShare
    /// For a read to get its turn.
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

/// The reads that run, and those that wait for their turn.
package struct ReadCounts: Hashable, Sendable {
    package var running: Int
    package var waiting: Int
}

/// Lets reads run, each client its share, and the others wait for their turn (``TurnQueue``).
package final class ReadAdmission: Sendable {
    /// One that waits: it learns why its wait is given up, nil where it runs.
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

    /// The reads that run, and those that wait.
    var counts: ReadCounts {
        state.withLock { ReadCounts(running: $0.queue.running, waiting: $0.queue.waiting) }
    }

    /// Waits until a read of this client may run; `leave` ends it.
    ///
    /// Throws `131 RateLimited` when too many reads of the client wait, `135 Overloaded` when too many of all clients
    /// do or the read waited too long, and `122 ResponseTimeout` when its task is cancelled.
    package func enter(_ client: ClientKey) async throws(SkyrowError) {
        // A /48 has one turn: 256 turns for its networks would be no fair share.
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
                "Too many reads of this client wait for their turn; try again in a moment.",
                info: ["retry_after": .integer(1)]
            )
        case .isFull:
            throw SkyrowError(.overloaded, "Too many reads wait for their turn; try again in a moment.")
        }
    }

    /// Ends a read that ran, and starts the next one.
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
            throw SkyrowError(.overloaded, "The read did not get its turn within \(patience); try again in a moment.")
        case .cancelled:
            throw SkyrowError(.responseTimeout, "The request was given up before the read got its turn.")
        }
    }
}
