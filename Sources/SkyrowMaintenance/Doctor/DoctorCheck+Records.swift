internal import SkyrowModel
internal import SkyrowPostgres
import SkyrowStore

// Checks of rows and accounts that psql may have written.

extension DoctorCheck {
    /// Reads every record table once, in parts, which bounds the duration of a statement.
    package static let records = DoctorCheck(
        "records",
        "Invalid rows of record tables",
        needsTables: true,
        .queries { scope in
            scope.tables.flatMap { table in
                let rules = RecordRule.allCases.compactMap { rule -> SQL? in
                    guard let violation = rule.violation(in: table, schema: scope.schema) else { return nil }
                    return "(\(literal: rule.rawValue), coalesce(\(violation), false))"
                }
                let blocks = scope.blocks[table.name] ?? 0
                return TablePart.all(ofBlocks: blocks, length: scope.limits.blocksAtOnce).map { part -> SQL in
                    """
                    SELECT quote_ident(\(literal: table.name.rawValue)) AS name, judged.rule AS rule, count(*) AS count,
                        min(record._id) AS example
                    FROM \(table.qualifiedName) AS record
                    CROSS JOIN LATERAL (VALUES \(rules.joined(separator: ", "))) AS judged (rule, is_broken)
                    WHERE judged.is_broken AND \(part.condition(on: "record")) GROUP BY judged.rule
                    ORDER BY judged.rule
                    """
                }
            }
        },
        judge: { rows, _ in
            // The rows have one entry per rule and part, in table order.
            var counts: [DoctorRow: (count: Int, example: String)] = [:]
            var order: [DoctorRow] = []
            for row in rows {
                let key: DoctorRow = ["name": row["name"], "rule": row["rule"]]
                guard let known = counts[key] else {
                    order.append(key)
                    counts[key] = (row.integer("count"), row["example"])
                    continue
                }
                counts[key] = (known.count + row.integer("count"), min(known.example, row["example"]))
            }
            return order.compactMap { key in
                guard let found = counts[key] else { return nil }
                return RecordRule(rawValue: key["rule"])?.finding(
                    type: key["name"],
                    count: found.count,
                    example: found.example
                )
            }
        }
    )

    package static let accounts = DoctorCheck(
        "accounts",
        "Accounts and profiles",
        needsTables: true,
        .query { scope in
            """
            SELECT 'profile' AS kind, count(*) AS count, min(profile._id) AS example
            FROM \(scope.schema)."user" AS profile
            WHERE profile._id NOT IN (SELECT account.id FROM \(scope.schema.internal)._user AS account)
            UNION ALL
            SELECT 'id', count(*), min(account.id) FROM \(scope.schema.internal)._user AS account
            WHERE account.id ~ '^[_~]' OR strpos(account.id, '/') > 0
                OR octet_length(account.id) NOT BETWEEN 1 AND 255
            UNION ALL
            SELECT 'administrator', count(*), NULL FROM \(scope.schema.internal)._user
            WHERE NOT EXISTS (SELECT FROM \(scope.schema.internal)._role AS role WHERE role.is_admin)
            """
        },
        finding: { row, _ in
            let count = row.integer("count")
            guard count > 0 else { return nil }
            switch row["kind"] {
            case "profile":
                return DoctorFinding(
                    .warning,
                    "\(count) row\(count == 1 ? "" : "s") of \"user\" have no account, such as '\(row["example"])'.",
                    meaning: "No login as such a user succeeds; 'skyrow user create' creates accounts with profiles.",
                    remedy: "Delete them, or create accounts without a password for them.",
                    commands: [
                        "INSERT INTO {internal}._user (id) SELECT _id FROM \"user\" WHERE _id NOT IN (SELECT id FROM _users);"
                    ]
                )
            case "id":
                return DoctorFinding(
                    .error,
                    "\(count) account\(count == 1 ? " has" : "s have") an invalid user id, such as "
                        + "'\(row["example"])'.",
                    meaning:
                        "A user id names a private database: it has 1 to 255 bytes, does not begin with '_' or '~' and "
                        + "contains no slash.",
                    remedy: "Give the profile and the account another id, or delete them.",
                    commands: ["SELECT * FROM \"user\" WHERE _id ~ '^[_~]' OR strpos(_id, '/') > 0;"]
                )
            default:
                return DoctorFinding(
                    .warning,
                    "No role grants administrator rights.",
                    meaning: "Only the master key can assign roles and disable accounts.",
                    remedy: "Create one, if administrators are needed.",
                    commands: ["UPDATE {internal}._role SET is_admin = true WHERE name = 'Admin';"]
                )
            }
        }
    )
}
