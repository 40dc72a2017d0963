package import SkyrowModel
internal import SkyrowPostgres

/// A stored session with what its user may do.
package struct StoredSession: Hashable, Sendable {
    package var userID: UserID
    /// Sorted.
    package var roles: [RoleName]
    package var isAdministrator: Bool
    /// nil means never; a session that has ended may still be stored.
    package var expiresAt: Timestamp?
    /// When it was last used, to the minute; nil for one that has just been opened.
    package var lastUsedAt: Timestamp?
    package var suspension: AccountSuspension?
    /// Whether the user's tokens of that time were revoked; set only while the account is disabled, since its user is
    /// to learn of that and not of the token.
    package var isRevoked: Bool

    package init(
        userID: UserID,
        roles: [RoleName],
        isAdministrator: Bool,
        expiresAt: Timestamp? = nil,
        lastUsedAt: Timestamp? = nil,
        suspension: AccountSuspension? = nil,
        isRevoked: Bool = false
    ) {
        self.userID = userID
        self.roles = roles
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.suspension = suspension
        self.isRevoked = isRevoked
    }
}

/// The access tokens that were given out, by their hashes.
///
/// Whatever ends a session sends a notice on the channel `skyrow_session`, with the schema and a slash before it:
/// `token:<hash in hexadecimal>`, `user:<id>` or `all`. Triggers in the database do so, which makes it hold for psql too.
package struct SessionTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Finds a session with its user's roles, in one statement; nil also when the user's tokens were revoked since and the
    /// account is not disabled.
    package func session(tokenHash: [UInt8]) async throws(SkyrowError) -> StoredSession? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT account.id, session.expires_at,
                    account.disabled, account.disabled_message, account.disabled_until,
                    coalesce(given.roles, '{}'), coalesce(given.is_admin, false),
                    session.epoch <> account.epoch, session.last_used_at
                FROM \(schema)._session AS session
                JOIN \(schema)._user AS account ON account.id = session.user_id
                LEFT JOIN LATERAL (
                    SELECT array_agg(role.name ORDER BY role.name COLLATE "C") AS roles,
                        bool_or(role.is_admin) AS is_admin
                    FROM \(schema)._user_role AS member JOIN \(schema)._role AS role ON role.name = member.role
                    WHERE member.user_id = account.id
                ) AS given ON true
                WHERE session.token_hash = \(tokenHash)
                    AND (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
                """
            )
            guard !result.isEmpty else { return nil }
            return StoredSession(
                userID: try result.decode(row: 0, column: 0),
                roles: try result.decode(row: 0, column: 5),
                isAdministrator: try result.decode(row: 0, column: 6),
                expiresAt: try Timestamp(result, row: 0, column: 1),
                lastUsedAt: try Timestamp(result, row: 0, column: 8),
                suspension: try AccountSuspension(result, row: 0, column: 2),
                isRevoked: try result.decode(row: 0, column: 7)
            )
        }
    }

    /// Ends a session; true when there was one.
    @discardableResult
    package func delete(tokenHash: [UInt8]) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            try await store.client.write(
                "DELETE FROM \(schema)._session WHERE token_hash = \(tokenHash)"
            ).affectedRows > 0
        }
    }

    /// Ends every session of a user.
    package func deleteAll(of user: UserID) async throws(SkyrowError) {
        try await store.reporting {
            _ = try await store.client.write("DELETE FROM \(schema)._session WHERE user_id = \(user)")
        }
    }

    /// Writes down that these sessions were used; those that have ended stay ended.
    ///
    /// A row that another statement holds is passed over: whatever holds it ends the session or says the same.
    package func noteUse(of tokenHashes: [[UInt8]], at now: Timestamp) async throws(SkyrowError) {
        guard !tokenHashes.isEmpty else { return }
        try await store.reporting {
            _ = try await store.client.write(
                """
                WITH used AS (
                    SELECT session.token_hash FROM \(schema)._session AS session
                    WHERE session.token_hash = ANY (\(tokenHashes)) FOR NO KEY UPDATE SKIP LOCKED
                )
                UPDATE \(schema)._session AS session
                SET last_used_at = greatest(session.last_used_at, \(PostgresTimestamp(now)))
                FROM used WHERE session.token_hash = used.token_hash
                """
            )
        }
    }

    /// Removes the sessions that have ended by their age, by an epoch that is over or by not being used; returns how
    /// many.
    ///
    /// - Parameter unusedSince: sessions last used before it are removed; nil: none for that reason.
    @discardableResult
    package func purgeExpired(unusedSince: Timestamp? = nil) async throws(SkyrowError) -> Int {
        try await store.reporting {
            try await store.client.write(
                """
                WITH ended AS (
                    SELECT session.token_hash
                    FROM \(schema)._session AS session
                    JOIN \(schema)._user AS account ON account.id = session.user_id
                    WHERE session.expires_at < now()
                        OR session.last_used_at < \(unusedSince.map(PostgresTimestamp.init) as PostgresTimestamp?)
                        OR (session.epoch <> account.epoch AND NOT (\(UserTable.isDisabled)))
                    FOR UPDATE OF session SKIP LOCKED
                )
                DELETE FROM \(schema)._session AS session USING ended WHERE session.token_hash = ended.token_hash
                """
            ).affectedRows
        }
    }
}

extension RecordStore {
    package var sessions: SessionTable { SessionTable(store: self) }
}
