package import SkyrowModel
internal import SkyrowPostgres

/// The groups of users: tags that access lists name, without members or owners.
package struct UserGroupTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Adds a user to groups, and returns all groups of the user, sorted.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user, and `108 InvalidArgument` for invalid names and for more groups than a
    /// user may have.
    package func add(
        _ groups: [GroupName],
        to user: UserID,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> [GroupName] {
        try await changing(user) { transaction in
            _ = try await transaction.query(
                """
                WITH given AS (
                    INSERT INTO \(schema.internal)._user_group (user_id, name)
                    SELECT DISTINCT \(user), named.name FROM unnest(\(groups)) AS named (name) ORDER BY 2
                    ON CONFLICT DO NOTHING RETURNING user_id, name
                )\(groupEvent(event, of: "given"))
                SELECT
                """
            )
        }
    }

    /// Returns a further part of a statement, which stores an event for each row of a part with users and groups.
    private func groupEvent(_ event: AuditEvent?, of source: SQLIdentifier) -> SQL {
        event.part(
            into: schema,
            from: "\(source)",
            user: "\(source).user_id",
            data: "jsonb_build_object('group', \(source).name)"
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
        try await changing(user) { transaction in
            _ = try await transaction.query(
                """
                WITH gone AS (
                    DELETE FROM \(schema.internal)._user_group WHERE user_id = \(user) AND name = ANY (\(groups))
                    RETURNING user_id, name
                )\(groupEvent(event, of: "gone"))
                SELECT
                """
            )
        }
    }

    /// Returns the groups of a user, sorted.
    ///
    /// Throws `110 ResourceNotFound` for an unknown user.
    package func groups(of user: UserID) async throws(SkyrowError) -> [GroupName] {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT ARRAY(SELECT given.name FROM \(schema.internal)._user_group AS given
                    WHERE given.user_id = account.id ORDER BY given.name)
                FROM \(schema.internal)._user AS account WHERE account.id = \(user)
                """
            )
            guard !result.isEmpty else { throw SkyrowError.userNotFound }
            return try result.decode(row: 0, column: 0)
        }
    }

    private func changing(
        _ user: UserID,
        _ change: (StoreTransaction) async throws -> Void
    ) async throws(SkyrowError) -> [GroupName] {
        try await store.reporting {
            try await store.client.withTransaction { transaction in
                // Serializes changes: the later one sees the result of the earlier one.
                let account = try await transaction.query(
                    "SELECT FROM \(schema.internal)._user AS account WHERE account.id = \(user) FOR NO KEY UPDATE"
                )
                guard account.rowCount > 0 else { throw SkyrowError.userNotFound }
                try await change(transaction)
                return try await transaction.query(
                    "SELECT given.name FROM \(schema.internal)._user_group AS given WHERE given.user_id = \(user) ORDER BY given.name"
                ).decodeColumn(0, as: GroupName.self)
            }
        }
    }
}

extension RecordStore {
    package var groups: UserGroupTable { UserGroupTable(store: self) }
}
