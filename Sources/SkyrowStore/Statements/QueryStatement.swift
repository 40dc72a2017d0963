internal import SkyrowJSON
internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The statement of a query: access, predicate, joined records, order, page and, if requested, the count.
///
/// ```sql
/// SELECT "r"."_id", …, "j1"."_id", …, "r"."stars" AS "_k1" FROM "app"."note" AS "r" LEFT JOIN "app"."category" AS "j1" ON …
/// WHERE <access> AND (<predicate>) ORDER BY "r"."stars" DESC, "r"."_id" DESC LIMIT $3 OFFSET $4
/// ```
///
/// The order always ends with the id, so that pages neither repeat nor skip a record; without a `sort` records are ordered by id.
/// The values of the sort keys are selected as `_k1`, `_k2`, … for the cursor. A page after a cursor has one of the forms of
/// ``Keyset``. With a count the page is joined to it, so that a page after the last one still has the count:
///
/// ```sql
/// SELECT "m"."n", "p".* FROM (SELECT count(*) AS "n" FROM …) AS "m" LEFT JOIN (<page>) AS "p" ON true
/// ORDER BY "p"."_k1" DESC, "p"."_k2" DESC
/// ```
///
/// The records nearest to a location are found by an index; the outer query sorts them by all keys:
///
/// ```sql
/// SELECT "p".* FROM (SELECT …, "r"."at" OPERATOR("postgis".<->) $1 AS "_k1", "r"."_id" AS "_k2" FROM …
/// ORDER BY "_k1" FETCH FIRST $2 ROWS WITH TIES) AS "p" ORDER BY "p"."_k1", "p"."_k2" LIMIT $2
/// ```
///
/// The records that a function returns take the place of the table's, evaluated once; without a `sort` they keep its order:
///
/// ```sql
/// WITH "f" AS (SELECT "f".*, row_number() OVER () AS "_place" FROM "app"."nearby"("lat" => CAST($1 AS …)) AS "f")
/// SELECT "r"."_id", … FROM "f" AS "r" WHERE <access> AND (<predicate>) ORDER BY "r"."_place" LIMIT $2
/// ```
struct QueryStatement {
    /// The columns with the values of the sort keys, and the keys and digest of a cursor.
    private struct CursorPlan {
        let keys: CursorKeys
        let digest: QueryDigest
        /// The kind and the column of each key's value, and the user if the value is visible in this user's records only.
        let values: [(kind: ValueKind, column: Int, owner: UserID?)]
    }

    /// Upper bound on the count that an estimate reports to callers who do not pass every rule.
    private static let exactUpTo = 10_000
    /// Upper bound on page sizes that are part of the statement text, if no value can change its plan.
    private static let plannedOnceUpTo = 100

    let sql: SQL
    let plan: RowPlan
    /// Whether column 0 has the count. A row may then have nothing else.
    let hasCount: Bool
    /// The `EXPLAIN` whose expected number of rows is the count, if the count is such an estimate.
    let estimate: SQL?
    /// The statements for the records to which arrays of references lead.
    let lists: IncludedLists?
    let cost: QueryCost
    /// The most records of the page. The statement reads one more, which shows whether there are further records.
    private let limit: Int
    private let fields: FieldAccess
    private let query: RecordQuery
    private let cursor: CursorPlan?

    /// - Parameters:
    ///   - cursors: the keys of cursors; without them no cursor is made or accepted.
    ///   - size: the number of records of the type.
    ///   - call: the call of a function that returns the records; nil for those of the table.
    ///
    /// Throws `108`, `111`, `120` or `124` for an invalid query. The resolver finds every error but cursors of other queries.
    init(
        _ query: RecordQuery,
        table: RecordTable,
        catalog: SchemaCatalog,
        access: RecordAccess,
        cursors: CursorKeys? = nil,
        size: Double = 0,
        from call: SQL? = nil
    ) throws(SkyrowError) {
        let keepsOrder = call != nil && query.sort.isEmpty
        guard !keepsOrder || query.position == .first else { throw .functionNeedsSort }
        var resolver = Resolver(schema: catalog, root: table, access: access)
        var resolved = try resolver.resolve(query)
        let text = QueryText(table, resolver)
        let condition = resolved.predicate.map { text.matches($0) } ?? SQL()
        cost = QueryCost(resolved, text, in: access.database, size: size)
        var sortText = text.order(resolved.sort)
        let place = try Self.place(of: query, &resolved, resolver.creationOrder, text, condition, &sortText, cursors)
        let order = resolved.isBackwards ? resolved.sort.map(\.reversed) : resolved.sort

        fields = access.fields
        self.query = query
        limit = min(query.limit, RecordQuery.maximumUnlimited)
        let isPlanned = query.counting == .estimate && access.passesEveryRule && call == nil
        hasCount = query.countsMatches && !isPlanned
        // With more keys there is no cursor, so their values are not selected.
        let hasCursor =
            cursors != nil && query.isDescribed && query.sort.count <= RecordQuery.maximumCursorKeys && !keepsOrder
        let source = Self.source(resolved, text, condition, from: call == nil ? nil : Self.returned)
        let keyset = place.map { Keyset(sort: order, values: $0.values) }
        let form = keyset?.form(
            isIndexed: order.first.map { text.isIndexed($0, in: access.database) } ?? false,
            joins: resolved.joins.count,
            valueBytes: source.valueBytes
        )
        var selection = Self.selection(
            resolved,
            text,
            showsDatabase: access.database == .union,
            firstColumn: hasCount ? 1 : 0
        )
        plan = selection.plan
        let isNearest = order.first.map { text.isNearest($0) } ?? false
        // The id is a column of the record; an outer statement needs a name for it.
        let isWrapped = hasCount || form == .branches || isNearest
        let selectedKeys = isWrapped ? order.count : hasCursor ? order.count - 1 : 0
        var keyColumns: [Int] = []
        var nextColumn = selection.width
        for (place, key) in order.prefix(selectedKeys).enumerated() {
            if !isWrapped, key.column.limit.map({ $0.owner != nil }) ?? true,
                let column = text.column(of: key.column, in: selection.plan)
            {
                keyColumns.append(column)
                continue
            }
            let value = keepsOrder ? Self.returnedPlace : key.column.kind.selection(text.ordered(key.column))
            selection.columns += ", \(value) AS \(Self.keyName(place))"
            keyColumns.append(nextColumn)
            nextColumn += 1
        }
        if resolved.lists.isEmpty {
            lists = nil
        } else {
            var places: [Int: Int] = [:]
            for (place, list) in resolved.lists.enumerated() where list.parent == nil {
                if text.members(of: list.column) == nil, list.column.limit == nil,
                    let column = text.column(of: list.column, in: selection.plan)
                {
                    places[place] = column
                    continue
                }
                selection.columns += ", \(text.stored(list.column))"
                places[place] = nextColumn
                nextColumn += 1
            }
            lists = IncludedLists(resolved, resolver, text, arrays: places, access)
        }
        cursor =
            if hasCursor, let cursors {
                CursorPlan(
                    keys: cursors,
                    digest: place?.digest ?? QueryDigest(resolved, text, condition: condition, order: sortText),
                    // A computed value is NULL already where it is hidden, and its owner may be that of another record.
                    values: zip(order, keyColumns.prefix(order.count - 1) + [selection.plan.idColumn])
                        .map { ($0.column.kind, $1, $1 < selection.width ? $0.column.limit?.owner : nil) }
                )
            } else {
                nil
            }
        // A page with limit 0, requested for the count, has no further records.
        let page = Page(
            columns: selection.columns,
            source: source,
            order: order,
            orderText: keepsOrder ? Self.returnedPlace : resolved.isBackwards ? text.order(order) : sortText,
            limit: Int64(limit == 0 ? 0 : limit + 1),
            offset: Int64(query.offset),
            isPlannedOnce: resolved.predicate == nil && query.offset == 0 && limit <= Self.plannedOnceUpTo
                && resolved.visibility.records.shape.admitsUnlisted,
            isNearest: isNearest
        )
        var statement = page.statement(text, keyset, form)
        if hasCount {
            let most = query.counting == .estimate ? Self.exactUpTo + 1 : nil
            statement = Self.counted(statement, order, source, atMost: most)
        }
        sql = call.map { Self.calling($0, keepsOrder: keepsOrder) + statement } ?? statement
        estimate = isPlanned ? "EXPLAIN (FORMAT JSON) SELECT \(source)" : nil
    }

    /// The name of the records that a function returns, and their place in its result.
    private static let returned: SQL = "\"f\""
    private static let returnedPlace: SQL = "\"r\".\"_place\""

    /// `WITH "f" AS (SELECT "f".* FROM "app"."nearby"() AS "f") `
    private static func calling(_ call: SQL, keepsOrder: Bool) -> SQL {
        let place: SQL = keepsOrder ? ", row_number() OVER () AS \"_place\"" : ""
        return "WITH \"f\" AS (SELECT \"f\".*\(place) FROM \(call) AS \"f\") "
    }

    /// `"_k1"`
    fileprivate static func keyName(_ place: Int) -> SQLIdentifier {
        SQLIdentifier(sortKeyAt: place)
    }

    /// Opens the query's cursor and returns its digest and the values of the sort keys; nil if the query has no cursor.
    ///
    /// A cursor of a page of the last records has the order of creation; a query without a sort continues in that order.
    private static func place(
        of query: RecordQuery,
        _ resolved: inout ResolvedQuery,
        _ creationOrder: [ResolvedSort],
        _ text: QueryText,
        _ condition: SQL,
        _ sortText: inout SQL,
        _ cursors: CursorKeys?
    ) throws(SkyrowError) -> (digest: QueryDigest, values: [ResolvedLiteral?])? {
        guard let (parameter, cursor) = query.position.cursor else { return nil }
        guard let opened = cursors?.open(cursor) else { throw .cursorInvalid(parameter) }
        var digest = QueryDigest(resolved, text, condition: condition, order: sortText)
        if query.sort.isEmpty, opened.digest != digest {
            resolved.sort = creationOrder
            sortText = text.order(creationOrder)
            digest = QueryDigest(resolved, text, condition: condition, order: sortText)
        }
        guard opened.digest == digest,
            let values = CursorValues.read(opened.values, kinds: resolved.sort.map(\.column.kind))
        else { throw .cursorInvalid(parameter) }
        return (digest, values)
    }

    private static func counted(_ page: SQL, _ order: [ResolvedSort], _ source: SQL, atMost limit: Int?) -> SQL {
        let count: SQL =
            if let limit {
                "SELECT count(*) AS \"n\" FROM (SELECT \(source) LIMIT \(Int64(limit))) AS \"c\""
            } else {
                "SELECT count(*) AS \"n\" \(source)"
            }
        return """
            SELECT "m"."n", "p".* FROM (\(count)) AS "m" LEFT JOIN (\(page)) AS "p" ON true \
            ORDER BY \(keyOrder(order))
            """
    }

    /// The order by the sort keys that a page has selected: `"p"."_k1" DESC, "p"."_k2" DESC`
    fileprivate static func keyOrder(_ order: [ResolvedSort]) -> SQL {
        order.enumerated().map { place, key -> SQL in
            "\"p\".\(keyName(place))\(raw: key.ending)"
        }.joined(separator: ", ")
    }

    /// `FROM … WHERE …`
    ///
    /// - Parameter rows: the name of other rows than those of the table.
    static func source(_ query: ResolvedQuery, _ text: QueryText, _ condition: SQL, from rows: SQL? = nil) -> SQL {
        var sql = SQL()
        sql.reserveCapacity(1024, placeholders: 8)
        sql.append(raw: "FROM ")
        sql += rows ?? text.root.qualifiedName
        sql.append(raw: " AS \"r\"")
        for (number, join) in query.joins.enumerated() {
            sql.append(raw: " ")
            sql += text.join(number, join, query.visibility)
        }
        sql.append(raw: " WHERE ")
        sql += text.admission(query.visibility.records, join: nil)
        if query.predicate != nil {
            sql.append(raw: " AND (")
            sql += condition
            sql.append(raw: ")")
        }
        return sql
    }

    /// The columns of the records and of those that they include, the plan that reads them, and the number of columns.
    private static func selection(
        _ query: ResolvedQuery,
        _ text: QueryText,
        showsDatabase: Bool,
        firstColumn: Int
    ) -> (columns: SQL, plan: RowPlan, width: Int) {
        let own: RecordSelection =
            query.fields == nil && !showsDatabase && firstColumn == 0
            ? text.root.wholeRow
            : RecordSelection(
                of: query.type,
                as: "r",
                fields: query.fields?.map { text.root.columns[$0] } ?? text.root.columns,
                naming: text.root.namedColumns,
                list: text.root.listStanding,
                showsDatabase: showsDatabase,
                firstColumn: firstColumn
            )
        guard !query.inclusions.isEmpty else { return (own.columns, own.plan, firstColumn + own.width) }
        var columns = own.columns
        var selections: [SelectedRecord: RecordSelection] = [:]
        var nextColumn = firstColumn + own.width
        var inclusions: [RowPlan.Inclusion] = []
        for inclusion in query.inclusions where inclusion.list == nil {
            if let number = inclusion.number {
                columns += ", \(number.kind.selection(text.value(number)))"
                inclusions.append(.init(name: inclusion.name, plan: nil, number: nextColumn))
                nextColumn += 1
                continue
            }
            guard let join = inclusion.join else {
                inclusions.append(.init(name: inclusion.name, plan: nil))
                continue
            }
            let key = SelectedRecord(join: join, fields: inclusion.fields)
            let selection =
                selections[key]
                ?? text.selection(of: key, showsDatabase: showsDatabase, firstColumn: nextColumn)
            if selections.updateValue(selection, forKey: key) == nil {
                nextColumn += selection.width
                columns += ", \(selection.columns)"
            }
            inclusions.append(.init(name: inclusion.name, plan: selection.plan))
        }
        return (columns, own.plan.including(inclusions), nextColumn)
    }

    // MARK: Rows

    /// Returns how many of the rows are records of the page.
    func recordCount(_ result: PostgresResult) -> Int {
        // Only with a count can a row have no record.
        let isEmpty = result.rowCount == 0 || hasCount && result.isNull(row: 0, column: plan.idColumn)
        return isEmpty ? 0 : min(result.rowCount, limit)
    }

    /// Returns the result of the query from the rows of the statement.
    ///
    /// Throws `110 ResourceNotFound` for an empty page if records are required, and `108` if there are further records but the
    /// last sort values are too long for a cursor.
    func read(_ result: PostgresResult, estimate: Int? = nil, lists: [IncludedList] = []) throws -> QueryResult {
        let rowCount = recordCount(result)
        let isEmpty = rowCount == 0 && (limit > 0 || result.rowCount == 0)
        if isEmpty, query.isRequired { throw SkyrowError.noMatch }
        var rows = StoredRows(result, plan: plan.omitting(query.omittedFields), for: fields, lists: lists)
        let order = (0..<rowCount).map { query.position.isBackwards ? rowCount - 1 - $0 : $0 }
        var table: IncludedTable?
        if query.includeForm == .table {
            let included = IncludedTable(of: rows, in: order)
            rows = StoredRows(rows, naming: included)
            table = included
        }
        var records: [any RecordSource] = []
        records.reserveCapacity(rowCount)
        for row in order { records.append(rows[row]) }
        let hasMore = limit > 0 && !isEmpty && result.rowCount > limit
        var answer = QueryResult(records: records, hasMore: hasMore, isDescribed: query.isDescribed)
        answer.included = table?.records
        answer.cursor = try cursor.flatMap {
            rowCount == 0 ? nil : try self.cursor($0, at: rowCount - 1, in: result, hasMore)
        }
        (answer.count, answer.countKind) = try count(result, estimate)
        return answer
    }

    private func cursor(_ plan: CursorPlan, at row: Int, in result: PostgresResult, _ hasMore: Bool) throws -> String? {
        var values: [UInt8] = []
        var fits = true
        for (kind, column, owner) in plan.values where fits {
            if let owner,
                !result.withColumn(
                    row,
                    self.plan.ownerColumn,
                    { $0.map { owner.rawValue.isSameText(as: $0) } ?? false }
                )
            {
                CursorValues.appendMissing(to: &values)
            } else {
                fits = CursorValues.append(result, row: row, column: column, kind: kind, to: &values)
            }
        }
        if fits, let text = plan.keys.seal(plan.digest, values) { return text }
        // The last page needs no cursor.
        guard hasMore else { return nil }
        throw SkyrowError.invalidArgument(
            "The values of these sort keys are too long for a cursor; sort by another field.",
            "sort"
        ).at("sort")
    }

    private func count(_ result: PostgresResult, _ estimate: Int?) throws -> (Int?, CountKind?) {
        guard let counting = query.counting else { return (nil, nil) }
        if let estimate { return (estimate, .estimate) }
        let count = Int(try result.decode(row: 0, column: 0, as: Int64.self))
        switch counting {
        case .exact: return (count, nil)
        case .estimate: return count > Self.exactUpTo ? (Self.exactUpTo, .atLeast) : (count, .exact)
        }
    }

    /// Returns the number of rows that PostgreSQL expects, from the result of ``estimate``.
    static func expectedRows(_ result: PostgresResult) throws -> Int {
        let plan = try result.decode(row: 0, column: 0, as: String.self)
        let rows = try JSONDocument(Array(plan.utf8)).withRoot { $0.firstElement?["Plan"]?["Plan Rows"]?.wholeNumber }
        return rows.flatMap { Int(exactly: $0) } ?? 0
    }
}

extension SkyrowError {
    fileprivate static let functionNeedsSort = SkyrowError.invalidArgument(
        "The records of a function have cursors only with \"sort\"; without it, page through them with \"offset\".",
        "sort"
    )
}

extension ResolvedColumn.Limit {
    /// The user in whose records alone the value is visible; nil if that depends on more.
    fileprivate var owner: UserID? { reach == .owned ? user : nil }
}

extension QueryText {
    /// The column of a row with a sort key that is a stored field of its record, also if the field is hidden from the caller; nil
    /// if there is no such column.
    fileprivate func column(of key: ResolvedColumn, in plan: RowPlan) -> Int? {
        guard key.join == nil, key.reading == .stored, !key.folds, !key.readsWireID,
            case .field(_, let position) = key.place
        else { return nil }
        let name = root.column(at: position).key
        let oid: PostgresOID? =
            if case .array(.reference) = key.kind { PostgresOID.textArray } else { key.kind.sortOID }
        return plan.members.first { $0.kind.oid == oid && $0.key == name }?.column
    }
}

/// The part of a statement that selects the records of a page, and one more to see whether there are further ones.
private struct Page {
    let columns: SQL
    let source: SQL
    let order: [ResolvedSort]
    let orderText: SQL
    let limit: Int64
    let offset: Int64
    /// Whether no value of the statement can change its plan, so that PostgreSQL should keep one plan.
    ///
    /// PostgreSQL keeps the plan of a prepared statement if it expects it to cost no more than a plan for the actual values. For
    /// a bound limit it assumes a tenth of the rows, so it would plan a listing on every execution, for half the cost of a page.
    /// With a predicate planning each time is right: its values are rare or common.
    let isPlannedOnce: Bool
    /// Whether an index provides the order by distance.
    let isNearest: Bool

    func statement(_ text: QueryText, _ keyset: Keyset?, _ form: Keyset.Form?) -> SQL {
        if isNearest { return nearest(keyset.map { form == .row ? text.row($0) : text.condition($0) }) }
        guard let keyset, let form else { return select(nil, orderText) }
        switch form {
        case .row:
            return select(text.row(keyset), text.rowOrder(keyset))
        case .condition:
            return select(text.condition(keyset), orderText)
        case .branches:
            let branches = keyset.branches.map { branch -> SQL in
                "(\(select(text.condition(branch, of: keyset), text.order(of: branch, in: keyset))))"
            }
            return """
                SELECT "p".* FROM (\(branches.joined(separator: " UNION ALL "))) AS "p" \
                ORDER BY \(QueryStatement.keyOrder(order)) LIMIT \(limitText)
                """
        }
    }

    private var limitText: SQL {
        guard isPlannedOnce else { return "\(limit)" }
        var text = SQL()
        text.append(literal: limit)
        return text
    }

    /// Selects the records by distance, including all that are as far away as the last one, and sorts them by all keys.
    ///
    /// PostgreSQL uses the index for a single sort key only: with further keys it would read and sort all records.
    private func nearest(_ condition: SQL?) -> SQL {
        var inner: SQL = "SELECT \(columns) \(source)"
        if let condition { inner += " AND \(condition)" }
        inner += " ORDER BY \(QueryStatement.keyName(0)) FETCH FIRST \(limit + offset) ROWS WITH TIES"
        var sql: SQL = """
            SELECT "p".* FROM (\(inner)) AS "p" ORDER BY \(QueryStatement.keyOrder(order)) LIMIT \(limit)
            """
        if offset > 0 { sql += " OFFSET \(offset)" }
        return sql
    }

    /// Appends to one buffer, since nearly all queries take this path.
    private func select(_ condition: SQL?, _ order: SQL) -> SQL {
        var sql = SQL()
        sql.reserveCapacity(1024, placeholders: 8)
        sql.append(raw: "SELECT ")
        sql += columns
        sql.append(raw: " ")
        sql += source
        if let condition {
            sql.append(raw: " AND ")
            sql += condition
        }
        sql.append(raw: " ORDER BY ")
        sql += order
        sql.append(raw: " LIMIT ")
        if isPlannedOnce { sql.append(literal: limit) } else { sql.bind(limit) }
        if offset > 0 {
            sql.append(raw: " OFFSET ")
            sql.bind(offset)
        }
        return sql
    }
}
