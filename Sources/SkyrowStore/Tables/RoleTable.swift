package import SkyrowModel
internal import SkyrowPostgres

/// The roles that access lists name, and their users. A role is created when its name is first used.
package struct RoleTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Gives each of the users all of the roles; unknown users are skipped.
    package func assign(
        _ roles: [RoleName],
        to users: [UserID],
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) {
        try await store.write(
            """
            WITH named AS (
                INSERT INTO \(schema.internal)._role (name) SELECT DISTINCT unnest(\(roles)) ORDER BY 1
                ON CONFLICT DO NOTHING
            ), given AS (
                INSERT INTO \(schema.internal)._user_role (user_id, role)
                SELECT account.id, given.role
                FROM \(schema.internal)._user AS account CROSS JOIN (SELECT DISTINCT unnest(\(roles)) AS role) AS given
                WHERE account.id = ANY (\(users)) ORDER BY 1, 2
                ON CONFLICT DO NOTHING RETURNING user_id, role
            )\(memberEvent(event, of: "given"))
            SELECT
            """
        )
    }

    /// Removes all of the roles from each of the users.
    package func revoke(
        _ roles: [RoleName],
        from users: [UserID],
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) {
        try await store.write(
            """
            WITH gone AS (
                DELETE FROM \(schema.internal)._user_role WHERE user_id = ANY (\(users)) AND role = ANY (\(roles))
                RETURNING user_id, role
            )\(memberEvent(event, of: "gone"))
            SELECT
            """
        )
    }

    /// Returns a further part of a statement, which stores an event for each row of a part with users and roles.
    func memberEvent(_ event: AuditEvent?, of source: SQLIdentifier) -> SQL {
        event.part(
            into: store.schema,
            from: "\(source)",
            user: "\(source).user_id",
            data: "jsonb_build_object('role', \(source).role)"
        )
    }

    /// Returns the roles of each of the users, sorted; empty for an unknown user.
    package func roles(of users: [UserID]) async throws(SkyrowError) -> [UserID: [RoleName]] {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT user_id, role FROM \(schema.internal)._user_role
                WHERE user_id = ANY (\(users)) ORDER BY user_id, role COLLATE "C"
                """
            )
            var roles = Dictionary(users.map { ($0, [RoleName]()) }) { first, _ in first }
            for row in 0..<result.rowCount {
                let user = try result.decode(row: row, column: 0, as: UserID.self)
                roles[user, default: []].append(try result.decode(row: row, column: 1))
            }
            return roles
        }
    }

    /// Returns the names of all roles, sorted.
    package func names() async throws(SkyrowError) -> [RoleName] {
        try await store.reporting {
            try await store.client.read("SELECT name FROM \(schema.internal)._role ORDER BY name COLLATE \"C\"")
                .decodeColumn(0, as: RoleName.self)
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
            )\(event.part(
                into: schema,
                from: "(SELECT * FROM chosen UNION ALL SELECT * FROM others) AS changed",
                data: "jsonb_build_object('role', changed.name, \(flag.name)::text, changed.holds)"
            ))
            SELECT
            """
        )
    }
}

extension RecordStore {
    package var roles: RoleTable { RoleTable(store: self) }
}
