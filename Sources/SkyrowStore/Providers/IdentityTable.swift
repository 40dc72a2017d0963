package import SkyrowModel
internal import SkyrowPostgres

/// The identity of a user at a provider, as a token has proved it.
package struct ProvenIdentity: Hashable, Sendable {
    /// The name of the provider.
    package var provider: String
    /// The provider's id of the user.
    package var subject: String
    /// The provider's data about the user, a JSON object that is stored for the user to see.
    package var profile: JSONText
    /// The mail address that the provider says it has verified.
    package var verifiedEmail: String?
    /// The tokens from the provider for the user, sealed for the account; nil if tokens are not stored.
    package var sealedTokens: [UInt8]?

    package init(
        provider: String,
        subject: String,
        profile: JSONText,
        verifiedEmail: String? = nil,
        sealedTokens: [UInt8]? = nil
    ) {
        self.provider = provider
        self.subject = subject
        self.profile = profile
        self.verifiedEmail = verifiedEmail
        self.sealedTokens = sealedTokens
    }
}

/// The account that an identity belongs to.
package struct IdentifiedAccount: Hashable, Sendable {
    package var id: UserID
    package var suspension: AccountSuspension?
    /// The roles of the user and those that contain them, sorted.
    package var roles: [RoleName]
    /// Sorted.
    package var groups: [GroupName]
    /// Whether its address is verified.
    package var isVerified = false
}

/// The result of linking an identity with an account.
package enum LinkOutcome: Hashable, Sendable {
    case linked
    /// The identity was linked with the account before.
    case unchanged
    /// The identity is linked with another account.
    case taken
    /// The account is linked with another identity of the provider.
    case providerTaken
    /// The account has the maximum number of identities.
    case tooMany
    /// The account does not exist or is disabled, or the session has ended.
    case ended
}

/// The result of removing an identity.
package enum UnlinkOutcome: Hashable, Sendable {
    case unlinked
    /// The account has no identity of the provider.
    case missing
    /// It is the last way to log in.
    case last
    /// The account does not exist or is disabled, or the session has ended.
    case ended
}

/// The identities at providers with which users log in, and the tokens that were used.
///
/// Changes of the identities of an account lock the account's row first, which serializes them.
package struct IdentityTable: StoreTable, Sendable {
    let store: RecordStore

    /// Returns the account of an identity; nil if it is not linked.
    package func account(of provider: String, subject: String) async throws(SkyrowError) -> IdentifiedAccount? {
        let columns = Columns(
            IdentifiedAccount.init(id:suspension:roles:groups:isVerified:),
            "account.id",
            AccountSuspension.columns,
            "\(store.roles.allHeld(from: store.roles.given(to: "account.id")))",
            "\(store.groups.held(by: "account.id"))",
            "\(UserTable.isVerified("account", in: schema))"
        )
        return try await store.read(columns) {
            """
            SELECT \($0)
            FROM \(schema.internal)._identity AS identity JOIN \(schema.internal)._user AS account ON account.id = identity.user_id
            WHERE identity.provider = \(provider) AND identity.subject = \(subject)
            """
        }.first
    }

    /// Uses a token; returns false if it was used before.
    ///
    /// - Parameters:
    ///   - hash: a hash of the token, 32 bytes.
    ///   - end: when the token expires.
    package func use(_ hash: [UInt8], until end: Timestamp) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            INSERT INTO \(schema.internal)._used_token (hash, expires_at) VALUES (\(hash), \(end))
            ON CONFLICT DO NOTHING
            """
        ) > 0
    }

    /// Removes the tokens that expired an hour ago, since the clocks of servers may differ by as much. Returns how many.
    @discardableResult
    package func purgeUsedTokens() async throws(SkyrowError) -> Int {
        try await store.write("DELETE FROM \(schema.internal)._used_token WHERE expires_at < now() - interval '1 hour'")
    }

    /// Returns the identities of a user, sorted by provider.
    package func list(of user: UserID) async throws(SkyrowError) -> [AccountIdentity] {
        let columns = Columns(
            AccountIdentity.init(provider:subject:profile:createdAt:lastUsedAt:),
            "provider",
            "subject",
            "profile",
            "created_at",
            "last_used_at"
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._identity
            WHERE user_id = \(user) ORDER BY provider LIMIT \(AccountIdentity.maximumCount)
            """
        }
    }

    /// Links an identity with an account.
    ///
    /// - Parameters:
    ///   - tokenHash: the session of the caller, which must still be valid at the end; nil for the master key.
    ///   - account: the epoch and the session that must be unchanged, if a flow began earlier.
    ///   - event: the event to record.
    package func link(
        _ identity: ProvenIdentity,
        with user: UserID,
        session tokenHash: [UInt8]?,
        begunBy account: FlowAccount? = nil,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> LinkOutcome {
        try await store.inTransaction { transaction in
            guard try await lock(user, session: tokenHash, begunBy: account, in: transaction) else { return .ended }
            let columns = Columns(
                { (provider: String, subject: String, user: UserID) in (provider, subject, user) },
                "identity.provider",
                "identity.subject",
                "identity.user_id"
            )
            let known = try await transaction.query(
                """
                SELECT \(columns.list) FROM \(schema.internal)._identity AS identity
                WHERE identity.user_id = \(user)
                    OR (identity.provider = \(identity.provider) AND identity.subject = \(identity.subject))
                """
            ).rows(columns)
            for (provider, subject, owner) in known {
                guard owner == user else { return .taken }
                guard provider == identity.provider else { continue }
                guard subject.isSameText(as: identity.subject) else { return .providerTaken }
                try await keep(identity, in: transaction)
                return .unchanged
            }
            guard known.count < AccountIdentity.maximumCount else { return .tooMany }
            // Another account may be linked with the identity at the same time.
            let linked = try await transaction.execute(
                store.recording(
                    event,
                    of: """
                        INSERT INTO \(schema.internal)._identity (provider, subject, user_id, profile, token_sealed, token_at)
                        VALUES (
                            \(identity.provider), \(identity.subject), \(user), \(identity.profile),
                            \(identity.sealedTokens as [UInt8]?), \(tokenTime(of: identity))
                        )
                        ON CONFLICT DO NOTHING RETURNING provider, user_id
                        """,
                    user: "changed.user_id",
                    data: "jsonb_build_object('provider', changed.provider)"
                )
            )
            return linked > 0 ? .linked : .taken
        }
    }

    /// Removes the identity that an account has at a provider, unless it is the last way to log in. Other ways are another
    /// identity, and a password with a login key.
    ///
    /// - Parameter countsPasswords: whether users log in with passwords.
    package func unlink(
        _ provider: String,
        from user: UserID,
        session tokenHash: [UInt8]?,
        countsPasswords: Bool = true,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> UnlinkOutcome {
        try await store.inTransaction { transaction in
            guard try await lock(user, session: tokenHash, in: transaction) else { return .ended }
            let keys = try store.loginColumns
            let named: SQL = keys.isEmpty ? "false" : "num_nonnulls(\(keys.joined(separator: ", "))) > 0"
            let columns = Columns(
                { (gone: Int, left: Int) -> UnlinkOutcome in gone > 0 ? .unlinked : left > 0 ? .last : .missing },
                "(SELECT count(*) FROM unlinked)",
                """
                (
                    SELECT count(*) FROM \(schema.internal)._identity AS identity
                    WHERE identity.user_id = \(user) AND identity.provider = \(provider)
                )
                """
            )
            // It begins after the lock was acquired, so it sees the results of other changes.
            return try await transaction.query(
                """
                WITH unlinked AS (
                    DELETE FROM \(schema.internal)._identity AS identity
                    WHERE identity.user_id = \(user) AND identity.provider = \(provider) AND (
                        EXISTS (
                            SELECT FROM \(schema.internal)._identity AS other
                            WHERE other.user_id = \(user) AND other.provider <> \(provider)
                        ) OR EXISTS (
                            SELECT FROM \(store.users.profiles) WHERE account.id = \(user) AND \(countsPasswords) AND account.password_hash IS NOT NULL AND \(named)
                        )
                    )
                    RETURNING identity.user_id, identity.provider
                )\(recording(unlinking: event))
                SELECT \(columns.list)
                """
            ).rows(columns).first ?? .missing
        }
    }

    /// A further part that records the identities that were `unlinked`.
    func recording(unlinking event: AuditEvent, as name: SQL = "recorded") -> SQL {
        store.recording(
            event,
            from: "unlinked",
            user: "unlinked.user_id",
            data: "jsonb_build_object('provider', unlinked.provider)",
            as: name
        )
    }

    /// Locks an account; returns false if it does not exist or is disabled, or if the session has ended.
    private func lock(
        _ user: UserID,
        session tokenHash: [UInt8]?,
        begunBy flow: FlowAccount? = nil,
        in transaction: StoreTransaction
    ) async throws -> Bool {
        let isSame: SQL = flow.map { " AND account.epoch = \($0.epoch)" } ?? ""
        return try await !transaction.query(
            """
            SELECT FROM \(schema.internal)._user AS account
            WHERE account.id = \(user) AND NOT (\(UserTable.isDisabled))
                AND \(store.sessions.goesOn(tokenHash, id: flow?.sessionID))\(isSame)
            FOR UPDATE
            """
        ).isEmpty
    }

    /// Returns the part of a statement that inserts an identity of its `account`.
    func insertion(of identity: ProvenIdentity) -> SQL {
        """
        INSERT INTO \(schema.internal)._identity (provider, subject, user_id, profile, last_used_at, token_sealed, token_at)
        SELECT \(identity.provider), \(identity.subject), account.id, \(identity.profile), now(),
            \(identity.sealedTokens as [UInt8]?)::bytea, \(tokenTime(of: identity))::timestamptz
        FROM account
        """
    }

    private func tokenTime(of identity: ProvenIdentity) -> SQL {
        identity.sealedTokens == nil ? "NULL" : "now()"
    }

    /// The assignments that store the tokens that came with an identity, if any, in place of the previous ones.
    private func kept(_ identity: ProvenIdentity) -> SQL {
        identity.sealedTokens.map { ", token_sealed = \($0), token_at = now()" } ?? ""
    }

    /// Stores the tokens that came with an identity of an account.
    package func keep(_ identity: ProvenIdentity, of user: UserID) async throws(SkyrowError) {
        if let keeping = keeping(identity) { try await store.write("\(keeping) AND identity.user_id = \(user)") }
    }

    private func keep(_ identity: ProvenIdentity, in transaction: StoreTransaction) async throws {
        if let keeping = keeping(identity) { try await transaction.execute(keeping) }
    }

    private func keeping(_ identity: ProvenIdentity) -> SQL? {
        identity.sealedTokens.map { sealed in
            """
            UPDATE \(schema.internal)._identity AS identity SET token_sealed = \(sealed), token_at = now()
            WHERE identity.provider = \(identity.provider) AND identity.subject = \(identity.subject)
            """
        }
    }

    /// Returns the part of a login statement that records the use of an identity and the provider's present data. It returns no
    /// row if the identity was deleted meanwhile.
    func use(of identity: ProvenIdentity, where condition: SQL, from source: SQL) -> SQL {
        """
        UPDATE \(schema.internal)._identity AS identity
        SET last_used_at = now(), profile = \(identity.profile)\(kept(identity))
        FROM \(source)
        WHERE identity.provider = \(identity.provider) AND identity.subject = \(identity.subject) AND \(condition)
        RETURNING identity.user_id
        """
    }
}

extension PostgresError {
    /// Whether an identity is linked with another account.
    var isTakenIdentity: Bool { sqlState == .uniqueViolation && constraint == "_identity_pkey" }
}

extension SkyrowError {
    /// `109` for an identity that is linked with another account.
    package static let identityTaken = SkyrowError(
        .duplicated,
        "Another account is linked with this sign-in.",
        info: ["arguments": .list([.string("provider")])]
    )
}
