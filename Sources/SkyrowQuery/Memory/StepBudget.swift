/// How many steps evaluations in memory may still take.
///
/// A step is some ten nanoseconds of work: a value that is looked at, a state of a regular expression at a character, eight bytes that are
/// compared. Steps are counted, and not time, so that the same evaluation ends in the same way on every machine, and coarsely, so that
/// counting takes next to nothing. What clients can make long spends them: texts, lists, arrays, JSON and the size of the predicate.
///
/// ```swift
/// var budget = StepBudget(1_000_000)
/// guard let truth = predicate.truth(of: record, within: &budget) else { … }
/// ```
package struct StepBudget: Hashable, Sendable {
    /// Bytes that are compared in a step.
    private static let comparedBytes = 8
    /// Bytes of JSON that are parsed in a step, and what each parsing takes besides.
    private static let parsedBytes = 4
    private static let parsing = 16

    /// Negative when more was asked for than there was.
    private var left: Int

    /// - Parameter steps: how many there are.
    package init(_ steps: Int) {
        left = steps
    }

    /// Without a bound, for evaluations that no client asks for.
    static let unbounded = StepBudget(.max)

    /// Whether more was asked for than there was: what was evaluated since says nothing.
    package var isSpent: Bool { left < 0 }

    /// How many steps are left.
    package var remaining: Int { max(0, left) }

    /// Takes steps; false when there are not as many, and from then on.
    @discardableResult
    package mutating func take(_ steps: Int = 1) -> Bool {
        // A budget that is spent stays so, and its number does not wrap.
        left = left >= steps ? left - steps : -1
        return left >= 0
    }

    /// Takes what it takes to compare some bytes.
    @discardableResult
    mutating func take(comparing bytes: Int) -> Bool { take(1 + bytes / Self.comparedBytes) }

    /// Takes what it takes to parse JSON of some bytes.
    @discardableResult
    mutating func take(parsing bytes: Int) -> Bool { take(Self.parsing + bytes / Self.parsedBytes) }
}
