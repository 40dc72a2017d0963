internal import SkyrowModel

/// The records behind a place in an order: what has to hold of their sort keys, and in which form to ask for it.
///
/// The place is that of a record that was there once; it need not be there any more. Every record is either behind it, at
/// it or before it, so pages that begin behind the last place of the one before neither repeat nor skip a record.
package struct Keyset: Hashable, Sendable {
    /// Records that have the same values as the place in the first keys, and come behind it by the next one.
    package struct Branch: Hashable, Sendable {
        /// How a key's value can be behind that of the place.
        package enum Step: Hashable, Sendable {
            /// A value that comes behind the one of the place.
            case beyond
            /// No value, where those without come last and the place has one.
            case missing
            /// Any value, where those without come first and the place has none.
            case present
        }

        /// How many keys are as in the place; the key of this number decides.
        package var equalKeys: Int
        package var step: Step
    }

    /// In what form a statement asks.
    package enum Form: Hashable, Sendable {
        /// `(a, b) > ($1, $2)`: one range of an index.
        case row
        /// A statement for each branch, of as many records as the page has: a range of an index each.
        case branches
        /// All branches as one condition, after a bound on the first key.
        case condition
    }

    /// A statement of more branches, or of more records joined in all of them, takes long to plan.
    static let maximumBranches = 8
    static let maximumJoins = 16
    /// Values that would be sent once for each branch.
    static let maximumValueBytes = 65_536

    /// The order in which the page is read.
    package let sort: [ResolvedSort]
    /// The value of each key at the place, nil where it is missing.
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

    /// Whether one row comparison says it all: the keys have one direction, and nothing that is missing is at the place
    /// or behind it.
    package var isRow: Bool {
        sort.allSatisfy { $0.direction == sort.first?.direction } && !values.contains(nil)
            && branches.count == sort.count
    }

    /// - Parameters:
    ///   - isIndexed: whether an index gives the order of the first key.
    ///   - joins: how many records the query joins.
    ///   - valueBytes: how large the values of its condition are.
    package func form(isIndexed: Bool, joins: Int, valueBytes: Int) -> Form {
        if isRow { return .row }
        let isSmall =
            branches.count <= Self.maximumBranches && joins * branches.count <= Self.maximumJoins
            && valueBytes <= Self.maximumValueBytes
        return isIndexed && isSmall ? .branches : .condition
    }
}
