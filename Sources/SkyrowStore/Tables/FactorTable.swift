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
package struct FactorTable: Sendable {
    /// How long a secret waits for its first code, in seconds.
    package static let enrolmentLifetime: Int64 = 3600
    /// How long a login waits, in seconds.
    package static let handleLifetime: Int64 = 600
    /// The most attempts with one handle, and at the first code of a secret.
    package static let maximumAttempts: Int32 = 5
    /// The most logins of an account that wait; a further one removes the oldest.
    package static let maximumPending: Int64 = 10

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// The current half minute by PostgreSQL's clock.
    private static let step: SQL = "floor(extract(epoch FROM clock_timestamp()) / 30)::bigint"

    /// The associated data of a sealed secret.
    package static func placeOfSecret(_ user: UserID) -> [String] { ["_factor", "totp", user.rawValue] }

    /// Returns the keys with which recovery codes are hashed.
    package func keys() async throws(SkyrowError) -> FactorKeys {
        let secrets = try await store.reporting {
            try await SecretTable(client: store.client, schema: schema).secrets()
        }
        guard let keys = FactorKeys(secrets: secrets) else { throw .unexpected }
        return keys
    }

    /// Returns the label of an account: its first login key that has a value, else its id.
    package func label(of user: UserID) async throws(SkyrowError) -> String {
        try await store.reporting {
            let keys = try store.loginKeys.map { "profile.\(try SQLIdentifier($0.rawValue))" as SQL }
            let all = (keys + ["profile._id"]).joined(separator: ", ")
            let result = try await store.client.read(
                "SELECT coalesce(\(all)) FROM \(schema).\"user\" AS profile WHERE profile._id = \(user)"
            )
            return result.isEmpty ? user.rawValue : try result.decode(row: 0, column: 0)
        }
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
        try await store.reporting {
            let result = try await store.client.write(
                """
                UPDATE \(schema.internal)._factor AS factor SET pending_attempts = factor.pending_attempts + 1
                WHERE factor.user_id = \(user) AND factor.kind = 'totp' AND \(waits)
                    AND factor.pending_attempts < \(Self.maximumAttempts)
                RETURNING factor.pending_sealed, \(Self.step)
                """
            )
            return try storedFactor(result)
        }
    }

    /// Returns the secret of an account that requires a second factor.
    package func factor(of user: UserID) async throws(SkyrowError) -> StoredFactor? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT factor.secret_sealed, \(Self.step) FROM \(schema.internal)._factor AS factor
                WHERE factor.user_id = \(user) AND factor.kind = 'totp' AND factor.confirmed_at IS NOT NULL
                """
            )
            return try storedFactor(result)
        }
    }

    private var waits: SQL {
        "factor.pending_sealed IS NOT NULL AND factor.pending_at > now() - \(Self.enrolmentLifetime) * interval '1 second'"
    }

    private func storedFactor(_ result: PostgresResult) throws(PostgresError) -> StoredFactor? {
        guard !result.isEmpty else { return nil }
        return StoredFactor(
            sealed: try result.decode(row: 0, column: 0),
            step: try result.decode(row: 0, column: 1)
        )
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
        try await store.reporting {
            try await !store.client.write(
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
                ), recorded AS (
                    \(event.insertion(into: schema, from: "confirmed", user: "confirmed.user_id"))
                )
                SELECT FROM confirmed
                """
            ).isEmpty
        }
    }

    /// Removes the second factor of an account with its recovery codes; returns false if the account has no second factor.
    package func remove(of user: UserID, recording event: AuditEvent) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let had: SQL = "(SELECT DISTINCT removed.user_id FROM removed WHERE removed.kind = 'totp') AS had"
            return try await !store.client.write(
                """
                WITH locked AS (\(locking(user))), removed AS (
                    DELETE FROM \(schema.internal)._factor AS factor USING locked WHERE factor.user_id = locked.id
                    RETURNING factor.user_id, factor.kind
                ), recorded AS (
                    \(event.insertion(into: schema, from: had, user: "had.user_id"))
                )
                SELECT FROM removed WHERE removed.kind = 'totp'
                """
            ).isEmpty
        }
    }

    /// Returns the second factors of an account: at most the time-based codes, and the recovery codes that are left.
    package func factors(of user: UserID) async throws(SkyrowError) -> [AccountFactor] {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT factor.kind, max(factor.confirmed_at), max(factor.last_used_at), count(*)
                FROM \(schema.internal)._factor AS factor
                WHERE factor.user_id = \(user) AND factor.confirmed_at IS NOT NULL
                GROUP BY factor.kind ORDER BY factor.kind DESC
                """
            )
            var factors: [AccountFactor] = []
            for row in 0..<result.rowCount {
                guard let kind = AccountFactor.Kind(rawValue: try result.decode(row: row, column: 0)) else { continue }
                factors.append(
                    AccountFactor(
                        kind,
                        confirmedAt: try Timestamp(result, row: row, column: 1) ?? .negativeInfinity,
                        lastUsedAt: try Timestamp(result, row: row, column: 2),
                        left: kind == .recovery
                            ? Int(try result.decode(row: row, column: 3, as: Int64.self)) : nil
                    )
                )
            }
            return factors
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
        try await store.reporting {
            let result = try await store.client.write(
                """
                WITH begun AS (
                    INSERT INTO \(schema.internal)._pending_login (handle_hash, user_id, epoch, device_id, device_name, expires_at)
                    SELECT \(handleHash), account.id, account.epoch, \(device.id as String?), \(device.name as String?),
                        now() + \(Self.handleLifetime) * interval '1 second'
                    FROM \(schema.internal)._user AS account
                    WHERE account.id = \(credentials.id) AND account.epoch = \(credentials.epoch)
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
            guard !result.isEmpty else { return nil }
            return try result.decode(row: 0, column: 0, as: [String].self).compactMap(AccountFactor.Kind.init)
        }
    }

    /// Returns the login of a handle; nil if the handle is not valid.
    package func pending(_ handleHash: [UInt8]) async throws(SkyrowError) -> PendingLogIn? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT pending.user_id, pending.device_id, pending.device_name
                FROM \(schema.internal)._pending_login AS pending
                JOIN \(schema.internal)._user AS account ON account.id = pending.user_id AND account.epoch = pending.epoch
                WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                    AND pending.attempts < \(Self.maximumAttempts)
                """
            )
            guard !result.isEmpty else { return nil }
            return PendingLogIn(
                user: try result.decode(row: 0, column: 0),
                device: SessionDevice(
                    id: try result.decode(row: 0, column: 1),
                    name: try result.decode(row: 0, column: 2)
                )
            )
        }
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
            tokenHash.map { hash in
                """
                JOIN \(schema.internal)._session AS session
                    ON session.user_id = account.id AND session.epoch = account.epoch AND \(SessionTable.has(hash))
                """
            } ?? ""
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

extension RecordStore {
    package var factors: FactorTable { FactorTable(store: self) }
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
        let schema = store.schema
        var further: [(name: SQL, part: SQL)] = []
        if case .recovery = proof {
            let event = AuditEvent(.recovery, by: .itself, from: session.origin)
            further.append((name: "noted", part: event.insertion(into: schema, from: "account", user: "account.id")))
        }
        return try await signIn(
            after: [
                (
                    "locked",
                    """
                    SELECT account.id FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._pending_login AS pending
                        ON pending.user_id = account.id AND pending.epoch = account.epoch
                    WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                        AND NOT (\(UserTable.isDisabled))
                    FOR NO KEY UPDATE OF account
                    """
                ),
                ("used", store.factors.use(of: proof)),
                (
                    "arrived",
                    """
                    DELETE FROM \(schema.internal)._pending_login AS pending USING used
                    WHERE pending.handle_hash = \(handleHash) AND pending.user_id = used.user_id
                    RETURNING pending.user_id
                    """
                ),
            ],
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_login_at = now(), last_seen_at = now()
                FROM arrived WHERE account.id = arrived.user_id
                """,
            isLogIn: true,
            session: session,
            ended: surplus(beyond: session.limit),
            further: further,
            secondFactor: .settled
        )
    }
}

extension SessionTable {
    /// Records that the user of a session has authenticated again with a code; nil if the session has ended or the code was used.
    package func elevate(
        _ tokenHash: [UInt8],
        of user: UserID,
        with proof: FactorProof,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp? {
        try await store.reporting {
            let schema = store.schema
            let recorded = event.insertion(into: schema, from: "raised", user: "raised.user_id", session: "raised.id")
            let result = try await store.client.write(
                """
                WITH locked AS (
                    SELECT account.id, account.epoch FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._session AS session
                        ON session.user_id = account.id AND session.epoch = account.epoch
                    WHERE account.id = \(user) AND \(SessionTable.has(tokenHash)) FOR NO KEY UPDATE OF account
                ), used AS (
                    \(store.factors.use(of: proof))
                ), raised AS (
                    UPDATE \(schema.internal)._session AS session SET elevated_until = \(SessionTable.elevation)
                    FROM used JOIN locked ON locked.id = used.user_id
                    WHERE \(SessionTable.has(tokenHash)) AND session.user_id = locked.id
                        AND session.epoch = locked.epoch
                    RETURNING session.id, session.user_id, session.elevated_until
                ), recorded AS (\(recorded))
                SELECT raised.elevated_until FROM raised
                """
            )
            return result.isEmpty ? nil : try Timestamp(result, row: 0, column: 0)
        }
    }
}
