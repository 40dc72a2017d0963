package import SkyrowModel
internal import SkyrowPostgres

/// A stored session with the rights of its user.
package struct StoredSession: Hashable, Sendable {
    package var userID: UserID
    /// The roles of the user and those that contain them, sorted.
    package var roles: [RoleName]
    /// Sorted.
    package var groups: [GroupName]
    package var isAdministrator: Bool
    /// Whether the account is not anonymous.
    package var isRegistered: Bool
    /// Whether the address of the account is verified.
    package var isVerified: Bool
    /// When the session expires; nil means never. An expired session may still be stored.
    package var expiresAt: Timestamp?
    /// When it was last used, to the minute; nil for a new session.
    package var lastUsedAt: Timestamp?
    package var suspension: AccountSuspension?
    /// Whether the user's tokens of that time were revoked. Set only while the account is disabled, since its user should then
    /// get an error about the account and not about the token.
    package var isRevoked: Bool
    /// When its token was issued; nil for a new session.
    package var tokenGivenAt: Timestamp?
    /// The token by which the session was found.
    package var token: Token
    /// Whether its user has authenticated again within the last minutes.
    package var isElevated: Bool

    package enum Token: Hashable, Sendable {
        case current
        /// The previous token, while it is still accepted.
        case previous
        /// The previous token, when it is no longer accepted: two clients use the session, one of which is not its user's.
        case reused
    }

    package init(
        userID: UserID,
        roles: [RoleName],
        groups: [GroupName] = [],
        isAdministrator: Bool,
        isRegistered: Bool = false,
        isVerified: Bool = false,
        expiresAt: Timestamp? = nil,
        lastUsedAt: Timestamp? = nil,
        suspension: AccountSuspension? = nil,
        isRevoked: Bool = false,
        tokenGivenAt: Timestamp? = nil,
        token: Token = .current,
        isElevated: Bool = false
    ) {
        self.userID = userID
        self.roles = roles
        self.groups = groups
        self.isAdministrator = isAdministrator
        self.isRegistered = isRegistered
        self.isVerified = isVerified
        self.expiresAt = expiresAt
        self.lastUsedAt = lastUsedAt
        self.suspension = suspension
        self.isRevoked = isRevoked
        self.tokenGivenAt = tokenGivenAt
        self.token = token
        self.isElevated = isElevated
    }
}

/// The access tokens that were issued, by their hashes.
///
/// Everything that ends a session notifies the session channel (``RecordStore/channel(of:)``) with the schema, a slash and
/// `token:<hash in hexadecimal>`, `user:<id>` or `all`. Triggers in the database do so, which includes changes by psql.
package struct SessionTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Finds a session with its user's roles and groups, in one statement; nil also if the user's tokens were revoked since and
    /// the account is not disabled.
    ///
    /// Throws `108 InvalidArgument` if the user has more roles than allowed, for example after roles that contain others were
    /// added to further ones: any choice among them would be a guess.
    package func session(tokenHash: [UInt8]) async throws(SkyrowError) -> StoredSession? {
        try await store.reporting {
            let heldRoles = store.roles.held(
                from: "SELECT given.role FROM \(schema.internal)._user_role AS given WHERE given.user_id = account.id"
            )
            let result = try await store.client.read(
                """
                SELECT account.id, session.expires_at,
                    account.disabled, account.disabled_message, account.disabled_until,
                    coalesce(given.roles, '{}'), coalesce(given.is_admin, false),
                    session.epoch <> account.epoch, session.last_used_at,
                    coalesce(session.rotated_at, session.created_at), session.token_hash <> \(tokenHash),
                    session.rotated_at <= now() - \(SessionTable.previousTokenTime),
                    ARRAY(
                        SELECT carried.name FROM \(schema.internal)._user_group AS carried
                        WHERE carried.user_id = account.id ORDER BY carried.name
                    ), \(UserTable.isRegistered("account", in: schema)), \(SessionTable.isElevated),
                    \(UserTable.isVerified("account", in: schema))
                FROM \(schema.internal)._session AS session
                JOIN \(schema.internal)._user AS account ON account.id = session.user_id
                LEFT JOIN LATERAL (
                    SELECT array_agg(role.name ORDER BY role.name COLLATE "C") AS roles,
                        bool_or(role.is_admin) AS is_admin
                    FROM (\(heldRoles)) AS held JOIN \(schema.internal)._role AS role ON role.name = held.role
                ) AS given ON true
                WHERE \(SessionTable.has(tokenHash))
                    AND (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
                """
            )
            guard !result.isEmpty else { return nil }
            let isPrevious = try result.decode(row: 0, column: 10, as: Bool.self)
            let isOver = try result.decode(row: 0, column: 11, as: Bool?.self) ?? false
            let roles = try result.decode(row: 0, column: 5, as: [RoleName].self)
            guard roles.count <= RoleTable.maximumHeld else { throw SkyrowError.tooManyRoles }
            return StoredSession(
                userID: try result.decode(row: 0, column: 0),
                roles: roles,
                groups: try result.decode(row: 0, column: 12),
                isAdministrator: try result.decode(row: 0, column: 6),
                isRegistered: try result.decode(row: 0, column: 13),
                isVerified: try result.decode(row: 0, column: 15),
                expiresAt: try Timestamp(result, row: 0, column: 1),
                lastUsedAt: try Timestamp(result, row: 0, column: 8),
                suspension: try AccountSuspension(result, row: 0, column: 2),
                isRevoked: try result.decode(row: 0, column: 7),
                tokenGivenAt: try Timestamp(result, row: 0, column: 9),
                token: !isPrevious ? .current : isOver ? .reused : .previous,
                isElevated: try result.decode(row: 0, column: 14)
            )
        }
    }

    /// How long the previous token is accepted after a session has got another one: for requests in progress, and for those of
    /// other windows.
    static let previousTokenTime: SQL = "interval '30 seconds'"

    /// The condition that `session` has a token with this hash, or had it before its present one.
    static func has(_ tokenHash: [UInt8]) -> SQL {
        "(session.token_hash = \(tokenHash) OR session.previous_hash = \(tokenHash))"
    }

    /// ` AND EXISTS (…)`: the condition that the `account` has the session to keep; empty without such a session.
    func goesOn(_ kept: [UInt8]?) -> SQL {
        kept.map { hash in
            """
             AND EXISTS (
                SELECT FROM \(schema.internal)._session AS session
                WHERE session.user_id = account.id AND session.epoch = account.epoch AND \(SessionTable.has(hash))
            )
            """
        } ?? ""
    }

    /// Ends a session; returns true if it existed.
    ///
    /// - Parameter event: the event to record.
    @discardableResult
    package func delete(tokenHash: [UInt8], recording event: AuditEvent? = nil) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let recorded = event.map {
                $0.insertion(into: schema, from: "ended", user: "ended.user_id", session: "ended.id")
            }
            let result = try await store.client.write(
                """
                WITH ended AS (
                    DELETE FROM \(schema.internal)._session AS session WHERE \(SessionTable.has(tokenHash))
                    RETURNING session.id, session.user_id
                )\(recorded.map { ", recorded AS (\($0))" as SQL } ?? "")
                SELECT FROM ended
                """
            )
            return !result.isEmpty
        }
    }

    /// Gives a session another token; the present one is accepted for a while. Returns false if the session has ended, or has got
    /// another token meanwhile.
    ///
    /// The account's row is locked, so that no revocation of its tokens is missed; there is never a second session.
    package func rotate(
        _ tokenHash: [UInt8],
        of user: UserID,
        to newHash: [UInt8]
    ) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            WITH account AS (
                SELECT account.id, account.epoch FROM \(schema.internal)._user AS account
                WHERE account.id = \(user) FOR NO KEY UPDATE
            )
            UPDATE \(schema.internal)._session AS session
            SET token_hash = \(newHash), previous_hash = session.token_hash, rotated_at = now()
            FROM account
            WHERE session.token_hash = \(tokenHash) AND session.user_id = account.id AND session.epoch = account.epoch
            """
        ) > 0
    }

    /// Returns the sessions of a user that have not ended, the last used first, at most `limit`.
    ///
    /// - Parameters:
    ///   - current: the token hash that identifies the current session.
    ///   - unusedSince: sessions last used before this time have ended; nil for no such limit.
    ///   - now: the time that decides which sessions have expired.
    package func sessions(
        of user: UserID,
        current: [UInt8]?,
        unusedSince: Timestamp?,
        at now: Timestamp,
        limit: Int = AccountSession.maximumListed
    ) async throws(SkyrowError) -> [AccountSession] {
        try await store.reporting {
            let isCurrent: SQL = current.map { SessionTable.has($0) } ?? "false"
            let result = try await store.client.read(
                """
                SELECT session.id::text, session.device_id, session.device_name, host(session.address),
                    session.user_agent, session.created_at, session.last_used_at, session.expires_at,
                    session.created_with, coalesce(\(isCurrent), false), session.level
                FROM \(schema.internal)._session AS session JOIN \(schema.internal)._user AS account ON account.id = session.user_id
                WHERE account.id = \(user) AND session.epoch = account.epoch
                    AND (session.expires_at IS NULL OR session.expires_at > \(PostgresTimestamp(now)))
                    AND (session.last_used_at < \(unusedSince.map(PostgresTimestamp.init) as PostgresTimestamp?)) IS NOT TRUE
                ORDER BY session.last_used_at DESC, session.created_at DESC, session.id LIMIT \(Int64(limit))
                """
            )
            var sessions: [AccountSession] = []
            for row in 0..<result.rowCount {
                sessions.append(
                    AccountSession(
                        id: try result.decode(row: row, column: 0),
                        device: SessionDevice(
                            id: try result.decode(row: row, column: 1),
                            name: try result.decode(row: row, column: 2)
                        ),
                        address: try result.decode(row: row, column: 3),
                        userAgent: try result.decode(row: row, column: 4),
                        createdAt: try Timestamp(result, row: row, column: 5) ?? .negativeInfinity,
                        lastUsedAt: try Timestamp(result, row: row, column: 6) ?? .negativeInfinity,
                        expiresAt: try Timestamp(result, row: row, column: 7),
                        createdWith: try result.decode(row: row, column: 8),
                        level: Int(try result.decode(row: row, column: 10, as: Int16.self)),
                        isCurrent: try result.decode(row: row, column: 9)
                    )
                )
            }
            return sessions
        }
    }

    /// Ends those of a user's sessions that have these ids; returns their number.
    ///
    /// - Parameter ids: UUIDs.
    package func delete(
        _ ids: [String],
        of user: UserID,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Int {
        guard !ids.isEmpty else { return 0 }
        return try await store.reporting {
            let result = try await store.client.write(
                """
                WITH ended AS (
                    DELETE FROM \(schema.internal)._session AS session
                    WHERE session.user_id = \(user) AND session.id = ANY (\(ids)::uuid[])
                    RETURNING session.id
                )\(recording(event, of: user, counting: "ended"))
                SELECT count(*) FROM ended
                """
            )
            return Int(try result.decode(row: 0, column: 0, as: Int64.self))
        }
    }

    /// Returns the part that records how many rows another part of the statement has, unless it has no rows.
    private func recording(_ event: AuditEvent?, of user: UserID, counting part: SQL) -> SQL {
        guard let event else { return "" }
        let insertion = event.insertion(
            into: schema,
            from: "(SELECT count(*) AS number FROM \(part)) AS counted WHERE counted.number > 0",
            user: "\(user)::text",
            data: "jsonb_build_object('sessions', counted.number)"
        )
        return ", recorded AS (\(insertion))"
    }

    /// Revokes the tokens of a user, except that of the session to keep; returns how many sessions have ended.
    ///
    /// One statement increments the epoch, also of the session to keep, so that no session that is opened meanwhile stays valid.
    /// Returns nil, and changes nothing, if the session to keep has ended or the user does not exist.
    ///
    /// - Parameter kept: the hash of the token of the session to keep; nil ends all.
    package func revokeAll(
        of user: UserID,
        keeping kept: [UInt8]?,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Int? {
        try await store.reporting {
            let isKept: SQL = kept.map { SessionTable.has($0) } ?? "false"
            let condition = goesOn(kept)
            let result = try await store.client.write(
                """
                WITH account AS (
                    UPDATE \(schema.internal)._user AS account SET epoch = account.epoch + 1
                    WHERE account.id = \(user)\(condition)
                    RETURNING account.id, account.epoch
                ), kept AS (
                    UPDATE \(schema.internal)._session AS session SET epoch = account.epoch FROM account
                    WHERE session.user_id = account.id AND session.epoch = account.epoch - 1 AND \(isKept)
                ), ended AS (
                    DELETE FROM \(schema.internal)._session AS session USING account
                    WHERE session.user_id = account.id AND (\(isKept)) IS NOT TRUE
                    RETURNING session.epoch = account.epoch - 1 AS was_open
                )\(recording(event, of: user, counting: "ended WHERE was_open"))
                SELECT (SELECT count(*) FROM ended WHERE was_open) FROM account
                """
            )
            return result.isEmpty ? nil : Int(try result.decode(row: 0, column: 0, as: Int64.self))
        }
    }

    /// Ends every session of a user.
    package func deleteAll(of user: UserID) async throws(SkyrowError) {
        try await store.write("DELETE FROM \(schema.internal)._session WHERE user_id = \(user)")
    }

    /// Records that these sessions were used; those that have ended stay ended.
    ///
    /// A row that another statement has locked is skipped: that statement ends the session or records the same.
    package func noteUse(of tokenHashes: [[UInt8]], at now: Timestamp) async throws(SkyrowError) {
        guard !tokenHashes.isEmpty else { return }
        try await store.write(
            """
            WITH used AS (
                SELECT session.token_hash FROM \(schema.internal)._session AS session
                WHERE session.token_hash = ANY (\(tokenHashes)) FOR NO KEY UPDATE SKIP LOCKED
            )
            UPDATE \(schema.internal)._session AS session
            SET last_used_at = greatest(session.last_used_at, \(PostgresTimestamp(now)))
            FROM used WHERE session.token_hash = used.token_hash
            """
        )
    }

    /// Removes the sessions that have expired, that belong to an earlier epoch or that were unused for too long; returns how
    /// many.
    ///
    /// - Parameter unusedSince: sessions last used before this time are removed; nil for no such limit.
    @discardableResult
    package func purgeExpired(unusedSince: Timestamp? = nil) async throws(SkyrowError) -> Int {
        try await store.write(
            """
            WITH ended AS (
                SELECT session.token_hash
                FROM \(schema.internal)._session AS session
                JOIN \(schema.internal)._user AS account ON account.id = session.user_id
                WHERE session.expires_at < now()
                    OR session.last_used_at < \(unusedSince.map(PostgresTimestamp.init) as PostgresTimestamp?)
                    OR (session.epoch <> account.epoch AND NOT (\(UserTable.isDisabled)))
                FOR UPDATE OF session SKIP LOCKED
            )
            DELETE FROM \(schema.internal)._session AS session USING ended WHERE session.token_hash = ended.token_hash
            """
        )
    }
}

extension RecordStore {
    package var sessions: SessionTable { SessionTable(store: self) }
}
