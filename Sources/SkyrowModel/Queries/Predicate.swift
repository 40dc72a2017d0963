/// A path from a record to a value: a field, a field behind references (`category.owner.name`), or a value inside a JSON field
/// (`meta.size.width`, `meta.sizes.0`).
public struct FieldPath: Hashable, Sendable, CustomStringConvertible {
    public let components: [String]
    /// The type as which a value inside JSON is read, if given; a value of another type then counts as missing.
    public var jsonType: JSONValueType?

    /// Parses `"category.name"`; throws `120 RecordQueryInvalid` for an empty path or component.
    public init(_ text: String) throws(SkyrowError) {
        components = Self.components(of: text)
        guard components.allSatisfy({ !$0.isEmpty }) else {
            throw SkyrowError(.recordQueryInvalid, "A key path must be names joined by dots.")
        }
    }

    /// Creates a path from program text without checking it; the server refuses a malformed one with `120 RecordQueryInvalid`.
    package init(unchecked text: String) {
        components = Self.components(of: text)
    }

    /// Splits by bytes, since a dot counts even before a combining character, and since most paths have no dot.
    private static func components(of text: String) -> [String] {
        let dot = UInt8(ascii: ".")
        guard text.utf8.contains(dot) else { return [text] }
        return text.utf8.split(separator: dot, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    public var description: String { components.joined(separator: ".") }

    /// Returns the path without its first names.
    package func dropping(_ count: Int) -> FieldPath {
        var rest = FieldPath(components: Array(components.dropFirst(count)))
        rest.jsonType = jsonType
        return rest
    }

    private init(components: [String]) {
        self.components = components
    }

    /// The path of a field of the record itself.
    package init(_ field: FieldName) {
        components = [field.rawValue]
    }

    /// The empty path.
    package static let none = FieldPath(components: [])

    /// The name of the element itself in the predicate of `any` or `all`.
    package static let element = "$"
}

/// The type of a value inside JSON that has an order (`$as`).
public enum JSONValueType: String, Hashable, Sendable, CaseIterable {
    case string, number, boolean
    /// A text of RFC 3339 with an offset, or a date in its typed form, `{"$type":"date","$date":"…"}`.
    case datetime
}

/// The protocol's names for these types, for use inside this package.
///
/// An application that imports these types must keep Swift's `KeyPath` and Foundation's `Predicate`.
package typealias KeyPath = FieldPath
package typealias Predicate = RecordPredicate

/// A function whose result is compared in place of a field's value (`["func", …]`).
public enum FieldFunction: Hashable, Sendable {
    /// The text in lower case, as `ilike` compares it.
    case fold
    /// The number of elements of an array.
    case size
    /// The distance in metres from a location.
    case distance(Location)
    /// How well a text matches the words of the query's only `match`; for `sort` and `include` only.
    case rank
    /// The text in the collation of a language, "sv" or "de-AT"; for `sort` only.
    case collate(String)

    /// The name after `"func"`.
    package var name: String {
        switch self {
        case .fold: "fold"
        case .size: "size"
        case .distance: "distance"
        case .rank: "rank"
        case .collate: "collate"
        }
    }
}

/// One side of a comparison.
public enum Operand: Hashable, Sendable {
    case keyPath(FieldPath)
    case function(FieldFunction, FieldPath)
    case value(RecordValue)
    /// The right side of `in`, `nin`, `contains_all`, `contains_any` and `contained_by`.
    case list([RecordValue])
}

/// The condition of a query on each record.
public indirect enum RecordPredicate: Hashable, Sendable {
    case and([RecordPredicate])
    case or([RecordPredicate])
    case not(RecordPredicate)
    /// No predicate of the list is true; unlike `not`, it also holds where a value is missing.
    case none([RecordPredicate])
    case comparison(ComparisonOperator, Operand, Operand)
    /// Between two values, both included.
    case between(Operand, RecordValue, RecordValue)
    /// A text that contains words: `star -trek wars*`.
    case match(Operand, String)
    /// A text of which a part matches a regular expression.
    case regex(Operand, String, ignoresCase: Bool)
    /// A value that a subquery returns (`in_query`), or a value that it does not return (`not_in_query`).
    case found(Operand, by: Subquery, isNegated: Bool)
    /// A location or geometry that meets a condition.
    case place(FieldPath, PlaceCondition)
    /// A member of a relation of another record, which the caller may read.
    case related(to: RecordID, FieldPath)
    /// A field with the id of a user who is related to the caller: whom the caller has added (`outward`), who has added the
    /// caller (`inward`), or both.
    case userRelation(FieldPath, UserRelation, RelationDirection)
    /// An array in which another predicate holds for at least one element (`any`) or for every element (`all`). Key paths of
    /// that predicate begin at the element; `$` is the element itself.
    case elements(FieldPath, Quantifier, RecordPredicate)

    /// How many elements a predicate must hold for.
    public enum Quantifier: String, Hashable, Sendable, CaseIterable {
        /// At least one; false for an empty array.
        case any
        /// Every one; true for an empty array.
        case all
    }
}

/// A query inside a predicate, which returns the values that a field is compared with.
public struct Subquery: Hashable, Sendable {
    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    /// The field whose values are returned; nil for the ids of the records.
    public var key: FieldPath?
    /// The order of the records, of which ``limit`` takes the first; by id when empty.
    public var sort: [SortKey]
    /// The largest number of records to take (1 to 10,000), including those without a value; nil for all.
    public var limit: Int?

    public init(
        type: RecordTypeName,
        predicate: RecordPredicate? = nil,
        key: FieldPath? = nil,
        sort: [SortKey] = [],
        limit: Int? = nil
    ) {
        self.type = type
        self.predicate = predicate
        self.key = key
        self.sort = sort
        self.limit = limit
    }

    /// Upper bounds on the subqueries of a predicate, and on their nesting.
    package static let maximumCount = 8
    package static let maximumDepth = 4
    package static let maximumLimit = 10_000
    /// Upper bound on the keys of ``sort``.
    package static let maximumKeys = 8
}

extension RecordPredicate {
    /// Upper bound on the nesting of `and`, `or`, `not` and `none`.
    package static let maximumDepth = 32
    /// Upper bound on the nesting of `any` and `all`.
    package static let maximumElementDepth = 4
    /// Upper bound on how often a query leads to several records: by a key path, by `any` or by `all`.
    package static let maximumLists = 4

    /// Upper bounds on the pattern matching of one predicate for each record.
    ///
    /// PostgreSQL does not check for cancellation while it matches one text, so a statement's time limit takes effect only
    /// between two records.
    package enum PatternLimits {
        /// Patterns of one predicate, with the texts of `contains` and `ends_with`.
        package static let count = 30
        /// Bytes of one pattern.
        package static let bytes = 1024
        /// Bytes of all patterns together. In the worst case each is compared at every position of a text, which takes 2 s for
        /// 1024 bytes in a text of 1 MB.
        package static let allBytes = 2048
        /// Wildcards `%` of one pattern, including escaped ones.
        package static let wildcards = 16
    }
}

/// A sort key of a query. Missing values sort last in ascending and first in descending order, unless the key says otherwise.
public struct SortKey: Hashable, Sendable {
    /// The direction of the order.
    public enum Direction: String, Hashable, Sendable {
        case ascending = "asc"
        case descending = "desc"
    }

    /// The position of records without a value.
    public enum Nulls: String, Hashable, Sendable {
        case first = "nulls_first"
        case last = "nulls_last"
    }

    public var keyPath: FieldPath
    /// The function whose result is compared; nil for the value itself.
    public var function: FieldFunction?
    public var direction: Direction
    /// nil for the default of the direction.
    public var nulls: Nulls?

    public init(_ keyPath: FieldPath, _ direction: Direction = .ascending, _ nulls: Nulls? = nil) {
        self.keyPath = keyPath
        self.direction = direction
        self.nulls = nulls
    }
}

/// A referenced record, the records that an array of references leads to, or a number, included under a name.
public struct Inclusion: Hashable, Sendable {
    /// How many records of a list are included by default, for each record with a list.
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    /// Upper bound on the records of lists that one response includes.
    package static let maximumRecords = 10_000
    /// Upper bound on the lists that a query includes, counting those on the way to others.
    package static let maximumLists = 8

    public var name: String
    public var keyPath: FieldPath
    /// The function whose number is sent; nil for the record that the key path refers to.
    public var function: FieldFunction?
    /// The user fields to send; nil for all of them.
    public var desiredFields: [String]?
    /// The user fields to omit, when all others are sent.
    public var omittedFields: [String] = []
    /// The order of a list; that of the array when empty.
    public var sort: [SortKey] = []
    /// The largest number of records of a list, 1 to 1000; nil for 100.
    public var limit: Int?
    /// Whether to report the number of records of a list.
    public var countsRecords = false
    /// Whether a key path through a field that is not a reference yields null instead of an error, as in Skygear.
    package var isNullWithoutReference = false

    public init(name: String, keyPath: FieldPath, function: FieldFunction? = nil) {
        self.name = name
        self.keyPath = keyPath
        self.function = function
    }

    /// The name and key path that stand for every reference of the type, each under its field's name.
    public static let everyReference = "*"

    /// Whether it stands for every reference of the type.
    package var isOfEveryReference: Bool {
        name == Self.everyReference && keyPath.components == [Self.everyReference] && isPlain && function == nil
    }

    /// The name of the first parameter that applies to lists only; nil without one.
    package var listParameter: String? {
        limit != nil ? "limit" : !sort.isEmpty ? "sort" : countsRecords ? "count" : nil
    }

    /// Whether it has only a name and a key path.
    package var isPlain: Bool { listParameter == nil && desiredFields == nil && omittedFields.isEmpty }
}

/// A query for the records of one type (`record:query`).
public struct RecordQuery: Hashable, Sendable {
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    /// Upper bound on the records of a query without a limit, for endpoints with such queries.
    package static let maximumUnlimited = 10_000

    /// What happens to records above the limit.
    package enum Overflow: Hashable, Sendable {
        /// They are left out, and the result reports that there are more.
        case cut
        /// The query fails.
        case refuse
    }

    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    public var sort: [SortKey]
    public var include: [Inclusion]
    /// Where the page contains the included records.
    public var includeForm = IncludeForm.nested
    /// The user fields to send; nil for all of them, an empty list for only the reserved ones.
    public var desiredFields: [String]?
    /// The parameter that named the fields to send.
    package var selectionParameter = "desired_keys"
    /// The user fields to omit, when all others are sent.
    public var omittedFields: [String] = []
    /// 0 to 1000 records.
    public var limit: Int
    /// How many records to skip, 0 to 100,000; a cursor goes further.
    public var offset: Int
    /// Where the page begins.
    public var position = Position.first
    /// Whether a page without records is the error `110 ResourceNotFound`.
    public var isRequired = false
    /// How to count the matching records, regardless of position, limit and offset; nil for no count.
    public var counting: Counting?
    package var overflow = Overflow.cut
    /// Whether the result also has a cursor and says whether there are more records.
    package var isDescribed = true

    public init(
        type: RecordTypeName,
        predicate: RecordPredicate? = nil,
        sort: [SortKey] = [],
        include: [Inclusion] = [],
        desiredFields: [String]? = nil,
        limit: Int = RecordQuery.defaultLimit,
        offset: Int = 0,
        countsMatches: Bool = false
    ) {
        self.type = type
        self.predicate = predicate
        self.sort = sort
        self.include = include
        self.desiredFields = desiredFields
        self.limit = limit
        self.offset = offset
        counting = countsMatches ? .exact : nil
    }
}
