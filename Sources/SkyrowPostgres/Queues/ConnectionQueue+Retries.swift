/// Retried statements, and running statements that are cancelled.
extension ConnectionQueue {
    /// Why a statement is retried.
    enum RetryReason: Hashable, Sendable {
        /// Another statement of the batch failed.
        case unrelated
        /// The statement must be prepared again, or sent as text.
        case stale
        case connectionLost
        /// A deadlock or a similar conflict, which is over now.
        case conflict
    }

    /// A batch that the server cancels while its worker still runs it.
    struct Cancellation: Sendable {
        var slot: Int
        var batch: Int
        /// The identity by which the worker's gate finds the batch.
        var work: ObjectIdentifier
    }

    /// Requeues statements that were taken and had no effect, ahead of all others.
    ///
    /// A request with several copies is requeued when its last copy comes back. Returns the requests that must be refused because
    /// the queue is closed.
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

    /// The cancellation that an effect requires; nil when the worker runs nothing or the effect is not a cancellation.
    func cancellation(for effect: Effect) -> Cancellation? {
        guard case .cancel(let slot, let batch) = effect, let first = workers[slot].taken.first else { return nil }
        return Cancellation(slot: slot, batch: batch, work: ObjectIdentifier(first))
    }

    /// Whether the worker still runs that batch.
    func runs(_ cancellation: Cancellation) -> Bool {
        let worker = workers[cancellation.slot]
        return worker.batch == cancellation.batch && !worker.taken.isEmpty
    }

    /// The first statement of the batch whose current statement is this one; nil when
    /// the server of that worker does not run it now.
    ///
    /// - Parameter progress: The number of results that the worker has received of its batch.
    func batch(of request: PostgresRequest, workedOnBy slot: Int, progress: Int) -> PostgresRequest? {
        let taken = workers[slot].taken
        return taken.indices.contains(progress) && taken[progress] === request ? taken[0] : nil
    }
}
