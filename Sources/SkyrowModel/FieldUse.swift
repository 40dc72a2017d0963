/// What a rule about a field is about.
public enum FieldUse: String, Hashable, Sendable, CaseIterable {
    /// Giving the field a value in a new record.
    case create
    /// Seeing the field.
    case read
    /// Changing the field of a record that is there.
    case update
    /// Asking anything about the field: predicates, words, places, and with `read` orders, groups and sums. Without a rule as `read`.
    case compare
    /// Asking whether the field has a value that one knows. Without a rule as `read`.
    case discover

    /// Whether the use is one of queries, which is as `read` is where nothing else is said.
    package var followsRead: Bool {
        switch self {
        case .create, .read, .update: false
        case .compare, .discover: true
        }
    }
}

/// What a query does with a field.
package enum FieldAsking: Hashable, Sendable {
    /// It sends the field along, or what the field refers to.
    case send
    /// It finds the records in which the field has a value that the query names, and names no others.
    case equal
    /// It asks anything else about the field.
    case compare
    /// It orders or groups by the field, or computes something of it, and sends what comes of that.
    case order
}

extension Subject {
    /// Whether a rule about a field may name it.
    package func fits(_ use: FieldUse) -> Bool {
        switch self {
        case .everyone, .users, .registered, .verified, .owner, .user, .role, .group, .apiKey: true
        // What stands in the fields of a new record is the doing of the one who makes it.
        case .field: use != .create
        case .relation: false
        }
    }

    /// Whether a rule about a field may deny it something: not where a request leaves out what it would be denied for.
    package var isDeniable: Bool {
        if case .apiKey = self { false } else { true }
    }
}
