internal import SkyrowModel

extension Resolver {
    /// `["in_query", keypath, {"record_type": "person", "predicate": …, "key": "city"}]`
    ///
    /// The subquery is resolved with the same access: a record that the caller may not read provides no value.
    mutating func found(
        _ operand: Operand,
        _ query: Subquery,
        _ isNegated: Bool
    ) throws(SkyrowError) -> ResolvedPredicate {
        try countComparison()
        let row = isNegated ? OperatorTable.notInQuery : OperatorTable.inQuery
        let (column, path) = try subject(operand, at: 1)
        let comparison = Comparison(column, path, row, literalAt: 2)
        try comparison.requireMeaning()
        let resolved: ResolvedSubquery
        do throws(SkyrowError) { resolved = try subquery(query) } catch { throw error.at(2) }
        try comparison.requireSameKind(as: resolved.key)
        return isNegated ? .isNotFound(column, by: resolved) : .isFound(column, by: resolved)
    }

    private mutating func subquery(_ query: Subquery) throws(SkyrowError) -> ResolvedSubquery {
        guard subqueryDepth < Subquery.maximumDepth else {
            throw Self.invalid("Queries can be nested at most \(Subquery.maximumDepth) deep.", query)
        }
        use.subqueries += 1
        guard use.subqueries <= Subquery.maximumCount else {
            throw Self.invalid("A predicate can have at most \(Subquery.maximumCount) nested queries.", query)
        }
        let known: Schema.RecordType?
        do throws(SkyrowError) { known = try type(query.type) } catch { throw error.at(".record_type") }
        guard let type = known else { throw Self.invalid(SkyrowError.unknownTypeMessage, query).at(".record_type") }
        return try inside(type) { inner, number throws(SkyrowError) in
            inner.subqueryDepth += 1
            inner.ordersByDistance = query.limit != nil && query.sort.isEmpty
            let predicate: ResolvedPredicate?
            do throws(SkyrowError) {
                predicate = try query.predicate.map { part throws(SkyrowError) in try inner.condition(part) }
            } catch {
                throw error.at(".predicate")
            }
            var key = inner.idColumn
            if let path = query.key {
                do throws(SkyrowError) { key = try inner.column(path) } catch { throw error.at(".key") }
            }
            var sort = inner.orderByDistance ?? []
            if sort.isEmpty {
                do throws(SkyrowError) { sort = try inner.sort(query.sort) } catch { throw error.at(".") }
            }
            return ResolvedSubquery(
                number: number,
                type: type.name,
                predicate: predicate,
                joins: inner.joins,
                key: key,
                first: query.limit.map { ResolvedSubquery.First(sort: sort, limit: $0) }
            )
        }
    }

    private static func invalid(_ message: String, _ query: Subquery) -> SkyrowError {
        SkyrowError(
            .recordQueryInvalid,
            message,
            info: ["arguments": .list([.string("predicate"), .string(query.type.rawValue)])]
        )
    }

    /// Resolves conditions on the records of a type other than those of this resolver.
    ///
    /// The limits apply to the whole predicate. `body` gets the resolver and the index of its type in ``subqueries``.
    mutating func inside<Result>(
        _ type: Schema.RecordType,
        _ body: (inout Resolver, Int) throws(SkyrowError) -> Result
    ) throws(SkyrowError) -> Result {
        let number = subqueries.count
        subqueries.append((type, []))
        var inner = Resolver(schema: schema, root: type, access: access)
        inner.subqueryDepth = subqueryDepth
        inner.asking = asking
        inner.scope = .inside(number)
        inner.subqueries = subqueries
        inner.use = use
        inner.joinsElsewhere = joinsElsewhere + joins.count
        let result = try body(&inner, number)
        subqueries = inner.subqueries
        subqueries[number].joined = inner.joinedTypes
        use = inner.use
        joinsElsewhere = inner.joinsElsewhere - joins.count + inner.joins.count
        return result
    }
}

extension Comparison {
    /// Throws `108 InvalidArgument` unless the values of a key are comparable with those of the column, or with its elements.
    func requireSameKind(as key: ResolvedColumn) throws(SkyrowError) {
        let isSame =
            switch (column.kind, key.kind) {
            case (.array(.reference(let a)), .reference(let b)), (.array(.reference(let a)), .id(let b)),
                (.reference(let a), .reference(let b)), (.reference(let a), .id(let b)),
                (.id(let a), .reference(let b)),
                (.id(let a), .id(let b)):
                a == b
            case (.user, .reference(.user)), (.user, .id(.user)), (.reference(.user), .user), (.id(.user), .user),
                (.array(.string), .string), (.array(.integer), .integer), (.array(.number), .number),
                (.array(.boolean), .boolean), (.array(.reference(.user)), .user):
                true
            case (.json, _), (.opaque, _), (.access, _), (.array, _): false
            default: column.kind == key.kind
            }
        guard isSame else {
            throw .predicateInvalid("The query returns values of another type than that of the field.", path).at(
                literalPlace
            )
        }
    }
}
