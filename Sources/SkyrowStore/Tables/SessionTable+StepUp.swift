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
    package func stepUpStanding(
        of user: UserID,
        tokenHash: [UInt8]?
    ) async throws(SkyrowError) -> StepUpStanding? {
        try await store.reporting {
            let schema = store.schema
            let result = try await store.client.read(
                """
                SELECT \(SessionTable.isElevated), account.password_hash IS NOT NULL, EXISTS (
                    SELECT FROM \(schema.internal)._identity AS identity
                    WHERE identity.user_id = account.id AND identity.provider <> \(AccountIdentity.customToken)
                ), account.second_factor
                FROM \(schema.internal)._user AS account LEFT JOIN \(schema.internal)._session AS session
                    ON session.user_id = account.id AND session.epoch = account.epoch
                        AND \(SessionTable.has(tokenHash ?? []))
                WHERE account.id = \(user) AND (session.id IS NOT NULL OR \(tokenHash == nil))
                """
            )
            guard !result.isEmpty else { return nil }
            return StepUpStanding(
                isElevated: try result.decode(row: 0, column: 0),
                hasPassword: try result.decode(row: 0, column: 1),
                hasProvider: try result.decode(row: 0, column: 2),
                hasSecondFactor: try result.decode(row: 0, column: 3)
            )
        }
    }

    /// Records that the user of a session has authenticated again, and returns until when that counts; nil if the session has
    /// ended, or if the account's tokens were revoked since the credentials were read.
    package func elevate(
        _ tokenHash: [UInt8],
        of credentials: AccountCredentials,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Timestamp? {
        try await store.reporting {
            let schema = store.schema
            let recorded = event.insertion(
                into: schema,
                from: "raised",
                user: "raised.user_id",
                session: "raised.id"
            )
            let result = try await store.client.write(
                """
                WITH account AS (
                    SELECT account.id, account.epoch FROM \(schema.internal)._user AS account
                    WHERE account.id = \(credentials.id) AND account.epoch = \(credentials.epoch) FOR NO KEY UPDATE
                ), raised AS (
                    UPDATE \(schema.internal)._session AS session SET elevated_until = \(SessionTable.elevation)
                    FROM account
                    WHERE \(SessionTable.has(tokenHash)) AND session.user_id = account.id
                        AND session.epoch = account.epoch
                    RETURNING session.id, session.user_id, session.elevated_until
                ), recorded AS (\(recorded))
                SELECT raised.elevated_until FROM raised
                """
            )
            return result.isEmpty ? nil : try Timestamp(result, row: 0, column: 0)
        }
    }
}
