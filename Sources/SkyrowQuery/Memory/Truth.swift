/// The truth value of a predicate for a record, in Kleene's three-valued logic.
package enum Truth: Hashable, Sendable {
    case no
    /// A value that the predicate depends on is missing: SQL's NULL.
    case unknown
    case yes

    package init(_ isTrue: Bool) {
        self = isTrue ? .yes : .no
    }

    package static prefix func ! (truth: Truth) -> Truth {
        switch truth {
        case .no: .yes
        case .unknown: .unknown
        case .yes: .no
        }
    }
}
