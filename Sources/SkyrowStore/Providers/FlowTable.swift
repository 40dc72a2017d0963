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
package struct FlowTable: StoreTable, Sendable {
    /// How long the user may take, in seconds.
    package static let lifetime: Int64 = 600
    /// How long the application may take, in seconds.
    package static let codeLifetime: Int64 = 60
    /// The most waiting flows of a client.
    package static let maximumOfClient: Int64 = 50
    /// The most waiting flows of all clients.
    package static let maximumCount: Int64 = 20_000

    let store: RecordStore

    /// Returns the account and the session of a token; nil if the session has ended.
    package func account(of user: UserID, tokenHash: [UInt8]) async throws(SkyrowError) -> FlowAccount? {
        let columns = Columns(
            FlowAccount.init(user:epoch:sessionID:),
            "account.id",
            "account.epoch",
            "session.id::text"
        )
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._user AS account JOIN \(schema.internal)._session AS session ON \(SessionTable.isOpen(tokenHash))
            WHERE account.id = \(user) AND NOT (\(UserTable.isDisabled))
            """
        }.first
    }

    /// Stores a flow under the hash of its state.
    ///
    /// - Parameter client: identifies the client whose flows are limited.
    package func begin(_ flow: WaitingFlow, stateHash: [UInt8], client: [UInt8]) async throws(SkyrowError)
        -> FlowAdmission
    {
        let count: (SQL, Int64) -> SQL = { condition, limit in
            """
            (SELECT count(*) FROM (
                SELECT FROM \(schema.internal)._flow AS other WHERE \(condition)other.expires_at > now() LIMIT \(limit)
            ) AS counted) < \(limit)
            """
        }
        let row: NewRow = [
            "hash": "\(stateHash)", "kind": "'state'", "nonce": "\(flow.nonce as String?)",
            "verifier_sealed": "\(flow.sealedVerifier)", "state": "\(flow.state as String?)", "client": "\(client)",
            "expires_at": "now() + \(Self.lifetime) * interval '1 second'",
        ]
        return try await unlessEnded {
            let end: Timestamp? = try await store.client.write(
                """
                INSERT INTO \(schema.internal)._flow (\(row.names), \(flow.row.names))
                SELECT \(row.values), \(flow.row.values)
                WHERE \(count("other.client = \(client) AND ", Self.maximumOfClient)) AND \(count("", Self.maximumCount))
                RETURNING expires_at
                """
            ).first()
            return end.map { .begun(until: $0) } ?? .tooMany
        } ?? .ended
    }

    /// Returns nil if the account or the session of the flow does not exist.
    private func unlessEnded<Success>(_ body: () async throws -> Success) async throws(SkyrowError) -> Success? {
        try await store.reporting {
            do {
                return try await body()
            } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
                return nil
            }
        }
    }

    /// The account and the session that began a flow.
    private static let beginner = Columns(
        FlowAccount.init(user:epoch:sessionID:),
        "flow.user_id",
        "flow.epoch",
        "flow.session_id::text"
    )

    /// Uses the state that a provider has returned; nil if it is not of this provider, was used, or has expired.
    package func take(stateHash: [UInt8], of provider: String) async throws(SkyrowError) -> WaitingFlow? {
        let columns = Columns(
            WaitingFlow.init(provider:purpose:nonce:sealedVerifier:challenge:redirect:state:account:),
            "flow.provider",
            "flow.purpose",
            "flow.nonce",
            "flow.verifier_sealed",
            "flow.challenge",
            "flow.redirect",
            "flow.state",
            Self.beginner.ifAny
        )
        return try await store.write(columns) {
            """
            DELETE FROM \(schema.internal)._flow AS flow
            WHERE flow.hash = \(stateHash) AND flow.kind = 'state' AND flow.provider = \(provider)
                AND flow.expires_at > now()
            RETURNING \($0)
            """
        }.first
    }

    /// Stores the identity that a provider has proved, under the hash of the code that the application gets. Returns false if the
    /// account or the session that began the flow no longer exists.
    package func finish(
        _ flow: WaitingFlow,
        _ identity: ProvenIdentity,
        sealedTokens: [UInt8]?,
        codeHash: [UInt8]
    ) async throws(SkyrowError) -> Bool {
        let row: NewRow = [
            "hash": "\(codeHash)", "kind": "'code'", "subject": "\(identity.subject)", "profile": "\(identity.profile)",
            "verified_email": "\(identity.verifiedEmail as String?)", "token_sealed": "\(sealedTokens as [UInt8]?)",
            "expires_at": "now() + \(Self.codeLifetime) * interval '1 second'",
        ]
        return try await unlessEnded {
            _ = try await store.client.write(
                """
                INSERT INTO \(schema.internal)._flow (\(row.names), \(flow.row.names))
                VALUES (\(row.values), \(flow.row.values))
                """
            )
        } != nil
    }

    /// Uses the code of an application; nil if it is unknown, was used, or has expired.
    package func take(codeHash: [UInt8]) async throws(SkyrowError) -> FinishedFlow? {
        let columns = Columns(
            FinishedFlow.init(purpose:challenge:identity:account:sealedTokens:),
            "flow.purpose",
            "flow.challenge",
            Columns(
                { ProvenIdentity(provider: $0, subject: $1, profile: $2, verifiedEmail: $3) },
                "flow.provider",
                "flow.subject",
                "flow.profile",
                "flow.verified_email"
            ),
            Self.beginner.ifAny,
            "flow.token_sealed"
        )
        return try await store.write(columns) {
            """
            DELETE FROM \(schema.internal)._flow AS flow
            WHERE flow.hash = \(codeHash) AND flow.kind = 'code' AND flow.expires_at > now()
            RETURNING \($0)
            """
        }.first
    }

    /// Removes expired flows; returns how many.
    @discardableResult
    package func purge() async throws(SkyrowError) -> Int {
        try await store.write("DELETE FROM \(schema.internal)._flow WHERE expires_at < now()")
    }
}

extension WaitingFlow {
    /// What is stored until the application has fetched the result.
    fileprivate var row: NewRow {
        [
            "purpose": "\(purpose)", "provider": "\(provider)", "challenge": "\(challenge)", "redirect": "\(redirect)",
            "user_id": "\(account?.user as UserID?)", "epoch": "\(account?.epoch as Int64?)",
            "session_id": "\(account?.sessionID as String?)::uuid",
        ]
    }
}
