internal import Synchronization

/// Bounds what the rows of one statement hold in memory, while they arrive.
///
/// ```swift
/// let result = try await client.read(sql, limit: PostgresRowLimit(budget: account, excess: .fails))
/// ```
package struct PostgresRowLimit: Sendable {
    /// What becomes of a statement whose rows are more than the budget has left.
    package enum Excess: Sendable {
        /// It is cancelled and fails with the code that the budget gave: for reads.
        case fails
        /// The rows from there on are kept with some of their columns only: for writes, whose effect is a fact whatever
        /// their rows are.
        case keepsColumns(first: Int, last: Int)
    }

    let budget: any PostgresRowBudget
    let excess: Excess

    package init(budget: any PostgresRowBudget, excess: Excess) {
        self.budget = budget
        self.excess = excess
    }

    /// Takes bytes out of the budget; why not, where it has fewer left.
    package func takeForRows(_ bytes: Int) -> PostgresError.Code? { budget.takeForRows(bytes) }

    package func giveBackForRows(_ bytes: Int) { budget.giveBackForRows(bytes) }
}

/// Memory for the rows of results. It is asked on the threads of the connections.
package protocol PostgresRowBudget: Sendable {
    /// Takes bytes out of the budget; when it has fewer left it takes none and returns why.
    func takeForRows(_ bytes: Int) -> PostgresError.Code?
    func giveBackForRows(_ bytes: Int)
}

/// What the rows of a coalesced statement may have together: its members are strangers to each other, and where they are
/// this much each is asked by itself, within a budget of its own.
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
