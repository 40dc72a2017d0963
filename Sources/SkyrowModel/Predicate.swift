/// A path from a record to a value: a field, a field behind references (`category.owner.name`), or a value inside a json
/// field (`meta.size.width`, `meta.sizes.0`).
public struct FieldPath: Hashable, Sendable, CustomStringConvertible {
    public let components: [String]
    /// As what a value inside JSON is read, where that is said; a value of another type is missing then.
    public var jsonType: JSONValueType?

    /// Reads `"category.name"`; throws `120 RecordQueryInvalid` for an empty path or component.
    public init(_ text: String) throws(SkyrowError) {
        components = Self.components(of: text)
        guard components.allSatisfy({ !$0.isEmpty }) else {
            throw SkyrowError(.recordQueryInvalid, "A key path is names joined by dots.")
        }
    }

    /// Takes a path as it is written in a program; the server returns `120 RecordQueryInvalid` for a malformed one.
    package init(unchecked text: String) {
        components = Self.components(of: text)
    }

    /// By bytes, since a dot is one whatever follows it, and most paths have none.
    private static func components(of text: String) -> [String] {
        let dot = UInt8(ascii: ".")
        guard text.utf8.contains(dot) else { return [text] }
        return text.utf8.split(separator: dot, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    public var description: String { components.joined(separator: ".") }

    /// The path that begins behind some of the names.
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

    /// A path that leads nowhere.
    package static let none = FieldPath(components: [])

    /// The name of the element itself in a predicate that is asked of elements.
    package static let element = "$"
}

/// A type of a value inside JSON that has an order (`$as`).
public enum JSONValueType: String, Hashable, Sendable, CaseIterable {
    case string, number, boolean
    /// A text of RFC 3339 with an offset, or a date in its typed form, `{"$type":"date","$date":"…"}`.
    case datetime
}

/// The protocol's own names, for use inside this package.
///
/// An application that imports these types must keep Swift's `KeyPath` and Foundation's `Predicate`.
package typealias KeyPath = FieldPath
package typealias Predicate = RecordPredicate

/// The operators that compare two operands: the nine of Skygear v1, and what other services of this kind have besides.
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

    /// Whether the right side is a pattern, which is matched against the whole text of a field.
    package var takesPattern: Bool {
        switch self {
        case .like, .ilike: true
        case .eq, .neq, .gt, .gte, .lt, .lte, .startsWith, .endsWith, .in, .nin, .contains, .containsAll, .containsAny,
            .containedBy, .exists:
            false
        }
    }

    /// Whether the right side is a list of values.
    package var takesList: Bool {
        switch self {
        case .in, .nin, .containsAll, .containsAny, .containedBy: true
        case .eq, .neq, .gt, .gte, .lt, .lte, .like, .ilike, .startsWith, .endsWith, .contains, .exists: false
        }
    }
}

/// What is compared in place of a field's own value (`["func", …]`).
public enum FieldFunction: Hashable, Sendable {
    /// The text in lower case, as `ilike` compares it.
    case fold
    /// How many elements an array has.
    case size
    /// How many metres a location is away from this one.
    case distance(Location)
    /// How well a text has the words that the query's only `match` asks it for; for `sort` and `include` alone.
    case rank
    /// The text in the order of a language, "sv" or "de-AT"; for `sort` alone.
    case collate(String)

    /// The name behind `"func"`.
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

/// What a query asks of each record.
public indirect enum RecordPredicate: Hashable, Sendable {
    case and([RecordPredicate])
    case or([RecordPredicate])
    case not(RecordPredicate)
    /// None of them is true; unlike `not`, it holds where a value is missing.
    case none([RecordPredicate])
    case comparison(ComparisonOperator, Operand, Operand)
    /// From one value to another, both included.
    case between(Operand, RecordValue, RecordValue)
    /// A text that has some words: `star -trek wars*`.
    case match(Operand, String)
    /// A text of which a part is as a regular expression says.
    case regex(Operand, String, ignoresCase: Bool)
    /// One of the values that a query finds (`in_query`), or a value that it does not find (`not_in_query`).
    case found(Operand, by: Subquery, isNegated: Bool)
    /// A location that lies somewhere.
    case place(FieldPath, PlaceCondition)
    /// A record that is a member of a relation of another record, which the caller may read.
    case related(to: RecordID, FieldPath)
    /// A user, by an id in a field, who is something to the caller: whom the caller has added (`outward`), who has added the
    /// caller (`inward`), or both.
    case userRelation(FieldPath, UserRelation, RelationDirection)
    /// For one of the elements of an array (`any`), or for each (`all`), another predicate holds, whose key paths begin at the
    /// element; `$` is the element itself.
    case elements(FieldPath, Quantifier, RecordPredicate)

    /// Of how many elements something is asked.
    public enum Quantifier: String, Hashable, Sendable, CaseIterable {
        /// One of them, or more; of none it does not hold.
        case any
        /// Each of them; of none it holds.
        case all
    }
}

/// A query inside a predicate, which gives the values that a field is looked up among.
public struct Subquery: Hashable, Sendable {
    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    /// The field whose values are given; nil for the ids of the records.
    public var key: FieldPath?
    /// The order of the records, of which ``limit`` takes the first; that of their ids when it is empty.
    public var sort: [SortKey]
    /// How many records give a value at most (1 to 10,000), those with no value among them; nil for all.
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

    /// How many queries a predicate may have inside, and how deep they may be in each other.
    package static let maximumCount = 8
    package static let maximumDepth = 4
    package static let maximumLimit = 10_000
    /// How many keys ``sort`` may have.
    package static let maximumKeys = 8
}

extension RecordPredicate {
    /// How deep `and`, `or`, `not` and `none` may stand in each other.
    package static let maximumDepth = 32
    /// How deep `any` and `all` may.
    package static let maximumElementDepth = 4
    /// How often a query may lead to several records: by a key path, by `any` or by `all`.
    package static let maximumLists = 4

    /// How much matching one predicate may ask of each record.
    ///
    /// PostgreSQL does not look for a cancellation while it matches one text, so a statement's time limit begins to
    /// count between two records only.
    package enum PatternLimits {
        /// Patterns of one predicate, with the texts of `contains` and `ends_with`.
        package static let count = 30
        /// Bytes of one pattern.
        package static let bytes = 1024
        /// Bytes of all patterns together: at the worst each is compared with each place of a text, which takes 2 s for
        /// 1024 bytes in a text of 1 MB.
        package static let allBytes = 2048
        /// Wildcards `%` of one pattern, escaped ones too.
        package static let wildcards = 16
    }
}

/// One key of a query's order; what is missing sorts last ascending and first descending, unless the key says otherwise.
public struct SortKey: Hashable, Sendable {
    /// Which end comes first.
    public enum Direction: String, Hashable, Sendable {
        case ascending = "asc"
        case descending = "desc"
    }

    /// Where records without a value come.
    public enum Nulls: String, Hashable, Sendable {
        case first = "nulls_first"
        case last = "nulls_last"
    }

    public var keyPath: FieldPath
    /// What is compared of the key path's value; nil for the value itself.
    public var function: FieldFunction?
    public var direction: Direction
    /// nil for the end that belongs to the direction.
    public var nulls: Nulls?

    public init(_ keyPath: FieldPath, _ direction: Direction = .ascending, _ nulls: Nulls? = nil) {
        self.keyPath = keyPath
        self.direction = direction
        self.nulls = nulls
    }
}

/// A referenced record, the records that an array of references leads to, or a number, to send along under a name of its own.
public struct Inclusion: Hashable, Sendable {
    /// How many records of a list are sent along, for each record that has one.
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    /// How many records one response sends along, those of lists.
    package static let maximumRecords = 10_000
    /// How many lists a query sends along, those on the way to others too.
    package static let maximumLists = 8

    public var name: String
    public var keyPath: FieldPath
    /// The function whose number is sent; nil for the record that the key path refers to.
    public var function: FieldFunction?
    /// The user fields to send; nil means all of them.
    public var desiredFields: [String]?
    /// The user fields to leave out, where all others are sent.
    public var omittedFields: [String] = []
    /// Of a list, the order; as in the array when empty.
    public var sort: [SortKey] = []
    /// Of a list, how many records to send, 1 to 1000; nil for 100.
    public var limit: Int?
    /// Of a list, whether to say how many records it has.
    public var countsRecords = false
    /// Whether a key path through a field that is no reference yields null instead of failing, as in Skygear.
    package var isNullWithoutReference = false

    public init(name: String, keyPath: FieldPath, function: FieldFunction? = nil) {
        self.name = name
        self.keyPath = keyPath
        self.function = function
    }

    /// The name and key path that stand for every reference of the type, each under the name of its field.
    public static let everyReference = "*"

    /// Whether it stands for every reference of the type.
    package var isOfEveryReference: Bool {
        name == Self.everyReference && keyPath.components == [Self.everyReference] && isPlain && function == nil
    }

    /// What it says of a list alone, by the name of the parameter; nil where it says nothing.
    package var listParameter: String? {
        limit != nil ? "limit" : !sort.isEmpty ? "sort" : countsRecords ? "count" : nil
    }

    /// Whether it is a key path and nothing more.
    package var isPlain: Bool { listParameter == nil && desiredFields == nil && omittedFields.isEmpty }
}

/// A question about the records of one type (`record:query`).
public struct RecordQuery: Hashable, Sendable {
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    /// The most records that a query without a limit returns, where an endpoint has such queries.
    package static let maximumUnlimited = 10_000

    /// What becomes of records beyond the limit.
    package enum Overflow: Hashable, Sendable {
        /// They are left out, and the result says that there are more.
        case cut
        /// The query fails.
        case refuse
    }

    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    public var sort: [SortKey]
    public var include: [Inclusion]
    /// Where the page has the included records.
    public var includeForm = IncludeForm.nested
    /// The user fields to send; nil means all of them, an empty list only the reserved ones.
    public var desiredFields: [String]?
    /// The parameter that named the fields to send.
    package var selectionParameter = "desired_keys"
    /// The user fields to leave out, where all others are sent.
    public var omittedFields: [String] = []
    /// 0 to 1000 records.
    public var limit: Int
    /// How many records to leave out, 0 to 100,000; a cursor goes further.
    public var offset: Int
    /// Where the page begins.
    public var position = Position.first
    /// Whether a page without records is the error `110 ResourceNotFound`.
    public var isRequired = false
    /// How to count what matches before position, limit and offset; nil for not at all.
    public var counting: Counting?
    package var overflow = Overflow.cut
    /// Whether the result says more than its records: a cursor, and whether there are more.
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
