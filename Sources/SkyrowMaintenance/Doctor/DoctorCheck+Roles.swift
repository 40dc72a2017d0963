internal import SkyrowPostgres
import SkyrowStore

// Checks of roles and of permission-change notifications (Documentation/Decisions/roles-and-groups.md,
// Documentation/Decisions/sessions-and-keys.md).

extension DoctorCheck {
    /// Rows: a `kind`, either `cycle` with the names of roles that contain themselves in `what`, or `gone` with a
    /// nonexistent role in `what` and the `place` of the list that names it.
    package static let roles = DoctorCheck(
        "roles",
        "Nested roles and access lists of roles",
        needsTables: true,
        .query { scope in
            """
            WITH RECURSIVE above (member, role) AS (
                SELECT member, role FROM \(scope.schema.internal)._role_role
                UNION
                SELECT above.member, further.role
                FROM above JOIN \(scope.schema.internal)._role_role AS further ON further.member = above.role
            ), listed (place, list) AS (
                SELECT 'the role ' || quote_literal(name), access FROM \(scope.schema.internal)._role
                UNION ALL
                SELECT 'the list of new records of ' || quote_ident(type), default_access
                FROM \(scope.schema.internal)._class_option
            )
            SELECT 'cycle' AS kind, string_agg(quote_literal(member), ', ' ORDER BY member COLLATE "C") AS what, '' AS place
            FROM above WHERE member = role HAVING count(*) > 0
            UNION ALL
            SELECT 'gone', quote_literal(substr(subject, 6)), place
            FROM listed CROSS JOIN jsonb_object_keys(CASE jsonb_typeof(list) WHEN 'object' THEN list ELSE '{}' END) AS subject
            WHERE starts_with(subject, 'role:')
                AND NOT EXISTS (SELECT FROM \(scope.schema.internal)._role AS role WHERE role.name = substr(subject, 6))
            ORDER BY 1, 3, 2
            """
        },
        finding: { row, _ in
            guard row["kind"] == "cycle" else {
                return DoctorFinding(
                    .warning,
                    "The access list of \(row["place"]) names the role \(row["what"]), which does not exist.",
                    meaning: "The entry admits no caller, and would admit the users of a new role with that name.",
                    remedy: "Remove it from the list, with role:save or schema:access:set."
                )
            }
            return DoctorFinding(
                .error,
                "Roles contain themselves: \(row["what"]).",
                meaning:
                    "Users of one of them have all of them. The cycle was created while a trigger was missing or disabled.",
                remedy: "Remove one of them from the cycle.",
                commands: [
                    "SELECT * FROM _role_roles WHERE member IN (\(row["what"])) AND role IN (\(row["what"]));"
                ]
            )
        }
    )

    /// Rows: a `place` with its `trigger`, whose `state` is `missing` or `off`; or a missing `counter`.
    package static let notices = DoctorCheck(
        "notices",
        "Notifications of changed rights",
        needsTables: true,
        .queries { scope in
            let expected = AccountNotices.triggers
            return [
                """
                SELECT NULL::text AS counter, expected.home AS place, expected.name AS trigger,
                    CASE WHEN held.oid IS NULL THEN 'missing' ELSE 'off' END AS state
                FROM unnest(\(expected.map(\.table)), \(expected.map(\.name))) AS expected (home, name)
                LEFT JOIN pg_catalog.pg_class AS home
                    ON home.relname = expected.home AND home.relnamespace IN \(scope.namespaces)
                LEFT JOIN pg_catalog.pg_trigger AS held ON held.tgrelid = home.oid AND held.tgname = expected.name
                WHERE coalesce(held.tgenabled, 'D') NOT IN ('O', 'A')
                UNION ALL
                SELECT known.name, NULL, NULL, NULL FROM unnest(\(AccountNotices.counters)) AS known (name)
                WHERE NOT EXISTS (SELECT FROM \(scope.schema.internal)._version AS version WHERE version.name = known.name)
                ORDER BY 1, 2, 3
                """
            ]
        },
        finding: { row, _ in
            if let counter = row.values["counter"] {
                return DoctorFinding(
                    .error,
                    "_version has no row '\(counter)'.",
                    meaning:
                        "Processes cannot tell whether their rules are current, and therefore do not serve records.",
                    remedy: "Insert it again.",
                    commands: [
                        "INSERT INTO {internal}._version (name) VALUES ('\(counter)') ON CONFLICT DO NOTHING;"
                    ]
                )
            }
            let isOff = row["state"] == "off"
            let (place, trigger) = (row["place"], row["trigger"])
            return DoctorFinding(
                .error,
                "The trigger \(trigger) of \(place) is \(row["state"]).",
                meaning:
                    "Processes learn of changes there late or never: a right or a session that was revoked, or a file that was "
                    + "deleted, stays valid until then.",
                remedy: isOff
                    ? "Enable it again."
                    : "Create it again as in the sql/schema.sql of this version, or restore into a new database.",
                commands: isOff
                    ? [
                        "ALTER TABLE \(place == "user" ? "\"user\"" : "{internal}.\(place)") ENABLE TRIGGER \(trigger);"
                    ] : []
            )
        }
    )
}

/// The triggers that notify processes of changed permissions, and the counters that processes compare.
package enum AccountNotices {
    package static let triggers: [(table: String, name: String)] = [
        ("_asset", "_announce"), ("_asset", "_announce_all"), ("_asset", "_announce_change"),
        ("_class_option", "_announce"), ("_class_option", "_announce_all"), ("_class_rule", "_announce"),
        ("_class_rule", "_announce_all"), ("_field_rule", "_announce"), ("_field_rule", "_announce_all"),
        ("_function", "_announce"), ("_function_server", "_announce"), ("_function_server", "_announce_all"),
        ("_identity", "_announce"), ("_identity", "_announce_all"), ("_key", "_announce"), ("_key", "_announce_all"),
        ("_role", "_announce"), ("_role_role", "_announce_all"), ("_session", "_announce"),
        ("_session", "_announce_all"), ("_session", "_announce_rotation"), ("_user", "_announce"),
        ("_user_group", "_announce"), ("_user_group", "_announce_all"), ("_user_role", "_announce"),
        ("_user_role", "_announce_all"), ("user", "_announce_address"),
    ]
    package static let counters = ["keys", "rules"]
}
