/// A regular expression of the subset that means the same in PostgreSQL and in memory.
///
/// Literals, `.`, classes, `\d \w \s` and their complements as sets of ASCII, groups, `|`, repetitions, `^` and `$`. A
/// character is a Unicode scalar. There is nothing in it for which a matcher has to try one way after another, and it is
/// so small that PostgreSQL makes its automaton in some milliseconds.
package struct RegexPattern: Hashable, Sendable {
    /// Bytes of a pattern.
    package static let maximumBytes = 256
    /// States of its automaton, with repetitions written out.
    package static let maximumStates = 1000
    /// Pairs of states that can follow each other: 50,000 take PostgreSQL seconds.
    package static let maximumTransitions = 5000

    let node: RegexNode
    /// How many pairs of states can follow each other.
    package let transitions: Int

    /// Reads a pattern.
    ///
    /// Throws ``RegexMisfit`` for what is outside of the subset or beyond its bounds.
    ///
    /// - Parameter folds: whether it is for texts in lower case, whatever the case of its own characters.
    package init(_ text: String, folds: Bool = false) throws(RegexMisfit) {
        guard text.utf8.count <= Self.maximumBytes else {
            throw RegexMisfit(reason: "A regular expression has at most \(Self.maximumBytes) bytes.", position: 1)
        }
        var parser = RegexParser(text, folds: folds)
        node = try parser.parse()
        let size = RegexSize(node)
        guard size.states <= Self.maximumStates, size.transitions <= Self.maximumTransitions else {
            throw RegexMisfit(reason: "With its repetitions written out the expression is too large.", position: 1)
        }
        transitions = size.transitions
    }

    /// The pattern for PostgreSQL's `~`, with nothing that depends on its settings.
    package var postgresText: String { node.postgresText }

    /// What every match has; nil where nothing is known.
    package var required: RequiredText? { node.required }

    /// The text with which every text that matches begins; empty where nothing is known.
    package var head: String { node.head }

    /// Whether a part of the text is as the pattern says; false where the budget is spent.
    package func matches(_ text: String, within budget: inout StepBudget) -> Bool {
        RegexMatcher(node).matches(text, within: &budget)
    }
}
