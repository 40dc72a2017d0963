package import SkyrowModel

/// An operator of predicates: what it takes, for which types it has a meaning, and what it makes of a missing value.
package struct QueryOperator: Hashable, Sendable {
    /// What stands behind the name.
    package enum Operands: Hashable, Sendable {
        /// Predicates, at least one.
        case predicates
        /// One predicate.
        case predicate
        /// A key path and a literal in either order, or two key paths.
        case comparison
        /// A key path, then a pattern.
        case pattern
        /// A key path, then a list of literals; or a string, then the key path of a JSON field.
        case membership
    }

    /// What a comparison with `null` is.
    package enum NullMeaning: String, Hashable, Sendable {
        /// True where the field is missing, and false where it is not.
        case isMissing
        /// False where the field is missing, and true where it is not.
        case isPresent
        /// Unknown for every record.
        case unknown
        /// The operator compares no values.
        case none
    }

    package let name: String
    package let operands: Operands
    /// The types of fields for which it has a meaning, beside a comparison with `null`; 108 for any other.
    package let classes: ValueClasses
    package let null: NullMeaning

    package var takesPattern: Bool { operands == .pattern }

    /// How many operands it takes; nil for no upper bound.
    package var arity: (least: Int, most: Int?) {
        switch operands {
        case .predicates: (1, nil)
        case .predicate: (1, 1)
        case .comparison, .pattern, .membership: (2, 2)
        }
    }
}

/// Every operator, one row each: the resolver reads it, and the OpenRPC document and the manual are held to it.
package enum OperatorTable {
    package static let all: [QueryOperator] = connectives + ComparisonOperator.allCases.map { row(of: $0) }

    package static let connectives = [
        QueryOperator(name: "and", operands: .predicates, classes: [], null: .none),
        QueryOperator(name: "or", operands: .predicates, classes: [], null: .none),
        QueryOperator(name: "not", operands: .predicate, classes: [], null: .none),
    ]

    /// The row of an operator that compares.
    package static func row(of comparison: ComparisonOperator) -> QueryOperator {
        switch comparison {
        case .eq: equal
        case .neq: unequal
        case .gt: greater
        case .gte: greaterOrEqual
        case .lt: less
        case .lte: lessOrEqual
        case .like: like
        case .ilike: ilike
        case .in: isIn
        }
    }

    private static let scalars: ValueClasses = [.string, .number, .boolean, .datetime, .bytes, .id, .user, .database]
    private static let texts: ValueClasses = [.string, .id, .user, .database]

    private static let equal = comparison("eq", scalars.union(.reference), .isMissing)
    private static let unequal = comparison("neq", scalars.union(.reference), .isPresent)
    private static let greater = comparison("gt", scalars, .unknown)
    private static let greaterOrEqual = comparison("gte", scalars, .unknown)
    private static let less = comparison("lt", scalars, .unknown)
    private static let lessOrEqual = comparison("lte", scalars, .unknown)
    private static let like = QueryOperator(name: "like", operands: .pattern, classes: texts, null: .unknown)
    private static let ilike = QueryOperator(name: "ilike", operands: .pattern, classes: texts, null: .unknown)
    /// Of the classes of lists; JSON fields stand on the right side only.
    private static let isIn = QueryOperator(
        name: "in",
        operands: .membership,
        classes: scalars.union(.reference),
        null: .unknown
    )

    private static func comparison(
        _ name: String,
        _ classes: ValueClasses,
        _ null: QueryOperator.NullMeaning
    ) -> QueryOperator {
        QueryOperator(name: name, operands: .comparison, classes: classes, null: null)
    }
}
