import SkyrowJSON
public import SkyrowModel
import SkyrowProtocol

extension RecordDatabase {
    /// Groups the records of a type and computes aggregates of each group.
    ///
    /// ```swift
    /// let years = try await films.aggregate(
    ///     AggregateQuery("film").grouped(by: "year").computing("n", .count).having(Field("n") > 10)
    /// )
    /// for year in years.groups { print(year["year"], year["n"]) }
    /// ```
    public func aggregate(_ query: AggregateQuery) async throws(ClientError) -> AggregateGroups {
        let database = name
        return try await client.call(.recordAggregate) {
            $0.aggregateParameters(query, database: database)
        } read: { json throws(SkyrowError) in
            try AggregateGroups(json)
        }
    }
}

extension AggregateGroups {
    /// Reads the result of `record:aggregate`.
    init(_ json: JSONView) throws(SkyrowError) {
        var groups: [AggregateGroup] = []
        for group in json["groups"].map({ Array($0.elements) }) ?? [] { groups.append(try AggregateGroup(group)) }
        self.init(groups: groups, hasMore: json["info"]?["has_more"]?.boolean ?? false)
    }
}

/// The result of an `AggregateQuery`.
public struct AggregateGroups: Hashable, Sendable {
    public var groups: [AggregateGroup]
    /// Whether the limit left out further groups.
    public var hasMore = false
}

/// The keys and aggregates of one group, by name.
public struct AggregateGroup: Hashable, Sendable {
    private var values: [String: RecordValue] = [:]
    /// The sums that exceed 64 bits.
    private var longSums: [String: String] = [:]

    init(_ json: JSONView) throws(SkyrowError) {
        for (name, value) in json.uniqueMembers {
            if value.kind == .integer, value.number == .outOfRange {
                longSums[name] = String(decoding: value.source, as: UTF8.self)
            } else {
                values[name] = try RecordValue(value, field: name)
            }
        }
    }

    /// The value under a name; nil when the records of the group have no value, and for a sum that exceeds 64 bits.
    public subscript(name: String) -> RecordValue? { values[name] }

    /// The digits of a sum of integers of any size; nil for any other value.
    public func digits(of name: String) -> String? {
        if case .integer(let sum)? = values[name] { return "\(sum)" }
        return longSums[name]
    }
}

extension AggregateQuery {
    /// Creates a query over all records of a type; throws `108 InvalidArgument` when the text is not a type name.
    public init(_ type: String) throws(SkyrowError) {
        self.init(type: try RecordTypeName(type))
    }

    /// Restricts the query to records that also match this predicate.
    public func filter(_ predicate: RecordPredicate) -> AggregateQuery {
        var query = self
        query.predicate = self.predicate.map { $0 && predicate } ?? predicate
        return query
    }

    /// Groups records by a value, under the name of the field or another one.
    public func grouped(by path: String, as name: String? = nil) -> AggregateQuery {
        var query = self
        query.groupKeys.append(GroupKey(name ?? path, Field(path).keyPath))
        return query
    }

    /// Groups records whose dates are in the same time bucket.
    public func grouped(by path: String, in bucket: TimeBucket, as name: String? = nil) -> AggregateQuery {
        var query = self
        query.groupKeys.append(GroupKey(name ?? path, Field(path).keyPath, in: bucket))
        return query
    }

    /// Computes an aggregate of the values of each group; `count` without a key path counts the records.
    public func computing(_ name: String, _ function: Aggregate.Function, of path: String? = nil) -> AggregateQuery {
        var query = self
        query.aggregates.append(Aggregate(name, function, path.map { Field($0).keyPath }))
        return query
    }

    /// Restricts the result to groups that match this condition, whose fields are the names of keys and aggregates.
    public func having(_ condition: RecordPredicate) -> AggregateQuery {
        var query = self
        query.having = having.map { $0 && condition } ?? condition
        return query
    }

    /// Sorts by the name of a key or an aggregate, after the sort keys that the query already has.
    public func sorted(
        by name: String,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) -> AggregateQuery {
        var query = self
        query.sort.append(SortKey(Field(name).keyPath, direction, nulls))
        return query
    }

    /// Limits the number of groups (0 to 1000).
    public func limited(to limit: Int) -> AggregateQuery {
        var query = self
        query.limit = limit
        return query
    }
}
