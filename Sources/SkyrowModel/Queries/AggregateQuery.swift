/// A query for groups of the records of one type (`record:aggregate`).
public struct AggregateQuery: Hashable, Sendable {
    public static let defaultLimit = 100
    public static let maximumLimit = 1000
    public static let maximumGroupKeys = 5
    public static let maximumAggregates = 16

    public var type: RecordTypeName
    public var predicate: RecordPredicate?
    /// The values that the records of a group have in common; without group keys all records are one group.
    public var groupKeys: [GroupKey]
    public var aggregates: [Aggregate]
    /// The condition on a group; its key paths are the names of group keys and aggregates.
    public var having: RecordPredicate?
    /// The order of the groups, by the names of group keys and aggregates; the group keys follow last, ascending.
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

/// A named value that the records of a group have in common.
public struct GroupKey: Hashable, Sendable {
    public var name: String
    public var keyPath: FieldPath
    /// The time buckets of a date; nil for the value itself.
    public var bucket: TimeBucket?

    public init(_ name: String, _ keyPath: FieldPath, in bucket: TimeBucket? = nil) {
        self.name = name
        self.keyPath = keyPath
        self.bucket = bucket
    }
}

/// Time buckets of one length; each is identified by the time at which it begins.
public struct TimeBucket: Hashable, Sendable {
    /// The length of a bucket; a week begins on Monday.
    public enum Unit: String, Hashable, Sendable, CaseIterable {
        case minute, hour, day, week, month, quarter, year
    }

    public var unit: Unit
    /// The IANA name of the time zone in which buckets begin.
    public var timeZone: String

    public init(_ unit: Unit, timeZone: String = "UTC") {
        self.unit = unit
        self.timeZone = timeZone
    }
}

/// A named value that is computed from the records of a group.
public struct Aggregate: Hashable, Sendable {
    /// The function that is applied to the values.
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

/// The result of `record:aggregate`.
package struct AggregateResult: Sendable {
    /// The keys of each group, and its aggregates that have a value.
    package var groups: [any RecordSource]
    package var hasMore: Bool

    package init(groups: [any RecordSource], hasMore: Bool = false) {
        self.groups = groups
        self.hasMore = hasMore
    }
}
