/// The number of steps that in-memory evaluation may still take.
///
/// A step is some ten nanoseconds of work: reading a value, one state of a regular expression at a character, comparing eight
/// bytes. Counting steps instead of time makes evaluation deterministic on every machine; counting is coarse, so that it costs
/// next to nothing. All that clients can make large uses steps: texts, lists, arrays, JSON, the predicate.
///
/// ```swift
/// var budget = StepBudget(1_000_000)
/// guard let truth = predicate.truth(of: record, within: &budget) else { … }
/// ```
package struct StepBudget: Hashable, Sendable {
    /// Bytes compared in one step.
    private static let comparedBytes = 8
    /// Bytes of JSON parsed in one step, and the fixed cost of each parsing.
    private static let parsedBytes = 4
    private static let parsing = 16

    /// Negative once the budget is exceeded.
    private var left: Int

    /// - Parameter steps: the size of the budget.
    package init(_ steps: Int) {
        left = steps
    }

    /// An unlimited budget, for evaluations that are not requested by clients.
    static let unbounded = StepBudget(.max)

    /// Whether the budget was exceeded, which invalidates results evaluated since.
    package var isSpent: Bool { left < 0 }

    package var remaining: Int { max(0, left) }

    /// Takes steps; returns false if not enough are left, and from then on.
    @discardableResult
    package mutating func take(_ steps: Int = 1) -> Bool {
        // An exceeded budget stays exceeded, and its number does not wrap.
        left = left >= steps ? left - steps : -1
        return left >= 0
    }

    /// Takes the steps for comparing some bytes.
    @discardableResult
    mutating func take(comparing bytes: Int) -> Bool { take(1 + bytes / Self.comparedBytes) }

    /// Takes the steps for parsing JSON of some bytes.
    @discardableResult
    mutating func take(parsing bytes: Int) -> Bool { take(Self.parsing + bytes / Self.parsedBytes) }
}
