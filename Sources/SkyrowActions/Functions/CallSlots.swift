import SkyrowCrypto
package import SkyrowModel
package import SkyrowProtocol

/// The calls that a function server gets at once, and those that wait for it.
///
/// ```swift
/// let client = try await slots.enter(for: call.context, within: .seconds(5))
/// defer { slots.leave(client) }
/// ```
package struct CallSlots: Sendable {
    private let gate: TurnGate

    /// - Parameters:
    ///   - concurrency: Upper bound on the calls at once, of which one client may have all.
    ///   - queue: Upper bound on waiting calls, of which one client has its share.
    package init(concurrency: Int, queue: Int, share: ClientShare = ClientShare()) {
        gate = TurnGate(
            TurnQueue.Limits(
                running: concurrency,
                ofClient: concurrency,
                waiting: queue,
                waitingOfClient: share.client(of: queue)
            )
        )
    }

    /// The numbers of calls that have a slot and that wait for one.
    package var counts: ReadCounts { gate.counts }

    /// Waits for a slot and returns the client, whose call must `leave` it.
    ///
    /// Throws `131 RateLimited` when too many calls of the client wait, `135 Overloaded` when too many of all clients do or the call
    /// waited too long, and `122 ResponseTimeout` when its task is cancelled.
    package func enter(
        for context: FunctionContext,
        within patience: Duration
    ) async throws(SkyrowError) -> ClientKey {
        let client = ClientKey(of: context)
        do throws(TurnGate.Refusal) {
            try await gate.enter(client, within: patience)
        } catch {
            throw CallSlots.refusal(error)
        }
        return client
    }

    /// Frees the slot of a call.
    package func leave(_ client: ClientKey) {
        gate.leave(client)
    }

    private static func refusal(_ reason: TurnGate.Refusal) -> SkyrowError {
        switch reason {
        case .clientIsFull:
            SkyrowError(
                .rateLimited,
                "Too many function calls of this client are queued; try again in a moment.",
                info: ["retry_after": .integer(1)]
            )
        case .isFull: SkyrowError(.overloaded, "Too many calls wait for this function server; try again in a moment.")
        case .late: SkyrowError(.overloaded, "The function server was busy for too long; try again in a moment.")
        case .cancelled: SkyrowError(.responseTimeout, "The request was cancelled while the call was queued.")
        }
    }
}

extension ClientKey {
    /// The user of a call or, for an anonymous one, its address. Calls of functions come from few addresses for many users.
    fileprivate init(of context: FunctionContext) {
        guard let name = context.userID?.rawValue ?? context.clientAddress else {
            self = .none
            return
        }
        let digest = SHA256.hash(of: name).words
        self.init(high: digest.0, low: digest.1)
    }
}
