package import SkyrowModel
internal import SkyrowPostgres

/// What a code was shown to be; it is used by the statement that has the effect.
package enum FactorProof: Hashable, Sendable {
    /// The code of a half minute, of the secret that is stored so.
    case totp(sealed: [UInt8], step: Int64)
    /// A recovery code, by what may be stored of it.
    case recovery(hashes: [[UInt8]])
}

/// The second factor of an account, as codes are compared with it.
package struct StoredFactor: Hashable, Sendable {
    package let sealed: [UInt8]
    /// The half minute of PostgreSQL's clock.
    package let step: Int64
}

/// A log-in that waits for the second factor.
package struct PendingLogIn: Hashable, Sendable {
    package let user: UserID
    package let device: SessionDevice
}

/// The second factors of accounts, and the log-ins that wait for them.
///
/// Statements lock the account first and its factor then, so that none waits for another in a circle.
package struct FactorTable: Sendable {
    /// How long a secret may wait for its first code, in seconds.
    package static let enrolmentLifetime: Int64 = 3600
    /// How long a log-in may wait, in seconds.
    package static let handleLifetime: Int64 = 600
    /// How often a code is tried with one handle, and with one secret that waits for its first code.
    package static let maximumAttempts: Int32 = 5
    /// How many log-ins of an account wait; a further one ends the oldest.
    package static let maximumPending: Int64 = 10

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// The half minute of PostgreSQL's clock.
    private static let step: SQL = "floor(extract(epoch FROM clock_timestamp()) / 30)::bigint"

    /// What is authenticated with a secret that is sealed.
    package static func placeOfSecret(_ user: UserID) -> [String] { ["_factor", "totp", user.rawValue] }

    /// The keys of recovery codes.
    package func keys() async throws(SkyrowError) -> FactorKeys {
        let secrets = try await store.reporting {
            try await SecretTable(client: store.client, schema: schema).secrets()
        }
        guard let keys = FactorKeys(secrets: secrets) else { throw .unexpected }
        return keys
    }

    /// What an account is called: its first login key that has a value, else its id.
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

    /// Stores a secret that takes effect with its first code; another one that waits is forgotten. False when the session has ended.
    ///
    /// - Parameter tokenHash: the session that asks; nil for the master key.
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

    /// Pays for one try of the secret that waits for its first code; nil without one, and when it has no try left.
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

    /// The secret of an account that takes a second factor.
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

    /// Puts a secret whose code has come into effect, with new recovery codes; false when it waits no more, or the session has
    /// ended.
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

    /// Removes the second factor of an account with its recovery codes; false when it has none.
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

    /// The second factors of an account: at most the codes by time, and the recovery codes that are left.
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

    /// Lets a log-in wait for the second factor; nil when the account's tokens were revoked since the credentials were read, else
    /// by which factors it may go on.
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

    /// Whose log-in a handle is; nil when it does not count.
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

    /// Pays for one try with a handle; false when it has none left.
    package func attempt(_ handleHash: [UInt8]) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            UPDATE \(schema.internal)._pending_login AS pending SET attempts = pending.attempts + 1
            WHERE pending.handle_hash = \(handleHash) AND pending.expires_at > now()
                AND pending.attempts < \(Self.maximumAttempts)
            """
        ) > 0
    }

    /// Removes the log-ins that wait no longer.
    package func purgeExpired() async throws(SkyrowError) {
        try await store.write("DELETE FROM \(schema.internal)._pending_login WHERE expires_at < now()")
    }

    // MARK: Parts of statements

    /// - Parameter tokenHash: the session that has to hold once the account is locked; nil for none.
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

    /// Uses a code of the account in `locked`, and returns whose it was; nothing where it was used before.
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
    /// Opens the session of a log-in that has waited for its second factor; nil when the handle or the code does not count.
    ///
    /// The account is locked first, so of two statements with one code or one handle the later sees what the other has used.
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
    /// Notes that the user of a session has proved by a code who it is; nil where the session has ended, or the code was used.
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
