/// Statements that were taken and must be done again, and those that run and are to be cancelled.
extension ConnectionQueue {
    /// Why a statement is done again.
    enum RetryReason: Hashable, Sendable {
        /// A neighbour's failure.
        case unrelated
        /// It has to be prepared again, or sent whole.
        case stale
        case connectionLost
        /// A deadlock or the like, which is over now.
        case conflict
    }

    /// A batch that the server is to cancel, as long as its worker runs it.
    struct Cancellation: Sendable {
        var slot: Int
        var batch: Int
        /// What the worker's gate has the batch by.
        var work: ObjectIdentifier
    }

    /// Puts back statements that were taken and had no effect, before all others.
    ///
    /// One that is in several places goes again when the last of them gives it back. Returns those that must be refused
    /// since the queue is closed.
    mutating func resubmit(
        _ retries: [(request: PostgresRequest, reason: RetryReason)]
    ) -> (refused: [PostgresRequest], effects: [Effect]) {
        var again: [PostgresRequest] = []
        for (request, reason) in retries {
            switch reason {
            case .unrelated: break
            case .stale: request.stales += 1
            case .connectionLost: request.losses += 1
            case .conflict: request.conflicts += 1
            }
            request.copies -= 1
            guard request.copies == 0 else { continue }
            request.copies = 1
            if request.release() { again.append(request) }
        }
        guard phase != .closed else { return (retries.map(\.request), []) }
        return ([], requeue(again))
    }

    /// What an effect has to cancel; nil when the worker runs nothing, or the effect is another one.
    func cancellation(for effect: Effect) -> Cancellation? {
        guard case .cancel(let slot, let batch) = effect, let first = workers[slot].taken.first else { return nil }
        return Cancellation(slot: slot, batch: batch, work: ObjectIdentifier(first))
    }

    /// Whether the worker still runs the batch.
    func runs(_ cancellation: Cancellation) -> Bool {
        let worker = workers[cancellation.slot]
        return worker.batch == cancellation.batch && !worker.taken.isEmpty
    }

    /// The first statement of the batch in which a worker's server works on this one; nil when it does not.
    ///
    /// - Parameter progress: How many statements of its batch the worker has the results of.
    func batch(of request: PostgresRequest, workedOnBy slot: Int, progress: Int) -> PostgresRequest? {
        let taken = workers[slot].taken
        return taken.indices.contains(progress) && taken[progress] === request ? taken[0] : nil
    }
}
