package import SkyrowModel
internal import SkyrowPostgres

/// A verified code, which the statement that has the effect uses.
package enum FactorProof: Hashable, Sendable {
    /// The code of a half minute, for the secret with this sealed form.
    case totp(sealed: [UInt8], step: Int64)
    /// A recovery code, by the hashes that may be stored for it.
    case recovery(hashes: [[UInt8]])
}

/// The second factor of an account, as codes are compared with it.
package struct StoredFactor: Hashable, Sendable {
    package let sealed: [UInt8]
    /// The current half minute by PostgreSQL's clock.
    package let step: Int64
}

/// A login that waits for the second factor.
package struct PendingLogIn: Hashable, Sendable {
    package let user: UserID
    package let device: SessionDevice
}

/// The second factors of accounts, and the logins that wait for them.
///
/// Statements lock the account first and then its factor, so that they do not deadlock.
package struct FactorTable: StoreTable, Sendable {
    /// How long a secret waits for its first code, in seconds.
    package static let enrolmentLifetime: Int64 = 3600
    /// How long a login waits, in seconds.
    package static let handleLifetime: Int64 = 600
    /// The most attempts with one handle, and at the first code of a secret.
    package static let maximumAttempts: Int32 = 5
    /// The most logins of an account that wait; a further one removes the oldest.
    package static let maximumPending: Int64 = 10

    let store: RecordStore

    /// The current half minute by PostgreSQL's clock.
    private static let step: SQL = "floor(extract(epoch FROM clock_timestamp()) / 30)::bigint"

    /// The associated data of a sealed secret.
    package static func placeOfSecret(_ user: UserID) -> [String] { ["_factor", "totp", user.rawValue] }

    /// Returns the keys with which recovery codes are hashed.
    package func keys() async throws(SkyrowError) -> FactorKeys {
        let secrets = try await store.reporting { try await store.secrets() }
        guard let keys = FactorKeys(secrets: secrets) else { throw .unexpected }
        return keys
    }

    /// Returns the label of an account: its first login key that has a value, else its id.
    package func label(of user: UserID) async throws(SkyrowError) -> String {
        let all = try (store.loginColumns + ["profile._id"]).joined(separator: ", ")
        return try await store.value(
            reading: "SELECT coalesce(\(all)) FROM \(schema).\"user\" AS profile WHERE profile._id = \(user)"
        ) ?? user.rawValue
    }

    /// Stores a secret that takes effect with its first code, replacing a pending one. Returns false if the session has ended.
    ///
    /// - Parameter tokenHash: the token hash of the caller's session; nil for the master key.
    package func enrol(
        _ sealed: [UInt8],
        of user: UserID,
        session tokenHash: [UInt8]?
    ) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            WITH locked AS (\(locking(user, tokenHash)))
            INSERT INTO \(schema.internal)._factor (user_id, kind, pending_sealed, pending_at)
            SELECT locked.id, 'totp', \(sealed), now() FROM locked
            ON CONFLICT (user_id) WHERE kind = 'totp'
            DO UPDATE SET pending_sealed = EXCLUDED.pending_sealed, pending_at = EXCLUDED.pending_at,
                pending_attempts = 0
            """
        ) > 0
    }

    /// Counts an attempt at the first code of a pending secret; nil if there is no such secret, or no attempt is left.
    package func attemptEnrolment(of user: UserID) async throws(SkyrowError) -> StoredFactor? {
        try await store.write(columns(sealed: "factor.pending_sealed")) {
            """
            UPDATE \(schema.internal)._factor AS factor SET pending_attempts = factor.pending_attempts + 1
            WHERE factor.user_id = \(user) AND factor.kind = 'totp' AND \(waits)
                AND factor.pending_attempts < \(Self.maximumAttempts)
            RETURNING \($0)
            """
        }.first
    }

    /// Returns the secret of an account that requires a second factor.
    package func factor(of user: UserID) async throws(SkyrowError) -> StoredFactor? {
        try await store.read(columns(sealed: "factor.secret_sealed")) {
            """
            SELECT \($0) FROM \(schema.internal)._factor AS factor
            WHERE factor.user_id = \(user) AND factor.kind = 'totp' AND factor.confirmed_at IS NOT NULL
            """
        }.first
    }

    private var waits: SQL {
        "factor.pending_sealed IS NOT NULL AND factor.pending_at > now() - \(Self.enrolmentLifetime) * interval '1 second'"
    }

    private func columns(sealed: SQL) -> Columns<StoredFactor> {
        Columns(StoredFactor.init(sealed:step:), "\(sealed)", "\(Self.step)")
    }

    /// Activates the pending secret that the code matched, with new recovery codes. Returns false if it no longer waits, or if
    /// the session has ended.
    package func confirm(
        _ sealed: [UInt8],
        of user: UserID,
        session tokenHash: [UInt8]?,
        step: Int64,
        recoveryHashes: [[UInt8]],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            WITH locked AS (\(locking(user, tokenHash))), confirmed AS (
                UPDATE \(schema.internal)._factor AS factor
                SET secret_sealed = factor.pending_sealed, pending_sealed = NULL, pending_at = NULL,
                    pending_attempts = 0, last_step = \(step), confirmed_at = now(), last_used_at = NULL
                FROM locked
                WHERE factor.user_id = locked.id AND factor.kind = 'totp' AND factor.pending_sealed = \(sealed)
                    AND \(waits)
                RETURNING factor.user_id
            ), ended AS (
                DELETE FROM \(schema.internal)._factor AS factor USING confirmed
                WHERE factor.user_id = confirmed.user_id AND factor.kind = 'recovery'
            ), made AS (
                INSERT INTO \(schema.internal)._factor (user_id, kind, hash, confirmed_at)
                SELECT confirmed.user_id, 'recovery', given.hash, now()
                FROM confirmed CROSS JOIN unnest(\(recoveryHashes)) AS given (hash)
            )\(store.recording(event, from: "confirmed", user: "confirmed.user_id"))
            SELECT FROM confirmed
            """
        ) > 0
    }

    /// Removes the second factor of an account with its recovery codes; returns false if the account has no second factor.
    package func remove(of user: UserID, recording event: AuditEvent) async throws(SkyrowError) -> Bool {
        let had: SQL = "(SELECT DISTINCT removed.user_id FROM removed WHERE removed.kind = 'totp') AS had"
        return try await store.write(
            """
            WITH locked AS (\(locking(user))), removed AS (
                DELETE FROM \(schema.internal)._factor AS factor USING locked WHERE factor.user_id = locked.id
                RETURNING factor.user_id, factor.kind
            )\(store.recording(event, from: had, user: "had.user_id"))
            SELECT FROM removed WHERE removed.kind = 'totp'
            """
        ) > 0
    }

    /// Returns the second factors of an account: at most the time-based codes, and the recovery codes that are left.
    package func factors(of user: UserID) async throws(SkyrowError) -> [AccountFactor] {
        let columns = Columns(
            AccountFactor.init(_:confirmedAt:lastUsedAt:left:),
            "factor.kind",
            "max(factor.confirmed_at)",
            "max(factor.last_used_at)",
            "CASE WHEN factor.kind = 'recovery' THEN count(*) END"
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._factor AS factor
            WHERE factor.user_id = \(user) AND factor.confirmed_at IS NOT NULL
            GROUP BY factor.kind ORDER BY factor.kind DESC
            """
        }
    }

    // MARK: Log-ins that wait

    /// Stores a login that waits for the second factor, and returns the factors with which it may continue; nil if the account's
    /// tokens were revoked since the credentials were read.
    package func begin(
        _ handleHash: [UInt8],
        for credentials: AccountCredentials,
        device: SessionDevice
    ) async throws(SkyrowError) -> [AccountFactor.Kind]? {
        try await store.value(
            writing: """
                WITH begun AS (
                    INSERT INTO \(schema.internal)._pending_login (handle_hash, user_id, epoch, device_id, device_name, expires_at)
                    SELECT \(handleHash), account.id, account.epoch, \(device.id as String?), \(device.name as String?),
                        now() + \(Self.handleLifetime) * interval '1 second'
                    FROM \(schema.internal)._user AS account
                    WHERE \(credentials.areCurrent)
                    RETURNING user_id
                ), ended AS (
                    DELETE FROM \(schema.internal)._pending_login AS pending USING (
                        SELECT other.handle_hash
                        FROM \(schema.internal)._pending_login AS other JOIN begun ON begun.user_id = other.user_id
                        ORDER BY other.created_at DESC, other.handle_hash OFFSET \(Self.maximumPending - 1)
                    ) AS surplus
                    WHERE pending.handle_hash = surplus.handle_hash
                )
                SELECT ARRAY(
                    SELECT DISTINCT factor.kind FROM \(schema.internal)._factor AS factor
                    WHERE factor.user_id = begun.user_id AND factor.confirmed_at IS NOT NULL ORDER BY factor.kind DESC
                ) FROM begun
                """
        )
    }

    /// Returns the login of a handle; nil if the handle is not valid.
    package func pending(_ handleHash: [UInt8]) async throws(SkyrowError) -> PendingLogIn? {
        let columns = Columns(PendingLogIn.init(user:device:), "pending.user_id", SessionDevice.columns(of: "pending"))
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._pending_login AS pending
            JOIN \(schema.internal)._user AS account ON account.id = pending.user_id AND account.epoch = pending.epoch
            WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                AND pending.attempts < \(Self.maximumAttempts)
            """
        }.first
    }

    /// Counts an attempt with a handle; returns false if no attempt is left.
    package func attempt(_ handleHash: [UInt8]) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            UPDATE \(schema.internal)._pending_login AS pending SET attempts = pending.attempts + 1
            WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                AND pending.attempts < \(Self.maximumAttempts)
            """
        ) > 0
    }

    /// Removes expired logins.
    package func purgeExpired() async throws(SkyrowError) {
        try await store.write("DELETE FROM \(schema.internal)._pending_login WHERE expires_at < now()")
    }

    // MARK: Parts of statements

    /// - Parameter tokenHash: the session that must be valid once the account is locked; nil for no session.
    private func locking(_ user: UserID, _ tokenHash: [UInt8]? = nil) -> SQL {
        let session: SQL =
            tokenHash.map { "JOIN \(schema.internal)._session AS session ON \(SessionTable.isOpen($0))" } ?? ""
        return """
            SELECT account.id FROM \(schema.internal)._user AS account \(session)
            WHERE account.id = \(user) FOR NO KEY UPDATE OF account
            """
    }

    /// Uses a code of the account in `locked` and returns the account; returns no row if the code was used before.
    func use(of proof: FactorProof) -> SQL {
        switch proof {
        case .totp(let sealed, let step):
            """
            UPDATE \(schema.internal)._factor AS factor SET last_step = \(step), last_used_at = now() FROM locked
            WHERE factor.user_id = locked.id AND factor.kind = 'totp' AND factor.secret_sealed = \(sealed)
                AND factor.last_step < \(step)
            RETURNING factor.user_id
            """
        case .recovery(let hashes):
            """
            DELETE FROM \(schema.internal)._factor AS factor USING locked
            WHERE factor.user_id = locked.id AND factor.kind = 'recovery' AND factor.hash = ANY (\(hashes))
            RETURNING factor.user_id
            """
        }
    }
}

extension UserTable {
    /// Opens the session of a login that has waited for its second factor; nil if the handle or the code is not valid.
    ///
    /// The account is locked first, so the later of two statements with one code or one handle sees what the other has used.
    package func logIn(
        _ handleHash: [UInt8],
        with proof: FactorProof,
        session: NewSession
    ) async throws(SkyrowError) -> SignedInAccount? {
        var event: AuditEvent?
        if case .recovery = proof { event = AuditEvent(.recovery, by: .itself, from: session.origin) }
        return try await signIn(
            after: """
                locked AS (
                    SELECT account.id FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._pending_login AS pending
                        ON pending.user_id = account.id AND pending.epoch = account.epoch
                    WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                        AND NOT (\(UserTable.isDisabled))
                    FOR NO KEY UPDATE OF account
                ), used AS (
                    \(store.factors.use(of: proof))
                ), arrived AS (
                    DELETE FROM \(schema.internal)._pending_login AS pending USING used
                    WHERE pending.handle_hash = \(handleHash) AND pending.user_id = used.user_id
                    RETURNING pending.user_id
                )
                """,
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_login_at = now(), last_seen_at = now()
                FROM arrived WHERE account.id = arrived.user_id
                """,
            isLogIn: true,
            session: session,
            further: surplus(beyond: session.limit)
                + store.recording(event, from: "account", user: "account.id", as: "noted"),
            secondFactor: .settled
        )
    }
}
