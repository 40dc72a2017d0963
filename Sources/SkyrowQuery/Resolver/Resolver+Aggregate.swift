package import SkyrowModel

extension Resolver {
    /// Resolves an aggregate query.
    ///
    /// Throws as for a query, and `108 InvalidArgument` for an invalid name, function or bucket.
    package mutating func resolve(_ query: AggregateQuery) throws(SkyrowError) -> ResolvedAggregate {
        let predicate = try query.predicate.map { part throws(SkyrowError) in try self.predicate(part) }
        guard query.groupKeys.count <= AggregateQuery.maximumGroupKeys else {
            throw .tooMany("group_by", "group keys", AggregateQuery.maximumGroupKeys)
        }
        guard query.aggregates.count <= AggregateQuery.maximumAggregates else {
            throw .tooMany("aggregates", "aggregates", AggregateQuery.maximumAggregates)
        }
        guard !query.groupKeys.isEmpty || !query.aggregates.isEmpty else {
            throw .invalidArgument("Send \"group_by\" or \"aggregates\".", "aggregates").at("aggregates")
        }
        var members: [ResolvedAggregate.Member] = []
        for key in query.groupKeys {
            do throws(SkyrowError) { members.append(try member(key, besides: members)) } catch {
                throw error.at("group_by.\(String(key.name.prefix(64)))")
            }
        }
        for aggregate in query.aggregates {
            do throws(SkyrowError) { members.append(try member(aggregate, besides: members)) } catch {
                throw error.at("aggregates.\(String(aggregate.name.prefix(64)))")
            }
        }
        var groups = Resolver<GroupSchema>(
            schema: GroupSchema(),
            root: GroupType(of: root.name, members),
            access: access
        )
        var having: ResolvedPredicate?
        if let condition = query.having {
            do throws(SkyrowError) { having = try groups.condition(condition) } catch { throw error.at("having") }
        }
        return ResolvedAggregate(
            records: ResolvedQuery(
                type: root.name,
                predicate: predicate,
                sort: [],
                inclusions: [],
                joins: joins,
                comparedJoins: joins.count,
                visibility: visibility,
                limit: 0,
                offset: 0,
                countsMatches: false
            ),
            members: members,
            having: having,
            sort: try groups.order(by: query.sort, then: members),
            limit: query.limit
        )
    }

    private mutating func member(
        _ key: GroupKey,
        besides others: [ResolvedAggregate.Member]
    ) throws(SkyrowError) -> ResolvedAggregate.Member {
        let name = try memberName(key.name, others)
        let column: ResolvedColumn
        do throws(SkyrowError) { column = try self.column(key.keyPath) } catch {
            throw key.bucket == nil ? error : error.at(".of")
        }
        guard key.bucket == nil || column.kind == .datetime else {
            throw .groupingInvalid("Only instants can be grouped into buckets.", key.keyPath).at(".of")
        }
        guard column.kind.isGroupable else {
            throw .groupingInvalid("Records cannot be grouped by a field of this type.", key.keyPath)
        }
        return .init(name: name, source: .key(column, key.bucket), kind: column.kind, isUnbounded: false)
    }

    private mutating func member(
        _ aggregate: Aggregate,
        besides others: [ResolvedAggregate.Member]
    ) throws(SkyrowError) -> ResolvedAggregate.Member {
        let name = try memberName(aggregate.name, others)
        guard let path = aggregate.keyPath else {
            guard aggregate.function == .count else {
                throw .invalidArgument("\"\(aggregate.function.rawValue)\" takes a key path.", "aggregates").at(1)
            }
            return .init(name: name, source: .function(.count, nil), kind: .integer, isUnbounded: false)
        }
        let column: ResolvedColumn
        do throws(SkyrowError) { column = try self.column(path) } catch { throw error.at(1) }
        guard column.kind.takes(aggregate.function) else {
            throw .groupingInvalid(
                "\"\(aggregate.function.rawValue)\" cannot be computed for a field of this type.",
                path
            ).at(0)
        }
        let kind: ValueKind =
            switch aggregate.function {
            case .count, .countDistinct: .integer
            case .average: .number
            case .sum, .minimum, .maximum: column.kind
            }
        return .init(
            name: name,
            source: .function(aggregate.function, column),
            kind: kind,
            isUnbounded: aggregate.function == .sum && column.kind == .integer
        )
    }

    private func memberName(_ text: String, _ others: [ResolvedAggregate.Member]) throws(SkyrowError) -> FieldName {
        guard let name = try? FieldName(text) else {
            throw .invalidArgument(
                "A name in the result must begin with a letter and have at most 63 letters, digits and underscores."
            )
        }
        guard !others.contains(where: { $0.name == name }) else {
            throw .invalidArgument("The names in the result must be unique.")
        }
        return name
    }

    /// Returns the order of groups, which ends with their keys.
    fileprivate mutating func order(
        by keys: [SortKey],
        then members: [ResolvedAggregate.Member]
    ) throws(SkyrowError) -> [ResolvedSort] {
        // The last sort key is the id, which groups do not have.
        var sort = Array(try self.sort(keys).dropLast())
        for member in members where member.isKey {
            let column = try self.column(KeyPath(unchecked: member.name.rawValue))
            if !sort.contains(where: { $0.column == column }) { sort.append(ResolvedSort(column)) }
        }
        return sort
    }
}

extension ValueKind {
    /// Whether records can be grouped by it.
    fileprivate var isGroupable: Bool { isSortable && self != .bytes }

    fileprivate func takes(_ function: Aggregate.Function) -> Bool {
        switch function {
        case .count: true
        case .sum, .average: self == .integer || self == .number || self == .decimal
        case .countDistinct: isSortable
        case .minimum, .maximum: !valueClass.isDisjoint(with: .scalars.subtracting(.id))
        }
    }
}

extension SkyrowError {
    fileprivate static func groupingInvalid(_ message: String, _ path: KeyPath) -> SkyrowError {
        SkyrowError(.invalidArgument, message, info: ["arguments": .list([.string(path.description)])])
    }

    fileprivate static func tooMany(_ parameter: String, _ things: String, _ limit: Int) -> SkyrowError {
        .invalidArgument("At most \(limit) \(things) are allowed.", parameter).at(parameter)
    }
}
