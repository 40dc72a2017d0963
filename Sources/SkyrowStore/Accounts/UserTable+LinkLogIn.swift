package import SkyrowModel
internal import SkyrowPostgres

extension UserTable {
    /// Logs in to the account of a code of the kind `link`. Uses the code and verifies the address; returns nil if the code is
    /// not valid.
    ///
    /// If the address was not verified before, someone other than its owner may have created the account: its password is
    /// removed, and its sessions, linked providers and second factors end.
    ///
    /// - Parameter session: nil for an account that also requires a second factor, which gets no session.
    package func logIn(_ proof: CodeProof, session: NewSession?) async throws(SkyrowError) -> SignedInAccount? {
        let holds = store.codes.holds(proof)
        let isFirst: SQL = "account.verified_email IS DISTINCT FROM used.target"
        let asked: SQL = session == nil ? "" : " AND (NOT account.second_factor OR \(isFirst))"
        return try await signIn(
            // The account is locked first, as in all statements that change both.
            after: """
                locked AS (
                    SELECT account.id FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._code AS code ON code.user_id = account.id AND code.epoch = account.epoch
                    JOIN \(schema)."user" AS profile ON profile._id = account.id AND profile.email = code.target
                    WHERE code.kind = 'link' AND \(holds) AND NOT (\(UserTable.isDisabled))
                    FOR NO KEY UPDATE OF account
                ), used AS (
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0 FROM locked
                    WHERE code.kind = 'link' AND \(holds) AND code.user_id = locked.id
                    RETURNING code.user_id, code.target, code.epoch
                )
                """,
            updating: """
                UPDATE \(schema.internal)._user AS account
                SET last_login_at = now(), last_seen_at = now(), verified_email = used.target,
                    epoch = account.epoch + CASE WHEN \(isFirst) THEN 1 ELSE 0 END,
                    password_hash = CASE WHEN \(isFirst) THEN NULL ELSE account.password_hash END
                FROM used WHERE account.id = used.user_id AND account.epoch = used.epoch\(asked)
                """,
            isLogIn: true,
            session: session,
            further: """
                , ended AS (
                    DELETE FROM \(schema.internal)._session AS session USING account
                    WHERE session.user_id = account.id AND session.epoch < account.epoch
                )\(endingUnproved(from: session?.origin ?? RequestOrigin()))\(surplus(beyond: session?.limit ?? .max))
                """,
            // The statement itself checks for a second factor.
            secondFactor: .settled
        )
    }
}
