package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
internal import Synchronization

extension RecordStore {
    /// Explains how PostgreSQL would execute a query, without its records: every statement that would be sent, including those
    /// of lists.
    ///
    /// The plan is a custom plan for the values of the query, like those of a statement's first executions. Which records have
    /// lists is known only after they are read: `analyze` reads them and explains the actual statements, `plan` explains each
    /// for as many records as the page is expected to have. Throws as ``query(_:with:admitting:)``.
    package func explain(
        _ query: RecordQuery,
        _ mode: ExplainMode,
        with access: RecordAccess
    ) async throws(SkyrowError) -> QueryExplanation {
        try await preparing(query, for: access) { prepared in
            guard let prepared else { return .ofNothing }
            let (statement, table) = (prepared.statement, prepared.table)
            var resolver = Resolver(schema: prepared.catalog, root: table, access: access)
            let resolved = try resolver.resolve(query)
            let page = try await self.explain(statement.sql, mode, table.contention)
            var explained = [page.statement]
            if let question = statement.estimate {
                // The statement for an estimate is already an EXPLAIN.
                let printed = try await self.client.read(question, contention: table.contention)
                explained.append(try ExplainedStatement(question, printed).statement)
            }
            if let lists = statement.lists {
                let questions =
                    switch mode {
                    case .plan: lists.questions(owners: min(query.limit, max(1, Int(page.plan.rows))))
                    case .analyze: try await self.questions(of: lists, statement, table, access)
                    }
                for question in questions { explained.append(try await self.explain(question, mode).statement) }
            }
            var advice = QueryAdvice(resolved, on: table, plan: page.plan, sizes: try await self.sizes(in: page.plan))
            for (list, known) in zip(resolved.lists, resolver.lists) {
                advice.add(list, of: resolved, on: known.type)
            }
            return QueryExplanation(statements: explained, advice: advice.advice, costClass: statement.cost.costClass)
        }
    }

    /// Explains how PostgreSQL would execute an aggregate query; throws as ``aggregate(_:with:admitting:)``.
    package func explain(
        _ query: AggregateQuery,
        _ mode: ExplainMode,
        with access: RecordAccess
    ) async throws(SkyrowError) -> QueryExplanation {
        try await preparing(query, for: access) { prepared in
            guard let prepared else { return .ofNothing }
            let (statement, table) = (prepared.statement, prepared.table)
            var resolver = Resolver(schema: prepared.catalog, root: table, access: access)
            let resolved = try resolver.resolve(query)
            let explained = try await self.explain(statement.sql, mode, table.contention)
            let advice = QueryAdvice(
                resolved.records,
                on: table,
                plan: explained.plan,
                sizes: try await self.sizes(in: explained.plan)
            )
            return QueryExplanation(
                statements: [explained.statement],
                advice: advice.advice,
                costClass: statement.cost.costClass
            )
        }
    }

    private func explain(
        _ statement: SQL,
        _ mode: ExplainMode,
        _ contention: PostgresContention? = nil
    ) async throws -> ExplainedStatement {
        let options: SQL =
            switch mode {
            case .plan: "FORMAT JSON"
            case .analyze: "ANALYZE, BUFFERS, FORMAT JSON"
            }
        let printed = try await client.read("EXPLAIN (\(options)) \(statement)", contention: contention)
        return try ExplainedStatement(statement, printed)
    }

    /// Returns the statements of the lists of a page, which is read for that.
    private func questions(
        of lists: IncludedLists,
        _ statement: QueryStatement,
        _ table: RecordTable,
        _ access: RecordAccess
    ) async throws -> [SQL] {
        let result = try await client.read(statement.sql, limit: .reading, contention: table.contention)
        let sent = SentStatements()
        let run = InclusionRun(lists: lists, fields: access.fields) { place, statement in
            sent.note(statement, at: place)
            return try await self.client.read(statement, limit: .reading)
        }
        _ = try await run(for: result, count: statement.recordCount(result))
        return sent.all
    }

    /// Returns the row counts of a plan's tables according to PostgreSQL's statistics.
    private func sizes(in plan: PlanNode) async throws -> [String: Double] {
        let names = Set(plan.all.compactMap(\.relation)).sorted().map { PostgresName($0) }
        let result = try await client.read(
            """
            SELECT relname::text, reltuples::double precision FROM pg_catalog.pg_class
            WHERE relname = ANY (\(names)) AND relnamespace = \(schema.namespace)
            """
        )
        let found: [String] = try result.decodeColumn(0)
        let rows: [Double] = try result.decodeColumn(1)
        return Dictionary(zip(found, rows)) { first, _ in first }
    }
}

/// A statement and its plan.
private struct ExplainedStatement {
    let plan: PlanNode
    let statement: QueryExplanation.Statement

    /// - Parameter printed: the result of `EXPLAIN (FORMAT JSON)`.
    init(_ sql: SQL, _ printed: PostgresResult) throws {
        guard let read = PlanNode.read(try printed.decode(row: 0, column: 0, as: String.self)) else {
            throw SkyrowError.unexpected
        }
        plan = read.node
        statement = QueryExplanation.Statement(
            sql: sql.text,
            values: sql.bindings.summaries,
            plan: read.text,
            rowsEstimated: Int64(read.node.rows)
        )
    }
}

/// The statements of lists that were sent, by the indexes of the lists.
private final class SentStatements: Sendable {
    private let statements = Mutex<[Int: SQL]>([:])

    /// The statements in the order of the lists.
    var all: [SQL] { statements.withLock { $0.sorted { $0.key < $1.key }.map(\.value) } }

    func note(_ statement: SQL, at place: Int) {
        statements.withLock { $0[place] = statement }
    }
}

extension IncludedLists {
    /// Returns the statement of each list, with one record for each owner.
    fileprivate func questions(owners: Int) -> [SQL] {
        owners == 0 ? [] : statements.map { InclusionRun.Question(owners: owners, of: $0).sql }
    }
}

extension QueryExplanation {
    /// The explanation for a type without a table, which needs no statement.
    fileprivate static let ofNothing = QueryExplanation(statements: [], advice: [], costClass: .point)
}
