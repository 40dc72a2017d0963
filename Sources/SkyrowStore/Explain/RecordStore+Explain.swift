package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

extension RecordStore {
    /// How PostgreSQL would answer a query, without its records.
    ///
    /// The plan is one for the values of the query, as the first runs of a statement have. Throws as ``query(_:with:)``.
    package func explain(
        _ query: RecordQuery,
        _ mode: ExplainMode,
        with access: RecordAccess
    ) async throws(SkyrowError) -> QueryExplanation {
        try await reporting {
            try await withCatalog { _ in
                guard let table = try await self.table(of: query.type)?.visible(to: access.fields) else {
                    return QueryExplanation(statements: [], advice: [], costClass: .point)
                }
                let catalog = self.cache.current.visible(to: access.fields)
                let statement = try QueryStatement(
                    query,
                    table: table,
                    catalog: catalog,
                    access: access,
                    cursors: try await self.cursorKeys()
                )
                var resolver = Resolver(schema: catalog, root: table, access: access)
                let resolved = try resolver.resolve(query)
                let options: SQL =
                    switch mode {
                    case .plan: "FORMAT JSON"
                    case .analyze: "ANALYZE, BUFFERS, FORMAT JSON"
                    }
                let printed = try await self.client.read(
                    "EXPLAIN (\(options)) \(statement.sql)",
                    contention: table.contention
                ).decode(row: 0, column: 0, as: String.self)
                guard let plan = PlanNode.read(printed) else { throw SkyrowError.unexpected }
                let advice = QueryAdvice(
                    resolved,
                    on: table,
                    plan: plan.node,
                    sizes: try await self.sizes(in: plan.node)
                )
                return QueryExplanation(
                    statements: [
                        QueryExplanation.Statement(
                            sql: statement.sql.text,
                            values: statement.sql.bindings.summaries,
                            plan: plan.text,
                            rowsEstimated: Int64(plan.node.rows)
                        )
                    ],
                    advice: advice.advice,
                    costClass: advice.costClass
                )
            }
        }
    }

    /// How many rows the tables of a plan have, as PostgreSQL counted them last.
    private func sizes(in plan: PlanNode) async throws -> [String: Double] {
        let names = Set(plan.all.compactMap(\.relation)).sorted().map { PostgresName($0) }
        let result = try await client.read(
            """
            SELECT relname::text, reltuples::double precision FROM pg_catalog.pg_class
            WHERE relname = ANY (\(names)) AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            )
            """
        )
        let found: [String] = try result.decodeColumn(0)
        let rows: [Double] = try result.decodeColumn(1)
        return Dictionary(zip(found, rows)) { first, _ in first }
    }
}
