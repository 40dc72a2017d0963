internal import SkyrowModel
internal import SkyrowPostgres

/// The one statement that fetches records of a type by their ids, as far as the caller may read them.
///
/// ```sql
/// SELECT … FROM "app"."note" AS "r" WHERE "r"."_id" = $1 AND <access>
/// ```
enum FetchStatement {
    static func make(
        ids: [String],
        table: RecordTable,
        access: AccessScope,
        variables: AccessVariables?
    ) -> (sql: SQL, selection: RecordSelection) {
        if access.database == .union { return union(ids: ids, table: table, access: access) }
        let isOne = ids.count == 1
        let shape = table.shapes.shape(.init(action: isOne ? .fetchOne : .fetchMany, access: access.shape)) {
            let match: SQL = isOne ? "\"r\".\"_id\" = \("")" : "\"r\".\"_id\" = ANY(\([""]))"
            return """
                SELECT \(table.wholeRow.columns) FROM \(table.qualifiedName) AS "r" \
                WHERE \(match) AND \(access.condition(on: "r", variables: variables))
                """
        }
        var bindings = PostgresBindings()
        if isOne {
            bindings.append(StoredID(ids[0], in: access.database).text)
        } else {
            let prefix = StoredID.prefix(of: access.database)
            bindings.append(prefix.isEmpty ? ids : ids.map { prefix + $0 })
        }
        access.bind(into: &bindings, variables: variables)
        return (shape.binding(bindings), table.wholeRow)
    }

    /// In `_union` an id may belong to several databases; the public record comes first.
    private static func union(
        ids: [String],
        table: RecordTable,
        access: AccessScope
    ) -> (sql: SQL, selection: RecordSelection) {
        let selection = RecordSelection(of: table.name, as: "r", fields: table.columns, showsDatabase: true)
        let sql: SQL = """
            SELECT \(selection.columns) FROM \(table.qualifiedName) AS "r" \
            WHERE \(StoredID.wireIDExpression("\"r\".\"_id\"")) = ANY(\(ids)) \
            AND \(access.condition(on: "r", variables: nil)) \
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
