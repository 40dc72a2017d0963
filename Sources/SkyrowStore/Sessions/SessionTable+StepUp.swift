package import SkyrowModel
internal import SkyrowPostgres

/// How the user of a session has authenticated, and can authenticate again.
package struct StepUpStanding: Hashable, Sendable {
    package let isElevated: Bool
    package let hasPassword: Bool
    /// Whether the user logs in with a provider.
    package let hasProvider: Bool
    package let hasSecondFactor: Bool
}

extension SessionTable {
    /// Whether the user of `session` has authenticated again within the last minutes.
    static let isElevated: SQL = "coalesce(session.elevated_until > now(), false)"

    /// Until when an authentication at this time counts.
    static let elevation: SQL = "now() + \(Elevation.lifetime) * interval '1 second'"

    /// Returns the state of the session of a token; nil if the session has ended.
    ///
    /// - Parameter tokenHash: nil for no session, which is never elevated.
    package func stepUpStanding(of user: UserID, tokenHash: [UInt8]?) async throws(SkyrowError) -> StepUpStanding? {
        let columns = Columns(
            StepUpStanding.init(isElevated:hasPassword:hasProvider:hasSecondFactor:),
            "\(SessionTable.isElevated)",
            "account.password_hash IS NOT NULL",
            """
            EXISTS (
                SELECT FROM \(schema.internal)._identity AS identity
                WHERE identity.user_id = account.id AND identity.provider <> \(AccountIdentity.customToken)
            )
            """,
            "account.second_factor"
        )
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._user AS account LEFT JOIN \(schema.internal)._session AS session
                ON \(SessionTable.isOpen(tokenHash ?? []))
            WHERE account.id = \(user) AND (session.id IS NOT NULL OR \(tokenHash == nil))
            """
        }.first
    }

    /// Records that the user of a session has authenticated again, and returns until when that counts; nil if the session has
    /// ended, or if the account's tokens were revoked since the credentials were read.
    package func elevate(
        _ tokenHash: [UInt8],
        of credentials: AccountCredentials,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp? {
        try await elevate(
            tokenHash,
            after: """
                account AS (
                    SELECT account.id, account.epoch FROM \(schema.internal)._user AS account
                    WHERE \(credentials.areCurrent) FOR NO KEY UPDATE
                )
                """,
            from: "account",
            recording: event
        )
    }

    /// The same with a code; nil also if the code was used.
    package func elevate(
        _ tokenHash: [UInt8],
        of user: UserID,
        with proof: FactorProof,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp? {
        try await elevate(
            tokenHash,
            after: """
                locked AS (
                    SELECT account.id, account.epoch FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._session AS session ON \(SessionTable.isOpen(tokenHash))
                    WHERE account.id = \(user) FOR NO KEY UPDATE OF account
                ), used AS (
                    \(store.factors.use(of: proof))
                )
                """,
            from: "used JOIN locked AS account ON account.id = used.user_id",
            recording: event
        )
    }

    /// - Parameter source: the parts that have the `account`.
    private func elevate(
        _ tokenHash: [UInt8],
        after former: SQL,
        from source: SQL,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp? {
        try await store.value(
            writing: """
                WITH \(former), raised AS (
                    UPDATE \(schema.internal)._session AS session SET elevated_until = \(SessionTable.elevation)
                    FROM \(source) WHERE \(SessionTable.isOpen(tokenHash))
                    RETURNING session.id, session.user_id, session.elevated_until
                )\(store.recording(event, from: "raised", user: "raised.user_id", session: "raised.id"))
                SELECT raised.elevated_until FROM raised
                """
        )
    }
}
