import SkyrowJSON
public import SkyrowModel
import SkyrowWire

extension RecordDatabase {
    /// Computes what the records of a type have in groups.
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
    /// Whether further groups were left out because of the limit.
    public var hasMore = false
}

/// The keys and aggregates of one group by their names.
public struct AggregateGroup: Hashable, Sendable {
    private var values: [String: RecordValue] = [:]
    /// The sums that 64 bits do not hold.
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

    /// The value under a name; nil where the records of the group have none, and for a sum of more than 64 bits.
    public subscript(name: String) -> RecordValue? { values[name] }

    /// The digits of a sum of integers, however many there are; nil for any other value.
    public func digits(of name: String) -> String? {
        if case .integer(let sum)? = values[name] { return "\(sum)" }
        return longSums[name]
    }
}

extension AggregateQuery {
    /// A question about all records of a type; throws `108 InvalidArgument` when the text is no name.
    public init(_ type: String) throws(SkyrowError) {
        self.init(type: try RecordTypeName(type))
    }

    /// Only of records for which this holds too.
    public func filter(_ predicate: RecordPredicate) -> AggregateQuery {
        var query = self
        query.predicate = self.predicate.map { $0 && predicate } ?? predicate
        return query
    }

    /// In groups of records with the same value, under the name of the field or another.
    public func grouped(by path: String, as name: String? = nil) -> AggregateQuery {
        var query = self
        query.groupKeys.append(GroupKey(name ?? path, Field(path).keyPath))
        return query
    }

    /// In groups of records whose instants are in the same stretch of time.
    public func grouped(by path: String, in bucket: TimeBucket, as name: String? = nil) -> AggregateQuery {
        var query = self
        query.groupKeys.append(GroupKey(name ?? path, Field(path).keyPath, in: bucket))
        return query
    }

    /// With what a function makes of the values of each group; without a key path `count` is of its records.
    public func computing(_ name: String, _ function: Aggregate.Function, of path: String? = nil) -> AggregateQuery {
        var query = self
        query.aggregates.append(Aggregate(name, function, path.map { Field($0).keyPath }))
        return query
    }

    /// Only groups for which this holds, whose fields are the names of keys and aggregates.
    public func having(_ condition: RecordPredicate) -> AggregateQuery {
        var query = self
        query.having = having.map { $0 && condition } ?? condition
        return query
    }

    /// Sorted by the name of a key or an aggregate, after those that the question already has.
    public func sorted(
        by name: String,
        _ direction: SortKey.Direction = .ascending,
        _ nulls: SortKey.Nulls? = nil
    ) -> AggregateQuery {
        var query = self
        query.sort.append(SortKey(Field(name).keyPath, direction, nulls))
        return query
    }

    /// At most this many groups (0 to 1000).
    public func limited(to limit: Int) -> AggregateQuery {
        var query = self
        query.limit = limit
        return query
    }
}
