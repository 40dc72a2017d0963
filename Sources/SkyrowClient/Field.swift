public import SkyrowModel

/// A key path in a condition, `Field("year")` or `Field("category.name")`.
///
/// ```swift
/// let classics = Field("year") < 1960 && Field("rating") >= 8.0
/// let mine = Field("_owner_id") == .string(userID.rawValue) || Field("tags").contains("shared")
/// ```
public struct Field: Hashable, Sendable {
    public let keyPath: FieldPath

    /// The service refuses a malformed or unknown path with `120 RecordQueryInvalid`.
    public init(_ path: String) {
        keyPath = FieldPath(unchecked: path)
    }

    /// SQL's `LIKE` with `%` and `_`, case-sensitive.
    public func like(_ pattern: String) -> RecordPredicate {
        compare(.like, .string(pattern))
    }

    /// SQL's `ILIKE`: `LIKE` without regard to upper and lower case.
    public func ilike(_ pattern: String) -> RecordPredicate {
        compare(.ilike, .string(pattern))
    }

    /// Whether the value is one of these; an empty list matches nothing.
    public func isIn(_ values: [RecordValue]) -> RecordPredicate {
        .comparison(.in, .keyPath(keyPath), .list(values))
    }

    /// Whether an array in a json field has this string.
    public func contains(_ text: String) -> RecordPredicate {
        .comparison(.in, .value(.string(text)), .keyPath(keyPath))
    }

    /// Whether the field has no value.
    public var isNull: RecordPredicate { compare(.eq, .null) }

    /// Whether the field has a value.
    public var isNotNull: RecordPredicate { compare(.neq, .null) }

    private func compare(_ comparison: ComparisonOperator, _ value: RecordValue) -> RecordPredicate {
        .comparison(comparison, .keyPath(keyPath), .value(value))
    }

    public static func == (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.eq, value) }
    /// As in SQL, a record whose field has no value is not different from anything.
    public static func != (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.neq, value) }
    public static func < (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.lt, value) }
    public static func <= (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.lte, value) }
    public static func > (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.gt, value) }
    public static func >= (field: Field, value: RecordValue) -> RecordPredicate { field.compare(.gte, value) }
}

extension RecordPredicate {
    /// Both hold.
    public static func && (a: RecordPredicate, b: RecordPredicate) -> RecordPredicate {
        switch (a, b) {
        case (.and(let first), .and(let second)): .and(first + second)
        case (.and(let first), _): .and(first + [b])
        case (_, .and(let second)): .and([a] + second)
        case (_, _): .and([a, b])
        }
    }

    /// One of them holds, or both.
    public static func || (a: RecordPredicate, b: RecordPredicate) -> RecordPredicate {
        switch (a, b) {
        case (.or(let first), .or(let second)): .or(first + second)
        case (.or(let first), _): .or(first + [b])
        case (_, .or(let second)): .or([a] + second)
        case (_, _): .or([a, b])
        }
    }

    /// It does not hold.
    public static prefix func ! (a: RecordPredicate) -> RecordPredicate {
        .not(a)
    }
}
