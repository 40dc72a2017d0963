/// The operators that compare two operands: the nine of Skygear v1, and those that similar services have in addition.
public enum ComparisonOperator: String, Hashable, Sendable, CaseIterable {
    case eq, neq, gt, gte, lt, lte, like, ilike
    case startsWith = "starts_with"
    case endsWith = "ends_with"
    case `in`, nin
    case contains
    case containsAll = "contains_all"
    case containsAny = "contains_any"
    case containedBy = "contained_by"
    case exists

    package var row: QueryOperator {
        let name = rawValue
        return switch self {
        case .eq: QueryOperator(name, .comparison, .equated.union([.geometry, .relation]), null: .isMissing)
        case .neq: QueryOperator(name, .comparison, .equated.union(.geometry), null: .isPresent)
        case .gt, .gte, .lt, .lte: QueryOperator(name, .comparison, .ordered, null: .unknown)
        case .like: QueryOperator(name, .pattern, .texts.union(.jsonPath), null: .unknown, test: .pattern)
        case .ilike: QueryOperator(name, .pattern, .texts.union(.jsonPath), null: .unknown, test: .pattern)
        case .startsWith: QueryOperator(name, .text, .texts.union([.bytes, .jsonPath]))
        case .endsWith: QueryOperator(name, .text, .texts.union(.jsonPath), test: .suffix)
        case .in: QueryOperator(name, .membership, .equated.union(.relation), null: .unknown)
        case .nin: QueryOperator(name, .list, .equated)
        case .contains: QueryOperator(name, .element, .texts.union(.lists).union(.geometry), test: .substring)
        case .containsAll: QueryOperator(name, .list, .lists, among: .holdsAll)
        case .containsAny: QueryOperator(name, .list, .lists, among: .holdsAny)
        case .containedBy: QueryOperator(name, .list, .arrays, among: .heldBy)
        case .exists: QueryOperator(name, .flag, .all)
        }
    }
}

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

        /// The number of operands, and what they are, as an error calls them.
        fileprivate var form: (count: ClosedRange<Int>, name: String) {
            switch self {
            case .joined: (0...Int.max, "predicates")
            case .predicates: (1...Int.max, "at least one predicate")
            case .predicate: (1...1, "one predicate")
            case .comparison, .pattern, .text, .element, .membership, .list, .flag: (2...2, "two operands")
            case .words: (2...2, "a key path and words")
            case .regex: (2...3, "a key path, a regular expression and optionally \"i\"")
            case .range: (3...3, "a key path and two values")
            case .query: (2...2, "a key path and a query")
            case .owner: (2...2, "a reference and the name of a relation")
            case .elements: (2...2, "a key path and a predicate")
            case .near: (2...3, "a key path, a location and optionally a number of metres")
            case .box: (3...3, "a key path and two locations")
            case .polygon: (2...2, "a key path and a polygon")
            }
        }
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
    /// How a text is compared, where that depends neither on its order nor only on its equality.
    package let test: TextTest?
    /// How an array is compared with a list.
    package let relation: ArrayRelation?

    fileprivate init(
        _ name: String,
        _ operands: Operands,
        _ classes: ValueClasses,
        null: NullMeaning = .refused,
        test: TextTest? = nil,
        among relation: ArrayRelation? = nil
    ) {
        self.name = name
        self.operands = operands
        self.classes = classes
        self.null = null
        self.test = test
        self.relation = relation
    }

    /// The number of operands; `Int.max` for no upper bound.
    package var arity: ClosedRange<Int> { operands.form.count }

    /// `"match" takes a key path and words.`
    package var misuse: String { "\"\(name)\" takes \(operands.form.name)." }

    /// Whether the right side is a pattern, which is matched against the whole text of a field.
    package var takesPattern: Bool { operands == .pattern }

    /// Whether the right side is a list of values.
    package var takesList: Bool { operands == .list || operands == .membership }
}

/// A test of a text with another one.
package enum TextTest: Hashable, Sendable {
    /// The whole text matches a pattern.
    case pattern
    case suffix
    case substring
}

/// How an array is compared with some values. A NULL element equals none of them.
package enum ArrayRelation: Hashable, Sendable {
    /// It has exactly these elements in this order. A value of a JSON field is one of these, or an array that contains one of
    /// the scalars among them.
    case equal
    /// It contains all of the values.
    case holdsAll
    /// It contains at least one of the values.
    case holdsAny
    /// Each of its elements is one of the values.
    case heldBy
}

/// The classes of values that the operator table distinguishes.
package struct ValueClasses: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static let string = ValueClasses(rawValue: 1 << 0)
    /// Integers, sequences, doubles, and numbers inside JSON.
    package static let number = ValueClasses(rawValue: 1 << 1)
    package static let boolean = ValueClasses(rawValue: 1 << 2)
    package static let datetime = ValueClasses(rawValue: 1 << 3)
    package static let bytes = ValueClasses(rawValue: 1 << 4)
    package static let reference = ValueClasses(rawValue: 1 << 5)
    package static let json = ValueClasses(rawValue: 1 << 6)
    package static let id = ValueClasses(rawValue: 1 << 7)
    package static let user = ValueClasses(rawValue: 1 << 8)
    package static let database = ValueClasses(rawValue: 1 << 9)
    /// Access lists and columns of unknown types.
    package static let opaque = ValueClasses(rawValue: 1 << 10)
    /// A value inside JSON.
    package static let jsonPath = ValueClasses(rawValue: 1 << 11)
    /// Arrays of one type.
    package static let array = ValueClasses(rawValue: 1 << 12)
    package static let location = ValueClasses(rawValue: 1 << 13)
    package static let geometry = ValueClasses(rawValue: 1 << 14)
    package static let relation = ValueClasses(rawValue: 1 << 15)
    package static let asset = ValueClasses(rawValue: 1 << 16)
    package static let all = ValueClasses(rawValue: 1 << 17 - 1)

    package static let texts: ValueClasses = [.string, .id, .user, .database]
    /// Types with an order.
    package static let scalars = texts.union([.number, .boolean, .datetime, .bytes])
    /// The same, and values inside JSON, whose order is that of the literal's type.
    static let ordered = scalars.union(.jsonPath)
    /// Types with elements.
    package static let arrays: ValueClasses = [.json, .jsonPath, .array]
    /// Types with elements or members.
    static let lists = arrays.union(.relation)
    /// Types with equality.
    static let equated = scalars.union([.reference, .location, .asset]).union(arrays)
}

/// Every operator, one row each: read by the reader of predicates and the resolver, and checked against the OpenRPC document and
/// the manual.
package enum OperatorTable {
    package static let all: [QueryOperator] =
        [and, or, not, none] + ComparisonOperator.allCases.map(\.row) + others

    private static let and = QueryOperator("and", .joined, [], null: .none)
    private static let or = QueryOperator("or", .joined, [], null: .none)
    private static let not = QueryOperator("not", .predicate, [], null: .none)
    private static let none = QueryOperator("none", .predicates, [], null: .none)
    package static let between = QueryOperator("between", .range, .ordered)
    package static let regex = QueryOperator("regex", .regex, .texts.union(.jsonPath))
    package static let match = QueryOperator("match", .words, .string)
    /// For values with equality, and for arrays of references.
    package static let inQuery = QueryOperator("in_query", .query, .scalars.union([.reference, .array, .relation]))
    package static let notInQuery = QueryOperator("not_in_query", .query, .scalars.union(.reference))
    private static let relatedTo = QueryOperator("related_to", .owner, [])
    private static let any = QueryOperator("any", .elements, .lists, null: .none)
    private static let every = QueryOperator("all", .elements, .lists, null: .none)
    private static let near = QueryOperator("near", .near, .location)
    private static let withinBox = QueryOperator("within_box", .box, [.location, .geometry])
    private static let withinPolygon = QueryOperator("within_polygon", .polygon, [.location, .geometry])
    private static let others = [
        between, regex, match, inQuery, notInQuery, relatedTo, any, every, near, withinBox, withinPolygon,
    ]

    /// The row of an operator that is no comparison; nil for an unknown name.
    package static func row(named name: String) -> QueryOperator? {
        switch name {
        case "and": and
        case "or": or
        case "not": not
        case "none": none
        default: others.first { $0.name == name }
        }
    }

    package static func row(of quantifier: RecordPredicate.Quantifier) -> QueryOperator {
        switch quantifier {
        case .any: any
        case .all: every
        }
    }

    /// Returns the row of a location operator.
    package static func row(of condition: PlaceCondition) -> QueryOperator {
        switch condition {
        case .near: near
        case .inBox: withinBox
        case .inPolygon: withinPolygon
        }
    }
}
