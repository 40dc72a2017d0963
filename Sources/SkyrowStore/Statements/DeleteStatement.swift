internal import SkyrowModel
internal import SkyrowPostgres

/// The statement that deletes records of a type by their ids, as far as the caller may delete them.
///
/// ```sql
/// DELETE FROM "app"."note" AS "r" WHERE "r"."_id" = ANY($1) AND <delete access> RETURNING "r"."_id"
/// ```
enum DeleteStatement {
    static func make(ids: [RecordID], table: RecordTable, access: RecordAccess) -> SQL {
        table.shapes.template(.delete(access.of(table.rules).delete.shape), on: table).binding { parameter, values in
            switch parameter {
            case .ids: values.append(ids.map { StoredID($0.id, in: access.database).text })
            default: access.append(parameter, to: &values)
            }
        }
    }

    static func template(_ access: AccessShape, on table: RecordTable) -> StatementTemplate {
        """
        DELETE FROM \(table.qualifiedName) AS "r" WHERE "r"."_id" = ANY(\(parameter: .ids)) \
        AND \(access.condition(on: "r")) RETURNING "r"."_id"
        """
    }
}
