/// A regular expression of the subset that means the same in PostgreSQL and in memory.
///
/// Literals, `.`, classes, `\d \w \s` and their complements as sets of ASCII, groups, `|`, repetitions, `^` and `$`. A
/// character is a Unicode scalar. The subset has no construct that requires backtracking, and is so limited that PostgreSQL
/// builds an automaton in some milliseconds.
package struct RegexPattern: Hashable, Sendable {
    /// Upper bound on the bytes of a pattern.
    package static let maximumBytes = 256
    /// Upper bound on the states of its automaton, with repetitions expanded.
    package static let maximumStates = 1000
    /// Upper bound on the pairs of states that can follow each other: 50,000 take PostgreSQL seconds.
    package static let maximumTransitions = 5000

    let node: RegexNode
    /// The number of pairs of states that can follow each other.
    package let transitions: Int

    /// Parses a pattern.
    ///
    /// Throws ``RegexMisfit`` for a pattern outside the subset or above its bounds.
    ///
    /// - Parameter folds: whether it is for case-folded texts; its own characters are then folded too.
    package init(_ text: String, folds: Bool = false) throws(RegexMisfit) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw RegexMisfit(reason: "A regular expression can have at most \(Self.maximumBytes) bytes.", position: 1)
        }
        var parser = RegexParser(text, folds: folds)
        node = try parser.parse()
        let size = RegexSize(node)
        guard size.states <= Self.maximumStates, size.transitions <= Self.maximumTransitions else {
            throw RegexMisfit(reason: "The expression is too large with its repetitions expanded.", position: 1)
        }
        transitions = size.transitions
    }

    /// The pattern for PostgreSQL's `~`, independent of PostgreSQL's settings.
    package var postgresText: String { node.postgresText }

    /// The texts that every match contains; nil if there are none.
    package var required: RequiredText? { node.required }

    /// The prefix of every matching text, possibly empty.
    package var head: String { node.head }

    /// Returns whether a part of the text matches; false if the budget is exceeded.
    package func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        RegexMatcher(node).matches(text, within: &budget)
    }
}
