/// A question about groups of the records of one type (`record:aggregate`).
public struct AggregateQuery: Hashable, Sendable {
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    public static let maximumGroupKeys = 5
    public static let maximumAggregates = 16

    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    /// What the records of a group have in common; all records are one group without any.
    public var groupKeys: [GroupKey]
    public var aggregates: [Aggregate]
    /// What has to hold of a group; its key paths are the names of group keys and aggregates.
    public var having: RecordPredicate?
    /// The order of the groups, by such names; the group keys come last, ascending.
    public var sort: [SortKey]
    /// 0 to 1000 groups.
    public var limit: Int

    public init(
        type: RecordTypeName,
        predicate: RecordPredicate? = nil,
        groupKeys: [GroupKey] = [],
        aggregates: [Aggregate] = [],
        having: RecordPredicate? = nil,
        sort: [SortKey] = [],
        limit: Int = AggregateQuery.defaultLimit
    ) {
        self.type = type
        self.predicate = predicate
        self.groupKeys = groupKeys
        self.aggregates = aggregates
        self.having = having
        self.sort = sort
        self.limit = limit
    }
}

/// A value that the records of a group have in common, under a name of its own.
public struct GroupKey: Hashable, Sendable {
    public var name: String
    public var keyPath: FieldPath
    /// For an instant: how long the stretches of time are into which they fall; nil for the value itself.
    public var bucket: TimeBucket?

    public init(_ name: String, _ keyPath: FieldPath, in bucket: TimeBucket? = nil) {
        self.name = name
        self.keyPath = keyPath
        self.bucket = bucket
    }
}

/// Stretches of time of one kind; each is known by the instant at which it begins.
public struct TimeBucket: Hashable, Sendable {
    /// How long one is; a week begins on Monday.
    public enum Unit: String, Hashable, Sendable, CaseIterable {
        case minute, hour, day, week, month, quarter, year
    }

    public var unit: Unit
    /// The IANA name of the time zone in which it begins.
    public var timeZone: String

    public init(_ unit: Unit, timeZone: String = "UTC") {
        self.unit = unit
        self.timeZone = timeZone
    }
}

/// What is computed of the records of a group, under a name of its own.
public struct Aggregate: Hashable, Sendable {
    /// What is made of the values.
    public enum Function: String, Hashable, Sendable, CaseIterable {
        case count
        case sum
        case average = "avg"
        case minimum = "min"
        case maximum = "max"
        case countDistinct = "count_distinct"
    }

    public var name: String
    public var function: Function
    /// nil for the number of records.
    public var keyPath: FieldPath?

    public init(_ name: String, _ function: Function, _ keyPath: FieldPath? = nil) {
        self.name = name
        self.function = function
        self.keyPath = keyPath
    }
}

/// `record:aggregate`, decoded.
package struct AggregateRequest: Sendable {
    package var database: DatabaseName
    package var query: AggregateQuery
    /// How it is to be explained; nil where it is to be answered.
    package var explanation: ExplainMode?
    /// How long the database may work at it; nil for as long as the service lets it.
    package var timeLimit: Duration?

    package init(
        database: DatabaseName,
        query: AggregateQuery,
        explanation: ExplainMode? = nil,
        timeLimit: Duration? = nil
    ) {
        self.database = database
        self.query = query
        self.explanation = explanation
        self.timeLimit = timeLimit
    }
}

/// The result of `record:aggregate`.
package struct AggregateResult: Sendable {
    /// Of each group the keys and the aggregates that have a value.
    package var groups: [any RecordSource]
    /// Whether groups were left out because of the limit.
    package var hasMore: Bool

    package init(groups: [any RecordSource], hasMore: Bool = false) {
        self.groups = groups
        self.hasMore = hasMore
    }
}
