package import SkyrowModel

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

/// Admits reads, each client up to its share, and queues the others.
package final class ReadAdmission: Sendable {
    private let gate: TurnGate
    private let patience: Duration

    init(_ limits: ReadLimits) {
        patience = limits.patience
        gate = TurnGate(
            TurnQueue.Limits(
                running: limits.running,
                ofClient: limits.share.client(of: limits.running),
                waiting: limits.waiting,
                waitingOfClient: limits.share.client(of: limits.waiting)
            )
        )
    }

    /// The numbers of running and waiting reads.
    var counts: ReadCounts { gate.counts }

    /// Waits until a read of this client is admitted; `leave` ends it.
    ///
    /// Throws `131 RateLimited` when too many reads of the client wait, `135 Overloaded` when too many of all clients do or the
    /// read waited too long, and `122 ResponseTimeout` when its task is cancelled.
    package func enter(_ client: ClientKey) async throws(SkyrowError) {
        do throws(TurnGate.Refusal) {
            // A /48 counts as one client: separate shares for its 256 networks would be unfair.
            try await gate.enter(client.site ?? client, within: patience)
        } catch {
            throw refusal(error)
        }
    }

    /// Ends an admitted read, and admits the next one.
    package func leave(_ client: ClientKey) {
        gate.leave(client.site ?? client)
    }

    private func refusal(_ reason: TurnGate.Refusal) -> SkyrowError {
        switch reason {
        case .clientIsFull:
            SkyrowError(
                .rateLimited,
                "Too many reads of this client are queued; try again in a moment.",
                info: ["retry_after": .integer(1)]
            )
        case .isFull:
            SkyrowError(.overloaded, "Too many reads are queued; try again in a moment.")
        case .late:
            SkyrowError(.overloaded, "The read was queued for longer than \(patience); try again in a moment.")
        case .cancelled:
            SkyrowError(.responseTimeout, "The request was cancelled while the read was queued.")
        }
    }
}
