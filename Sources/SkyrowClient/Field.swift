public import SkyrowModel

/// A key path in a condition, `Field("year")` or `Field("category.name")`.
///
/// ```swift
/// let classics = Field("year") < 1960 && Field("rating") >= 8.0
/// let mine = Field("_owner_id") == .string(userID.rawValue) || Field("tags").contains("shared")
/// ```
public struct Field: Hashable, Sendable {
    public let keyPath: FieldPath
    private(set) var function: FieldFunction?

    /// Creates a field; the service refuses a malformed or unknown path with `120 RecordQueryInvalid`.
    public init(_ path: String) {
        keyPath = FieldPath(unchecked: path)
    }

    /// A value inside a JSON field, such as `Field("meta.width", as: .number)`; a value of another JSON type counts as missing.
    ///
    /// `.datetime` reads an RFC 3339 text with an offset, or a date that was saved inside the JSON:
    /// `Field("meta.at", as: .datetime) >= .datetime(yesterday)`.
    public init(_ path: String, as type: JSONValueType) {
        var path = FieldPath(unchecked: path)
        path.jsonType = type
        keyPath = path
    }

    /// The text in lower case: `Field("title").folded == "star wars"`.
    public var folded: Field { applying(.fold) }

    /// The number of elements of an array: `Field("tags").size > 3`.
    public var size: Field { applying(.size) }

    /// The distance in metres from another location: `Field("at").distance(from: here) < 5000`, which includes exactly 5000.
    public func distance(from location: Location) -> Field { applying(.distance(location)) }

    /// How well a text matches the words of the query's only ``hasWords(_:)``, as a sort key or as an included number.
    ///
    /// ```swift
    /// let query = try RecordQuery("film").filter(Field("title").hasWords("star wars"))
    ///     .sorted(by: Field("title").rank, .descending)
    /// ```
    public var rank: Field { applying(.rank) }

    /// The text in the collation of a language, as a sort key only: `.sorted(by: Field("name").inOrder(of: "sv"))`.
    ///
    /// - Parameter language: the name of an ICU collation in PostgreSQL, `sv` or `de-AT`; the service refuses an unknown one
    ///   with `108 InvalidArgument`.
    public func inOrder(of language: String) -> Field { applying(.collate(language)) }

    private func applying(_ function: FieldFunction) -> Field {
        var field = self
        field.function = function
        return field
    }

    private var operand: Operand { function.map { .function($0, keyPath) } ?? .keyPath(keyPath) }

    /// The condition of an operator: `Field("tags").compared(by: .containsAny, to: ["red", "blue"])`.
    ///
    /// - Parameters:
    ///   - comparison: the operator.
    ///   - value: a value, or the values of a list as an array.
    public func compared(by comparison: ComparisonOperator, to value: RecordValue) -> RecordPredicate {
        if comparison.row.takesList, case .array(let values) = value {
            return .comparison(comparison, operand, .list(values))
        }
        return .comparison(comparison, operand, .value(value))
    }

    /// SQL's `LIKE` with `%` and `_`, case-sensitive.
    public func like(_ pattern: String) -> RecordPredicate {
        compared(by: .like, to: .string(pattern))
    }

    /// SQL's `ILIKE`: `LIKE` without regard to upper and lower case.
    public func ilike(_ pattern: String) -> RecordPredicate {
        compared(by: .ilike, to: .string(pattern))
    }

    /// Whether the text contains words: `Field("title").hasWords("star -trek wars*")`.
    public func hasWords(_ words: String) -> RecordPredicate {
        .match(operand, words)
    }

    /// Whether part of the text matches a regular expression of the subset that the service supports:
    /// `Field("title").matches("^Star (Wars|Trek)")`.
    public func matches(_ expression: String, ignoringCase: Bool = false) -> RecordPredicate {
        .regex(operand, expression, ignoresCase: ignoringCase)
    }

    /// Whether the value is one of these; an empty list matches nothing.
    public func isIn(_ values: [RecordValue]) -> RecordPredicate {
        compared(by: .in, to: .array(values))
    }

    /// Whether the value is none of these; an empty list also matches records without a value.
    public func isNotIn(_ values: [RecordValue]) -> RecordPredicate {
        compared(by: .nin, to: .array(values))
    }

    /// Whether the value is between these two, both included.
    public func isBetween(_ least: RecordValue, _ most: RecordValue) -> RecordPredicate {
        .between(operand, least, most)
    }

    /// Whether a text begins with this one; an index on the field supports it.
    public func hasPrefix(_ text: String) -> RecordPredicate {
        compared(by: .startsWith, to: .string(text))
    }

    /// Whether a text ends with this one.
    public func hasSuffix(_ text: String) -> RecordPredicate {
        compared(by: .endsWith, to: .string(text))
    }

    /// Whether this text is part of a string field, or this string an element of an array.
    public func contains(_ text: String) -> RecordPredicate {
        contains(.string(text))
    }

    /// Whether this value is an element of an array, this string part of a string field, or this location in a geometry.
    public func contains(_ value: RecordValue) -> RecordPredicate {
        compared(by: .contains, to: value)
    }

    /// Whether a geometry contains this location, its edges included.
    ///
    /// ```swift
    /// let parks = try RecordQuery("park").filter(Field("area").contains(here))
    /// ```
    public func contains(_ location: Location) -> RecordPredicate {
        contains(.location(location))
    }

    /// Whether another query returns the value: as the id of a record, or as the value of one of its fields.
    ///
    /// ```swift
    /// try Field("author").isFound(in: "person", where: Field("city") == "Graz")
    /// try Field("_id").isFound(in: "comment", key: "post")
    /// ```
    ///
    /// Throws `108 InvalidArgument` when the type name is invalid.
    public func isFound(
        in type: String,
        where predicate: RecordPredicate? = nil,
        key: String? = nil
    ) throws(SkyrowError) -> RecordPredicate {
        .found(operand, by: try Self.query(type, predicate, key), isNegated: false)
    }

    /// Whether there is a value that another query does not return; throws `108 InvalidArgument` when the type name is invalid.
    public func isNotFound(
        in type: String,
        where predicate: RecordPredicate? = nil,
        key: String? = nil
    ) throws(SkyrowError) -> RecordPredicate {
        .found(operand, by: try Self.query(type, predicate, key), isNegated: true)
    }

    /// Whether another query returns the value, such as one for the first records of an order.
    ///
    /// ```swift
    /// let newest = Subquery(type: film, sort: [SortKey(Field("_created_at").keyPath, .descending)], limit: 10)
    /// let loved = Field("film").isFound(by: newest)
    /// ```
    public func isFound(by query: Subquery) -> RecordPredicate {
        .found(operand, by: query, isNegated: false)
    }

    /// Whether the field has a value that another query does not return.
    public func isNotFound(by query: Subquery) -> RecordPredicate {
        .found(operand, by: query, isNegated: true)
    }

    private static func query(
        _ type: String,
        _ predicate: RecordPredicate?,
        _ key: String?
    ) throws(SkyrowError) -> Subquery {
        Subquery(type: try RecordTypeName(type), predicate: predicate, key: key.map { Field($0).keyPath })
    }

    /// Whether all of these are elements of an array.
    public func containsAll(_ values: [RecordValue]) -> RecordPredicate {
        compared(by: .containsAll, to: .array(values))
    }

    /// Whether at least one of these is an element of an array.
    public func containsAny(_ values: [RecordValue]) -> RecordPredicate {
        compared(by: .containsAny, to: .array(values))
    }

    /// Whether every element of an array is one of these.
    public func isContained(in values: [RecordValue]) -> RecordPredicate {
        compared(by: .containedBy, to: .array(values))
    }

    /// The element itself, in the predicate of ``any(_:)`` or ``all(_:)``.
    public static let element = Field(FieldPath.element)

    /// Whether a predicate holds for at least one element of an array; its key paths begin at the element.
    ///
    /// ```swift
    /// Field("ratings").any(Field.element >= 4)
    /// Field("tags").any(Field("name") == "red" && Field("year") > 1990)
    /// ```
    ///
    /// The elements of an array of references are the records that the caller may read.
    public func any(_ predicate: RecordPredicate) -> RecordPredicate {
        .elements(keyPath, .any, predicate)
    }

    /// Whether a predicate holds for every element of an array; it also holds when there are no elements.
    public func all(_ predicate: RecordPredicate) -> RecordPredicate {
        .elements(keyPath, .all, predicate)
    }

    /// Whether a location is at most this many metres away, or at any distance when nil.
    ///
    /// A query without a sort returns the nearest records first. A query can have one such condition, combined by `&&` only.
    public func isNear(_ location: Location, within radius: Double? = nil) -> RecordPredicate {
        .place(keyPath, .near(location, radius: radius))
    }

    /// Whether a location, or a whole geometry, is in a box, edges included. The box extends eastwards from the first corner to
    /// the second; it crosses the meridian of 180 degrees when the second has the smaller longitude.
    public func isInBox(southWest: Location, northEast: Location) -> RecordPredicate {
        .place(keyPath, .inBox(southWest: southWest, northEast: northEast))
    }

    /// Whether a location, or a whole geometry, is in a polygon of 3 to 1000 vertices, edges included.
    public func isInPolygon(_ vertices: [Location]) -> RecordPredicate {
        .place(keyPath, .inPolygon([vertices]))
    }

    /// Whether the field has no value.
    public var isNull: RecordPredicate { compared(by: .eq, to: .null) }

    /// Whether the field has a value.
    public var isNotNull: RecordPredicate { compared(by: .neq, to: .null) }

    public static func == (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .eq, to: value) }
    /// As in SQL, a record without a value in the field does not match.
    public static func != (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .neq, to: value) }
    public static func < (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .lt, to: value) }
    public static func <= (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .lte, to: value) }
    public static func > (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .gt, to: value) }
    public static func >= (field: Field, value: RecordValue) -> RecordPredicate { field.compared(by: .gte, to: value) }
}

extension RecordPredicate {
    /// Both predicates hold.
    public static func && (a: RecordPredicate, b: RecordPredicate) -> RecordPredicate {
        switch (a, b) {
        case (.and(let first), .and(let second)): .and(first + second)
        case (.and(let first), _): .and(first + [b])
        case (_, .and(let second)): .and([a] + second)
        case (_, _): .and([a, b])
        }
    }

    /// At least one of the predicates holds.
    public static func || (a: RecordPredicate, b: RecordPredicate) -> RecordPredicate {
        switch (a, b) {
        case (.or(let first), .or(let second)): .or(first + second)
        case (.or(let first), _): .or(first + [b])
        case (_, .or(let second)): .or([a] + second)
        case (_, _): .or([a, b])
        }
    }

    /// None of the predicates holds; unlike `!`, this also matches where a field has no value.
    public static func none(of predicates: RecordPredicate...) -> RecordPredicate {
        .none(predicates)
    }

    /// The predicate does not hold.
    public static prefix func ! (a: RecordPredicate) -> RecordPredicate {
        .not(a)
    }
}
