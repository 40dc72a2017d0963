package import SkyrowModel
import Synchronization

/// The queues that admit reads: one for all reads, and one for each costly class.
package struct ReadQueues: Sendable {
    let all: ReadAdmission
    let joins: ReadAdmission
    let scans: ReadAdmission

    init(_ limits: ReadLimits) {
        func queue(running: Int) -> ReadAdmission {
            var limits = limits
            limits.running = running
            return ReadAdmission(limits)
        }
        all = ReadAdmission(limits)
        joins = queue(running: limits.joins)
        scans = queue(running: limits.scans)
    }

    /// The queue of a cost class.
    subscript(costClass: QueryExplanation.CostClass) -> ReadAdmission {
        switch costClass {
        case .point, .indexed: all
        case .join: joins
        case .scan: scans
        }
    }
}

/// The admission of one read: first to the queue of all reads, then, once its class is known, to the queue of its class.
///
/// A read is in one queue at a time, so that reads waiting for a costly class take no slots of others.
///
/// ```swift
/// let turn = ReadTurn(of: client, in: queues)
/// try await turn.enter()
/// defer { turn.leave() }
/// try await turn.move(to: .scan)
/// ```
package final class ReadTurn: Sendable {
    private let client: ClientKey
    private let queues: ReadQueues
    /// The queue that has admitted the read; nil if none has.
    private let held = Mutex<ReadAdmission?>(nil)

    package init(of client: ClientKey, in queues: ReadQueues) {
        self.client = client
        self.queues = queues
    }

    /// Waits for admission to the queue of all reads; throws as ``ReadAdmission/enter(_:)``.
    package func enter() async throws(SkyrowError) {
        try await take(queues.all)
    }

    /// Moves to the queue of a class and waits for admission there; throws as ``ReadAdmission/enter(_:)``, without admission.
    func move(to costClass: QueryExplanation.CostClass) async throws(SkyrowError) {
        let queue = queues[costClass]
        guard held.withLock({ $0 !== queue }) else { return }
        leave()
        try await take(queue)
    }

    private func take(_ queue: ReadAdmission) async throws(SkyrowError) {
        try await queue.enter(client)
        held.withLock { $0 = queue }
    }

    /// Ends the admission, if there is one.
    package func leave() {
        held.withLock { $0.take() }?.leave(client)
    }
}
