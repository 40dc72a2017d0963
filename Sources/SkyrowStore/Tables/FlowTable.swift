package import SkyrowModel
internal import SkyrowPostgres

/// A sign-in through the browser that waits for the provider.
package struct WaitingFlow: Hashable, Sendable {
    package var provider: String
    package var purpose: ProviderFlowPurpose
    /// nil for a provider without id tokens.
    package var nonce: String?
    package var sealedVerifier: [UInt8]
    /// The challenge with which the application proves that it began the flow.
    package var challenge: String
    package var redirect: String
    package var state: String?
    /// The account that began the flow; nil for a login.
    package var account: FlowAccount?

    package init(
        provider: String,
        purpose: ProviderFlowPurpose,
        nonce: String?,
        sealedVerifier: [UInt8],
        challenge: String,
        redirect: String,
        state: String? = nil,
        account: FlowAccount? = nil
    ) {
        self.provider = provider
        self.purpose = purpose
        self.nonce = nonce
        self.sealedVerifier = sealedVerifier
        self.challenge = challenge
        self.redirect = redirect
        self.state = state
        self.account = account
    }
}

/// The account and the session that a flow is bound to.
package struct FlowAccount: Hashable, Sendable {
    package var user: UserID
    package var epoch: Int64
    package var sessionID: String
}

/// A sign-in whose provider has responded, as the application fetches it.
package struct FinishedFlow: Hashable, Sendable {
    package var purpose: ProviderFlowPurpose
    package var challenge: String
    package var identity: ProvenIdentity
    package var account: FlowAccount?
    /// The tokens of the provider, sealed for this flow.
    package var sealedTokens: [UInt8]?
}

/// The result of beginning a flow.
package enum FlowAdmission: Hashable, Sendable {
    case begun(until: Timestamp)
    /// The client has too many flows, or all clients together.
    case tooMany
    /// The session has ended.
    case ended
}

/// Sign-ins with providers through the browser. The statement that reads a row deletes it, so only one of two requests finds it.
package struct FlowTable: Sendable {
    /// How long the user may take, in seconds.
    package static let lifetime: Int64 = 600
    /// How long the application may take, in seconds.
    package static let codeLifetime: Int64 = 60
    /// The most waiting flows of a client.
    package static let maximumOfClient: Int64 = 50
    /// The most waiting flows of all clients.
    package static let maximumCount: Int64 = 20_000

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Returns the account and the session of a token; nil if the session has ended.
    package func account(of user: UserID, tokenHash: [UInt8]) async throws(SkyrowError) -> FlowAccount? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT account.epoch, session.id::text
                FROM \(schema.internal)._user AS account JOIN \(schema.internal)._session AS session
                    ON session.user_id = account.id AND session.epoch = account.epoch
                WHERE account.id = \(user) AND \(SessionTable.has(tokenHash)) AND NOT (\(UserTable.isDisabled))
                """
            )
            guard !result.isEmpty else { return nil }
            return FlowAccount(
                user: user,
                epoch: try result.decode(row: 0, column: 0),
                sessionID: try result.decode(row: 0, column: 1)
            )
        }
    }

    /// Stores a flow under the hash of its state.
    ///
    /// - Parameter client: identifies the client whose flows are limited.
    package func begin(
        _ flow: WaitingFlow,
        stateHash: [UInt8],
        client: [UInt8]
    ) async throws(SkyrowError) -> FlowAdmission {
        try await store.reporting {
            let count: (SQL, Int64) -> SQL = { condition, limit in
                """
                (SELECT count(*) FROM (
                    SELECT FROM \(schema.internal)._flow AS other WHERE \(condition)other.expires_at > now() LIMIT \(limit)
                ) AS counted) < \(limit)
                """
            }
            do {
                let result = try await store.client.write(
                    """
                    INSERT INTO \(schema.internal)._flow (
                        hash, kind, purpose, provider, nonce, verifier_sealed, challenge, redirect, state, user_id, epoch,
                        session_id, client, expires_at
                    )
                    SELECT \(stateHash), 'state', \(flow.purpose.rawValue), \(flow.provider), \(flow.nonce as String?),
                        \(flow.sealedVerifier), \(flow.challenge), \(flow.redirect), \(flow.state as String?),
                        \(flow.account?.user.rawValue as String?), \(flow.account?.epoch as Int64?),
                        \(flow.account?.sessionID as String?)::uuid, \(client),
                        now() + \(Self.lifetime) * interval '1 second'
                    WHERE \(count("other.client = \(client) AND ", Self.maximumOfClient))
                        AND \(count("", Self.maximumCount))
                    RETURNING expires_at
                    """
                )
                guard let end = result.isEmpty ? nil : try Timestamp(result, row: 0, column: 0) else {
                    return .tooMany
                }
                return .begun(until: end)
            } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
                return .ended
            }
        }
    }

    /// Uses the state that a provider has returned; nil if it is not of this provider, was used, or has expired.
    package func take(stateHash: [UInt8], of provider: String) async throws(SkyrowError) -> WaitingFlow? {
        try await store.reporting {
            let result = try await store.client.write(
                """
                DELETE FROM \(schema.internal)._flow AS flow
                WHERE flow.hash = \(stateHash) AND flow.kind = 'state' AND flow.provider = \(provider)
                    AND flow.expires_at > now()
                RETURNING flow.purpose, flow.nonce, flow.verifier_sealed, flow.challenge, flow.redirect, flow.state,
                    flow.user_id, flow.epoch, flow.session_id::text
                """
            )
            guard !result.isEmpty else { return nil }
            return WaitingFlow(
                provider: provider,
                purpose: try result.purpose(column: 0),
                nonce: try result.decode(row: 0, column: 1),
                sealedVerifier: try result.decode(row: 0, column: 2),
                challenge: try result.decode(row: 0, column: 3),
                redirect: try result.decode(row: 0, column: 4),
                state: try result.decode(row: 0, column: 5),
                account: try result.account(column: 6)
            )
        }
    }

    /// Stores the identity that a provider has proved, under the hash of the code that the application gets. Returns false if the
    /// account or the session that began the flow no longer exists.
    package func finish(
        _ flow: WaitingFlow,
        _ identity: ProvenIdentity,
        sealedTokens: [UInt8]?,
        codeHash: [UInt8]
    ) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            do {
                _ = try await store.client.write(
                    """
                    INSERT INTO \(schema.internal)._flow (
                        hash, kind, purpose, provider, challenge, redirect, user_id, epoch, session_id, subject, profile,
                        verified_email, token_sealed, expires_at
                    )
                    VALUES (
                        \(codeHash), 'code', \(flow.purpose.rawValue), \(flow.provider), \(flow.challenge),
                        \(flow.redirect), \(flow.account?.user.rawValue as String?), \(flow.account?.epoch as Int64?),
                        \(flow.account?.sessionID as String?)::uuid, \(identity.subject),
                        \(PostgresJSONB(utf8: identity.profile.utf8)), \(identity.verifiedEmail as String?),
                        \(sealedTokens as [UInt8]?), now() + \(Self.codeLifetime) * interval '1 second'
                    )
                    """
                )
                return true
            } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
                return false
            }
        }
    }

    /// Uses the code of an application; nil if it is unknown, was used, or has expired.
    package func take(codeHash: [UInt8]) async throws(SkyrowError) -> FinishedFlow? {
        try await store.reporting {
            let result = try await store.client.write(
                """
                DELETE FROM \(schema.internal)._flow AS flow
                WHERE flow.hash = \(codeHash) AND flow.kind = 'code' AND flow.expires_at > now()
                RETURNING flow.purpose, flow.challenge, flow.provider, flow.subject, flow.profile, flow.verified_email,
                    flow.user_id, flow.epoch, flow.session_id::text, flow.token_sealed
                """
            )
            guard !result.isEmpty else { return nil }
            return FinishedFlow(
                purpose: try result.purpose(column: 0),
                challenge: try result.decode(row: 0, column: 1),
                identity: ProvenIdentity(
                    provider: try result.decode(row: 0, column: 2),
                    subject: try result.decode(row: 0, column: 3),
                    profile: JSONText(validated: try result.decode(row: 0, column: 4, as: PostgresJSONB.self).utf8),
                    verifiedEmail: try result.decode(row: 0, column: 5)
                ),
                account: try result.account(column: 6),
                sealedTokens: try result.decode(row: 0, column: 9)
            )
        }
    }

    /// Removes expired flows; returns how many.
    @discardableResult
    package func purge() async throws(SkyrowError) -> Int {
        try await store.write("DELETE FROM \(schema.internal)._flow WHERE expires_at < now()")
    }
}

extension PostgresResult {
    fileprivate func purpose(column: Int) throws -> ProviderFlowPurpose {
        guard let purpose = ProviderFlowPurpose(rawValue: try decode(row: 0, column: column)) else {
            throw SkyrowError.unexpected
        }
        return purpose
    }

    /// Reads a user, an epoch and a session.
    fileprivate func account(column: Int) throws -> FlowAccount? {
        guard let user = try decode(row: 0, column: column, as: UserID?.self),
            let epoch = try decode(row: 0, column: column + 1, as: Int64?.self),
            let session = try decode(row: 0, column: column + 2, as: String?.self)
        else { return nil }
        return FlowAccount(user: user, epoch: epoch, sessionID: session)
    }
}

extension RecordStore {
    package var flows: FlowTable { FlowTable(store: self) }
}
