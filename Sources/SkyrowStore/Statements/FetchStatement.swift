internal import SkyrowModel
internal import SkyrowPostgres

/// The statement that fetches records of a type by their ids, as far as the caller may read them.
///
/// ```sql
/// SELECT … FROM "app"."note" AS "r" WHERE "r"."_id" = $1 AND <access>
/// ```
///
/// Single-record fetches that wait at the same time are coalesced into one statement, also those of different callers. Each
/// brings its parameters as a row, so access is evaluated for the caller of each fetch
/// (Documentation/Decisions/postgres-client.md):
///
/// ```sql
/// SELECT …, "q"."place" FROM unnest($1, $2, …) WITH ORDINALITY AS "q" ("v1", "v2", …, "place")
/// JOIN "app"."note" AS "r" ON "r"."_id" = "q"."v1" AND <access, with "q"."v2" and so on for its values>
/// ```
enum FetchStatement {
    /// Returns the statement for one id.
    static func one(
        id: String,
        table: RecordTable,
        access: RecordAccess
    ) -> (sql: SQL, coalescing: CoalescedStatement, plan: RowPlan) {
        let (template, coalescing) = table.shapes.coalescing(access.of(table.rules).read.shape, on: table)
        let sql = template.binding(bytes: 64 + id.utf8.count + access.audienceText.utf8.count) { parameter, values in
            switch parameter {
            case .ids: values.append(StoredID(id, in: access.database).text)
            default: access.append(parameter, to: &values)
            }
        }
        return (sql, coalescing, table.wholeRow.plan)
    }

    /// Returns the statement for any number of ids.
    static func make(
        ids: [String],
        table: RecordTable,
        access: RecordAccess
    ) -> (sql: SQL, selection: RecordSelection) {
        let text: StatementText
        let selection: RecordSelection
        let shape = access.of(table.rules).read.shape
        if access.database == .union {
            (text, selection) = (.fetchUnion(shape), unionSelection(of: table))
        } else {
            (text, selection) = (.fetchMany(shape), table.wholeRow)
        }
        let sql = table.shapes.template(text, on: table).binding { parameter, values in
            switch parameter {
            case .ids:
                let prefix = StoredID.prefix(of: access.database)
                values.append(prefix.isEmpty ? ids : ids.map { prefix + $0 })
            case .wireIDs: values.append(ids)
            default: access.append(parameter, to: &values)
            }
        }
        return (sql, selection)
    }

    // MARK: Texts

    static func one(_ access: AccessShape, on table: RecordTable) -> StatementTemplate {
        """
        SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" WHERE \(oneCondition(access))
        """
    }

    /// The coalesced form of the statement for one id: its parameters become arrays, whose elements come as rows `q`.
    static func coalesced(_ access: AccessShape, on table: RecordTable) -> StatementTemplate {
        let condition = oneCondition(access, hasCallerInRow: true)
        let values = condition.parameters.indices.map { SQLIdentifier(valueAt: $0) }
        let arrays = condition.parameters.map { "\(parameter: $0)" as StatementTemplate }
        return """
            SELECT \(table.wholeRow.columns), "q"."place" \
            FROM unnest(\(arrays.joined(separator: ", "))) WITH ORDINALITY \
            AS "q" (\(values.map { "\($0)" as SQL }.joined(separator: ", ")), "place") \
            JOIN \(table.qualifiedName) AS "r" ON \(condition.replacingParameters { "\"q\".\(values[$0])" })
            """
    }

    private static func oneCondition(_ access: AccessShape, hasCallerInRow: Bool = false) -> StatementTemplate {
        "\"r\".\"_id\" = \(parameter: .ids) AND \(access.condition(on: "r", hasCallerInRow: hasCallerInRow))"
    }

    static func many(_ access: AccessShape, on table: RecordTable) -> StatementTemplate {
        """
        SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" \
        WHERE "r"."_id" = ANY(\(parameter: .ids)) AND \(access.condition(on: "r"))
        """
    }

    /// In `_union` an id may belong to several databases; the public record comes first.
    static func union(_ access: AccessShape, on table: RecordTable) -> StatementTemplate {
        """
        SELECT \(unionSelection(of: table).columns) FROM \(table.qualifiedName) AS "r" \
        WHERE \(StoredID.wireIDExpression("\"r\".\"_id\"")) = ANY(\(parameter: .wireIDs)) \
        AND \(access.condition(on: "r")) \
        ORDER BY "r"."_database" <> '_public', "r"."_id"
        """
    }

    private static func unionSelection(of table: RecordTable) -> RecordSelection {
        RecordSelection(
            of: table.name,
            as: "r",
            fields: table.columns,
            naming: table.namedColumns,
            list: table.listStanding,
            showsDatabase: true
        )
    }
}

extension StoredID {
    /// The SQL expression of the part of a stored id that clients see.
    static func wireIDExpression(_ column: SQL) -> SQL {
        "CASE WHEN starts_with(\(column), '~') THEN substr(\(column), strpos(\(column), '/') + 1) ELSE \(column) END"
    }
}
