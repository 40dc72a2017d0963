internal import SkyrowModel
internal import SkyrowPostgres

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
    private let caller: Caller

    /// Throws `108`, `111` or `120` for what cannot be asked.
    init(
        _ query: RecordQuery,
        table: RecordTable,
        catalog: SchemaCatalog,
        scope: DatabaseScope,
        caller: Caller,
        variables: AccessVariables?
    ) throws(SkyrowError) {
        self.caller = caller
        let access = AccessScope(caller: caller, level: .read, database: scope)
        var compiler = PredicateCompiler(
            names: QueryNames(catalog: catalog, root: table, scope: scope, caller: caller, variables: variables)
        )
        hasCount = query.countsMatches
        limit = min(query.limit, RecordQuery.maximumUnlimited)
        let fields = try Self.fields(query.desiredFields, of: table)
        let own: RecordSelection =
            query.desiredFields == nil && scope != .union && !hasCount
            ? table.wholeRow
            : RecordSelection(
                of: table.name,
                as: "r",
                fields: fields,
                showsDatabase: scope == .union,
                firstColumn: hasCount ? 2 : 0
            )
        var columns = own.columns

        // The order in which joins are made is the order of these: predicate, sort, include.
        let condition: SQL? = if let predicate = query.predicate { try compiler.condition(predicate) } else { nil }
        let order = try Self.order(query.sort, names: &compiler.names)
        let inclusions = try Self.inclusions(
            query.include,
            names: &compiler.names,
            showsDatabase: scope == .union,
            firstColumn: (hasCount ? 2 : 0) + own.width,
            columns: &columns
        )
        plan = inclusions.isEmpty ? own.plan : own.plan.including(inclusions)

        let admission = Self.admission(access, table: table, variables: variables)
        let joins = compiler.names.joins
        func appendSource(to sql: inout SQL) {
            sql.append(raw: "FROM ")
            sql += table.qualifiedName
            sql.append(raw: " AS \"r\"")
            for join in joins {
                sql.append(raw: " ")
                sql += join.sql
            }
            sql.append(raw: " WHERE ")
            sql += admission
            if let condition {
                sql.append(raw: " AND (")
                sql += condition
                sql.append(raw: ")")
            }
        }

        // A page of nothing, which is there for its count, is not cut.
        var page: SQL = " LIMIT \(Int64(limit == 0 ? 0 : limit + 1))"
        if query.offset > 0 { page += " OFFSET \(Int64(query.offset))" }
        if hasCount {
            var source = SQL()
            appendSource(to: &source)
            sql = """
                SELECT "m"."n", "p".* FROM (SELECT count(*) AS "n" \(source)) AS "m" \
                LEFT JOIN (SELECT row_number() OVER (ORDER BY \(order)) AS "_place", \(columns) \(source) \
                ORDER BY \(order)\(page)) AS "p" ON true ORDER BY "p"."_place"
                """
        } else {
            // Piece by piece into one buffer: this is the way of nearly all queries.
            var sql = SQL()
            sql.reserveCapacity(1024, placeholders: 8)
            sql.append(raw: "SELECT ")
            sql += columns
            sql.append(raw: " ")
            appendSource(to: &sql)
            sql.append(raw: " ORDER BY ")
            sql += order
            sql += page
            self.sql = sql
        }
    }

    /// The result of the query in the rows of the statement.
    func read(_ result: PostgresResult) throws(PostgresError) -> QueryResult {
        var records: [any RecordSource] = []
        let rowCount = min(result.rowCount, max(limit, hasCount ? 1 : 0))
        records.reserveCapacity(rowCount)
        let rows = StoredRows(result, plan: plan, for: caller)
        // Only beside a count can a row be without a record.
        for row in 0..<rowCount where !hasCount || !result.isNull(row: row, column: plan.idColumn) {
            records.append(rows[row])
        }
        let count: Int? = hasCount ? Int(try result.decode(row: 0, column: 0, as: Int64.self)) : nil
        return QueryResult(records: records, count: count, hasMore: limit > 0 && result.rowCount > limit)
    }

    /// The access condition, whose text the table remembers: it is the longest part of a statement and seldom new.
    private static func admission(_ access: AccessScope, table: RecordTable, variables: AccessVariables?) -> SQL {
        let shape = table.shapes.sql(.readCondition(access.shape), on: table)
        var values = PostgresBindings()
        access.bind(into: &values, variables: variables)
        return shape.binding(values)
    }

    /// The fields to send; reserved names are passed over, since they are always sent.
    private static func fields(_ desired: [String]?, of table: RecordTable) throws(SkyrowError) -> [RecordColumn] {
        guard let desired else { return table.columns }
        var names = Set<FieldName>()
        for name in desired where !name.hasPrefix("_") {
            guard let field = try? FieldName(name), table[field] != nil else {
                if let field = try? FieldName(name), table.hidden.contains(field) { throw .recordQueryDenied(name) }
                throw SkyrowError(
                    .recordQueryInvalid,
                    "There is no such field in this record type.",
                    info: ["arguments": .list([.string("desired_keys"), .string(name)])]
                )
            }
            names.insert(field)
        }
        return table.columns.filter { names.contains($0.field) }
    }

    private static func order(_ sort: [SortKey], names: inout QueryNames) throws(SkyrowError) -> SQL {
        var order = SQL()
        for key in sort {
            let column = try names.column(key.keyPath)
            switch column.kind {
            case .string, .integer, .number, .boolean, .datetime, .bytes, .reference, .id, .user, .database: break
            case .json, .access, .unknown:
                throw .recordQueryInvalid("Records cannot be sorted by a field of this type.", key.keyPath)
            }
            order += column.sql
            switch key.direction {
            case .ascending: order.append(raw: ", ")
            case .descending: order.append(raw: " DESC, ")
            }
            // Nothing after a unique key changes the order.
            if case .id = column.kind, key.keyPath.components.count == 1 { break }
        }
        order.append(raw: "\"r\".\"_id\"")
        return order
    }

    /// Adds the columns of the included records and returns their places.
    private static func inclusions(
        _ inclusions: [Inclusion],
        names: inout QueryNames,
        showsDatabase: Bool,
        firstColumn: Int,
        columns: inout SQL
    ) throws(SkyrowError) -> [RowPlan.Inclusion] {
        var selections: [SQLIdentifier: RecordSelection] = [:]
        var nextColumn = firstColumn
        var result: [RowPlan.Inclusion] = []
        for inclusion in inclusions {
            // As in Skygear, includes go one level deep: a longer path names nothing.
            var isJoined = inclusion.keyPath.components.count == 1
            if isJoined, inclusion.isNullWithoutReference { isJoined = try names.isReference(inclusion.keyPath) }
            guard isJoined else {
                result.append(.init(name: inclusion.name, plan: nil))
                continue
            }
            let join = try names.join(inclusion.keyPath.components[0], for: inclusion.keyPath)
            let selection: RecordSelection
            if let known = selections[join.alias] {
                selection = known
            } else {
                selection = RecordSelection(
                    of: join.table.name,
                    as: join.alias,
                    fields: join.table.columns,
                    showsDatabase: showsDatabase,
                    firstColumn: nextColumn
                )
                selections[join.alias] = selection
                nextColumn += selection.width
                columns += ", \(selection.columns)"
            }
            result.append(.init(name: inclusion.name, plan: selection.plan))
        }
        return result
    }
}
