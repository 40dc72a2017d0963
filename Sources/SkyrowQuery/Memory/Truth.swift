/// What a predicate is for a record, in Kleene's logic of three values.
package enum Truth: Hashable, Sendable {
    case no
    /// A value that it depends on is missing: SQL's NULL.
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
