/// A use of a field that a rule controls.
public enum FieldUse: String, Hashable, Sendable, CaseIterable {
    /// Giving the field a value in a new record.
    case create
    /// Seeing the field.
    case read
    /// Changing the field of an existing record.
    case update
    /// Any query on the field: predicates, words, places, and together with `read` orders, groups and sums. The same as `read`
    /// without a rule.
    case compare
    /// Testing whether the field has a known value. The same as `read` without a rule.
    case discover

    /// Whether the use is one of queries, which follows `read` without a rule.
    package var followsRead: Bool {
        switch self {
        case .create, .read, .update: false
        case .compare, .discover: true
        }
    }
}

/// What a query does with a field.
package enum FieldAsking: Hashable, Sendable {
    /// It sends the field, or what the field refers to.
    case send
    /// It selects only records in which the field has a value that the query names.
    case equal
    /// It uses the field in any other condition.
    case compare
    /// It orders or groups by the field, or computes something from it, and sends the result.
    case order
}

extension Subject {
    /// Whether a rule about a field may name it.
    package func fits(_ use: FieldUse) -> Bool {
        // The creator of a new record owns it, and determines what its fields contain.
        !dependsOnRecord || kind == .owner || kind == .field && use != .create
    }

    /// Whether a rule about a field may deny it to the subject. Denying it to a key has no effect, since a request can omit the
    /// key.
    package var isDeniable: Bool { kind != .apiKey }
}
