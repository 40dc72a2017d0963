internal import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowQuery
import SkyrowStore

// Checks of child records (Documentation/Decisions/relations-and-references.md) and of the members of relations
// (Documentation/Decisions/relations-and-references.md).

extension DoctorCheck {
    package static let parents = DoctorCheck(
        "parents",
        "Parents of records",
        needsTables: true,
        .query { scope in
            """
            SELECT quote_ident(relname) AS type, quote_literal(relname) AS name, bool_or(tgenabled = 'D') AS disabled
            FROM pg_catalog.pg_class
            JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attname = '_parent' AND NOT attisdropped
            LEFT JOIN pg_catalog.pg_trigger ON tgrelid = pg_class.oid AND tgname = '_check_parent'
                AND tgfoid = to_regprocedure(\(literal: "\(scope.schema.quoted)._check_parent()"))
            WHERE relnamespace = \(scope.schema.namespace)
                AND relname = ANY (\(scope.tables.map { PostgresName($0.name.rawValue) }))
            GROUP BY relname HAVING count(*) FILTER (WHERE tgenabled IN ('O', 'A')) = 0
            ORDER BY relname
            """
        },
        finding: { row, _ in
            let isDisabled = row.flag("disabled")
            return DoctorFinding(
                .error,
                "The trigger _check_parent of \(row["type"]) is \(isDisabled ? "disabled" : "missing").",
                meaning:
                    "A record can become its own ancestor, or have too many ancestors: deletes of such records, and saves "
                    + "that check their ancestors, are refused or slow.",
                remedy: isDisabled
                    ? "Enable it, and look for records that are their own ancestors."
                    : "Create it, and look for records that are their own ancestors.",
                commands: [
                    isDisabled
                        ? "ALTER TABLE \(row["type"]) ENABLE TRIGGER _check_parent;"
                        : "SELECT _keep_parent(\(row["name"]));",
                    "SELECT _id FROM \(row["type"]) WHERE _parent = _id;",
                ]
            )
        }
    )

    /// Rows: the `type` and `field` of a relation, its table of `members`, and that table's `fault`.
    package static let relations = DoctorCheck(
        "relations",
        "Members of relations",
        needsTables: true,
        .query { relationFaults(in: $0) },
        finding: { row, _ in RelationFault(rawValue: row["fault"])?.finding(row) }
    )

    private static func relationFaults(in scope: DoctorScope) -> SQL {
        // A relation's field has a member table, or a comment that says it once had one.
        """
        WITH relation AS (
            SELECT relname AS type, attname AS field, \(scope.schema)._members(relname::text, attname::text) AS members,
                col_description(pg_class.oid, attnum) AS described
            FROM pg_catalog.pg_class
            JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
            WHERE relnamespace = \(scope.schema.namespace) AND atttypid = 'boolean'::regtype
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
                        WHERE relname = type AND relnamespace = \(scope.schema.namespace)
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
                "The relation \(name) has no members table.",
                meaning: "Clients see a field of the type boolean, and the members are lost.",
                remedy: "Restore the table from a backup, or drop the column and create the relation again.",
                commands: ["ALTER TABLE \(row["type"]) DROP COLUMN \(row["field"]);"]
            )
        case .columns:
            return DoctorFinding(
                .error,
                "The members table of \(name) has unexpected columns: \(row["columns"]).",
                meaning: "Members cannot be read or written as members of a relation, or are found without an index.",
                remedy:
                    "Make _from and _to text NOT NULL with the collation \"C\", and give other columns a default or allow NULL.",
                commands: [
                    "ALTER TABLE \(members) ALTER _from TYPE text COLLATE \"C\", ALTER _from SET NOT NULL, "
                        + "ALTER _to TYPE text COLLATE \"C\", ALTER _to SET NOT NULL;"
                ]
            )
        case .key:
            return DoctorFinding(
                .error,
                "The members table of \(name) has no primary key of _from and _to.",
                meaning:
                    "A record can be a member twice, so counts are wrong, and each query for members reads the whole table.",
                remedy: "Delete duplicates, and create the key.",
                commands: [
                    "DELETE FROM \(members) AS a USING \(members) AS b "
                        + "WHERE a.ctid > b.ctid AND a._from = b._from AND a._to = b._to;",
                    "ALTER TABLE \(members) ADD PRIMARY KEY (_from, _to);",
                ]
            )
        case .index:
            return DoctorFinding(
                .warning,
                "The members table of \(name) has no index of _to and _from.",
                meaning: "Finding the relations of a record reads all members, and so does deleting a record.",
                remedy: "Create it; CONCURRENTLY does not block writes.",
                commands: ["CREATE INDEX CONCURRENTLY ON \(members) (_to, _from);"]
            )
        case .owner:
            return Self.foreignKey("_from", of: name, members, to: row["type"], insteadOf: row["wrong_keys"])
        case .target:
            guard !target.isEmpty else {
                return DoctorFinding(
                    .error,
                    "The members table of \(name) does not refer to a record type.",
                    meaning: "Clients see a field of an unknown type, and cannot query the members.",
                    remedy: "Add a foreign key from _to to the type of the members, as _create_relation creates it.",
                    commands: []
                )
            }
            return Self.foreignKey("_to", of: name, members, to: identifier, insteadOf: row["wrong_keys"])
        case .comment:
            return DoctorFinding(
                .warning,
                "The comment of the members table of \(name) is wrong.",
                meaning: "It misleads readers in psql; the service does not read it.",
                remedy: "Correct it.",
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
            "\(column) in the members table of \(relation) has no foreign key to \(table) with ON DELETE CASCADE.",
            meaning: column == "_to"
                ? "The type of the members is unknown, or deleted records stay members: a new record with the same id becomes a "
                    + "member at once."
                : "The members of a deleted record stay, and a new record with the same id gets them at once.",
            remedy: "Delete members without a record, and create the key.",
            commands: [
                "DELETE FROM \(members) WHERE \(column) NOT IN (SELECT _id FROM \(table));",
                "ALTER TABLE \(members) \(wrongKeys)ADD FOREIGN KEY (\(column)) REFERENCES \(table) (_id) "
                    + "ON DELETE CASCADE DEFERRABLE;",
            ]
        )
    }
}
