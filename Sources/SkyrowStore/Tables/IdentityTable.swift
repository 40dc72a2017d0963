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
package struct IdentityTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Returns the account of an identity; nil if it is not linked.
    package func account(
        of provider: String,
        subject: String
    ) async throws(SkyrowError) -> IdentifiedAccount? {
        try await store.reporting {
            let held = store.roles.held(
                from: "SELECT given.role FROM \(schema.internal)._user_role AS given WHERE given.user_id = account.id"
            )
            let result = try await store.client.read(
                """
                SELECT account.id, account.disabled, account.disabled_message, account.disabled_until,
                    ARRAY(SELECT held.role FROM (\(held)) AS held ORDER BY held.role COLLATE "C"),
                    ARRAY(
                        SELECT carried.name FROM \(schema.internal)._user_group AS carried
                        WHERE carried.user_id = account.id ORDER BY carried.name
                    ), \(UserTable.isVerified("account", in: schema))
                FROM \(schema.internal)._identity AS identity JOIN \(schema.internal)._user AS account ON account.id = identity.user_id
                WHERE identity.provider = \(provider) AND identity.subject = \(subject)
                """
            )
            guard !result.isEmpty else { return nil }
            return IdentifiedAccount(
                id: try result.decode(row: 0, column: 0),
                suspension: try AccountSuspension(result, row: 0, column: 1),
                roles: try result.decode(row: 0, column: 4),
                groups: try result.decode(row: 0, column: 5),
                isVerified: try result.decode(row: 0, column: 6)
            )
        }
    }

    /// Uses a token; returns false if it was used before.
    ///
    /// - Parameters:
    ///   - hash: a hash of the token, 32 bytes.
    ///   - end: when the token expires.
    package func use(_ hash: [UInt8], until end: Timestamp) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            INSERT INTO \(schema.internal)._used_token (hash, expires_at) VALUES (\(hash), \(PostgresTimestamp(end)))
            ON CONFLICT DO NOTHING
            """
        ) > 0
    }

    /// Removes the tokens that expired an hour ago, since the clocks of servers may differ by as much. Returns how many.
    @discardableResult
    package func purgeUsedTokens() async throws(SkyrowError) -> Int {
        try await store.write(
            "DELETE FROM \(schema.internal)._used_token WHERE expires_at < now() - interval '1 hour'"
        )
    }

    /// Returns the identities of a user, sorted by provider.
    package func list(of user: UserID) async throws(SkyrowError) -> [AccountIdentity] {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT provider, subject, profile, created_at, last_used_at FROM \(schema.internal)._identity
                WHERE user_id = \(user) ORDER BY provider LIMIT \(Int64(AccountIdentity.maximumCount))
                """
            )
            var identities: [AccountIdentity] = []
            for row in 0..<result.rowCount {
                identities.append(
                    AccountIdentity(
                        provider: try result.decode(row: row, column: 0),
                        subject: try result.decode(row: row, column: 1),
                        profile: JSONText(
                            validated: try result.decode(row: row, column: 2, as: PostgresJSONB.self).utf8
                        ),
                        createdAt: try Timestamp(result, row: row, column: 3) ?? .negativeInfinity,
                        lastUsedAt: try Timestamp(result, row: row, column: 4)
                    )
                )
            }
            return identities
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
        try await store.withTransaction { transaction throws(SkyrowError) in
            try await store.reporting {
                guard try await lock(user, session: tokenHash, begunBy: account, in: transaction) else {
                    return .ended
                }
                let result = try await transaction.query(
                    """
                    SELECT identity.provider, identity.subject, identity.user_id FROM \(schema.internal)._identity AS identity
                    WHERE identity.user_id = \(user)
                        OR (identity.provider = \(identity.provider) AND identity.subject = \(identity.subject))
                    """
                )
                var count = 0
                for row in 0..<result.rowCount {
                    let provider = try result.decode(row: row, column: 0, as: String.self)
                    let isSame =
                        try provider == identity.provider
                        && result.decode(row: row, column: 1, as: String.self).isSameText(as: identity.subject)
                    guard try result.decode(row: row, column: 2, as: UserID.self) == user else { return .taken }
                    if isSame {
                        try await keep(identity, in: transaction)
                        return .unchanged
                    }
                    if provider == identity.provider { return .providerTaken }
                    count += 1
                }
                guard count < AccountIdentity.maximumCount else { return .tooMany }
                let recorded = event.insertion(
                    into: schema,
                    from: "linked",
                    user: "linked.user_id",
                    data: "jsonb_build_object('provider', linked.provider)"
                )
                // Another account may be linked with the identity at the same time.
                let linked = try await transaction.query(
                    """
                    WITH linked AS (
                        INSERT INTO \(schema.internal)._identity (provider, subject, user_id, profile, token_sealed, token_at)
                        VALUES (
                            \(identity.provider), \(identity.subject), \(user),
                            \(PostgresJSONB(utf8: identity.profile.utf8)), \(identity.sealedTokens as [UInt8]?),
                            \(tokenTime(of: identity))
                        )
                        ON CONFLICT DO NOTHING RETURNING provider, user_id
                    ), recorded AS (\(recorded))
                    SELECT FROM linked
                    """
                )
                return linked.isEmpty ? .taken : .linked
            }
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
        try await store.withTransaction { transaction throws(SkyrowError) in
            try await store.reporting {
                guard try await lock(user, session: tokenHash, in: transaction) else { return .ended }
                let keys = try store.loginKeys.map { key -> SQL in "profile.\(try SQLIdentifier(key.rawValue))" }
                let named: SQL = keys.isEmpty ? "false" : "num_nonnulls(\(keys.joined(separator: ", "))) > 0"
                let recorded = event.insertion(
                    into: schema,
                    from: "unlinked",
                    user: "unlinked.user_id",
                    data: "jsonb_build_object('provider', unlinked.provider)"
                )
                // It begins after the lock was acquired, so it sees the results of other changes.
                let result = try await transaction.query(
                    """
                    WITH unlinked AS (
                        DELETE FROM \(schema.internal)._identity AS identity
                        WHERE identity.user_id = \(user) AND identity.provider = \(provider) AND (
                            EXISTS (
                                SELECT FROM \(schema.internal)._identity AS other
                                WHERE other.user_id = \(user) AND other.provider <> \(provider)
                            ) OR EXISTS (
                                SELECT FROM \(schema.internal)._user AS account JOIN \(schema)."user" AS profile ON profile._id = account.id
                                WHERE account.id = \(user) AND \(countsPasswords) AND account.password_hash IS NOT NULL AND \(named)
                            )
                        )
                        RETURNING identity.user_id, identity.provider
                    ), recorded AS (\(recorded))
                    SELECT (SELECT count(*) FROM unlinked), (
                        SELECT count(*) FROM \(schema.internal)._identity AS identity
                        WHERE identity.user_id = \(user) AND identity.provider = \(provider)
                    )
                    """
                )
                if try result.decode(row: 0, column: 0, as: Int64.self) > 0 { return .unlinked }
                return try result.decode(row: 0, column: 1, as: Int64.self) > 0 ? .last : .missing
            }
        }
    }

    /// Locks an account; returns false if it does not exist or is disabled, or if the session has ended.
    private func lock(
        _ user: UserID,
        session tokenHash: [UInt8]?,
        begunBy flow: FlowAccount? = nil,
        in transaction: StoreTransaction
    ) async throws -> Bool {
        let isSame: SQL = flow.map { " AND session.id = \($0.sessionID)::uuid" } ?? ""
        var holds: SQL =
            tokenHash.map { hash in
                """
                 AND EXISTS (
                    SELECT FROM \(schema.internal)._session AS session
                    WHERE session.user_id = account.id AND session.epoch = account.epoch
                        AND \(SessionTable.has(hash))\(isSame)
                )
                """
            } ?? ""
        if let flow { holds += " AND account.epoch = \(flow.epoch)" }
        return try await !transaction.query(
            """
            SELECT FROM \(schema.internal)._user AS account
            WHERE account.id = \(user) AND NOT (\(UserTable.isDisabled))\(holds) FOR UPDATE
            """
        ).isEmpty
    }

    /// Returns the part of a statement that inserts an identity of its `account`.
    func insertion(of identity: ProvenIdentity) -> SQL {
        """
        INSERT INTO \(schema.internal)._identity (provider, subject, user_id, profile, last_used_at, token_sealed, token_at)
        SELECT \(identity.provider), \(identity.subject), account.id,
            \(PostgresJSONB(utf8: identity.profile.utf8)), now(), \(identity.sealedTokens as [UInt8]?)::bytea,
            \(tokenTime(of: identity))::timestamptz
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
        guard let sealed = identity.sealedTokens else { return }
        try await store.write(
            """
            UPDATE \(schema.internal)._identity AS identity SET token_sealed = \(sealed), token_at = now()
            WHERE identity.provider = \(identity.provider) AND identity.subject = \(identity.subject)
                AND identity.user_id = \(user)
            """
        )
    }

    private func keep(_ identity: ProvenIdentity, in transaction: StoreTransaction) async throws {
        guard let sealed = identity.sealedTokens else { return }
        _ = try await transaction.query(
            """
            UPDATE \(schema.internal)._identity AS identity SET token_sealed = \(sealed), token_at = now()
            WHERE identity.provider = \(identity.provider) AND identity.subject = \(identity.subject)
            """
        )
    }

    /// Returns the part of a login statement that records the use of an identity and the provider's present data. It returns no
    /// row if the identity was deleted meanwhile.
    func use(of identity: ProvenIdentity, where condition: SQL, from source: SQL) -> SQL {
        """
        UPDATE \(schema.internal)._identity AS identity
        SET last_used_at = now(), profile = \(PostgresJSONB(utf8: identity.profile.utf8))\(kept(identity))
        FROM \(source)
        WHERE identity.provider = \(identity.provider) AND identity.subject = \(identity.subject) AND \(condition)
        RETURNING identity.user_id
        """
    }
}

extension RecordStore {
    package var identities: IdentityTable { IdentityTable(store: self) }
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
