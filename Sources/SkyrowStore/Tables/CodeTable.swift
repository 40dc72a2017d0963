package import SkyrowModel
internal import SkyrowPostgres

/// A try of digits that was paid for.
package struct CodeAttempt: Hashable, Sendable {
    package let digitsHash: [UInt8]
    /// nil for an address without an account.
    package let user: UserID?
}

/// The one-time codes: for each address, kind and network of clients one, whether an account has the address or not. A code that
/// another client asks for leaves the first one good.
///
/// A statement that uses a code is the one that tests it, and names the epoch of the account, so that no code counts twice or
/// after a change of the password.
package struct CodeTable: Sendable {
    /// How often digits of a code are tried.
    package static let maximumAttempts: Int32 = 5
    /// How often digits of a kind are tried for an address in a day, whatever the codes.
    package static let maximumGuesses: Int32 = 15

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// The keys of the digits.
    package func keys() async throws(SkyrowError) -> CodeKeys {
        let secrets = try await store.reporting {
            try await SecretTable(client: store.client, schema: schema).secrets()
        }
        guard let keys = CodeKeys(secrets: secrets) else { throw .unexpected }
        return keys
    }

    /// Stores a code in the place of the last one that the client asked for with the address, and its mail; neither when there were
    /// too many mails.
    ///
    /// An address without an account costs the same statements and has the same rows, but no mail is sent. Returns whether there
    /// is a mail to send or to drop, which no response may reveal.
    ///
    /// - Parameter user: the account that is to get the address; nil for a code of the account that has it.
    package func issue(
        _ code: NewCode,
        for user: UserID? = nil,
        limits: CodeMailLimits
    ) async throws(SkyrowError) -> Bool {
        return try await store.withTransaction { transaction throws(SkyrowError) in
            try await store.reporting {
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
    }

    func addressKey(_ address: String) -> SQL {
        "sha256(convert_to(\(LoginKeys.canonical("\(address)", in: schema)), 'UTF8'))"
    }

    /// Has requests of a network, and of an address, come one after the other: each counts those before it.
    ///
    /// By rows, which are there until the transaction ends: any role of PostgreSQL can hold an advisory lock.
    private func takingTurn(of code: NewCode) -> SQL {
        """
        INSERT INTO \(schema.internal)._throttle AS turn (bucket, failures, window_start, blocked_until)
        SELECT place.bucket, 0, now(), now() FROM (\(turns(of: code))) AS place (bucket) ORDER BY place.bucket
        ON CONFLICT (bucket) DO UPDATE SET failures = turn.failures WHERE false
        """
    }

    /// The rows by which requests wait for each other.
    private func turns(of code: NewCode) -> SQL {
        let ofAddress: SQL = "SELECT sha256('mail to '::bytea || \(addressKey(code.address)))"
        guard let client = code.client else { return ofAddress }
        return "\(ofAddress) UNION ALL SELECT sha256('mail from '::bytea || \(client))"
    }

    private func isWithin(
        _ limits: CodeMailLimits,
        _ code: NewCode,
        in transaction: StoreTransaction
    ) async throws -> Bool {
        let result = try await transaction.query(
            """
            SELECT
                count(*) FILTER (
                    WHERE mail.created_at > now() - interval '1 minute' AND (mail.is_own OR NOT \(code.isOfKnownClient))
                ),
                count(*) FILTER (WHERE mail.is_own), count(*),
                (SELECT count(*) FROM \(schema.internal)._mail AS mail
                    WHERE mail.client_key = \(code.client as [UInt8]?) AND mail.created_at > now() - interval '1 hour')
            FROM (
                SELECT mail.created_at, mail.client_key IS NOT DISTINCT FROM \(code.client as [UInt8]?) AS is_own
                FROM \(schema.internal)._mail AS mail
                WHERE mail.address_key = \(addressKey(code.address)) AND mail.created_at > now() - interval '1 hour'
            ) AS mail
            """
        )
        let aMinute: Int64 = try result.decode(row: 0, column: 0)
        let anHour: Int64 = try result.decode(row: 0, column: 1)
        let byAll: Int64 = try result.decode(row: 0, column: 2)
        let byClient: Int64 = try result.decode(row: 0, column: 3)
        return aMinute < limits.aMinute && anHour < limits.anHour && byClient < limits.anHourByClient
            && (code.isOfKnownClient || byAll < limits.anHourByStrangers)
    }

    /// The code and its mail for the account that has the address.
    private func insertion(of code: NewCode) -> SQL {
        let kind = code.kind.rawValue
        var id: SQL = "(\(store.users.accountID(of: code.address, in: "email")))"
        var target: SQL = "profile.email"
        if code.kind == .reset, store.loginKeys.contains(where: { $0.rawValue == "username" }) {
            // Of accounts without an address, one whose name is the address.
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
                FROM \(schema)."user" AS profile JOIN \(schema.internal)._user AS account ON account.id = profile._id
                WHERE account.id = \(id)
                    AND NOT (\(UserTable.isDisabled))
            ), code AS (
                \(insertionOfRow(code))
            )
            INSERT INTO \(schema.internal)._mail (
                kind, user_id, target, address_key, client_key, language, link_code, digits
            )
            SELECT \(kind), meant.id, meant.target, \(addressKey(code.address)), \(code.client as [UInt8]?),
                \(code.language), \(code.link), \(code.digits)
            FROM (SELECT) AS one LEFT JOIN meant ON true
            """
    }

    /// A code over the client's one before, of the account in `meant` with its epoch and the address, or of none.
    func insertionOfRow(_ code: NewCode) -> SQL {
        """
        INSERT INTO \(schema.internal)._code AS known (
            kind, address_key, client_key, id, user_id, epoch, target, language, link_hash, digits_hash,
            link_expires_at, digits_expire_at
        )
        SELECT \(code.kind.rawValue), \(addressKey(code.address)), \(code.client ?? []), \(code.id), meant.id, coalesce(meant.epoch, 0),
            coalesce(meant.target, ''), \(code.language), \(code.linkHash), \(code.digitsHash),
            now() + \(code.linkLifetime) * interval '1 second',
            now() + \(code.digitsLifetime) * interval '1 second'
        FROM (SELECT) AS one LEFT JOIN meant ON true
        ON CONFLICT (kind, address_key, client_key) DO UPDATE
        SET id = EXCLUDED.id, user_id = EXCLUDED.user_id, epoch = EXCLUDED.epoch, target = EXCLUDED.target,
            language = EXCLUDED.language, link_hash = EXCLUDED.link_hash, digits_hash = EXCLUDED.digits_hash,
            link_expires_at = EXCLUDED.link_expires_at, digits_expire_at = EXCLUDED.digits_expire_at,
            attempts = 0, created_at = now(), used_at = NULL,
            guesses = CASE
                WHEN known.guesses_since < now() - interval '1 day' THEN 0 ELSE known.guesses
            END,
            guesses_since = CASE
                WHEN known.guesses_since < now() - interval '1 day' THEN now() ELSE known.guesses_since
            END
        """
    }

    /// Pays for one try of the digits of a code; nil when it has none left, and when there is no such code.
    ///
    package func attempt(_ id: [UInt8], _ kind: CodeKind) async throws(SkyrowError) -> CodeAttempt? {
        try await store.reporting {
            let result = try await store.client.write(
                """
                UPDATE \(schema.internal)._code AS code SET attempts = code.attempts + 1, guesses = code.guesses + 1
                WHERE code.kind = \(kind.rawValue) AND code.id = \(id) AND code.used_at IS NULL
                    AND code.digits_expire_at > now()
                    AND code.attempts < \(Self.maximumAttempts) AND code.guesses + (
                        SELECT coalesce(sum(other.guesses), 0) FROM \(schema.internal)._code AS other
                        WHERE other.kind = code.kind AND other.address_key = code.address_key AND other.id <> code.id
                            AND other.guesses_since > now() - interval '1 day'
                    ) < \(Self.maximumGuesses)
                RETURNING code.digits_hash, code.user_id
                """
            )
            guard !result.isEmpty else { return nil }
            return CodeAttempt(
                digitsHash: try result.decode(row: 0, column: 0),
                user: try result.decode(row: 0, column: 1)
            )
        }
    }

    /// Whose code a link has, while it counts for this account; uses nothing.
    package func user(ofLink hash: [UInt8], _ kind: CodeKind) async throws(SkyrowError) -> UserID? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT code.user_id
                FROM \(schema.internal)._code AS code JOIN \(schema.internal)._user AS account ON account.id = code.user_id
                WHERE code.kind = ANY (\(kind.sameLinks)) AND \(holds(.link(hash: hash))) AND account.epoch = code.epoch
                """
            )
            return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: UserID.self)
        }
    }

    /// Whether a row `code` is the one of the proof, and counts.
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

    /// Uses a code to prove its address; nil when it does not count, or the account has another address now, else the account.
    ///
    /// The first proof confirms a sign-up: its password and its sessions stay. An account that is anonymous, or that takes a second
    /// factor already, need not be made by who has the address, so its password, sessions, providers and factors end then, unless
    /// the code comes with a session of the account.
    ///
    /// - Parameter tokenHash: that of the token which comes with the code; nil without one.
    package func verify(
        _ proof: CodeProof,
        session tokenHash: [UInt8]? = nil,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> UserID? {
        let isOwn: SQL =
            tokenHash.map { hash in
                """
                EXISTS (
                    SELECT FROM \(schema.internal)._session AS session
                    WHERE session.user_id = account.id AND session.epoch = account.epoch AND \(SessionTable.has(hash))
                )
                """
            } ?? "false"
        let ends: SQL = """
            account.verified_email IS DISTINCT FROM used.target AND NOT \(isOwn)
                AND (account.second_factor OR NOT \(UserTable.isRegistered("account", in: schema)))
            """
        let ending = store.users.endingFactors(where: "account.has_ended", from: event.origin)
            .map { ", \($0.name) AS (\($0.part))" as SQL }.joined(separator: "")
        return try await store.reporting {
            // The row of the code is locked first, so of two statements the later one finds it used. The account's is asked for its
            // epoch once it is locked, too.
            let result = try await store.client.write(
                """
                WITH used AS (
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0
                    FROM \(schema.internal)._user AS account JOIN \(schema)."user" AS profile ON profile._id = account.id
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
                )\(ending), recorded AS (
                    \(event.insertion(into: schema, from: "account", user: "account.id"))
                )
                SELECT account.id FROM account
                """
            )
            return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: UserID.self)
        }
    }

    /// Has the profile of a user say that the proof of its address has begun, where it has this one.
    ///
    /// Who asks by the address alone is a stranger, to whom a change of a record would show whose the address is.
    package func begin(_ user: UserID, at address: String) async throws(SkyrowError) {
        try await store.write(
            """
            UPDATE \(schema)."user" AS profile SET _verified = false
            WHERE profile._id = \(user) AND profile.email = \(address) AND profile._verified IS NULL
            """
        )
    }

    /// The account that has an address, and whether it is one that its user can log in to.
    package func holder(of address: String) async throws(SkyrowError) -> (user: UserID, isRegistered: Bool)? {
        try await store.reporting {
            let id = store.users.accountID(of: address, in: "email")
            let result = try await store.client.read(
                """
                SELECT account.id, \(UserTable.isRegistered("account", in: schema)) FROM \(schema.internal)._user AS account
                WHERE account.id = (\(id))
                """
            )
            guard !result.isEmpty else { return nil }
            return (try result.decode(row: 0, column: 0), try result.decode(row: 0, column: 1))
        }
    }

    /// Whether an account has no address, or one that was verified.
    package func isVerified(_ user: UserID) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT profile.email IS NULL OR profile.email IS NOT DISTINCT FROM account.verified_email
                FROM \(schema)."user" AS profile JOIN \(schema.internal)._user AS account ON account.id = profile._id
                WHERE account.id = \(user)
                """
            )
            return result.isEmpty ? false : try result.decode(row: 0, column: 0)
        }
    }

    /// The address of an account, as its profile has it.
    package func address(of user: UserID) async throws(SkyrowError) -> String? {
        try await store.reporting {
            let result = try await store.client.read("SELECT email FROM \(schema).\"user\" WHERE _id = \(user)")
            return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: String?.self)
        }
    }

    /// Removes codes that ended a day ago, until when they count the guesses of their address; returns how many.
    @discardableResult
    package func purgeExpired() async throws(SkyrowError) -> Int {
        try await store.write(
            "DELETE FROM \(schema.internal)._code WHERE link_expires_at < now() - interval '1 day'"
        )
    }
}

extension RecordStore {
    package var codes: CodeTable { CodeTable(store: self) }
}

extension UserTable {
    /// Sets the password of the account that a code of the kind `reset` or `invite` is for, which uses the code, ends every session and
    /// proves the address; nil when the code does not count.
    ///
    /// The account's epoch moves, so of two statements with one code the later one finds it void. Where nothing had proved the
    /// address before, linked providers and second factors end: who made them need not be who has the address.
    ///
    /// - Parameters:
    ///   - session: opened, if there is one; it says what is recorded. An account that takes a second factor gets none.
    ///   - event: recorded without a session.
    ///   - historySize: how many of the last passwords are compared with the next one.
    package func resetPassword(
        _ proof: CodeProof,
        to passwordHash: String,
        session: NewSession?,
        recording event: AuditEvent? = nil,
        historySize: Int = 0
    ) async throws(SkyrowError) -> SignedInAccount? {
        let schema = store.schema
        let recorded = event.map { (name: "noted" as SQL, part: noting($0)) }
        let asked: SQL =
            session == nil
            ? "" : " AND (NOT account.second_factor OR account.verified_email IS DISTINCT FROM code.target)"
        return try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account
                SET password_hash = \(passwordHash), password_changed_at = now(), token_valid_since = now(),
                    epoch = account.epoch + 1, last_seen_at = now(), verified_email = code.target
                FROM \(schema.internal)._code AS code JOIN \(schema)."user" AS profile ON profile._id = code.user_id
                WHERE code.kind = ANY (\(CodeKind.reset.sameLinks)) AND \(store.codes.holds(proof))
                    AND account.id = code.user_id AND account.epoch = code.epoch
                    AND \(UserTable.mailAddress) = code.target AND NOT (\(UserTable.isDisabled))\(asked)
                """,
            isLogIn: false,
            session: session,
            ended:
                "DELETE FROM \(schema.internal)._session AS session USING account WHERE session.user_id = account.id",
            further: [
                (
                    "used",
                    """
                    UPDATE \(schema.internal)._code AS code SET used_at = now(), guesses = 0
                    FROM account WHERE code.kind = ANY (\(CodeKind.reset.sameLinks)) AND code.user_id = account.id
                    """
                ),
                (
                    "notice",
                    """
                    INSERT INTO \(schema.internal)._mail (kind, user_id, target, language)
                    SELECT 'notice', code.user_id, code.target, code.language
                    FROM \(schema.internal)._code AS code JOIN account ON account.id = code.user_id
                    WHERE code.kind = 'reset' AND \(store.codes.holds(proof))
                    """
                ),
            ] + [recorded].compactMap(\.self) + keepingFormerPassword(historySize)
                + endingUnproved(from: session?.origin ?? event?.origin ?? RequestOrigin()),
            // The statement asks for it by itself.
            secondFactor: .settled
        )
    }

    /// Sets the password of an account, ends its sessions and opens one; nil when the account is gone or disabled.
    ///
    /// - Parameters:
    ///   - event: recorded beside that of the session.
    ///   - notifies: whether its address gets a notice, if it has one.
    ///   - historySize: how many of the last passwords are compared with the next one.
    package func setPassword(
        of id: UserID,
        to passwordHash: String,
        session: NewSession,
        recording event: AuditEvent,
        notifies: Bool,
        historySize: Int = 0
    ) async throws(SkyrowError) -> SignedInAccount? {
        let schema = store.schema
        let notice: SQL =
            """
            INSERT INTO \(schema.internal)._mail (kind, user_id, target, language)
            SELECT 'notice', profile._id, profile.email, ''
            FROM \(schema)."user" AS profile JOIN account ON account.id = profile._id
            WHERE profile.email IS NOT NULL
            """
        return try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account
                SET password_hash = \(passwordHash), password_changed_at = now(), token_valid_since = now(),
                    epoch = account.epoch + 1, last_seen_at = now()
                WHERE account.id = \(id) AND NOT (\(UserTable.isDisabled))
                """,
            isLogIn: false,
            session: session,
            ended:
                "DELETE FROM \(schema.internal)._session AS session USING account WHERE session.user_id = account.id",
            further: [(name: "noted" as SQL, part: noting(event))]
                + (notifies ? [(name: "notice" as SQL, part: notice)] : []) + keepingFormerPassword(historySize),
            secondFactor: .settled
        )
    }

    /// Parts that end the factors and providers of the `account` that a statement proves the address of, where it is the first
    /// proof.
    func endingUnproved(from origin: RequestOrigin) -> [(name: SQL, part: SQL)] {
        endingFactors(
            where: """
                EXISTS (
                    SELECT FROM \(store.schema.internal)._user AS before
                    WHERE before.id = account.id AND before.verified_email IS DISTINCT FROM account.verified_email
                )
                """,
            from: origin
        )
    }

    /// Parts that end the second factors and the providers of the `account` of a statement, and record that.
    func endingFactors(where condition: SQL, from origin: RequestOrigin) -> [(name: SQL, part: SQL)] {
        let schema = store.schema
        return [
            (
                "unlinked",
                """
                DELETE FROM \(schema.internal)._identity AS identity USING account
                WHERE identity.user_id = account.id AND \(condition)
                RETURNING identity.user_id, identity.provider
                """
            ),
            (
                "unlinking",
                AuditEvent(.providerUnlink, by: .itself, from: origin).insertion(
                    into: schema,
                    from: "unlinked",
                    user: "unlinked.user_id",
                    data: "jsonb_build_object('provider', unlinked.provider)"
                )
            ),
            (
                "unfactored",
                """
                DELETE FROM \(schema.internal)._factor AS factor USING account
                WHERE factor.user_id = account.id AND \(condition)
                RETURNING factor.user_id, factor.kind
                """
            ),
            (
                "unfactoring",
                AuditEvent(.factorRemove, by: .itself, from: origin).insertion(
                    into: schema,
                    from: "(SELECT lost.user_id FROM unfactored AS lost WHERE lost.kind = 'totp') AS lost",
                    user: "lost.user_id"
                )
            ),
        ]
    }

    /// Stores an event of the `account` that the statement changes.
    private func noting(_ event: AuditEvent) -> SQL {
        event.insertion(into: store.schema, from: "account", user: "account.id")
    }
}
