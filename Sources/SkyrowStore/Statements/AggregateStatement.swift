internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery

/// The statement of an aggregate query: access, predicate, groups, the condition on groups, order and limit.
///
/// ```sql
/// SELECT "r"."year", "r"."n" FROM (
///     SELECT "r"."year" AS "year", count(*) AS "n" FROM "app"."film" AS "r" WHERE <access> AND (<predicate>) GROUP BY 1
/// ) AS "r" WHERE ("r"."n" > $2) ORDER BY "r"."n" DESC, "r"."year" LIMIT $3
/// ```
struct AggregateStatement {
    let sql: SQL
    let cost: QueryCost
    private let plan: RowPlan
    private let limit: Int

    /// Throws `108`, `111`, `120` or `124` for an invalid query.
    ///
    /// - Parameter size: the number of records of the type.
    init(
        _ query: AggregateQuery,
        table: RecordTable,
        catalog: SchemaCatalog,
        access: RecordAccess,
        size: Double = 0
    ) throws(SkyrowError) {
        var resolver = Resolver(schema: catalog, root: table, access: access)
        let resolved = try resolver.resolve(query)
        let text = QueryText(table, resolver)
        let condition = resolved.records.predicate.map { text.matches($0) } ?? SQL()
        cost = QueryCost(resolved.records, text, in: access.database, size: size, isAggregate: true)
        let source = QueryStatement.source(resolved.records, text, condition)
        let groups = try GroupTable(resolved.members, of: table)
        let answer = QueryText(root: groups.table, joined: [])
        var sql: SQL =
            "SELECT \(groups.selection) FROM (\(Self.grouped(resolved.members, groups, text, source))) AS \"r\""
        if let having = resolved.having { sql += " WHERE (\(answer.condition(having)))" }
        if !resolved.sort.isEmpty { sql += " ORDER BY \(answer.order(resolved.sort))" }
        limit = query.limit
        sql += " LIMIT \(Int64(limit == 0 ? 0 : limit + 1))"
        self.sql = sql
        plan = groups.plan
    }

    private static let places: [StaticString] = ["1", "2", "3", "4", "5"]

    /// `SELECT <keys>, <aggregates> FROM … GROUP BY 1, 2`
    private static func grouped(
        _ members: [ResolvedAggregate.Member],
        _ groups: GroupTable,
        _ text: QueryText,
        _ source: SQL
    ) -> SQL {
        let keyCount = members.count { $0.isKey }
        // By position: a repeated key would bind its values to other placeholders.
        let places = places.prefix(keyCount).map { "\(raw: $0)" as SQL }.joined(separator: ", ")
        let grouping: SQL = keyCount == 0 ? "" : " GROUP BY \(places)"
        // PostgreSQL sorts for count(DISTINCT …), but not for SELECT DISTINCT.
        if members.count == keyCount + 1, case .function(.countDistinct, let column?) = members[keyCount].source {
            let name = groups.identifiers[keyCount]
            let keys = zip(members, groups.identifiers).prefix(keyCount)
            let inner = keys.map { "\(text.expression($0)) AS \($1)" as SQL } + ["\(text.plain(column)) AS \"_value\""]
            let outer = keys.map { "\"d\".\($1) AS \($1)" as SQL } + ["count(\"d\".\"_value\") AS \(name)"]
            return """
                SELECT \(outer.joined(separator: ", ")) \
                FROM (SELECT DISTINCT \(inner.joined(separator: ", ")) \(source)) AS "d"\(grouping)
                """
        }
        let selection = zip(members, groups.identifiers).map { "\(text.expression($0)) AS \($1)" as SQL }
        return "SELECT \(selection.joined(separator: ", ")) \(source)\(grouping)"
    }

    /// Returns the groups in the rows of the statement.
    func read(_ result: PostgresResult) -> AggregateResult {
        // The statement itself treats owner-only fields as missing.
        let rows = StoredRows(result, plan: plan, for: .unrestricted)
        let count = min(result.rowCount, limit)
        return AggregateResult(groups: (0..<count).map { rows[$0] }, hasMore: limit > 0 && result.rowCount > limit)
    }
}

/// The groups as a table, so that conditions and orders of groups are printed like those of records.
private struct GroupTable {
    let table: RecordTable
    /// The columns, in the order of the members.
    let identifiers: [SQLIdentifier]
    /// The columns as the statement returns them.
    let selection: SQL
    let plan: RowPlan

    init(_ members: [ResolvedAggregate.Member], of type: RecordTable) throws(SkyrowError) {
        var identifiers: [SQLIdentifier] = []
        var columns: [RecordColumn] = []
        var selection: [SQL] = []
        var plan: [RowPlan.Member] = []
        for (place, member) in members.enumerated() {
            // Every field name is a valid column name.
            guard let identifier = try? SQLIdentifier(member.name.rawValue) else { throw .unexpected }
            let fieldType = member.kind.answerType
            let column = fieldType.column
            identifiers.append(identifier)
            columns.append(
                RecordColumn(field: member.name, identifier: identifier, type: fieldType, oid: column.kind.oid)
            )
            selection.append(member.isUnbounded ? "to_jsonb(\"r\".\(identifier))" : "\"r\".\(identifier)")
            plan.append(
                RowPlan.Member(
                    key: MemberKey(member.name.rawValue),
                    kind: member.isUnbounded ? .json : column.kind,
                    name: column.kindName,
                    column: place
                )
            )
        }
        self.identifiers = identifiers
        self.selection = selection.joined(separator: ", ")
        table = RecordTable(name: type.name, schema: type.schema, identifier: type.identifier, columns: columns)
        self.plan = RowPlan(members: plan, idColumn: 0, ownerColumn: 0, list: .never)
    }
}

extension QueryText {
    /// The column in the type and with the order of its kind, also if psql made the column.
    fileprivate func plain(_ column: ResolvedColumn) -> SQL {
        column.kind == .decimal ? ordered(column) : column.kind.selection(ordered(column))
    }

    /// The expression that computes a member of a group. Decimals become JSON, without trailing zeros.
    fileprivate func expression(_ member: ResolvedAggregate.Member) -> SQL {
        let value = computed(member)
        return member.kind == .decimal ? "to_jsonb(trim_scale(\(value)))" : value
    }

    private func computed(_ member: ResolvedAggregate.Member) -> SQL {
        switch member.source {
        case .key(let column, nil): return plain(column)
        case .key(let column, let bucket?):
            return "date_trunc(\(bucket.unit.rawValue), \(plain(column)), \(bucket.timeZone))"
        case .function(_, nil): return "count(*)"
        case .function(let function, let column?):
            let value = plain(column)
            switch function {
            case .count: return "count(\(value))"
            case .countDistinct: return "count(DISTINCT \(value))"
            case .sum: return "sum(\(value))"
            case .average where column.kind == .decimal: return double("avg(\(value))")
            case .average: return "avg(\(value))::double precision"
            case .minimum: return least(value, column.kind, isGreatest: false)
            case .maximum: return least(value, column.kind, isGreatest: true)
            }
        }
    }

    /// A decimal as a double. A cast fails for values that are too large or too small; here they are rounded to infinity and to
    /// zero.
    ///
    /// `decimal` appears once, in an inner query: a repeated aggregate would have other parameters and be computed twice.
    private func double(_ decimal: SQL) -> SQL {
        """
        (SELECT CASE WHEN abs("d"."v") >= 1.7976931348623158079e308 THEN sign("d"."v")::double precision * 'Infinity' \
        WHEN abs("d"."v") <= 2.4703282292062327209e-324 THEN 0 ELSE "d"."v"::double precision END \
        FROM (SELECT \(decimal) AS "v") AS "d")
        """
    }

    /// The least or greatest value. PostgreSQL 15 has no `min` or `max` of booleans and bytes; hex digits sort like bytes.
    private func least(_ value: SQL, _ kind: ValueKind, isGreatest: Bool) -> SQL {
        let function: SQL = isGreatest ? "max" : "min"
        switch kind {
        case .boolean: return isGreatest ? "bool_or(\(value))" : "bool_and(\(value))"
        case .bytes: return "decode(\(function)(encode(\(value), 'hex') COLLATE \"C\"), 'hex')"
        default: return "\(function)(\(value))"
        }
    }
}
