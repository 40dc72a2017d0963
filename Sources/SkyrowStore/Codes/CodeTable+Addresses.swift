package import SkyrowModel
internal import SkyrowPostgres

// Changes of the address of an account: a code to the new address, and a link to the previous one.

extension CodeTable {
    /// Inserts a code that makes its address that of an account, and its mail. If another account has the address, the code
    /// belongs to no account, and the other account gets a mail about it: the statement, its rows and its work are the same.
    func insertion(of code: NewCode, changingAddressOf user: UserID) -> SQL {
        """
        WITH taken AS (
            SELECT profile._id AS id, profile.email FROM \(schema)."user" AS profile
            WHERE profile._id = (\(store.users.accountID(of: code.address, in: "email"))) AND profile._id <> \(user)
        ), meant AS (
            SELECT account.id, account.epoch, \(code.address)::text AS target FROM \(schema.internal)._user AS account
            WHERE account.id = \(user) AND NOT (\(UserTable.isDisabled)) AND NOT EXISTS (SELECT FROM taken)
        ), code AS (
            \(insertionOfRow(code))
        )
        INSERT INTO \(schema.internal)._mail (kind, user_id, target, address_key, client_key, language, digits)
        SELECT CASE WHEN taken.id IS NULL THEN \(code.kind.rawValue) ELSE 'taken' END, coalesce(taken.id, meant.id),
            coalesce(taken.email, meant.target), \(addressKey("\(code.address)")), \(code.client as [UInt8]?),
            \(code.language), CASE WHEN taken.id IS NULL THEN \(code.digits) END
        FROM (SELECT) AS one LEFT JOIN taken ON true LEFT JOIN meant ON true
        """
    }
}

extension UserTable {
    /// Changes the address of an account to the one that a code of the kind `email` was sent to. Uses the code, increments the
    /// epoch and ends every session but one. Returns false if the code is not valid or that session has ended.
    ///
    /// The previous address gets a mail. If it was verified, or if unverified addresses are trusted, the mail has a link to undo
    /// the change, and no other account can get the address while that is valid. Throws `109 Duplicated` if another account has
    /// the new address meanwhile.
    ///
    /// - Parameters:
    ///   - kept: the hash of the token of the session to keep; nil ends all sessions.
    ///   - undo: the code for the previous address; the address in it is ignored.
    ///   - trustsUnproved: whether an unverified address counts as the account's.
    package func changeAddress(
        of user: UserID,
        _ proof: CodeProof,
        keeping kept: [UInt8]?,
        undo: NewCode,
        trustsUnproved: Bool,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Bool {
        let row: NewRow = [
            "user_id": "former.id", "epoch": "former.epoch", "target": "former.email", "language": "former.language",
            "digits_expire_at": "now()",
        ]
        let undoing = store.codes.insertion(
            of: undo,
            row,
            at: store.codes.addressKey("former.email"),
            from: "former WHERE former.is_other AND former.is_proved"
        )
        return try await changingAddress(
            """
            WITH account AS (
                UPDATE \(schema.internal)._user AS account SET epoch = account.epoch + 1, verified_email = code.target
                FROM \(schema.internal)._code AS code
                WHERE code.kind = 'email' AND \(store.codes.holds(proof)) AND code.user_id = account.id
                    AND account.id = \(user) AND account.epoch = code.epoch AND NOT (\(UserTable.isDisabled))
                    AND \(store.sessions.goesOn(kept))
                RETURNING account.id, account.epoch, code.target, code.language
            ), former AS (
                SELECT account.id, account.epoch, account.target, account.language, profile.email,
                    coalesce(
                        \(LoginKeys.canonical("profile.email", in: schema)) <> \(LoginKeys.canonical("account.target", in: schema)),
                        false
                    ) AS is_other,
                    \(trustsUnproved) OR coalesce(profile.email = known.verified_email, false) AS is_proved
                FROM account JOIN \(schema)."user" AS profile ON profile._id = account.id
                    JOIN \(schema.internal)._user AS known ON known.id = account.id
                FOR UPDATE OF profile
            ), changed AS (
                UPDATE \(schema)."user" AS profile
                SET email = former.target, _updated_at = now(), _updated_by = former.id, _revision = \(schema)._revision()
                FROM former WHERE profile._id = former.id
            )\(store.sessions.ending(keeping: kept)), used AS (
                UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0
                FROM account WHERE code.kind = 'email' AND code.user_id = account.id
            ), undo AS (
                \(undoing)
            ), reserved AS (
                INSERT INTO \(schema.internal)._former_login AS reserved (code, until, user_id)
                SELECT \(schema)._login_code(secret.secret, 'email', former.email),
                    now() + \(undo.kind.linkLifetime) * interval '1 second', former.id
                FROM former CROSS JOIN (SELECT secret FROM \(schema.internal)._secret ORDER BY number DESC LIMIT 1) AS secret
                WHERE former.is_other AND former.is_proved
                ON CONFLICT (code) DO UPDATE SET until = EXCLUDED.until, user_id = EXCLUDED.user_id
            ), mailed AS (
                INSERT INTO \(schema.internal)._mail (kind, user_id, target, language, link_code)
                SELECT CASE WHEN former.is_proved THEN 'undo' ELSE 'address' END, former.id, former.email, former.language,
                    CASE WHEN former.is_proved THEN \(undo.link) END
                FROM former WHERE former.is_other
            )\(store.recording(event, from: "account", user: "account.id"))
            """
        ) != nil
    }

    /// Restores the address that an account had before a change, and revokes what came after it: the sessions, the codes, the
    /// password, providers linked and second factors confirmed since, and links to undo later changes. Returns the account and
    /// the address; nil if the code is not valid.
    ///
    /// Throws `109 Duplicated` if another account has the address.
    package func undoChangeOfAddress(
        _ linkHash: [UInt8],
        recording event: AuditEvent
    ) async throws(SkyrowError) -> (user: UserID, address: String)? {
        let holds = store.codes.holds(.link(hash: linkHash))
        let unfactoring = unfactoring(where: "lost.kind = 'totp' AND lost.confirmed_at IS NOT NULL", from: event.origin)
        let locked: SQL = """
            SELECT account.id FROM \(schema.internal)._user AS account JOIN \(schema.internal)._code AS code ON code.user_id = account.id
            WHERE code.kind = 'undo' AND \(holds) FOR NO KEY UPDATE OF account
            """
        // The account is locked first. Of two statements with one code, or with the codes of two changes, the later one waits and
        // then finds its code used. What was committed meanwhile, such as a second factor, is visible once the account is locked.
        return try await changingAddress(
            after: locked,
            """
            WITH locked AS (
                \(locked)
            ), used AS (
                UPDATE \(schema.internal)._code AS code SET used_at = now() FROM locked
                WHERE code.kind = 'undo' AND \(holds) AND code.user_id = locked.id
                RETURNING code.user_id, code.target, code.epoch, code.created_at
            ), account AS (
                UPDATE \(schema.internal)._user AS account
                SET epoch = account.epoch + 1, token_valid_since = now(), verified_email = used.target, password_hash = NULL
                FROM used WHERE account.id = used.user_id
                RETURNING account.id, used.target, used.epoch AS since, used.created_at
            ), changed AS (
                UPDATE \(schema)."user" AS profile
                SET email = account.target, _updated_at = now(), _updated_by = account.id,
                    _revision = \(schema)._revision()
                FROM account WHERE profile._id = account.id
            )\(store.sessions.ending), later AS (
                UPDATE \(schema.internal)._code AS code SET used_at = now() FROM account
                WHERE code.kind = 'undo' AND code.user_id = account.id AND code.epoch > account.since
                    AND code.used_at IS NULL
            ), unlinked AS (
                DELETE FROM \(schema.internal)._identity AS identity USING account
                WHERE identity.user_id = account.id AND identity.created_at >= account.created_at
            ), unfactored AS (
                DELETE FROM \(schema.internal)._factor AS factor USING account
                WHERE factor.user_id = account.id AND coalesce(factor.confirmed_at >= account.created_at, true)
                RETURNING factor.user_id, factor.kind, factor.confirmed_at
            ), unenrolled AS (
                UPDATE \(schema.internal)._factor AS factor SET pending_sealed = NULL, pending_at = NULL FROM account
                WHERE factor.user_id = account.id AND factor.confirmed_at < account.created_at
                    AND factor.pending_sealed IS NOT NULL
            )\(unfactoring)\(store.recording(event, from: "account", user: "account.id"))
            """
        )
    }

    /// Runs a statement whose parts change the address of an `account`, and returns both.
    ///
    /// - Parameter lock: takes locks before the snapshot of the statement.
    private func changingAddress(
        after lock: SQL? = nil,
        _ parts: SQL
    ) async throws(SkyrowError) -> (user: UserID, address: String)? {
        let columns = Columns(
            { (user: UserID, address: String) in (user: user, address: address) },
            "account.id",
            "account.target"
        )
        let statement: SQL = "\(parts) SELECT \(columns.list) FROM account"
        return try await store.reporting {
            try await store.withCatalog { catalog in
                try await refusing(in: try catalog.userTable) {
                    guard let lock else { return try await store.client.write(statement) }
                    return try await store.client.withTransaction { transaction in
                        _ = try await transaction.query(lock)
                        return try await transaction.query(statement)
                    }
                }.rows(columns).first
            }
        }
    }
}
