/// A path from a record to a value: a field, or a reference field and a field behind it (`category.name`).
public struct FieldPath: Hashable, Sendable, CustomStringConvertible {
    public let components: [String]

    /// Reads `"category.name"`; throws `120 RecordQueryInvalid` for an empty path or component.
    public init(_ text: String) throws(SkyrowError) {
        components = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard components.allSatisfy({ !$0.isEmpty }) else {
            throw SkyrowError(.recordQueryInvalid, "A key path is one or two names joined by a dot.")
        }
    }

    /// Takes a path as it is written in a program; the server returns `120 RecordQueryInvalid` for a malformed one.
    package init(unchecked text: String) {
        components = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    public var description: String { components.joined(separator: ".") }
}

/// The protocol's own names, for use inside this package.
///
/// An application that imports these types must keep Swift's `KeyPath` and Foundation's `Predicate`.
package typealias KeyPath = FieldPath
package typealias Predicate = RecordPredicate

/// The nine operators of Skygear v1 that compare two operands.
public enum ComparisonOperator: String, Hashable, Sendable, CaseIterable {
    case eq, neq, gt, gte, lt, lte, like, ilike
    case `in`

    /// Whether the right side is a pattern, which is matched against the whole text of a field.
    package var takesPattern: Bool {
        switch self {
        case .like, .ilike: true
        case .eq, .neq, .gt, .gte, .lt, .lte, .in: false
        }
    }
}

/// One side of a comparison.
public enum Operand: Hashable, Sendable {
    case keyPath(FieldPath)
    case value(RecordValue)
    /// The right side of `in`.
    case list([RecordValue])
}

/// What a query asks of each record.
public indirect enum RecordPredicate: Hashable, Sendable {
    case and([RecordPredicate])
    case or([RecordPredicate])
    case not(RecordPredicate)
    case comparison(ComparisonOperator, Operand, Operand)
}

extension RecordPredicate {
    /// How much matching one predicate may ask of each record.
    ///
    /// PostgreSQL does not look for a cancellation while it matches one text, so a statement's time limit begins to
    /// count between two records only.
    package enum PatternLimits {
        /// Patterns of one predicate.
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

/// One key of a query's order; NULL sorts last ascending and first descending, as PostgreSQL does.
public struct SortKey: Hashable, Sendable {
    /// Which end comes first.
    public enum Direction: String, Hashable, Sendable {
        case ascending = "asc"
        case descending = "desc"
    }

    public var keyPath: FieldPath
    public var direction: Direction

    public init(_ keyPath: FieldPath, _ direction: Direction = .ascending) {
        self.keyPath = keyPath
        self.direction = direction
    }
}

/// A referenced record to send along under a name of its own.
public struct Inclusion: Hashable, Sendable {
    public var name: String
    public var keyPath: FieldPath
    /// Whether a key path through a field that is no reference yields null instead of failing, as in Skygear.
    package var isNullWithoutReference = false

    public init(name: String, keyPath: FieldPath) {
        self.name = name
        self.keyPath = keyPath
    }
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
    /// The user fields to send; nil means all of them, an empty list only the reserved ones.
    public var desiredFields: [String]?
    /// 0 to 1000 records.
    public var limit: Int
    public var offset: Int
    /// Whether to count what matches before limit and offset.
    public var countsMatches: Bool
    package var overflow = Overflow.cut

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
        self.countsMatches = countsMatches
    }
}
