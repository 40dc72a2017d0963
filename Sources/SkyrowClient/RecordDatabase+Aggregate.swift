public import SkyrowModel
public import SkyrowProtocol

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
        let request = AggregateRequest(database: name, query: query)
        guard case .found(let result) = try await client.call(Actions.recordAggregate, request) else {
            throw .otherResult
        }
        return AggregateGroups(groups: result.groups.compactMap { $0 as? AggregateGroup }, hasMore: result.hasMore)
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
