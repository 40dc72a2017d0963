package import SkyrowModel
internal import SkyrowPostgres

/// The roles that access lists name, and their users. A role is created when its name is first used.
package struct RoleTable: StoreTable, Sendable {
    let store: RecordStore

    /// Gives each of the users all of the roles; unknown users are skipped.
    package func assign(
        _ roles: [RoleName],
        to users: [UserID],
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) {
        try await store.write(
            recordingUsers(
                event,
                """
                INSERT INTO \(schema.internal)._user_role (user_id, role)
                SELECT account.id, given.role
                FROM \(schema.internal)._user AS account CROSS JOIN (SELECT DISTINCT unnest(\(roles)) AS role) AS given
                WHERE account.id = ANY (\(users)) ORDER BY 1, 2
                ON CONFLICT DO NOTHING RETURNING user_id, role
                """,
                after: """
                    named AS (
                        INSERT INTO \(schema.internal)._role (name) SELECT DISTINCT unnest(\(roles)) ORDER BY 1
                        ON CONFLICT DO NOTHING
                    )
                    """
            )
        )
    }

    /// Removes all of the roles from each of the users.
    package func revoke(
        _ roles: [RoleName],
        from users: [UserID],
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) {
        try await store.write(removing(roles, from: users, recording: event))
    }

    func removing(_ roles: [RoleName], from users: [UserID], recording event: AuditEvent?) -> SQL {
        recordingUsers(
            event,
            """
            DELETE FROM \(schema.internal)._user_role WHERE user_id = ANY (\(users)) AND role = ANY (\(roles))
            RETURNING user_id, role
            """
        )
    }

    /// Returns a statement that changes the users in roles, and stores an event for each.
    func recordingUsers(_ event: AuditEvent?, _ change: SQL, after former: SQL? = nil) -> SQL {
        store.recording(
            event,
            of: change,
            after: former,
            user: "changed.user_id",
            data: "jsonb_build_object('role', changed.role)"
        )
    }

    /// Returns the roles of each of the users, sorted; empty for an unknown user.
    package func roles(of users: [UserID]) async throws(SkyrowError) -> [UserID: [RoleName]] {
        let columns = Columns({ (user: UserID, role: RoleName) in (user, role) }, "user_id", "role")
        let given = try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._user_role
            WHERE user_id = ANY (\(users)) ORDER BY user_id, role COLLATE "C"
            """
        }
        var roles = Dictionary(users.map { ($0, [RoleName]()) }) { first, _ in first }
        for (user, role) in given { roles[user, default: []].append(role) }
        return roles
    }

    /// Returns the names of all roles, sorted.
    package func names() async throws(SkyrowError) -> [RoleName] {
        try await store.read(Columns<RoleName>("name")) {
            "SELECT \($0) FROM \(schema.internal)._role ORDER BY name COLLATE \"C\""
        }
    }

    /// Makes these the roles of new accounts, and no others.
    package func setDefault(_ roles: [RoleName], recording event: AuditEvent? = nil) async throws(SkyrowError) {
        try await replace(roles, flag: "by_default", recording: event)
    }

    /// Makes these the roles of administrators, and no others.
    package func setAdmin(_ roles: [RoleName], recording event: AuditEvent? = nil) async throws(SkyrowError) {
        try await replace(roles, flag: "is_admin", recording: event)
    }

    private func replace(
        _ roles: [RoleName],
        flag: SQLIdentifier,
        recording event: AuditEvent?
    ) async throws(SkyrowError) {
        try await store.write(
            """
            WITH chosen AS (
                INSERT INTO \(schema.internal)._role AS role (name, \(flag)) SELECT DISTINCT unnest(\(roles)), true ORDER BY 1
                ON CONFLICT (name) DO UPDATE SET \(flag) = true WHERE NOT role.\(flag)
                RETURNING role.name, role.\(flag) AS holds
            ), others AS (
                UPDATE \(schema.internal)._role AS role SET \(flag) = false WHERE role.\(flag) AND role.name <> ALL (\(roles))
                RETURNING role.name, role.\(flag) AS holds
            )\(store.recording(
                event,
                from: "(SELECT * FROM chosen UNION ALL SELECT * FROM others) AS changed",
                data: "jsonb_build_object('role', changed.name, \(flag.name)::text, changed.holds)"
            ))
            SELECT
            """
        )
    }
}
