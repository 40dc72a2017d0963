internal import Synchronization

/// A limit on the memory of one statement's rows while they arrive.
///
/// ```swift
/// let result = try await client.read(sql, limit: PostgresRowLimit(budget: account, excess: .fails))
/// ```
package struct PostgresRowLimit: Sendable {
    /// What happens to a statement whose rows exceed the rest of the budget.
    package enum Excess: Sendable {
        /// The statement is cancelled and fails with the budget's code: for reads.
        case fails
        /// Further rows are kept with some of their columns only: for writes, which take effect regardless of their rows.
        case keepsColumns(first: Int, last: Int)
    }

    let budget: any PostgresRowBudget
    let excess: Excess

    package init(budget: any PostgresRowBudget, excess: Excess) {
        self.budget = budget
        self.excess = excess
    }

    /// Takes bytes from the budget; returns the reason when it has fewer left.
    package func takeForRows(_ bytes: Int) -> PostgresError.Code? { budget.takeForRows(bytes) }

    package func giveBackForRows(_ bytes: Int) { budget.giveBackForRows(bytes) }
}

/// A memory budget for the rows of results, called on the threads of the connections.
package protocol PostgresRowBudget: Sendable {
    /// Takes bytes from the budget; when it has fewer left, takes none and returns the reason.
    func takeForRows(_ bytes: Int) -> PostgresError.Code?
    func giveBackForRows(_ bytes: Int)
}

/// The joint row budget of a coalesced statement. Its members are unrelated, so when
/// they exceed it, each runs alone with its own budget.
final class CoalescedRowBudget: PostgresRowBudget {
    private static let limit = 8 << 20
    private let used = Atomic<Int>(0)

    func takeForRows(_ bytes: Int) -> PostgresError.Code? {
        guard used.add(bytes, ordering: .relaxed).newValue <= Self.limit else {
            giveBackForRows(bytes)
            return .resultTooLarge
        }
        return nil
    }

    func giveBackForRows(_ bytes: Int) {
        used.subtract(bytes, ordering: .relaxed)
    }
}
