internal import SkyrowModel

/// The records after a position in an order: the condition on their sort keys, and the form of the statement.
///
/// The position is that of a record that may no longer exist. Every record is after, at or before it, so a page that begins
/// after the last position of the previous one neither repeats nor skips a record.
package struct Keyset: Hashable, Sendable {
    /// The records that equal the position in the first keys, and come after it by the next key.
    package struct Branch: Hashable, Sendable {
        /// How a key's value can be after that of the position.
        package enum Step: Hashable, Sendable {
            /// A value that is ordered after the position's.
            case beyond
            /// A missing value, if those come last and the position has a value.
            case missing
            /// Any value, if missing ones come first and the position's is missing.
            case present
        }

        /// The number of equal keys; the next key decides.
        package var equalKeys: Int
        package var step: Step
    }

    /// The form of the statement.
    package enum Form: Hashable, Sendable {
        /// `(a, b) > ($1, $2)`: one range of an index.
        case row
        /// A statement for each branch with the limit of the page: an index range each.
        case branches
        /// All branches as one condition, after a bound on the first key.
        case condition
    }

    /// Bounds on branches, and on joins in all of them, above which planning takes long.
    static let maximumBranches = 8
    static let maximumJoins = 16
    /// Upper bound on the bytes of values; each branch sends them again.
    static let maximumValueBytes = 65_536

    /// The order of reading the page.
    package let sort: [ResolvedSort]
    /// The values of the keys at the position, nil for missing ones.
    package let values: [ResolvedLiteral?]
    package let branches: [Branch]

    package init(sort: [ResolvedSort], values: [ResolvedLiteral?]) {
        self.sort = sort
        self.values = values
        var branches: [Branch] = []
        for (place, (key, value)) in zip(sort, values).enumerated() {
            if value == nil {
                if key.missingComesFirst { branches.append(Branch(equalKeys: place, step: .present)) }
                continue
            }
            branches.append(Branch(equalKeys: place, step: .beyond))
            if !key.missingComesFirst, !key.isNeverMissing { branches.append(Branch(equalKeys: place, step: .missing)) }
        }
        self.branches = branches
    }

    /// Whether one row comparison is enough: all keys have one direction, and no missing value is at or after the position.
    package var isRow: Bool {
        sort.allSatisfy { $0.direction == sort.first?.direction } && !values.contains(nil)
            && branches.count == sort.count
    }

    /// - Parameters:
    ///   - isIndexed: whether an index has the order of the first key.
    ///   - joins: the number of joins in the query.
    ///   - valueBytes: the size of the values in its condition.
    package func form(isIndexed: Bool, joins: Int, valueBytes: Int) -> Form {
        if isRow { return .row }
        let isSmall =
            branches.count <= Self.maximumBranches && joins * branches.count <= Self.maximumJoins
            && valueBytes <= Self.maximumValueBytes
        return isIndexed && isSmall ? .branches : .condition
    }
}
