package import SkyrowModel
import Synchronization

/// The queues in which reads take turns: that of all, and those of the classes that cost much.
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

    /// The queue of a class.
    subscript(costClass: QueryExplanation.CostClass) -> ReadAdmission {
        switch costClass {
        case .point, .indexed: all
        case .join: joins
        case .scan: scans
        }
    }
}

/// The turn of one read: at first among all reads, and from when its class is known among those of its class.
///
/// A read is in one queue at a time, so that those which wait for the turn of a costly class take none of the turns of others.
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
    /// Where it has a turn; nil where it has none.
    private let held = Mutex<ReadAdmission?>(nil)

    package init(of client: ClientKey, in queues: ReadQueues) {
        self.client = client
        self.queues = queues
    }

    /// Waits for a turn among all reads; throws as ``ReadAdmission/enter(_:)``.
    package func enter() async throws(SkyrowError) {
        try await take(queues.all)
    }

    /// Waits for a turn among the reads of a class, unless it has one; throws as ``ReadAdmission/enter(_:)``, without a turn.
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

    /// Ends the turn, if there is one.
    package func leave() {
        held.withLock { $0.take() }?.leave(client)
    }
}
