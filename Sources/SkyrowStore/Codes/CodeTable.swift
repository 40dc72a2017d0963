package import SkyrowModel
internal import SkyrowPostgres

/// A counted attempt at the digits of a code.
package struct CodeAttempt: Hashable, Sendable {
    package let digitsHash: [UInt8]
    /// nil for an address without an account.
    package let user: UserID?
}

/// The one-time codes: one for each address, kind and network of clients, whether an account has the address or not. A code that
/// another client requests leaves the first one valid.
///
/// The statement that uses a code also checks it and the epoch of the account, so that no code is used twice or after a change of
/// the password.
package struct CodeTable: StoreTable, Sendable {
    /// The most attempts at the digits of a code.
    package static let maximumAttempts: Int32 = 5
    /// The most attempts per day at the digits of a kind for an address, for any number of codes.
    package static let maximumGuesses: Int32 = 15

    let store: RecordStore

    /// Returns the keys with which digits are hashed.
    package func keys() async throws(SkyrowError) -> CodeKeys {
        let secrets = try await store.reporting { try await store.secrets() }
        guard let keys = CodeKeys(secrets: secrets) else { throw .unexpected }
        return keys
    }

    /// Stores a code and its mail, and replaces the last code that the client requested for the address. Stores neither after too
    /// many mails.
    ///
    /// For an address without an account the statements and rows are the same, but no mail is sent. Returns whether there is a
    /// mail to send or to drop, which no response may reveal.
    ///
    /// - Parameter user: the account to which the address should change; nil for a code of the account that has it.
    package func issue(
        _ code: NewCode,
        for user: UserID? = nil,
        limits: CodeMailLimits
    ) async throws(SkyrowError) -> Bool {
        try await store.inTransaction { transaction in
            try await transaction.execute(takingTurn(of: code))
            let isWithin = try await isWithin(limits, code, in: transaction)
            if isWithin {
                try await transaction.execute(
                    user.map { insertion(of: code, changingAddressOf: $0) } ?? insertion(of: code)
                )
            }
            try await transaction.execute(
                "DELETE FROM \(schema.internal)._throttle WHERE bucket IN (\(turns(of: code)))"
            )
            return isWithin
        }
    }

    func addressKey(_ address: SQL) -> SQL {
        "sha256(convert_to(\(LoginKeys.canonical(address, in: schema)), 'UTF8'))"
    }

    /// Serializes the requests of a network and for an address, so that each counts those before it.
    ///
    /// It uses rows, which exist until the transaction ends, since any PostgreSQL role can hold an advisory lock.
    private func takingTurn(of code: NewCode) -> SQL {
        """
        INSERT INTO \(schema.internal)._throttle AS turn (bucket, failures, window_start, blocked_until)
        SELECT place.bucket, 0, now(), now() FROM (\(turns(of: code))) AS place (bucket) ORDER BY place.bucket
        ON CONFLICT (bucket) DO UPDATE SET failures = turn.failures WHERE false
        """
    }

    /// The buckets of the rows through which requests wait for each other.
    private func turns(of code: NewCode) -> SQL {
        let ofAddress: SQL = "SELECT sha256('mail to '::bytea || \(addressKey("\(code.address)")))"
        guard let client = code.client else { return ofAddress }
        return "\(ofAddress) UNION ALL SELECT sha256('mail from '::bytea || \(client))"
    }

    private func isWithin(
        _ limits: CodeMailLimits,
        _ code: NewCode,
        in transaction: StoreTransaction
    ) async throws -> Bool {
        let columns = Columns(
            { (aMinute: Int, anHour: Int, byAll: Int, byClient: Int) in
                aMinute < limits.aMinute && anHour < limits.anHour && byClient < limits.anHourByClient
                    && (code.isOfKnownClient || byAll < limits.anHourByStrangers)
            },
            """
            count(*) FILTER (
                WHERE mail.created_at > now() - interval '1 minute' AND (mail.is_own OR NOT \(code.isOfKnownClient))
            )
            """,
            "count(*) FILTER (WHERE mail.is_own)",
            "count(*)",
            """
            (SELECT count(*) FROM \(schema.internal)._mail AS mail
                WHERE mail.client_key = \(code.client as [UInt8]?) AND mail.created_at > now() - interval '1 hour')
            """
        )
        return try await transaction.query(
            """
            SELECT \(columns.list)
            FROM (
                SELECT mail.created_at, mail.client_key IS NOT DISTINCT FROM \(code.client as [UInt8]?) AS is_own
                FROM \(schema.internal)._mail AS mail
                WHERE mail.address_key = \(addressKey("\(code.address)")) AND mail.created_at > now() - interval '1 hour'
            ) AS mail
            """
        ).rows(columns).first ?? false
    }

    /// Returns the statement that inserts the code and its mail for the account that has the address.
    private func insertion(of code: NewCode) -> SQL {
        let kind = code.kind.rawValue
        var id: SQL = "(\(store.users.accountID(of: code.address, in: "email")))"
        var target: SQL = "profile.email"
        if code.kind == .reset, store.loginKeys.contains(where: { $0.rawValue == "username" }) {
            // Of accounts without an address, one whose username is the address.
            id = """
                coalesce(\(id), (
                    SELECT named._id FROM \(schema)."user" AS named
                    WHERE named._id = (\(store.users.accountID(of: code.address, in: "username"))) AND named.email IS NULL
                ))
                """
            target = UserTable.mailAddress
        }
        return """
            WITH meant AS (
                SELECT account.id, account.epoch, \(target) AS target
                FROM \(store.users.profiles) WHERE account.id = \(id) AND NOT (\(UserTable.isDisabled))
            ), code AS (
                \(insertionOfRow(code))
            )
            INSERT INTO \(schema.internal)._mail (
                kind, user_id, target, address_key, client_key, language, link_code, digits
            )
            SELECT \(kind), meant.id, meant.target, \(addressKey("\(code.address)")), \(code.client as [UInt8]?),
                \(code.language), \(code.link), \(code.digits)
            FROM (SELECT) AS one LEFT JOIN meant ON true
            """
    }

    /// Inserts a code in place of the client's previous one, for the account in `meant` with its epoch and address, or for none.
    func insertionOfRow(_ code: NewCode) -> SQL {
        let row: NewRow = [
            "user_id": "meant.id", "epoch": "coalesce(meant.epoch, 0)", "target": "coalesce(meant.target, '')",
            "language": "\(code.language)",
            "digits_expire_at": "now() + \(CodeKind.digitsLifetime) * interval '1 second'",
        ]
        return """
            \(insertion(of: code, row, at: addressKey("\(code.address)"), from: "(SELECT) AS one LEFT JOIN meant ON true")),
                guesses = CASE
                    WHEN known.guesses_since < now() - interval '1 day' THEN 0 ELSE known.guesses
                END,
                guesses_since = CASE
                    WHEN known.guesses_since < now() - interval '1 day' THEN now() ELSE known.guesses_since
                END
            """
    }

    /// Inserts a code in place of the client's previous one for an address, `known`.
    ///
    /// - Parameters:
    ///   - row: what depends on the account of the code.
    ///   - addressKey: the key of the address.
    ///   - source: the text after FROM.
    func insertion(of code: NewCode, _ row: NewRow, at addressKey: SQL, from source: SQL) -> SQL {
        let row: NewRow =
            [
                "id": "\(code.id)", "link_hash": "\(code.linkHash)", "digits_hash": "\(code.digitsHash)",
                "link_expires_at": "now() + \(code.kind.linkLifetime) * interval '1 second'",
            ] + row
        return """
            INSERT INTO \(schema.internal)._code AS known (kind, address_key, client_key, \(row.names))
            SELECT \(code.kind.rawValue), \(addressKey), \(code.client ?? []), \(row.values) FROM \(source)
            ON CONFLICT (kind, address_key, client_key) DO UPDATE
            SET \(row.replacements), attempts = 0, created_at = now(), used_at = NULL
            """
    }

    /// Counts an attempt at the digits of a code. Returns nil if no attempt is left, or if there is no such code.
    package func attempt(_ id: [UInt8], _ kind: CodeKind) async throws(SkyrowError) -> CodeAttempt? {
        let columns = Columns(CodeAttempt.init(digitsHash:user:), "code.digits_hash", "code.user_id")
        return try await store.write(columns) {
            """
            UPDATE \(schema.internal)._code AS code SET attempts = code.attempts + 1, guesses = code.guesses + 1
            WHERE code.kind = \(kind.rawValue) AND code.id = \(id) AND code.used_at IS NULL
                AND code.digits_expire_at > now()
                AND code.attempts < \(Self.maximumAttempts) AND code.guesses + (
                    SELECT coalesce(sum(other.guesses), 0) FROM \(schema.internal)._code AS other
                    WHERE other.kind = code.kind AND other.address_key = code.address_key AND other.id <> code.id
                        AND other.guesses_since > now() - interval '1 day'
                ) < \(Self.maximumGuesses)
            RETURNING \($0)
            """
        }.first
    }

    /// Returns the account of a link's code if the link is valid, without using the code.
    package func user(ofLink hash: [UInt8], _ kind: CodeKind) async throws(SkyrowError) -> UserID? {
        try await store.value(
            reading: """
                SELECT code.user_id
                FROM \(schema.internal)._code AS code JOIN \(schema.internal)._user AS account ON account.id = code.user_id
                WHERE code.kind = ANY (\(kind.sameLinks)) AND \(holds(.link(hash: hash))) AND account.epoch = code.epoch
                """
        )
    }

    /// The condition that a row `code` matches the proof and is valid.
    func holds(_ proof: CodeProof) -> SQL {
        switch proof {
        case .link(let hash):
            "code.link_hash = \(hash) AND code.link_expires_at > now() AND code.used_at IS NULL"
        case .linkOfClient(let id, let hash):
            """
            code.id = \(id) AND code.link_hash = \(hash) AND code.link_expires_at > now() AND code.used_at IS NULL
            """
        case .digits(let id, let hash):
            """
            code.id = \(id) AND code.digits_hash = \(hash) AND code.digits_expire_at > now() AND code.used_at IS NULL
            """
        }
    }

    /// Uses a code to verify its address, and returns the account; nil for an invalid code, or if the address has changed.
    ///
    /// The first verification confirms a sign-up: password and sessions stay. An account that is anonymous, or that already
    /// requires a second factor, may have been created by someone other than the owner of the address. Its password, sessions,
    /// providers and factors end then, unless the code comes with a session of the account.
    ///
    /// - Parameter tokenHash: the hash of the token that comes with the code; nil without a token.
    package func verify(
        _ proof: CodeProof,
        session tokenHash: [UInt8]? = nil,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> UserID? {
        let isOwn: SQL = tokenHash.map { store.sessions.goesOn($0) } ?? "false"
        let ends: SQL = """
            account.verified_email IS DISTINCT FROM used.target AND NOT \(isOwn)
                AND (account.second_factor OR NOT \(UserTable.isRegistered("account", in: schema)))
            """
        // The row of the code is locked first, so the later of two statements finds it used. The epoch of the account is also
        // checked after locking.
        return try await store.value(
            writing: """
                WITH used AS (
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0
                    FROM \(store.users.profiles)
                    WHERE code.kind = 'verify' AND \(holds(proof))
                        AND account.id = code.user_id AND account.epoch = code.epoch AND profile.email = code.target
                    RETURNING code.user_id, code.epoch, code.target
                ), account AS (
                    UPDATE \(schema.internal)._user AS account
                    SET verified_email = used.target,
                        epoch = account.epoch + CASE WHEN \(ends) THEN 1 ELSE 0 END,
                        password_hash = CASE WHEN \(ends) THEN NULL ELSE account.password_hash END
                    FROM used WHERE account.id = used.user_id AND account.epoch = used.epoch
                    RETURNING account.id, account.epoch <> used.epoch AS has_ended
                ), closed AS (
                    DELETE FROM \(schema.internal)._session AS session USING account
                    WHERE session.user_id = account.id AND account.has_ended
                )\(store.users.endingFactors(where: "account.has_ended", from: event.origin))\
                \(store.recording(event, from: "account", user: "account.id"))
                SELECT account.id FROM account
                """
        )
    }

    /// Records in the profile of a user that the verification of its address has begun, if it has this address.
    ///
    /// Not for a request by address alone, which may be a stranger's: the changed record would show whose address it is.
    package func begin(_ user: UserID, at address: String) async throws(SkyrowError) {
        try await store.write(
            """
            UPDATE \(schema)."user" AS profile SET _verified = false
            WHERE profile._id = \(user) AND profile.email = \(address) AND profile._verified IS NULL
            """
        )
    }

    /// Returns the account that has an address, and whether the account is registered.
    package func holder(of address: String) async throws(SkyrowError) -> (user: UserID, isRegistered: Bool)? {
        let columns = Columns(
            { (user: UserID, isRegistered: Bool) in (user: user, isRegistered: isRegistered) },
            "account.id",
            "\(UserTable.isRegistered("account", in: schema))"
        )
        let id = store.users.accountID(of: address, in: "email")
        return try await store.read(columns) {
            "SELECT \($0) FROM \(schema.internal)._user AS account WHERE account.id = (\(id))"
        }.first
    }

    /// Returns whether an account has no address, or a verified one.
    package func isVerified(_ user: UserID) async throws(SkyrowError) -> Bool {
        try await store.value(
            reading: """
                SELECT profile.email IS NULL OR profile.email IS NOT DISTINCT FROM account.verified_email
                FROM \(store.users.profiles) WHERE account.id = \(user)
                """
        ) ?? false
    }

    /// Returns the address of an account, from its profile.
    package func address(of user: UserID) async throws(SkyrowError) -> String? {
        try await store.value(reading: "SELECT email FROM \(schema).\"user\" WHERE _id = \(user)") ?? nil
    }

    /// Removes codes that expired a day ago, until when they count the guesses for their address. Returns how many.
    @discardableResult
    package func purgeExpired() async throws(SkyrowError) -> Int {
        try await store.write("DELETE FROM \(schema.internal)._code WHERE link_expires_at < now() - interval '1 day'")
    }
}

extension UserTable {
    /// Sets the password of the account of a code of the kind `reset` or `invite`. Uses the code, ends every session and verifies
    /// the address; returns nil if the code is not valid.
    ///
    /// The account's epoch changes, so the later of two statements with one code finds it invalid. If the address was not
    /// verified before, linked providers and second factors end, since the owner of the address need not have added them.
    ///
    /// - Parameters:
    ///   - session: opened, if given, and determines the recorded event. An account that requires a second factor gets none.
    ///   - event: recorded without a session.
    ///   - historySize: how many of the last passwords the next one is compared with.
    package func resetPassword(
        _ proof: CodeProof,
        to passwordHash: String,
        session: NewSession?,
        recording event: AuditEvent? = nil,
        historySize: Int = 0
    ) async throws(SkyrowError) -> SignedInAccount? {
        let asked: SQL =
            session == nil
            ? "" : " AND (NOT account.second_factor OR account.verified_email IS DISTINCT FROM code.target)"
        return try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET \(UserTable.setting(passwordHash)), verified_email = code.target
                FROM \(schema.internal)._code AS code JOIN \(schema)."user" AS profile ON profile._id = code.user_id
                WHERE code.kind = ANY (\(CodeKind.reset.sameLinks)) AND \(store.codes.holds(proof))
                    AND account.id = code.user_id AND account.epoch = code.epoch
                    AND \(UserTable.mailAddress) = code.target AND NOT (\(UserTable.isDisabled))\(asked)
                """,
            session: session,
            further: """
                \(store.sessions.ending), used AS (
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0
                    FROM account WHERE code.kind = ANY (\(CodeKind.reset.sameLinks)) AND code.user_id = account.id
                ), notice AS (
                    INSERT INTO \(schema.internal)._mail (kind, user_id, target, language)
                    SELECT 'notice', code.user_id, code.target, code.language
                    FROM \(schema.internal)._code AS code JOIN account ON account.id = code.user_id
                    WHERE code.kind = 'reset' AND \(store.codes.holds(proof))
                )\(store.recording(event, from: "account", user: "account.id", as: "noted"))\
                \(keepingFormerPassword(historySize))\
                \(endingUnproved(from: session?.origin ?? event?.origin ?? RequestOrigin()))
                """,
            // The statement itself checks for a second factor.
            secondFactor: .settled
        )
    }

    /// Sets the password of an account, ends its sessions and opens one; nil if the account does not exist or is disabled.
    ///
    /// - Parameters:
    ///   - event: recorded in addition to the event of the session.
    ///   - notifies: whether a notice is sent to its address, if it has one.
    ///   - historySize: how many of the last passwords the next one is compared with.
    package func setPassword(
        of id: UserID,
        to passwordHash: String,
        session: NewSession,
        recording event: AuditEvent,
        notifies: Bool,
        historySize: Int = 0
    ) async throws(SkyrowError) -> SignedInAccount? {
        let notice: SQL =
            """
            , notice AS (
                INSERT INTO \(schema.internal)._mail (kind, user_id, target, language)
                SELECT 'notice', profile._id, profile.email, ''
                FROM \(schema)."user" AS profile JOIN account ON account.id = profile._id
                WHERE profile.email IS NOT NULL
            )
            """
        return try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET \(UserTable.setting(passwordHash))
                WHERE account.id = \(id) AND NOT (\(UserTable.isDisabled))
                """,
            session: session,
            further: store.sessions.ending + store.recording(event, from: "account", user: "account.id", as: "noted")
                + (notifies ? notice : "") + keepingFormerPassword(historySize),
            secondFactor: .settled
        )
    }

    /// Further parts that end the factors and providers of the statement's `account` if it verifies the address for the first
    /// time.
    func endingUnproved(from origin: RequestOrigin) -> SQL {
        endingFactors(
            where: """
                EXISTS (
                    SELECT FROM \(schema.internal)._user AS before
                    WHERE before.id = account.id AND before.verified_email IS DISTINCT FROM account.verified_email
                )
                """,
            from: origin
        )
    }

    /// Further parts that end the second factors and the providers of the statement's `account`, and record that.
    func endingFactors(where condition: SQL, from origin: RequestOrigin) -> SQL {
        let event = AuditEvent(.providerUnlink, by: .itself, from: origin)
        return """
            , unlinked AS (
                DELETE FROM \(schema.internal)._identity AS identity USING account
                WHERE identity.user_id = account.id AND \(condition)
                RETURNING identity.user_id, identity.provider
            )\(store.identities.recording(unlinking: event, as: "unlinking")), unfactored AS (
                DELETE FROM \(schema.internal)._factor AS factor USING account
                WHERE factor.user_id = account.id AND \(condition)
                RETURNING factor.user_id, factor.kind
            )\(unfactoring(where: "lost.kind = 'totp'", from: origin))
            """
    }

    /// A further part that records the second factors among `unfactored` that meet a condition.
    func unfactoring(where condition: SQL, from origin: RequestOrigin) -> SQL {
        store.recording(
            AuditEvent(.factorRemove, by: .itself, from: origin),
            from: "(SELECT lost.user_id FROM unfactored AS lost WHERE \(condition)) AS lost",
            user: "lost.user_id",
            as: "unfactoring"
        )
    }
}
