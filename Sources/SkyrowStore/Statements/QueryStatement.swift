internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The one statement of a query: access, predicate, joined records, order, page and, when asked, the count.
///
/// ```sql
/// SELECT "r"."_id", …, "j1"."_id", … FROM "app"."note" AS "r" LEFT JOIN "app"."category" AS "j1" ON …
/// WHERE <access> AND (<predicate>) ORDER BY "r"."stars" DESC, "r"."_id" LIMIT $3 OFFSET $4
/// ```
///
/// The order always ends with the id, so that pages neither repeat nor skip a record; without a `sort` it is the order
/// of the ids. With a count the page is joined to it, so that a page beyond the last still has the count:
///
/// ```sql
/// SELECT "m"."n", "p".* FROM (SELECT count(*) AS "n" FROM …) AS "m"
/// LEFT JOIN (SELECT row_number() OVER (ORDER BY …) AS "_place", … ) AS "p" ON true ORDER BY "p"."_place"
/// ```
struct QueryStatement {
    let sql: SQL
    let plan: RowPlan
    /// Whether column 0 has the count, and a row may hold nothing else.
    let hasCount: Bool
    /// How many records the page has at most; the statement asks for one more, which shows whether the page is cut.
    private let limit: Int
    private let fields: FieldAccess

    /// Throws `108`, `111`, `120` or `124` for what cannot be asked; the resolver finds all of it.
    init(
        _ query: RecordQuery,
        table: RecordTable,
        catalog: SchemaCatalog,
        access: RecordAccess
    ) throws(SkyrowError) {
        var resolver = Resolver(schema: catalog, root: table, access: access)
        let query = try resolver.resolve(query)
        fields = access.fields
        hasCount = query.countsMatches
        limit = min(query.limit, RecordQuery.maximumUnlimited)
        let text = QueryText(root: table, joined: resolver.joinedTypes)
        let selection = Self.selection(query, text, showsDatabase: access.database == .union)
        plan = selection.plan
        let source = Self.source(query, text, access.variables)
        let order = text.order(query.sort)
        // A page of nothing, which is there for its count, is not cut.
        var page: SQL = " LIMIT \(Int64(limit == 0 ? 0 : limit + 1))"
        if query.offset > 0 { page += " OFFSET \(Int64(query.offset))" }
        sql =
            hasCount
            ? Self.counted(selection.columns, source, order, page)
            : Self.plain(selection.columns, source, order, page)
    }

    /// Piece by piece into one buffer: this is the way of nearly all queries.
    private static func plain(_ columns: SQL, _ source: SQL, _ order: SQL, _ page: SQL) -> SQL {
        var sql = SQL()
        sql.reserveCapacity(1024, placeholders: 8)
        sql.append(raw: "SELECT ")
        sql += columns
        sql.append(raw: " ")
        sql += source
        sql.append(raw: " ORDER BY ")
        sql += order
        sql += page
        return sql
    }

    private static func counted(_ columns: SQL, _ source: SQL, _ order: SQL, _ page: SQL) -> SQL {
        """
        SELECT "m"."n", "p".* FROM (SELECT count(*) AS "n" \(source)) AS "m" \
        LEFT JOIN (SELECT row_number() OVER (ORDER BY \(order)) AS "_place", \(columns) \(source) \
        ORDER BY \(order)\(page)) AS "p" ON true ORDER BY "p"."_place"
        """
    }

    /// `FROM … WHERE …`
    private static func source(_ query: ResolvedQuery, _ text: QueryText, _ variables: AccessVariables?) -> SQL {
        var sql = SQL()
        sql.reserveCapacity(1024, placeholders: 8)
        sql.append(raw: "FROM ")
        sql += text.root.qualifiedName
        sql.append(raw: " AS \"r\"")
        for (number, join) in query.joins.enumerated() {
            sql.append(raw: " ")
            sql += text.join(number, join, query.visibility, variables)
        }
        sql.append(raw: " WHERE ")
        sql += text.admission(query.visibility.records, join: nil, variables)
        if let predicate = query.predicate {
            sql.append(raw: " AND (")
            sql += text.condition(predicate)
            sql.append(raw: ")")
        }
        return sql
    }

    /// The columns of the records and of those that they include, and where a row has them.
    private static func selection(
        _ query: ResolvedQuery,
        _ text: QueryText,
        showsDatabase: Bool
    ) -> (columns: SQL, plan: RowPlan) {
        let firstColumn = query.countsMatches ? 2 : 0
        let own: RecordSelection =
            query.fields == nil && !showsDatabase && !query.countsMatches
            ? text.root.wholeRow
            : RecordSelection(
                of: query.type,
                as: "r",
                fields: query.fields?.map { text.root.columns[$0] } ?? text.root.columns,
                showsDatabase: showsDatabase,
                firstColumn: firstColumn
            )
        guard !query.inclusions.isEmpty else { return (own.columns, own.plan) }
        var columns = own.columns
        var selections: [Int: RecordSelection] = [:]
        var nextColumn = firstColumn + own.width
        var inclusions: [RowPlan.Inclusion] = []
        for inclusion in query.inclusions {
            guard let join = inclusion.join else {
                inclusions.append(.init(name: inclusion.name, plan: nil))
                continue
            }
            let selection =
                selections[join]
                ?? RecordSelection(
                    of: query.joins[join].target,
                    as: text.alias(join),
                    fields: text.joined[join].columns,
                    showsDatabase: showsDatabase,
                    firstColumn: nextColumn
                )
            if selections.updateValue(selection, forKey: join) == nil {
                nextColumn += selection.width
                columns += ", \(selection.columns)"
            }
            inclusions.append(.init(name: inclusion.name, plan: selection.plan))
        }
        return (columns, own.plan.including(inclusions))
    }

    /// The result of the query in the rows of the statement.
    func read(_ result: PostgresResult) throws(PostgresError) -> QueryResult {
        var records: [any RecordSource] = []
        let rowCount = min(result.rowCount, max(limit, hasCount ? 1 : 0))
        records.reserveCapacity(rowCount)
        let rows = StoredRows(result, plan: plan, for: fields)
        // Only beside a count can a row be without a record.
        for row in 0..<rowCount where !hasCount || !result.isNull(row: row, column: plan.idColumn) {
            records.append(rows[row])
        }
        let count: Int? = hasCount ? Int(try result.decode(row: 0, column: 0, as: Int64.self)) : nil
        return QueryResult(records: records, count: count, hasMore: limit > 0 && result.rowCount > limit)
    }
}
