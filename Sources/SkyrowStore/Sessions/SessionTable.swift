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
package struct SessionTable: StoreTable, Sendable {
    let store: RecordStore

    /// Finds a session with its user's roles and groups, in one statement; nil also if the user's tokens were revoked since and
    /// the account is not disabled.
    ///
    /// Throws `108 InvalidArgument` if the user has more roles than allowed, for example after roles that contain others were
    /// added to further ones: any choice among them would be a guess.
    package func session(tokenHash: [UInt8]) async throws(SkyrowError) -> StoredSession? {
        let columns = Columns(
            StoredSession.init(
                userID:
                roles:
                groups:
                isAdministrator:
                isRegistered:
                isVerified:
                expiresAt:
                lastUsedAt:
                suspension:
                isRevoked:
                tokenGivenAt:
                token:
                isElevated:
            ),
            "account.id",
            "coalesce(given.roles, '{}')",
            "\(store.groups.held(by: "account.id"))",
            "coalesce(given.is_admin, false)",
            "\(UserTable.isRegistered("account", in: schema))",
            "\(UserTable.isVerified("account", in: schema))",
            "session.expires_at",
            "session.last_used_at",
            AccountSuspension.columns,
            "session.epoch <> account.epoch",
            "coalesce(session.rotated_at, session.created_at)",
            Columns(
                { (isPrevious: Bool, isOver: Bool) in !isPrevious ? .current : isOver ? .reused : .previous },
                "session.token_hash <> \(tokenHash)",
                "coalesce(session.rotated_at <= now() - \(SessionTable.previousTokenTime), false)"
            ),
            "\(SessionTable.isElevated)"
        )
        let session = try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._session AS session
            JOIN \(schema.internal)._user AS account ON account.id = session.user_id
            \(given)
            WHERE \(SessionTable.has(tokenHash)) AND (session.epoch = account.epoch OR (\(UserTable.isDisabled)))
            """
        }.first
        guard session?.roles.count ?? 0 <= RoleTable.maximumHeld else { throw .tooManyRoles }
        return session
    }

    /// Returns what a new session of a user would have; nil without such an account.
    ///
    /// Throws `108 InvalidArgument` if the user has more roles than allowed.
    package func standing(of user: UserID) async throws(SkyrowError) -> StoredSession? {
        let columns = Columns(
            {
                (
                    userID: UserID,
                    roles: [RoleName],
                    groups: [GroupName],
                    isAdministrator: Bool,
                    isRegistered: Bool,
                    isVerified: Bool,
                    suspension: AccountSuspension?
                ) in
                StoredSession(
                    userID: userID,
                    roles: roles,
                    groups: groups,
                    isAdministrator: isAdministrator,
                    isRegistered: isRegistered,
                    isVerified: isVerified,
                    suspension: suspension
                )
            },
            "account.id",
            "coalesce(given.roles, '{}')",
            "\(store.groups.held(by: "account.id"))",
            "coalesce(given.is_admin, false)",
            "\(UserTable.isRegistered("account", in: schema))",
            "\(UserTable.isVerified("account", in: schema))",
            AccountSuspension.columns
        )
        let session = try await store.read(columns) {
            "SELECT \($0) FROM \(schema.internal)._user AS account \(given) WHERE account.id = \(user)"
        }.first
        guard session?.roles.count ?? 0 <= RoleTable.maximumHeld else { throw .tooManyRoles }
        return session
    }

    /// The roles of `account` and those that contain them, as a join with `given`.
    private var given: SQL {
        """
        LEFT JOIN LATERAL (
            SELECT array_agg(role.name ORDER BY role.name COLLATE "C") AS roles, bool_or(role.is_admin) AS is_admin
            FROM (\(store.roles.held(from: store.roles.given(to: "account.id")))) AS held
            JOIN \(schema.internal)._role AS role ON role.name = held.role
        ) AS given ON true
        """
    }

    /// How long the previous token is accepted after a session has got another one: for requests in progress, and for those of
    /// other windows.
    static let previousTokenTime: SQL = "interval '30 seconds'"

    /// The condition that `session` has a token with this hash, or had it before its present one.
    static func has(_ tokenHash: [UInt8]) -> SQL {
        "(session.token_hash = \(tokenHash) OR session.previous_hash = \(tokenHash))"
    }

    /// The condition that `session` is an open one of `account` and has, or had, a token with this hash.
    static func isOpen(_ tokenHash: [UInt8]) -> SQL {
        "session.user_id = account.id AND session.epoch = account.epoch AND \(has(tokenHash))"
    }

    /// The condition that `account` has this session; true without one.
    ///
    /// - Parameter id: of the session, if it must also be the same as before.
    func goesOn(_ tokenHash: [UInt8]?, id: String? = nil) -> SQL {
        guard let tokenHash else { return "true" }
        let isSame: SQL = id.map { " AND session.id = \($0)::uuid" } ?? ""
        return """
            EXISTS (
                SELECT FROM \(schema.internal)._session AS session WHERE \(SessionTable.isOpen(tokenHash))\(isSame)
            )
            """
    }

    /// A further part that ends the sessions of the statement's `account`.
    var ending: SQL {
        """
        , ended AS (
            DELETE FROM \(schema.internal)._session AS session USING account WHERE session.user_id = account.id
        )
        """
    }

    /// Further parts that end the sessions of the statement's `account`, whose epoch has been incremented, but for one. They
    /// return whether those were open, as `ended`.
    ///
    /// - Parameter kept: the hash of the token of the session to keep; nil ends all.
    func ending(keeping kept: [UInt8]?) -> SQL {
        let isKept: SQL = kept.map { SessionTable.has($0) } ?? "false"
        return """
            , kept AS (
                UPDATE \(schema.internal)._session AS session SET epoch = account.epoch FROM account
                WHERE session.user_id = account.id AND session.epoch = account.epoch - 1 AND \(isKept)
            ), ended AS (
                DELETE FROM \(schema.internal)._session AS session USING account
                WHERE session.user_id = account.id AND (\(isKept)) IS NOT TRUE
                RETURNING session.epoch = account.epoch - 1 AS was_open
            )
            """
    }

    /// Ends a session; returns true if it existed.
    ///
    /// - Parameter event: the event to record.
    @discardableResult
    package func delete(tokenHash: [UInt8], recording event: AuditEvent? = nil) async throws(SkyrowError) -> Bool {
        try await store.write(
            store.recording(
                event,
                of: """
                    DELETE FROM \(schema.internal)._session AS session WHERE \(SessionTable.has(tokenHash))
                    RETURNING session.id, session.user_id
                    """,
                user: "changed.user_id",
                session: "changed.id"
            )
        ) > 0
    }

    /// Gives a session another token; the present one is accepted for a while. Returns false if the session has ended, or has got
    /// another token meanwhile.
    ///
    /// The account's row is locked, so that no revocation of its tokens is missed; there is never a second session.
    package func rotate(_ tokenHash: [UInt8], of user: UserID, to newHash: [UInt8]) async throws(SkyrowError) -> Bool {
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
        let isCurrent: SQL = current.map { SessionTable.has($0) } ?? "false"
        let columns = Columns(
            AccountSession.init(
                id:
                device:
                address:
                userAgent:
                createdAt:
                lastUsedAt:
                expiresAt:
                createdWith:
                level:
                isCurrent:
            ),
            "session.id::text",
            SessionDevice.columns(of: "session"),
            "host(session.address)",
            "session.user_agent",
            "session.created_at",
            "session.last_used_at",
            "session.expires_at",
            "session.created_with",
            "session.level",
            "coalesce(\(isCurrent), false)"
        )
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._session AS session JOIN \(schema.internal)._user AS account ON account.id = session.user_id
            WHERE account.id = \(user) AND session.epoch = account.epoch
                AND (session.expires_at IS NULL OR session.expires_at > \(now))
                AND (session.last_used_at < \(unusedSince as Timestamp?)) IS NOT TRUE
            ORDER BY session.last_used_at DESC, session.created_at DESC, session.id LIMIT \(limit)
            """
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
        return try await store.value(
            writing: """
                WITH ended AS (
                    DELETE FROM \(schema.internal)._session AS session
                    WHERE session.user_id = \(user) AND session.id = ANY (\(ids)::uuid[])
                    RETURNING session.id
                )\(recording(event, of: user, counting: "ended"))
                SELECT count(*) FROM ended
                """
        ) ?? 0
    }

    /// Returns the part that records how many rows another part of the statement has, unless it has no rows.
    private func recording(_ event: AuditEvent?, of user: UserID, counting part: SQL) -> SQL {
        store.recording(
            event,
            from: "(SELECT count(*) AS number FROM \(part)) AS counted WHERE counted.number > 0",
            user: "\(user)::text",
            data: "jsonb_build_object('sessions', counted.number)"
        )
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
        try await store.value(
            writing: """
                WITH account AS (
                    UPDATE \(schema.internal)._user AS account SET epoch = account.epoch + 1
                    WHERE account.id = \(user) AND \(goesOn(kept))
                    RETURNING account.id, account.epoch
                )\(ending(keeping: kept))\(recording(event, of: user, counting: "ended WHERE was_open"))
                SELECT (SELECT count(*) FROM ended WHERE was_open) FROM account
                """
        )
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
            SET last_used_at = greatest(session.last_used_at, \(now))
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
                    OR session.last_used_at < \(unusedSince as Timestamp?)
                    OR (session.epoch <> account.epoch AND NOT (\(UserTable.isDisabled)))
                FOR UPDATE OF session SKIP LOCKED
            )
            DELETE FROM \(schema.internal)._session AS session USING ended WHERE session.token_hash = ended.token_hash
            """
        )
    }
}

extension SessionDevice {
    static func columns(of table: SQLIdentifier) -> Columns<SessionDevice> {
        Columns(SessionDevice.init(id:name:), "\(table).device_id", "\(table).device_name")
    }
}
