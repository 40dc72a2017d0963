public import SkyrowModel

/// A key path in a condition, `Field("year")` or `Field("category.name")`.
///
/// ```swift
/// let classics = Field("year") < 1960 && Field("rating") >= 8.0
/// let mine = Field("_owner_id") == .string(userID) || Field("tags").contains("shared")
/// ```
public struct Field: Hashable, Sendable {
    public let keyPath: SkyrowModel.KeyPath

    /// The service refuses a malformed or unknown path with `120 RecordQueryInvalid`.
    public init(_ path: String) {
        keyPath = SkyrowModel.KeyPath(unchecked: path)
    }

    /// SQL's `LIKE` with `%` and `_`, upper and lower case told apart.
    public func like(_ pattern: String) -> Predicate {
        compare(.like, .string(pattern))
    }

    /// SQL's `ILIKE`: `LIKE` without regard to upper and lower case.
    public func ilike(_ pattern: String) -> Predicate {
        compare(.ilike, .string(pattern))
    }

    /// Whether the value is one of these; an empty list matches nothing.
    public func isIn(_ values: [RecordValue]) -> Predicate {
        .comparison(.in, .keyPath(keyPath), .list(values))
    }

    /// Whether an array in a json field has this string.
    public func contains(_ text: String) -> Predicate {
        .comparison(.in, .value(.string(text)), .keyPath(keyPath))
    }

    /// Whether the field has no value.
    public var isNull: Predicate { compare(.eq, .null) }

    /// Whether the field has a value.
    public var isNotNull: Predicate { compare(.neq, .null) }

    private func compare(_ comparison: ComparisonOperator, _ value: RecordValue) -> Predicate {
        .comparison(comparison, .keyPath(keyPath), .value(value))
    }

    public static func == (field: Field, value: RecordValue) -> Predicate { field.compare(.eq, value) }
    /// As in SQL, a record whose field has no value is not different from anything.
    public static func != (field: Field, value: RecordValue) -> Predicate { field.compare(.neq, value) }
    public static func < (field: Field, value: RecordValue) -> Predicate { field.compare(.lt, value) }
    public static func <= (field: Field, value: RecordValue) -> Predicate { field.compare(.lte, value) }
    public static func > (field: Field, value: RecordValue) -> Predicate { field.compare(.gt, value) }
    public static func >= (field: Field, value: RecordValue) -> Predicate { field.compare(.gte, value) }
}

extension Predicate {
    /// Both hold.
    public static func && (a: Predicate, b: Predicate) -> Predicate {
        switch (a, b) {
        case (.and(let first), .and(let second)): .and(first + second)
        case (.and(let first), _): .and(first + [b])
        case (_, .and(let second)): .and([a] + second)
        case (_, _): .and([a, b])
        }
    }

    /// One of them holds, or both.
    public static func || (a: Predicate, b: Predicate) -> Predicate {
        switch (a, b) {
        case (.or(let first), .or(let second)): .or(first + second)
        case (.or(let first), _): .or(first + [b])
        case (_, .or(let second)): .or([a] + second)
        case (_, _): .or([a, b])
        }
    }

    /// It does not hold.
    public static prefix func ! (a: Predicate) -> Predicate {
        .not(a)
    }
}
