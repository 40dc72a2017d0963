internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// The check of record type rules (Documentation/Decisions/access.md), which psql can write.

extension DoctorCheck {
    /// Rows: `kind`, and the `type` as an identifier. A field's row has the field in `action`; a `subject` row has the
    /// `action`, the subject's key, and whether it `is_known`.
    package static let rules = DoctorCheck(
        "rules",
        "The rules of record types",
        needsTables: true,
        queries: { scope in
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
                JOIN pg_catalog.pg_class ON relname = type AND relnamespace = \(scope.namespace)
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
        judge: { rows, _ in rows.compactMap { finding($0) } }
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
                "There are rules of the type \(type), which there is not.",
                meaning:
                    "They hold once there is one. A table that was renamed in psql has left its rules behind, and is as open as "
                    + "types without rules are.",
                remedy: "Give them the new name of the type, or delete them.",
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
                "There is a rule of the field \(action) of \(type), which there is not.",
                meaning:
                    "It holds once there is one. A column that was renamed in psql has left its rule behind, and is as open as "
                    + "its records are.",
                remedy: "Give the rule the new name of the field, or delete it.",
                commands: [lookAtFields]
            )
        case "fieldSubject":
            // The action is the field as an identifier and the use: "title read".
            let use = action.split(separator: " ").last.flatMap { FieldUse(rawValue: String($0)) }
            return finding(
                "The rule of the field \(action.split(separator: " ").dropLast().joined(separator: " ")) of \(type)",
                names: subject,
                fits: use.map { Subject(key: subject)?.fits($0) ?? false } ?? false,
                isKnown: row.flag("is_known"),
                note: " A field must hold strings or references to users.",
                commands: [lookAtFields]
            )
        case "unique":
            return DoctorFinding(
                .warning,
                "The field \(action) of \(type) is unique, and a rule hides it from some.",
                meaning:
                    "A save with a value that is taken is refused with 109. One who may give the field a value, and does not see it, finds "
                    + "out by that which values there are.",
                remedy:
                    "Let those who see the field be the ones who set it, by rules about create and update, or accept that.",
                commands: [lookAtFields]
            )
        case "loginKey":
            let (field, use) = (action.split(separator: " ").first ?? "", action.split(separator: " ").last ?? "")
            return DoctorFinding(
                .warning,
                "A rule opens the field \(field) of profiles, which accounts log in with, to all for \(use).",
                meaning: use == "read"
                    ? "Each caller gets a list of what to guess passwords for."
                    : "It is changed by its owner alone all the same; the rule says more than holds.",
                remedy: "Allow it to owners and to roles, unless that is what is meant.",
                commands: [lookAtFields]
            )
        case "profiles":
            return DoctorFinding(
                .warning,
                "Every user who is logged in may \(action) profiles, by a rule of \(type).",
                meaning:
                    "Profiles hold what accounts log in with. Login keys are changed by their owners alone, other fields are not.",
                remedy: "Allow it to their owners and to roles, unless that is what is meant.",
                commands: [look]
            )
        default:
            let known = Subject(key: subject)
            return finding(
                "The rule of \(type) about \(action)",
                names: subject,
                fits: ClassAction(rawValue: action).map { known?.fits($0) ?? false } ?? false,
                isKnown: row.flag("is_known"),
                note: " A field must hold strings or references to users.",
                commands: [look]
            )
        }
    }

    /// Returns the finding for a subject that a rule names, or nil if the subject is valid.
    private static func finding(
        _ rule: String,
        names subject: String,
        fits: Bool,
        isKnown: Bool,
        note: String = "",
        commands: [String]
    ) -> DoctorFinding? {
        guard fits else {
            return DoctorFinding(
                .error,
                "\(rule) names '\(subject)', which is no subject of it.",
                meaning: "A rule that is not understood allows no one, whatever else it names.",
                remedy: "Correct it, or set the rule by schema:access:set, which refuses what it does not understand.",
                commands: commands
            )
        }
        guard !isKnown else { return nil }
        return DoctorFinding(
            .warning,
            "\(rule) names '\(subject)', which there is not.",
            meaning: "It allows no one by that, until there is one of the name.\(note)",
            remedy: "Name another one, or take it out.",
            commands: commands
        )
    }
}
