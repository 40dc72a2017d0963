package import SkyrowModel
internal import SkyrowPostgres

/// The groups of users: tags that access lists name, without members or owners.
package struct UserGroupTable: StoreTable, Sendable {
    let store: RecordStore

    /// The sorted groups of a user.
    func held(by user: SQL) -> SQL {
        """
        ARRAY(
            SELECT carried.name FROM \(schema.internal)._user_group AS carried
            WHERE carried.user_id = \(user) ORDER BY carried.name
        )
        """
    }

    /// Adds a user to groups, and returns all groups of the user, sorted.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user, and `108 InvalidArgument` for invalid names and for more groups than a
    /// user may have.
    package func add(
        _ groups: [GroupName],
        to user: UserID,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> [GroupName] {
        try await changing(
            user,
            """
            INSERT INTO \(schema.internal)._user_group (user_id, name)
            SELECT DISTINCT \(user), named.name FROM unnest(\(groups)) AS named (name) ORDER BY 2
            ON CONFLICT DO NOTHING RETURNING user_id, name
            """,
            recording: event
        )
    }

    /// Removes a user from groups, and returns the remaining groups of the user, sorted.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user.
    package func remove(
        _ groups: [GroupName],
        from user: UserID,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> [GroupName] {
        try await changing(
            user,
            """
            DELETE FROM \(schema.internal)._user_group WHERE user_id = \(user) AND name = ANY (\(groups))
            RETURNING user_id, name
            """,
            recording: event
        )
    }

    /// Returns the groups of a user, sorted.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user.
    package func groups(of user: UserID) async throws(SkyrowError) -> [GroupName] {
        let groups: [GroupName]? = try await store.value(
            reading:
                "SELECT \(held(by: "account.id")) FROM \(schema.internal)._user AS account WHERE account.id = \(user)"
        )
        guard let groups else { throw .userNotFound }
        return groups
    }

    private func changing(
        _ user: UserID,
        _ change: SQL,
        recording event: AuditEvent?
    ) async throws(SkyrowError) -> [GroupName] {
        try await store.inTransaction { transaction in
            // Serializes changes: the later one sees the result of the earlier one.
            let account = try await transaction.query(
                "SELECT FROM \(schema.internal)._user AS account WHERE account.id = \(user) FOR NO KEY UPDATE"
            )
            guard account.rowCount > 0 else { throw SkyrowError.userNotFound }
            try await transaction.execute(
                store.recording(
                    event,
                    of: change,
                    user: "changed.user_id",
                    data: "jsonb_build_object('group', changed.name)"
                )
            )
            return try await transaction.query("SELECT \(held(by: "\(user)"))").first() ?? []
        }
    }
}
