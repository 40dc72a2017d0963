internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
import SkyrowStore

// Checks of child records (Documentation/Decisions/relations-and-references.md) and of the members of relations
// (Documentation/Decisions/relations-and-references.md).

extension DoctorCheck {
    package static let parents = DoctorCheck(
        "parents",
        "Records that belong to others",
        needsTables: true,
        queries: { scope in
            [
                """
                SELECT quote_ident(relname) AS type, quote_literal(relname) AS name, bool_or(tgenabled = 'D') AS disabled
                FROM pg_catalog.pg_class
                JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attname = '_parent' AND NOT attisdropped
                LEFT JOIN pg_catalog.pg_trigger ON tgrelid = pg_class.oid AND tgname = '_check_parent'
                    AND tgfoid = to_regprocedure(\(literal: "\(scope.schema.quoted)._check_parent()"))
                WHERE relnamespace = \(scope.namespace)
                    AND relname = ANY (\(scope.tables.map { PostgresName($0.name.rawValue) }))
                GROUP BY relname HAVING count(*) FILTER (WHERE tgenabled IN ('O', 'A')) = 0
                ORDER BY relname
                """
            ]
        },
        judge: { rows, _ in
            rows.map { row in
                let isDisabled = row.flag("disabled")
                return DoctorFinding(
                    .error,
                    "The trigger _check_parent of \(row["type"]) is \(isDisabled ? "disabled" : "missing").",
                    meaning:
                        "A record can be made to stand below itself, or below any number of others: a delete of one of them, and a "
                        + "save that looks for what is above, is refused or takes long.",
                    remedy: isDisabled
                        ? "Enable it, and look for records that are their own parents, however far up."
                        : "Make it, and look for records that are their own parents, however far up.",
                    commands: [
                        isDisabled
                            ? "ALTER TABLE \(row["type"]) ENABLE TRIGGER _check_parent;"
                            : "SELECT _keep_parent(\(row["name"]));",
                        "SELECT _id FROM \(row["type"]) WHERE _parent = _id;",
                    ]
                )
            }
        }
    )

    /// Rows: the `type` and `field` of a relation, its table of `members`, and that table's `fault`.
    package static let relations = DoctorCheck(
        "relations",
        "The members of relations",
        needsTables: true,
        queries: { scope in [relationFaults(in: scope)] },
        judge: { rows, _ in
            rows.compactMap { row in RelationFault(rawValue: row["fault"])?.finding(row) }
        }
    )

    private static func relationFaults(in scope: DoctorScope) -> SQL {
        // A relation's field has a member table, or a comment that says it once had one.
        """
        WITH relation AS (
            SELECT relname AS type, attname AS field, \(scope.schema)._members(relname::text, attname::text) AS members,
                col_description(pg_class.oid, attnum) AS described
            FROM pg_catalog.pg_class
            JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            WHERE relnamespace = \(scope.namespace) AND atttypid = 'boolean'::regtype
                AND relname = ANY (\(scope.tables.map { PostgresName($0.name.rawValue) }))
        ), known AS (
            SELECT relation.*, obj_description(members, 'pg_class') AS comment,
                (SELECT attnum FROM pg_catalog.pg_attribute WHERE attrelid = members AND attname = '_from') AS "from",
                (SELECT attnum FROM pg_catalog.pg_attribute WHERE attrelid = members AND attname = '_to') AS "to",
                (
                    SELECT confrelid FROM pg_catalog.pg_constraint JOIN pg_catalog.pg_attribute
                        ON attrelid = conrelid AND conkey = ARRAY[attnum]
                    WHERE conrelid = members AND contype = 'f' AND attname = '_to' ORDER BY conname LIMIT 1
                ) AS target
            FROM relation
            WHERE members IS NOT NULL OR starts_with(described, 'Stands for a relation')
        )
        SELECT quote_ident(type) AS type, quote_ident(field) AS field, quote_literal(type) AS type_name,
            quote_literal(field) AS field_name, members::text AS members, fault,
            coalesce(
                (SELECT relname::text FROM pg_catalog.pg_class WHERE pg_class.oid = target),
                substring(comment FROM ' -> (.*)$')
            ) AS target,
            (
                SELECT string_agg(concat_ws(
                    ' ', quote_ident(attname), format_type(atttypid, atttypmod), CASE WHEN NOT attnotnull THEN 'NULL' END,
                    CASE WHEN \(TextCollation.ofAttribute) <> 'bytes' THEN 'in another order than that of bytes' END
                ), ', ' ORDER BY attnum)
                FROM pg_catalog.pg_attribute WHERE attrelid = members AND attnum > 0 AND NOT attisdropped
            ) AS columns,
            (
                SELECT string_agg(format('DROP CONSTRAINT %I, ', conname), '' ORDER BY conname)
                FROM pg_catalog.pg_constraint
                WHERE conrelid = members AND contype = 'f' AND conkey = ARRAY[
                    CASE fault WHEN \(literal: RelationFault.owner.rawValue) THEN "from" ELSE "to" END
                ]
            ) AS wrong_keys
        FROM known CROSS JOIN LATERAL (VALUES
            (1, \(literal: RelationFault.gone.rawValue), members IS NULL),
            (2, \(literal: RelationFault.columns.rawValue), members IS NOT NULL AND 2 <> (
                SELECT count(*) FILTER (
                    WHERE attname IN ('_from', '_to') AND atttypid = 'text'::regtype AND attnotnull
                        AND \(TextCollation.ofAttribute) = 'bytes'
                ) + 2 * count(*) FILTER (WHERE attname NOT IN ('_from', '_to') AND attnotnull AND NOT atthasdef)
                FROM pg_catalog.pg_attribute WHERE attrelid = members AND attnum > 0 AND NOT attisdropped
            )),
            (3, \(literal: RelationFault.key.rawValue), members IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_constraint
                WHERE conrelid = members AND contype = 'p' AND conkey = ARRAY["from", "to"]
            )),
            (4, \(literal: RelationFault.index.rawValue), members IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_index
                WHERE indrelid = members AND indisvalid AND indpred IS NULL AND indexprs IS NULL
                    AND indkey[0] = "to" AND indkey[1] = "from"
            )),
            (5, \(literal: RelationFault.owner.rawValue), members IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_constraint
                WHERE conrelid = members AND contype = 'f' AND conkey = ARRAY["from"] AND confdeltype = 'c' AND convalidated
                    AND confrelid = (
                        SELECT oid FROM pg_catalog.pg_class
                        WHERE relname = type AND relnamespace = \(scope.namespace)
                    )
            )),
            (6, \(literal: RelationFault.target.rawValue), members IS NOT NULL AND NOT EXISTS (
                SELECT FROM pg_catalog.pg_constraint
                WHERE conrelid = members AND contype = 'f' AND conkey = ARRAY["to"] AND confdeltype = 'c' AND convalidated
            )),
            (7, \(literal: RelationFault.comment.rawValue), members IS NOT NULL AND target IS NOT NULL
                AND comment IS DISTINCT FROM concat('relation ', type, '.', field, ' -> ', (
                    SELECT relname FROM pg_catalog.pg_class WHERE pg_class.oid = target
                )))
        ) AS judged (place, fault, is_found)
        WHERE is_found ORDER BY type, field, place
        """
    }
}

/// A fault of a relation's member table.
private enum RelationFault: String {
    case gone
    case columns
    case key
    case index
    case owner
    case target
    case comment

    func finding(_ row: DoctorRow) -> DoctorFinding {
        let name = "\(row["type"]).\(row["field"])"
        let members = row["members"]
        // Functions take the target as a literal, statements as an identifier.
        let target = row["target"]
        let identifier = "\"\(target.replacing("\"", with: "\"\""))\""
        switch self {
        case .gone:
            return DoctorFinding(
                .error,
                "The relation \(name) has no table of members.",
                meaning: "Clients see a field of the type boolean, and what the members were is lost.",
                remedy: "Restore the table from a backup, or drop the column and make the relation anew.",
                commands: ["ALTER TABLE \(row["type"]) DROP COLUMN \(row["field"]);"]
            )
        case .columns:
            return DoctorFinding(
                .error,
                "The members of \(name) have other columns than _from and _to: \(row["columns"]).",
                meaning: "Members cannot be read or written as those of a relation, or are found without an index.",
                remedy:
                    "Both are text in the order of bytes that is never NULL, and any other column has a default or may be NULL.",
                commands: [
                    "ALTER TABLE \(members) ALTER _from TYPE text COLLATE \"C\", ALTER _from SET NOT NULL, "
                        + "ALTER _to TYPE text COLLATE \"C\", ALTER _to SET NOT NULL;"
                ]
            )
        case .key:
            return DoctorFinding(
                .error,
                "The members of \(name) have no primary key of _from and _to.",
                meaning:
                    "A record can be a member twice, so that counts are wrong; and each question about members reads all of them.",
                remedy: "Delete what is there twice, and make the key.",
                commands: [
                    "DELETE FROM \(members) AS a USING \(members) AS b "
                        + "WHERE a.ctid > b.ctid AND a._from = b._from AND a._to = b._to;",
                    "ALTER TABLE \(members) ADD PRIMARY KEY (_from, _to);",
                ]
            )
        case .index:
            return DoctorFinding(
                .warning,
                "The members of \(name) have no index of _to and _from.",
                meaning:
                    "What a record is a member of is found by reading all members, and so is what goes when it is deleted.",
                remedy: "Make it; CONCURRENTLY lets everybody write meanwhile.",
                commands: ["CREATE INDEX CONCURRENTLY ON \(members) (_to, _from);"]
            )
        case .owner:
            return Self.foreignKey("_from", of: name, members, to: row["type"], insteadOf: row["wrong_keys"])
        case .target:
            guard !target.isEmpty else {
                return DoctorFinding(
                    .error,
                    "The members of \(name) refer to no record type.",
                    meaning: "Clients see a field of an unknown type, and nothing can be asked about the members.",
                    remedy: "Give _to a foreign key to the type of the members, as _create_relation makes it.",
                    commands: []
                )
            }
            return Self.foreignKey("_to", of: name, members, to: identifier, insteadOf: row["wrong_keys"])
        case .comment:
            return DoctorFinding(
                .warning,
                "The comment of the members of \(name) does not say what they are.",
                meaning: "Who looks at the table in psql is misled; the service does not read it.",
                remedy: "Write it.",
                commands: [
                    "SELECT _describe_relation(\(row["type_name"]), \(row["field_name"]), "
                        + "'\(target.replacing("'", with: "''"))');"
                ]
            )
        }
    }

    private static func foreignKey(
        _ column: String,
        of relation: String,
        _ members: String,
        to table: String,
        insteadOf wrongKeys: String
    ) -> DoctorFinding {
        DoctorFinding(
            .error,
            "\(column) of the members of \(relation) has no foreign key to \(table) that deletes with it.",
            meaning: column == "_to"
                ? "The type of the members is not known, or those that are deleted stay members: a later record of the same id is "
                    + "one at once."
                : "The members of a deleted record stay, and a later record of the same id has them at once.",
            remedy: "Delete the members without a record, and make the key.",
            commands: [
                "DELETE FROM \(members) WHERE \(column) NOT IN (SELECT _id FROM \(table));",
                "ALTER TABLE \(members) \(wrongKeys)ADD FOREIGN KEY (\(column)) REFERENCES \(table) (_id) "
                    + "ON DELETE CASCADE DEFERRABLE;",
            ]
        )
    }
}
