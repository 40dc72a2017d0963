internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Queries inside of a predicate. `IN` finds a value by either table's index; `NOT EXISTS` is right where a key is NULL, for
// which `NOT IN` finds nothing (Documentation/Decisions/queries.md).

extension QueryText {
    /// The interpreter of what a resolver has resolved.
    init(_ table: RecordTable, _ resolver: Resolver<SchemaCatalog>) {
        self.init(root: table, joined: resolver.joinedTypes)
        guard !resolver.subqueries.isEmpty else { return }
        subqueries = Subqueries(tables: resolver.subqueries, visibility: resolver.visibility)
    }

    /// The condition that is true of the records for which a predicate is: where that is unknown or false, this is one of both.
    ///
    /// A query that finds no such value is then a join of PostgreSQL's, which it is not inside of a `CASE`.
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

    /// The keys of the first records that a query finds, as `k`; nil where all of them count.
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

    /// The interpreter of what is asked of the records at a place among those inside of the predicate.
    func inner(_ number: Int) -> QueryText? {
        guard subqueries.tables.indices.contains(number) else { return nil }
        let tables = subqueries.tables[number]
        var subqueries = subqueries
        if self.number == nil { subqueries.outermost = (root, joined) }
        return QueryText(root: tables.root, joined: tables.joined, subqueries: subqueries, number: number)
    }

    /// The interpreter of the records whose column it is, which are those of this one unless the column says others.
    func around(_ column: ResolvedColumn) -> QueryText {
        switch column.scope {
        case nil: return self
        case .inside(let number)?: return inner(number) ?? self
        case .query?:
            guard number != nil, let (root, joined) = subqueries.outermost else { return self }
            return QueryText(root: root, joined: joined, subqueries: subqueries)
        }
    }

    /// `FROM … WHERE …` of the records of a query inside of another, as far as the caller may read them.
    ///
    /// - Parameter others: what is joined to them besides.
    func source(_ joins: [ResolvedJoin], joining others: SQL = "") -> SQL {
        guard let visibility = subqueries.visibility else { return "WHERE false" }
        var sql: SQL = "FROM \(root.qualifiedName) AS \(alias(nil))"
        for (number, join) in joins.enumerated() {
            sql += " \(self.join(number, join, visibility))"
        }
        sql += others
        let conditions = visibility.referenced(root.name).map { admission($0, join: nil) }
        return sql + " WHERE (\(conditions.joined(separator: " OR ")))"
    }
}
