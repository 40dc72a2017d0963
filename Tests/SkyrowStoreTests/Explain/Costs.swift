import Synchronization

@testable import SkyrowStore

/// The costs of the questions that were asked.
final class Costs: Sendable {
    private let costs = Mutex<[QueryCost]>([])

    var all: [QueryCost] { costs.withLock { $0 } }

    func note(_ cost: QueryCost) {
        costs.withLock { $0.append(cost) }
    }
}
