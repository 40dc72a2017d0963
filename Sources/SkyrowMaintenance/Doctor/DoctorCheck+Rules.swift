internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// The check of record type rules (Documentation/Decisions/access.md), which psql can write.

extension DoctorCheck {
    /// Rows: `kind`, and the `type` as an identifier. A field's row has the field in `action`; a `subject` row has the
    /// `action`, the subject's key, and whether it `is_known`.
    package static let rules = DoctorCheck(
        "rules",
        "Access rules of record types",
        needsTables: true,
        .queries { scope in
            let members = scope.tables.flatMap { table in
                table.columns.filter { MemberField($0.field, of: $0.type) != nil }.map {
                    "\(table.name.rawValue).\($0.field.rawValue)"
                }
            }
            let fields = scope.tables.flatMap { table in
                table.columns.map { "\(table.name.rawValue).\($0.field.rawValue)" }
            }
            return [
                """
                SELECT 'gone' AS kind, quote_ident(type) AS type, quote_literal(type) AS name, NULL::text AS action,
                    NULL::text AS subject, NULL::boolean AS is_known
                FROM (
                    SELECT type FROM \(scope.schema.internal)._class_rule
                    UNION
                    SELECT type FROM \(scope.schema.internal)._class_option
                    WHERE NOT (
                        default_access IS NULL AND list_by IS NULL AND list_read_by IS NULL AND transfer_by = 'master'
                        AND creator = 'owner' AND private AND aggregate
                    )
                    UNION
                    SELECT type FROM \(scope.schema.internal)._field_rule
                ) AS known
                WHERE type <> ALL (\(scope.tables.map(\.name.rawValue))) AND type <> '*'
                UNION ALL
                SELECT 'subject', quote_ident(type), quote_literal(type), action, subject, CASE
                    WHEN starts_with(subject, 'field:') THEN type || '.' || substr(subject, 7) = ANY (\(members))
                    \(isThere(in: scope.schema)) END
                FROM \(scope.schema.internal)._class_rule CROSS JOIN unnest(allow) AS subject
                WHERE type = ANY (\(scope.tables.map(\.name.rawValue)))
                UNION ALL
                SELECT DISTINCT 'field', quote_ident(type), quote_literal(type), quote_ident(field), NULL, NULL::boolean
                FROM \(scope.schema.internal)._field_rule
                WHERE type = ANY (\(scope.tables.map(\.name.rawValue))) AND field <> '*' AND type || '.' || field <> ALL (\(fields))
                UNION ALL
                SELECT 'fieldSubject', quote_ident(type), quote_literal(type), quote_ident(field) || ' ' || action, subject, CASE
                    -- Of every type it is a field of those that have it.
                    WHEN starts_with(subject, 'field:') THEN type = '*' OR type || '.' || substr(subject, 7) = ANY (\(members))
                    \(isThere(in: scope.schema)) END
                FROM \(scope.schema.internal)._field_rule CROSS JOIN unnest(allow) AS entry CROSS JOIN regexp_replace(entry, '^!', '') AS subject
                WHERE type = ANY (\(scope.tables.map(\.name.rawValue))) OR type = '*'
                UNION ALL
                SELECT DISTINCT 'unique', quote_ident(type), quote_literal(type), quote_ident(field), NULL, NULL::boolean
                FROM \(scope.schema.internal)._field_rule
                JOIN pg_catalog.pg_class ON relname = type AND relnamespace = \(scope.schema.namespace)
                JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid AND attname = field
                JOIN pg_catalog.pg_index ON indrelid = pg_class.oid AND indisunique AND attnum = ANY (indkey)
                WHERE action = 'read' AND NOT allow && ARRAY['public', 'users'] AND type = ANY (\(scope.tables.map(\.name.rawValue)))
                UNION ALL
                SELECT 'profiles', quote_ident(type), quote_literal(type), action, NULL, NULL
                FROM \(scope.schema.internal)._class_rule
                WHERE type = 'user' AND action IN ('update', 'delete')
                    AND allow && ARRAY['public', 'users', 'registered', 'verified']
                UNION ALL
                SELECT 'loginKey', quote_ident(type), quote_literal(type), quote_ident(field) || ' ' || action, NULL, NULL
                FROM \(scope.schema.internal)._field_rule
                WHERE type = 'user' AND (
                    field = 'email' AND action IN ('read', 'update') AND allow && ARRAY['public', 'users', 'registered', 'verified']
                    OR field = 'username' AND (
                        action = 'read' AND 'public' = ANY (allow)
                        OR action = 'update' AND allow && ARRAY['public', 'users', 'registered', 'verified']
                    )
                )
                ORDER BY 2, 4, 5
                """
            ]
        },
        finding: { row, _ in finding(row) }
    )

    /// Returns the branches of a CASE for subjects that do not name a field.
    private static func isThere(in schema: SQLIdentifier) -> SQL {
        """
        WHEN starts_with(subject, 'role:')
            THEN EXISTS (SELECT FROM \(schema.internal)._role AS role WHERE 'role:' || role.name = subject)
        WHEN starts_with(subject, 'group:')
            THEN EXISTS (SELECT FROM \(schema.internal)._user_group AS carried WHERE 'group:' || carried.name = subject)
        WHEN starts_with(subject, 'key:')
            THEN EXISTS (SELECT FROM \(schema.internal)._key AS key WHERE 'key:' || key.name = subject AND key.revoked_at IS NULL)
        WHEN starts_with(subject, 'user:')
            THEN EXISTS (SELECT FROM \(schema.internal)._user AS account WHERE 'user:' || account.id = subject)
        ELSE true
        """
    }

    private static func finding(_ row: DoctorRow) -> DoctorFinding? {
        let (type, action, subject) = (row["type"], row["action"], row["subject"])
        let look = "SELECT * FROM _class_rules WHERE type = \(row["name"]);"
        let lookAtFields = "SELECT * FROM _field_rules WHERE type = \(row["name"]);"
        switch row["kind"] {
        case "gone":
            return DoctorFinding(
                .warning,
                "There are access rules for the type \(type), which does not exist.",
                meaning:
                    "They apply as soon as the type exists. A table that was renamed in psql loses its rules, and is as open as "
                    + "a type without rules.",
                remedy: "Change them to the new name of the type, or delete them.",
                commands: [
                    look,
                    "DELETE FROM {internal}._class_rule WHERE type = \(row["name"]);",
                    "DELETE FROM {internal}._field_rule WHERE type = \(row["name"]);",
                    "DELETE FROM {internal}._class_option WHERE type = \(row["name"]);",
                ]
            )
        case "field":
            return DoctorFinding(
                .warning,
                "There is an access rule for the field \(action) of \(type), which does not exist.",
                meaning:
                    "It applies as soon as the field exists. A column that was renamed in psql loses its rule, and is as open as "
                    + "its records.",
                remedy: "Change the rule to the new name of the field, or delete it.",
                commands: [lookAtFields]
            )
        case "fieldSubject":
            // The action is the field as an identifier and the use: "title read".
            let use = action.split(separator: " ").last.flatMap { FieldUse(rawValue: String($0)) }
            return finding(
                "The rule of the field \(action.split(separator: " ").dropLast().joined(separator: " ")) of \(type)",
                of: row,
                fits: use.map { Subject(key: subject)?.fits($0) ?? false } ?? false,
                look: lookAtFields
            )
        case "unique":
            return DoctorFinding(
                .warning,
                "The field \(action) of \(type) is unique, and a rule hides it from some users.",
                meaning:
                    "A save with a value that is taken fails with 109. A user who may set the field but not read it can find out "
                    + "which values exist.",
                remedy: "Restrict create and update of the field to users who may read it, or accept that.",
                commands: [lookAtFields]
            )
        case "loginKey":
            let (field, use) = (action.split(separator: " ").first ?? "", action.split(separator: " ").last ?? "")
            return DoctorFinding(
                .warning,
                "A rule allows all users to \(use) the field \(field) of profiles, which is a login key.",
                meaning: use == "read"
                    ? "Each caller can list the names for which to guess passwords."
                    : "Only its owner can change it in spite of the rule.",
                remedy: "Allow it to owners and roles only, unless this is intended.",
                commands: [lookAtFields]
            )
        case "profiles":
            return DoctorFinding(
                .warning,
                "A rule of \(type) allows every logged-in user to \(action) profiles.",
                meaning:
                    "Profiles contain login keys. Only their owners can change these, but others can change the other fields.",
                remedy: "Allow it to owners and roles only, unless this is intended.",
                commands: [look]
            )
        default:
            let known = Subject(key: subject)
            return finding(
                "The rule of \(type) about \(action)",
                of: row,
                fits: ClassAction(rawValue: action).map { known?.fits($0) ?? false } ?? false,
                look: look
            )
        }
    }

    /// Returns the finding for the subject that a rule names, or nil if the subject is valid.
    private static func finding(_ rule: String, of row: DoctorRow, fits: Bool, look: String) -> DoctorFinding? {
        guard fits else {
            return DoctorFinding(
                .error,
                "\(rule) names '\(row["subject"])', which is not a valid subject.",
                meaning: "An invalid rule allows no caller, including its other subjects.",
                remedy: "Correct it, or set the rule with schema:access:set, which refuses invalid rules.",
                commands: [look]
            )
        }
        guard !row.flag("is_known") else { return nil }
        return DoctorFinding(
            .warning,
            "\(rule) names '\(row["subject"])', which does not exist.",
            meaning: "The entry allows no caller until it exists. A field must hold strings or references to users.",
            remedy: "Change the name, or remove it.",
            commands: [look]
        )
    }
}
