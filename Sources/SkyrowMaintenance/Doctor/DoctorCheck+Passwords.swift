internal import SkyrowPostgres

// Checks of account passwords and of administrator roles.

extension DoctorCheck {
    /// Rows: the number of accounts with a hash of a `cost`, such as `ln=15,r=8,p=3`, or empty for an unreadable hash; or an
    /// administrator `role` without users. bcrypt hashes were imported from other systems and are replaced at the next login.
    package static let passwords = DoctorCheck(
        "passwords",
        "Password hashes and administrator roles",
        needsTables: true,
        .queries { scope in
            [
                """
                SELECT coalesce(
                        substring(account.password_hash FROM '^[$]scrypt[$](ln=[0-9]+,r=[0-9]+,p=[0-9]+)(?:,n=1)?[$]'), ''
                    ) AS cost, count(*)::text AS count, min(account.id) AS example
                FROM \(scope.schema.internal)._user AS account
                WHERE account.password_hash !~ '^[$]2[aby][$](0[4-9]|1[0-4])[$][./A-Za-z0-9]{53}$' GROUP BY 1 ORDER BY 1
                """,
                """
                WITH RECURSIVE part (top, role) AS (
                    SELECT role.name, role.name FROM \(scope.schema.internal)._role AS role WHERE role.is_admin
                    UNION
                    SELECT part.top, held.member
                    FROM part JOIN \(scope.schema.internal)._role_role AS held ON held.role = part.role
                )
                SELECT part.top AS role FROM part
                LEFT JOIN \(scope.schema.internal)._user_role AS given ON given.role = part.role
                GROUP BY part.top HAVING count(given.user_id) = 0 AND part.top <> 'Admin' ORDER BY part.top
                """,
            ]
        },
        finding: { row, limits in
            if let role = row.values["role"] {
                return DoctorFinding(
                    .warning,
                    "The role \(role) grants administrator rights, and no user has it.",
                    meaning: "A user who is added to it becomes an administrator at once.",
                    remedy: "Assign it to a user, or delete it.",
                    commands: [
                        "$ skyrow role add '\(role)' --user NAME",
                        "DELETE FROM {internal}._role WHERE name = '\(role)';",
                    ]
                )
            }
            let (count, cost) = (row["count"], row["cost"])
            guard !cost.isEmpty else {
                return DoctorFinding(
                    .warning,
                    "The passwords of \(count) accounts have a format that this version of skyrow does not support, such as "
                        + "that of '\(row["example"])'.",
                    meaning: "No user can log in to these accounts with a password.",
                    remedy: "Ask the users to reset them by mail, or set them with auth:reset_password."
                )
            }
            guard work(cost) < limits.passwordWork else { return nil }
            return DoctorFinding(
                .warning,
                "The passwords of \(count) accounts are hashed with \(cost), which is weaker than the current cost.",
                meaning:
                    "The next login replaces the hash; these users have not logged in since the cost was raised.",
                remedy:
                    "No action is needed; if the database may have leaked, ask these users to choose a new password.",
                commands: [
                    "SELECT id, last_login_at FROM {internal}._user WHERE password_hash LIKE '$scrypt$\(cost)%' ORDER BY 2 NULLS FIRST LIMIT 20;"
                ]
            )
        }
    )

    /// The product of a hash's cost factors.
    private static func work(_ cost: String) -> Double {
        let numbers = cost.split(separator: ",").compactMap { Double($0.drop { $0 != "=" }.dropFirst()) }
        guard numbers.count == 3, numbers[0] < 64 else { return .infinity }
        return Double(UInt64(1) << UInt64(numbers[0])) * numbers[1] * numbers[2]
    }
}
