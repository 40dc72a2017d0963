internal import SkyrowCrypto
internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

// The tokens of providers, and the effect of their addresses on accounts.

extension IdentityTable {
    /// The largest response with tokens that is stored, in bytes.
    package static let maximumTokenBytes = 16_384

    /// The associated data of stored tokens.
    static func placeOfTokens(_ provider: String, _ subject: String, _ user: UserID) -> [String] {
        ["_identity", provider, subject, user.rawValue]
    }

    /// Returns the identity with tokens that are sealed for an account.
    ///
    /// A provider may send its refresh token the first time only, so a stored one is kept if the response has no other.
    ///
    /// - Parameter response: a JSON object; no tokens are sealed for nil, or for a response that is too large.
    package func sealing(
        _ response: JSONText?,
        of identity: ProvenIdentity,
        for user: UserID
    ) async throws(SkyrowError) -> ProvenIdentity {
        guard let response, response.utf8.count <= Self.maximumTokenBytes else { return identity }
        let keys = try await store.sealing()
        let place = Self.placeOfTokens(identity.provider, identity.subject, user)
        var plain = response.utf8
        if let stored = try await sealedTokens(of: user, provider: identity.provider),
            stored.subject == identity.subject,
            let before = keys.open(stored.sealed, for: place),
            let merged = Self.merged(plain, keepingRefreshTokenOf: before),
            merged.count <= Self.maximumTokenBytes
        {
            plain = merged
        }
        var sealed = identity
        sealed.sealedTokens = try keys.seal(plain, for: place)
        return sealed
    }

    /// Returns the tokens that are stored for a user; nil without tokens, and if no key can open them.
    package func tokens(of user: UserID, provider: String) async throws(SkyrowError) -> ProviderTokens? {
        guard let stored = try await sealedTokens(of: user, provider: provider) else { return nil }
        let place = Self.placeOfTokens(provider, stored.subject, user)
        guard let plain = try await store.sealing().open(stored.sealed, for: place) else { return nil }
        return ProviderTokens(
            provider: provider,
            subject: stored.subject,
            response: JSONText(validated: plain),
            receivedAt: stored.time
        )
    }

    private func sealedTokens(
        of user: UserID,
        provider: String
    ) async throws(SkyrowError) -> (subject: String, sealed: [UInt8], time: Timestamp)? {
        let columns = Columns(
            { (subject: String, sealed: [UInt8], time: Timestamp) in (subject: subject, sealed: sealed, time: time) },
            "subject",
            "token_sealed",
            "coalesce(token_at, created_at)"
        )
        return try await store.read(columns) {
            """
            SELECT \($0) FROM \(schema.internal)._identity
            WHERE user_id = \(user) AND provider = \(provider) AND token_sealed IS NOT NULL
            """
        }.first
    }

    /// Returns a response with the refresh token of the previous one, if it has no other; nil if that changes nothing.
    static func merged(_ response: [UInt8], keepingRefreshTokenOf before: [UInt8]) -> [UInt8]? {
        guard let new = try? JSONDocument(response), let old = try? JSONDocument(before) else { return nil }
        let kept = old.withRoot { $0["refresh_token"]?.string }
        guard let kept, new.withRoot({ $0.isObject && $0["refresh_token"]?.string == nil }) else { return nil }
        return new.withRoot { root in
            let writer = JSONWriter()
            writer.beginObject()
            for (name, value) in root.uniqueMembers where name != "refresh_token" {
                writer.key(name)
                writer.json(value.jsonText)
            }
            writer.member("refresh_token", kept)
            writer.endObject()
            return writer.bytes
        }
    }

    /// Returns whether an account has verified a mail address, in any form of it.
    package func isProven(_ address: String) async throws(SkyrowError) -> Bool {
        try await store.value(
            reading: """
                SELECT true FROM \(store.users.profiles)
                WHERE \(LoginKeys.matches("profile.email", address, in: schema))
                    AND profile.email IS NOT DISTINCT FROM account.verified_email
                """
        ) ?? false
    }

    /// Removes an address from the accounts that have not verified it, with the codes sent to it; returns the number of accounts.
    @discardableResult
    package func release(_ address: String, from origin: RequestOrigin) async throws(SkyrowError) -> Int {
        let event = AuditEvent(.addressLost, by: .service, from: origin)
        return try await store.write(
            """
            WITH account AS (
                SELECT account.id FROM \(store.users.profiles)
                WHERE \(LoginKeys.matches("profile.email", address, in: schema))
                    AND profile.email IS DISTINCT FROM account.verified_email
                FOR UPDATE OF account
            ), lost AS (
                UPDATE \(schema)."user" AS profile
                SET email = NULL, _updated_at = now(), _revision = \(schema)._revision()
                FROM account WHERE profile._id = account.id
                RETURNING profile._id
            ), voided AS (
                DELETE FROM \(schema.internal)._code AS code USING lost WHERE code.user_id = lost._id
            )\(store.recording(event, from: "lost", user: "lost._id"))
            SELECT FROM lost
            """
        )
    }
}
