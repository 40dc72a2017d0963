internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

// Queries inside of a predicate. `IN` finds a value by either table's index; `NOT EXISTS` is right where a key is NULL, for
// which `NOT IN` finds nothing (Documentation/Decisions/0036-subqueries.md).

extension QueryText {
    /// The interpreter of what a resolver has resolved.
    init(_ table: RecordTable, _ resolver: Resolver<SchemaCatalog>, _ access: RecordAccess) {
        self.init(root: table, joined: resolver.joinedTypes)
        guard !resolver.subqueries.isEmpty else { return }
        subqueries = Subqueries(
            tables: resolver.subqueries,
            visibility: ResolvedVisibility(access),
            variables: access.variables
        )
    }

    /// The condition that is true of the records for which a predicate is: where it is unknown this may be false.
    ///
    /// A query that finds no such value is then a join of PostgreSQL's, which it is not inside of a `CASE`.
    func matches(_ predicate: ResolvedPredicate) -> SQL {
        switch predicate {
        case .and(let parts) where !parts.isEmpty:
            return parts.map { "(\(matches($0)))" as SQL }.joined(separator: " AND ")
        case .isNotFound(let column, let query):
            return "\(value(column)) IS NOT NULL AND \(isNotFound(column, by: query))"
        default:
            return condition(predicate)
        }
    }

    /// `"r"."author" IN (SELECT "s1"."_id" FROM "app"."person" AS "s1" WHERE <access> AND (<predicate>))`
    func isFound(_ column: ResolvedColumn, by query: ResolvedSubquery) -> SQL {
        guard let inner = inner(query) else { return "false" }
        let key = inner.equated(query.key)
        let found: SQL = "SELECT \(key) \(inner.source(query)) AND \(key) IS NOT NULL"
        if case .array = column.kind { return "\(equated(column)) && ARRAY(\(found))" }
        return "\(equated(column)) IN (\(found))"
    }

    func isNotFound(_ column: ResolvedColumn, by query: ResolvedSubquery) -> SQL {
        guard let inner = inner(query) else { return "true" }
        return "NOT EXISTS (SELECT \(inner.source(query)) AND \(inner.equated(query.key)) = \(equated(column)))"
    }

    private func inner(_ query: ResolvedSubquery) -> QueryText? {
        guard subqueries.tables.indices.contains(query.number) else { return nil }
        let tables = subqueries.tables[query.number]
        return QueryText(root: tables.root, joined: tables.joined, subqueries: subqueries, number: query.number)
    }

    /// `FROM … WHERE …` of a query inside of another.
    private func source(_ query: ResolvedSubquery) -> SQL {
        guard let visibility = subqueries.visibility else { return "WHERE false" }
        var sql: SQL = "FROM \(root.qualifiedName) AS \(alias(nil))"
        for (number, join) in query.joins.enumerated() {
            sql += " \(self.join(number, join, visibility, subqueries.variables))"
        }
        let conditions = visibility.referenced.map { admission($0, join: nil, subqueries.variables) }
        sql += " WHERE (\(conditions.joined(separator: " OR ")))"
        if let predicate = query.predicate { sql += " AND (\(matches(predicate)))" }
        return sql
    }
}
