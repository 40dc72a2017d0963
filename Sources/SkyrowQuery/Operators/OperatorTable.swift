package import SkyrowModel

/// An operator of predicates: its operands, the types that it supports, and its meaning for a missing value.
package struct QueryOperator: Hashable, Sendable {
    /// The operands after the name.
    package enum Operands: Hashable, Sendable {
        /// Any number of predicates.
        case joined
        /// One or more predicates.
        case predicates
        /// One predicate.
        case predicate
        /// A key path and a literal in either order, or two key paths.
        case comparison
        /// A key path, then a pattern.
        case pattern
        /// A key path, then a text with words.
        case words
        /// A key path, then a regular expression, and optionally its option.
        case regex
        /// A key path, then a text, or bytes for a field of bytes.
        case text
        /// A key path, then a literal.
        case element
        /// A key path, then a list of literals; or a string, then the key path of a JSON field; or a location, then that of a
        /// geometry.
        case membership
        /// A key path, then a list of literals.
        case list
        /// A key path, then a boolean.
        case flag
        /// A key path, then two literals.
        case range
        /// A key path, then a subquery.
        case query
        /// A reference, then the name of a relation.
        case owner
        /// A key path, then a predicate.
        case elements
        /// The key path of a location, then a location, and optionally a distance in metres.
        case near
        /// The key path of a location or geometry, then two locations.
        case box
        /// The key path of a location or geometry, then a list of locations or a polygon.
        case polygon
    }

    /// The meaning of a comparison with `null`.
    package enum NullMeaning: String, Hashable, Sendable {
        /// True if the field is missing, and false otherwise.
        case isMissing
        /// False if the field is missing, and true otherwise.
        case isPresent
        /// Unknown for every record.
        case unknown
        /// 108: the operator does not take `null`.
        case refused
        /// The operator does not compare values.
        case none
    }

    package let name: String
    package let operands: Operands
    /// The types of fields that it supports, apart from comparisons with `null`; 108 for others.
    package let classes: ValueClasses
    package let null: NullMeaning

    package var takesPattern: Bool { operands == .pattern }

    /// The number of operands; nil for no upper bound.
    package var arity: (least: Int, most: Int?) {
        switch operands {
        case .joined: (0, nil)
        case .predicates: (1, nil)
        case .predicate: (1, 1)
        case .comparison, .pattern, .text, .element, .membership, .list, .flag, .query, .elements, .words, .polygon,
            .owner:
            (2, 2)
        case .range, .box: (3, 3)
        case .near: (2, 3)
        case .regex: (2, 3)
        }
    }
}

/// Every operator, one row each: read by the resolver, and checked against the OpenRPC document and the manual.
package enum OperatorTable {
    package static let all: [QueryOperator] =
        connectives + ComparisonOperator.allCases.map { row(of: $0) } + [between, regex, match] + queries + quantifiers
        + places

    package static let connectives = [
        QueryOperator(name: "and", operands: .joined, classes: [], null: .none),
        QueryOperator(name: "or", operands: .joined, classes: [], null: .none),
        QueryOperator(name: "not", operands: .predicate, classes: [], null: .none),
        QueryOperator(name: "none", operands: .predicates, classes: [], null: .none),
    ]

    /// Returns the row of a comparison operator.
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
        case .startsWith: startsWith
        case .endsWith: endsWith
        case .in: isIn
        case .nin: isNotIn
        case .contains: contains
        case .containsAll: containsAll
        case .containsAny: containsAny
        case .containedBy: containedBy
        case .exists: exists
        }
    }

    private static let scalars: ValueClasses = [.string, .number, .boolean, .datetime, .bytes, .id, .user, .database]
    private static let texts: ValueClasses = [.string, .id, .user, .database]
    private static let json: ValueClasses = [.json, .jsonPath]
    /// Types with elements.
    private static let arrays = json.union(.array)
    /// Types with elements or members.
    private static let lists = arrays.union(.relation)
    /// Types with equality.
    private static let equated = scalars.union([.reference, .location]).union(arrays)
    /// Types with an order; inside JSON it is that of the literal's type.
    private static let ordered = scalars.union(.jsonPath)

    private static let equal = comparison("eq", equated.union([.geometry, .relation]), .isMissing)
    private static let unequal = comparison("neq", equated.union(.geometry), .isPresent)
    private static let greater = comparison("gt", ordered, .unknown)
    private static let greaterOrEqual = comparison("gte", ordered, .unknown)
    private static let less = comparison("lt", ordered, .unknown)
    private static let lessOrEqual = comparison("lte", ordered, .unknown)
    private static let like = row("like", .pattern, texts.union(.jsonPath), .unknown)
    private static let ilike = row("ilike", .pattern, texts.union(.jsonPath), .unknown)
    private static let startsWith = row("starts_with", .text, texts.union([.bytes, .jsonPath]))
    private static let endsWith = row("ends_with", .text, texts.union(.jsonPath))
    private static let isIn = row("in", .membership, equated.union(.relation), .unknown)
    private static let isNotIn = row("nin", .list, equated)
    private static let contains = row("contains", .element, texts.union(lists).union(.geometry))
    private static let containsAll = row("contains_all", .list, lists)
    private static let containsAny = row("contains_any", .list, lists)
    private static let containedBy = row("contained_by", .list, arrays)
    private static let exists = row("exists", .flag, .all)
    package static let between = row("between", .range, ordered)
    package static let regex = row("regex", .regex, texts.union(.jsonPath))
    package static let match = row("match", .words, .string)
    /// For values with equality, and for arrays of references.
    package static let inQuery = row("in_query", .query, scalars.union([.reference, .array, .relation]))
    package static let notInQuery = row("not_in_query", .query, scalars.union(.reference))
    package static let relatedTo = QueryOperator(name: "related_to", operands: .owner, classes: [], null: .refused)
    private static let queries = [inQuery, notInQuery, relatedTo]
    private static let any = row("any", .elements, lists, .none)
    private static let every = row("all", .elements, lists, .none)
    private static let quantifiers = [any, every]

    /// Returns the row of a quantifier.
    package static func row(of quantifier: RecordPredicate.Quantifier) -> QueryOperator {
        switch quantifier {
        case .any: any
        case .all: every
        }
    }

    private static let near = row("near", .near, .location)
    private static let withinBox = row("within_box", .box, [.location, .geometry])
    private static let withinPolygon = row("within_polygon", .polygon, [.location, .geometry])
    private static let places = [near, withinBox, withinPolygon]

    /// Returns the row of a location operator.
    package static func row(of condition: PlaceCondition) -> QueryOperator {
        switch condition {
        case .near: near
        case .inBox: withinBox
        case .inPolygon: withinPolygon
        }
    }

    private static func row(
        _ name: String,
        _ operands: QueryOperator.Operands,
        _ classes: ValueClasses,
        _ null: QueryOperator.NullMeaning = .refused
    ) -> QueryOperator {
        QueryOperator(name: name, operands: operands, classes: classes, null: null)
    }

    private static func comparison(
        _ name: String,
        _ classes: ValueClasses,
        _ null: QueryOperator.NullMeaning
    ) -> QueryOperator {
        QueryOperator(name: name, operands: .comparison, classes: classes, null: null)
    }
}
