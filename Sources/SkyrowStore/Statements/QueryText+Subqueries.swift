internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Subqueries of a predicate. `IN` finds a value by either table's index; `NOT EXISTS` is correct if a key is NULL, for which `NOT
// IN` finds nothing (Documentation/Decisions/queries.md).

extension QueryText {
    /// Creates the interpreter of a resolved query.
    init(_ table: RecordTable, _ resolver: Resolver<SchemaCatalog>) {
        self.init(root: table, joined: resolver.joinedTypes)
        guard !resolver.subqueries.isEmpty else { return }
        subqueries = Subqueries(tables: resolver.subqueries, visibility: resolver.visibility)
    }

    /// Returns a condition that is true exactly for the records for which a predicate is true; otherwise it is false or NULL.
    ///
    /// PostgreSQL then runs a subquery for missing values as a join, which it does not inside of a `CASE`.
    func matches(_ predicate: ResolvedPredicate) -> SQL {
        var sql = SQL()
        append(matching: predicate, to: &sql)
        return sql
    }

    private func append(matching predicate: ResolvedPredicate, to sql: inout SQL) {
        func append(_ parts: [ResolvedPredicate], joinedBy separator: StaticString) {
            for (index, part) in parts.enumerated() {
                if index > 0 { sql.append(raw: separator) }
                sql.append(raw: "(")
                self.append(matching: part, to: &sql)
                sql.append(raw: ")")
            }
        }
        switch predicate {
        case .and(let parts) where !parts.isEmpty: append(parts, joinedBy: " AND ")
        case .or(let parts) where !parts.isEmpty: append(parts, joinedBy: " OR ")
        case .any(let elements): sql += sharedElement(elements) ?? any(elements)
        case .isNotFound(let column, let query):
            sql += "\(value(column)) IS NOT NULL AND \(isNotFound(column, by: query))"
        default: self.append(predicate, to: &sql)
        }
    }

    /// `"r"."author" IN (SELECT "s1"."_id" FROM "app"."person" AS "s1" WHERE <access> AND (<predicate>))`
    func isFound(_ column: ResolvedColumn, by query: ResolvedSubquery) -> SQL {
        guard let inner = inner(query.number) else { return "false" }
        let key = inner.equated(query.key)
        let found: SQL =
            if let first = inner.first(query) {
                "SELECT \"q\".\"k\" FROM (\(first)) AS \"q\" WHERE \"q\".\"k\" IS NOT NULL"
            } else {
                "SELECT \(key) \(inner.source(query.joins))\(inner.asked(query)) AND \(key) IS NOT NULL"
            }
        if case .array = column.kind { return "\(equated(column)) && ARRAY(\(found))" }
        return "\(equated(column)) IN (\(found))"
    }

    func isNotFound(_ column: ResolvedColumn, by query: ResolvedSubquery) -> SQL {
        guard let inner = inner(query.number) else { return "true" }
        if let first = inner.first(query) {
            return "NOT EXISTS (SELECT FROM (\(first)) AS \"q\" WHERE \"q\".\"k\" = \(equated(column)))"
        }
        return """
            NOT EXISTS (SELECT \(inner.source(query.joins))\(inner.asked(query)) \
            AND \(inner.equated(query.key)) = \(equated(column)))
            """
    }

    /// The keys of the first records that a query finds, as `k`; nil if the query has no limit.
    private func first(_ query: ResolvedSubquery) -> SQL? {
        query.first.map { first in
            """
            SELECT \(equated(query.key)) AS "k" \(source(query.joins))\(asked(query)) \
            ORDER BY \(order(first.sort)) LIMIT \(Int64(first.limit))
            """
        }
    }

    private func asked(_ query: ResolvedSubquery) -> SQL {
        query.predicate.map { " AND (\(matches($0)))" } ?? ""
    }

    /// The interpreter of the records of a subquery, by its number.
    func inner(_ number: Int) -> QueryText? {
        guard subqueries.tables.indices.contains(number) else { return nil }
        let tables = subqueries.tables[number]
        var subqueries = subqueries
        if self.number == nil { subqueries.outermost = (root, joined) }
        return QueryText(root: tables.root, joined: tables.joined, subqueries: subqueries, number: number)
    }

    /// The interpreter of the records to which a column belongs: those of this one, unless the column has another scope.
    func around(_ column: ResolvedColumn) -> QueryText {
        switch column.scope {
        case nil: return self
        case .inside(let number)?: return inner(number) ?? self
        case .query?:
            guard number != nil, let (root, joined) = subqueries.outermost else { return self }
            return QueryText(root: root, joined: joined, subqueries: subqueries)
        }
    }

    /// `FROM … WHERE …` of the records of a subquery, as far as the caller may read them.
    ///
    /// - Parameter others: further joins.
    func source(_ joins: [ResolvedJoin], joining others: SQL = "") -> SQL {
        guard let visibility = subqueries.visibility else { return "WHERE false" }
        var sql: SQL = "FROM \(root.qualifiedName) AS \(alias(nil))"
        for (number, join) in joins.enumerated() { sql += " \(self.join(number, join, visibility))" }
        sql += others
        let conditions = visibility.referenced(root.name).map { admission($0, join: nil) }
        return sql + " WHERE (\(conditions.joined(separator: " OR ")))"
    }
}
