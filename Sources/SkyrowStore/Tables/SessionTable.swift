package import SkyrowModel
internal import SkyrowPostgres

/// A stored session with what its user may do.
package struct StoredSession: Hashable, Sendable {
    package var userID: UserID
    /// Sorted.
    package var roles: [String]
    package var isAdministrator: Bool
    /// nil means never; a session that has ended may still be stored.
    package var expiresAt: Timestamp?
    package var suspension: AccountSuspension?
    /// Whether the user's tokens of that time were revoked; told only while the account is disabled, since its user is
    /// to learn of that and not of the token.
    package var isRevoked: Bool

    package init(
        userID: UserID,
        roles: [String],
        isAdministrator: Bool,
        expiresAt: Timestamp? = nil,
        suspension: AccountSuspension? = nil,
        isRevoked: Bool = false
    ) {
        self.userID = userID
        self.roles = roles
        self.isAdministrator = isAdministrator
        self.expiresAt = expiresAt
        self.suspension = suspension
        self.isRevoked = isRevoked
    }
}

/// The access tokens that were given out, by their hashes.
///
/// Whatever ends a session sends a notice on the channel `skyrow_session`: `token:<hash in hexadecimal>`, `user:<id>`
/// or `all`. Triggers in the database do so, which makes it hold for psql too.
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
                    session.created_at < account.token_valid_since
                FROM \(schema)._session AS session
                JOIN \(schema)._user AS account ON account.id = session.user_id
                LEFT JOIN LATERAL (
                    SELECT array_agg(role.name ORDER BY role.name COLLATE "C") AS roles,
                        bool_or(role.is_admin) AS is_admin
                    FROM \(schema)._user_role AS member JOIN \(schema)._role AS role ON role.name = member.role
                    WHERE member.user_id = account.id
                ) AS given ON true
                WHERE session.token_hash = \(tokenHash)
                    AND (session.created_at >= account.token_valid_since OR (\(UserTable.isShut)))
                """
            )
            guard !result.isEmpty else { return nil }
            return StoredSession(
                userID: try result.decode(row: 0, column: 0),
                roles: try result.decode(row: 0, column: 5),
                isAdministrator: try result.decode(row: 0, column: 6),
                expiresAt: try Timestamp(result, row: 0, column: 1),
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

    /// Forgets the sessions that have expired; returns how many.
    @discardableResult
    package func purgeExpired() async throws(SkyrowError) -> Int {
        try await store.reporting {
            try await store.client.write("DELETE FROM \(schema)._session WHERE expires_at < now()").affectedRows
        }
    }
}

extension RecordStore {
    package var sessions: SessionTable { SessionTable(store: self) }
}
