import SkyrowModel
import SkyrowPostgres
import SkyrowQuery

extension RecordTable {
    /// The roles of an application as read-only records. `record:query` and `record:fetch` use them like the records of a type;
    /// no other statement does, since the table is not in the catalog.
    ///
    /// The name of a role is its record id and also a field. A name that begins with `~` cannot be a record id, which would be
    /// that of a private record; `role:list` has those roles. ``TypeRules/ofRoles`` determines who reads which role.
    static func ofRoles(in schema: SQLIdentifier) -> RecordTable {
        func column(_ name: SQLIdentifier, _ type: FieldType, _ number: Int) -> RecordColumn? {
            (try? FieldName(name.name)).map { field in
                RecordColumn(
                    field: field,
                    identifier: name,
                    type: type,
                    oid: type.column.kind.oid,
                    isWritable: false,
                    // The collation of the role table, so that its index is used.
                    collation: .database,
                    number: number
                )
            }
        }
        return RecordTable(
            name: .role,
            schema: schema,
            identifier: "_role",
            columns: [
                column("name", .string, 1), column("by_default", .boolean, 2), column("is_admin", .boolean, 3),
                column("users", .relation(.user), 4), column("roles", .relation(.role), 5),
            ].compactMap { $0 },
            reservedCollations: [.id: .database],
            rules: .ofRoles,
            source: """
                (SELECT "role"."name" AS "_id", '_public'::text AS "_database", "role"."owner" AS "_owner", \
                "role"."access" AS "_access", "role"."created_at" AS "_created_at", "role"."owner" AS "_created_by", \
                "role"."updated_at" AS "_updated_at", NULL::text AS "_updated_by", "role"."_revision", \
                "role"."name", "role"."by_default", "role"."is_admin" \
                FROM \(schema.internal)."_role" AS "role" WHERE NOT starts_with("role"."name", '~'))
                """
        )
    }
}

extension RecordTable {
    /// The rows with the members of a relation, `_from` and `_to`; nil for a column that is not a relation.
    ///
    /// Members of roles are in reserved tables. PostgreSQL pulls the sub-select up.
    func members(of column: RecordColumn) -> SQL? {
        guard name == .role else { return column.members.map { "\(schema).\($0)" } }
        switch column.field.rawValue {
        case "users":
            return "(SELECT \"role\" AS \"_from\", \"user_id\" AS \"_to\" FROM \(schema.internal).\"_user_role\")"
        case "roles":
            return "(SELECT \"role\" AS \"_from\", \"member\" AS \"_to\" FROM \(schema.internal).\"_role_role\")"
        default: return nil
        }
    }
}

extension RecordStore {
    /// Returns the table of a type for reading; nil if the type does not exist.
    func readableTable(of type: RecordTypeName) async throws(SkyrowError) -> RecordTable? {
        type == .role ? roleRecords : try await table(of: type)
    }
}
