internal import SkyrowModel
internal import SkyrowPostgres

/// The one statement that fetches records of a type by their ids, as far as the caller may read them.
///
/// ```sql
/// SELECT … FROM "app"."note" AS "r" WHERE "r"."_id" = $1 AND <access>
/// ```
///
/// Fetches of one record that wait at the same time, for any caller, are one statement too: each brings its values of the
/// condition as a row, so each record is judged for the one who asked for it
/// (Documentation/Decisions/0015-coalesced-fetches.md):
///
/// ```sql
/// SELECT …, "q"."place" FROM unnest($1, $2, …) WITH ORDINALITY AS "q" ("v1", "v2", …, "place")
/// JOIN "app"."note" AS "r" ON "r"."_id" = "q"."v1" AND <access, with "q"."v2" and so on for its values>
/// ```
enum FetchStatement {
    /// The statement for one id.
    static func one(
        id: String,
        table: RecordTable,
        access: RecordAccess
    ) -> (sql: SQL, coalescing: CoalescedStatement, plan: RowPlan) {
        let (shape, coalescing) = table.shapes.coalescing(access.read.shape, on: table)
        var bindings = PostgresBindings()
        bindings.append(StoredID(id, in: access.database).text)
        access.read.bind(into: &bindings, variables: access.variables, rows: .one)
        return (shape.binding(bindings), coalescing, table.wholeRow.plan)
    }

    /// The statement for any number of ids.
    static func make(
        ids: [String],
        table: RecordTable,
        access: RecordAccess
    ) -> (sql: SQL, selection: RecordSelection) {
        if access.database == .union { return union(ids: ids, table: table, access: access) }
        let shape = table.shapes.sql(.fetchMany(access.read.shape), on: table)
        var bindings = PostgresBindings()
        let prefix = StoredID.prefix(of: access.database)
        bindings.append(prefix.isEmpty ? ids : ids.map { prefix + $0 })
        access.read.bind(into: &bindings, variables: access.variables)
        return (shape.binding(bindings), table.wholeRow)
    }

    // MARK: Texts

    static func oneText(_ access: AccessShape, on table: RecordTable) -> SQL {
        """
        SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" WHERE \(oneCondition(access))
        """
    }

    /// Several fetches by one id each, whose values come as rows `q`.
    static func coalescedText(_ access: AccessShape, on table: RecordTable) -> SQL {
        let condition = oneCondition(access)
        let values = (0..<condition.bindings.count).map { SQLIdentifier(valueAt: $0) }
        return """
            SELECT \(table.wholeRow.columns), "q"."place" \
            FROM unnest(\(values.map { _ in "\([""])" as SQL }.joined(separator: ", "))) WITH ORDINALITY \
            AS "q" (\(values.map { "\($0)" as SQL }.joined(separator: ", ")), "place") \
            JOIN \(table.qualifiedName) AS "r" ON \(condition.replacingValues { "\"q\".\(values[$0])" })
            """
    }

    private static func oneCondition(_ access: AccessShape) -> SQL {
        "\"r\".\"_id\" = \(SQL.placeholder) AND \(access.condition(on: "r", rows: .one))"
    }

    static func manyText(_ access: AccessShape, on table: RecordTable) -> SQL {
        """
        SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" \
        WHERE "r"."_id" = ANY(\([""])) AND \(access.condition(on: "r", rows: .many))
        """
    }

    /// In `_union` an id may belong to several databases; the public record comes first.
    private static func union(
        ids: [String],
        table: RecordTable,
        access: RecordAccess
    ) -> (sql: SQL, selection: RecordSelection) {
        let selection = RecordSelection(of: table.name, as: "r", fields: table.columns, showsDatabase: true)
        let sql: SQL = """
            SELECT \(selection.columns) FROM \(table.qualifiedName) AS "r" \
            WHERE \(StoredID.wireIDExpression("\"r\".\"_id\"")) = ANY(\(ids)) \
            AND \(access.read.condition(on: "r", variables: access.variables)) \
            ORDER BY "r"."_database" <> '_public', "r"."_id"
            """
        return (sql, selection)
    }
}

extension StoredID {
    /// The part of a stored id that clients see, in SQL.
    static func wireIDExpression(_ column: SQL) -> SQL {
        "CASE WHEN starts_with(\(column), '~') THEN substr(\(column), strpos(\(column), '/') + 1) ELSE \(column) END"
    }
}
