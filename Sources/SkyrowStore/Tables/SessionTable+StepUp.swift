package import SkyrowModel
internal import SkyrowPostgres

/// What the user of a session has proved, and could prove.
package struct StepUpStanding: Hashable, Sendable {
    package let isElevated: Bool
    package let hasPassword: Bool
    /// Whether the user logs in by a provider.
    package let hasProvider: Bool
    package let hasSecondFactor: Bool
}

extension SessionTable {
    /// Whether the user of `session` has proved within the last minutes who it is.
    static let isElevated: SQL = "coalesce(session.elevated_until > now(), false)"

    /// When the proof that is given at this moment ends to count.
    static let elevation: SQL = "now() + \(Elevation.lifetime) * interval '1 second'"

    /// What is known of the session of a token; nil where it has ended.
    ///
    /// - Parameter tokenHash: nil for none, of which nothing is proved.
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

    /// Notes that the user of a session has proved who it is, and returns until when that counts; nil where the session has
    /// ended, or the account's tokens were revoked since the credentials were read.
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
