package import SkyrowModel
internal import SkyrowPostgres

extension UserTable {
    /// Logs in to the account that a code of the kind `link` is for, which uses the code and proves the address; nil when the code
    /// does not count.
    ///
    /// Where nothing had proved the address before, the maker of the account need not be who has the address: its password is
    /// forgotten, its sessions end, and so do linked providers and second factors.
    ///
    /// - Parameter session: nil for an account that takes a second factor besides, which gets none.
    package func logIn(
        _ proof: CodeProof,
        session: NewSession?
    ) async throws(SkyrowError) -> SignedInAccount? {
        let schema = store.schema
        let holds = store.codes.holds(proof)
        let isFirst: SQL = "account.verified_email IS DISTINCT FROM used.target"
        let asked: SQL = session == nil ? "" : " AND (NOT account.second_factor OR \(isFirst))"
        var further = endingUnproved(from: session?.origin ?? RequestOrigin())
        if let surplus = session.flatMap({ surplus(beyond: $0.limit) }) { further.append(("surplus", surplus)) }
        return try await signIn(
            after: [
                // The account first, as everything does that changes both.
                (
                    "locked",
                    """
                    SELECT account.id FROM \(schema.internal)._user AS account
                    JOIN \(schema.internal)._code AS code ON code.user_id = account.id AND code.epoch = account.epoch
                    JOIN \(schema)."user" AS profile ON profile._id = account.id AND profile.email = code.target
                    WHERE code.kind = 'link' AND \(holds) AND NOT (\(UserTable.isDisabled))
                    FOR NO KEY UPDATE OF account
                    """
                ),
                (
                    "used",
                    """
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0 FROM locked
                    WHERE code.kind = 'link' AND \(holds) AND code.user_id = locked.id
                    RETURNING code.user_id, code.target, code.epoch
                    """
                ),
            ],
            updating: """
                UPDATE \(schema.internal)._user AS account
                SET last_login_at = now(), last_seen_at = now(), verified_email = used.target,
                    epoch = account.epoch + CASE WHEN \(isFirst) THEN 1 ELSE 0 END,
                    password_hash = CASE WHEN \(isFirst) THEN NULL ELSE account.password_hash END
                FROM used WHERE account.id = used.user_id AND account.epoch = used.epoch\(asked)
                """,
            isLogIn: true,
            session: session,
            ended: """
                DELETE FROM \(schema.internal)._session AS session USING account
                WHERE session.user_id = account.id AND session.epoch < account.epoch
                """,
            further: further,
            // The statement asks for it by itself.
            secondFactor: .settled
        )
    }
}
