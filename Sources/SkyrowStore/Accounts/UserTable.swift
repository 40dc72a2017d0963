package import SkyrowModel
internal import SkyrowPostgres

/// The state of the second factor when a session is opened.
enum SecondFactorUse: Hashable, Sendable {
    /// It was not given: only accounts without one get the session.
    case missing
    /// It was given, or the caller does not need it, such as the master key.
    case settled
}

/// The accounts: `_user` has credentials, the record table `user` has the profiles.
package struct UserTable: StoreTable, Sendable {
    let store: RecordStore

    /// Creates an account with its profile, its default roles and, if requested, a first session, in one statement.
    ///
    /// The profile's fields must exist (``RecordStore/createMissingSchema(for:)``). Throws `109 Duplicated` if the id, a login
    /// key or the identity is taken; `info.arguments` names the key, or `provider` for the identity. Throws `123 DeniedArgument`
    /// for fields that a new user may not set, and `108 InvalidArgument` for a reference to a record that `access` cannot read,
    /// as to one that does not exist.
    ///
    /// - Parameters:
    ///   - access: the access with which the references of the profile are checked; nil if foreign keys alone check them, as for
    ///     the operator and for what a server of the application has signed.
    ///   - event: the event to record for an account that is created without a session.
    ///   - roles: further roles, of those that exist.
    package func create(
        _ account: NewAccount,
        session: NewSession?,
        with access: RecordAccess? = nil,
        recording event: AuditEvent = AuditEvent(.signUp, by: .operator),
        roles further: [RoleName] = []
    ) async throws(SkyrowError) -> SignedInAccount {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let table = try catalog.userTable
                // A new user has no roles and groups yet; an operator passes every rule.
                let creator: FieldAccess =
                    session == nil && event.actor == .operator
                    ? .unrestricted
                    : .audience(
                        Audience(user: account.id, isRegistered: account.isRegistered, keyName: access?.keyName)
                    )
                let denied = account.refusedFields(of: table.rules.fields, by: creator)
                guard denied.isEmpty else { throw SkyrowError.fieldsDenied(denied) }
                var names: [SQL] = ["_id, _owner, _created_by, _updated_by"]
                var values: [SQL] = ["\(account.id), \(account.id), \(account.id), \(account.id)"]
                for (name, value) in account.profile {
                    guard let column = table[name], let value = try column.accepted(value) else { continue }
                    names.append("\(column.identifier)")
                    let judge = account.trusted.contains(name) ? nil : access
                    values.append(column.parameter(value, judgedBy: judge, in: catalog))
                }
                if account.verifies {
                    names.append("_verified")
                    values.append("false")
                }
                if let list = table.rules.defaultAccess {
                    names.append("_access")
                    values.append("\(PostgresJSONB(list.storedJSON))")
                }
                let (opened, recorded) =
                    session.map { opening($0, isNew: true) }
                    ?? ("", store.recording(event, from: "account", user: "account.id"))
                let linked: SQL = account.identity.map { ", linked AS (\(store.identities.insertion(of: $0)))" } ?? ""
                let columns = columns(
                    roles: "SELECT given.role FROM given",
                    groups: "'{}'::text[]",
                    isRegistered: "\(account.isRegistered)",
                    isVerified: "coalesce(\"r\".email = \(account.verifiedEmail as String?), false)"
                )
                // Signing up logs in, so that the first login has a previous one.
                let statement: SQL =
                    """
                    WITH "r" AS (
                        INSERT INTO \(table.qualifiedName) (\(names.joined(separator: ", ")))
                        VALUES (\(values.joined(separator: ", "))) RETURNING *
                    ), account AS (
                        INSERT INTO \(schema.internal)._user (id, password_hash, verified_email, last_login_at, last_seen_at)
                        VALUES (
                            \(account.id), \(account.passwordHash as String?), \(account.verifiedEmail as String?),
                            \(session == nil ? "NULL, NULL" : "now(), now()" as SQL)
                        ) RETURNING id, epoch
                    )\(linked)\(opened)\(recorded), given AS (
                        INSERT INTO \(schema.internal)._user_role (user_id, role)
                        SELECT \(account.id), role.name FROM \(schema.internal)._role AS role
                        WHERE role.by_default OR role.name = ANY (\(further))
                        RETURNING role
                    )
                    SELECT \(table.wholeRow.columns), \(columns.list) FROM "r"
                    """
                let result = try await refusing(in: table) { try await store.client.write(statement) }
                return try SignedInAccount(result, table, columns)
            }
        }
    }

    /// Finds the account that all of these login keys match, regardless of their case and form, in one statement.
    package func credentials(of values: [FieldName: String]) async throws(SkyrowError) -> AccountCredentials? {
        guard !values.isEmpty else { return nil }
        return try await credentials {
            // In a fixed order, so that the statement text is always the same.
            try values.sorted { $0.key < $1.key }.map { key, value in
                "account.id = (\(accountID(of: value, in: try SQLIdentifier(key.rawValue))))" as SQL
            }.joined(separator: " AND ")
        }
    }

    package func credentials(of id: UserID) async throws(SkyrowError) -> AccountCredentials? {
        try await credentials { "account.id = \(id)" }
    }

    private func credentials(where condition: () throws -> SQL) async throws(SkyrowError) -> AccountCredentials? {
        let columns = Columns(
            AccountCredentials.init(id:passwordHash:epoch:suspension:hasSecondFactor:hasProvedAddress:passwordAge:),
            "account.id",
            "account.password_hash",
            "account.epoch",
            AccountSuspension.columns,
            "account.second_factor",
            "coalesce(\(UserTable.mailAddress) = account.verified_email, false)",
            "extract(epoch FROM now() - account.password_changed_at)::float8"
        )
        return try await store.read(columns) { "SELECT \($0) FROM \(profiles) WHERE \(try condition())" }.first
    }

    /// The accounts, as `account`, with their profiles, as `profile`, to select from.
    var profiles: SQL {
        "\(schema).\"user\" AS profile JOIN \(schema.internal)._user AS account ON account.id = profile._id"
    }

    /// Selects the id of the account that a login key matches.
    func accountID(of value: String, in column: SQLIdentifier) -> SQL {
        """
        SELECT profile._id FROM \(schema)."user" AS profile JOIN \(schema.internal)._user AS owner ON owner.id = profile._id
        WHERE \(LoginKeys.matches("profile.\(column)", value, in: schema))
        """
    }

    /// Opens a session after a login; nil if the account does not exist, or if its tokens were revoked since the credentials were
    /// read, for example because it was disabled.
    package func logIn(
        _ credentials: AccountCredentials,
        session: NewSession
    ) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_login_at = now(), last_seen_at = now()
                WHERE \(credentials.areCurrent)
                """,
            isLogIn: true,
            session: session,
            further: surplus(beyond: session.limit)
        )
    }

    /// Opens a session for the user of an identity; nil if the identity is no longer linked with the account, or if the account
    /// is disabled.
    ///
    /// Statements that unlink an identity also lock the account first, so that the later one sees what the other has done.
    package func logIn(
        with identity: ProvenIdentity,
        as id: UserID,
        session: NewSession
    ) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            after: """
                locked AS (
                    SELECT account.id FROM \(schema.internal)._user AS account
                    WHERE account.id = \(id) AND NOT (\(UserTable.isDisabled)) FOR NO KEY UPDATE
                ), used AS (
                    \(store.identities.use(of: identity, where: "identity.user_id = locked.id", from: "locked"))
                )
                """,
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_login_at = now(), last_seen_at = now()
                FROM used WHERE account.id = used.user_id
                """,
            isLogIn: true,
            session: session,
            further: surplus(beyond: session.limit)
        )
    }

    /// Opens a session without a password, for the master key; nil if the account does not exist or is being deleted.
    package func open(_ id: UserID, session: NewSession) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_seen_at = now()
                WHERE account.id = \(id) AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
                """,
            session: session,
            further: surplus(beyond: session.limit),
            secondFactor: .settled
        )
    }

    /// Records that a user is active, and reads the account; nil if the session has ended.
    ///
    /// No session is created, so that nothing outlives the one that was used.
    package func touch(_ id: UserID, tokenHash: [UInt8]) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_seen_at = now() FROM \(schema.internal)._session AS session
                WHERE account.id = \(id) AND \(SessionTable.isOpen(tokenHash))
                """,
            session: nil
        )
    }

    /// Changes the password, ends every session and opens a new one; nil if the account's tokens were revoked since the
    /// credentials were read, for example by another change of the password.
    ///
    /// - Parameter historySize: how many of the last passwords the next one is compared with.
    package func changePassword(
        of credentials: AccountCredentials,
        to passwordHash: String,
        session: NewSession,
        historySize: Int = 0
    ) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET \(UserTable.setting(passwordHash))
                WHERE \(credentials.areCurrent)
                """,
            session: session,
            further: store.sessions.ending + keepingFormerPassword(historySize),
            // The second factor was given for the session that is replaced.
            secondFactor: .settled
        )
    }

    /// Replaces the hash of a password by one with newer parameters.
    package func rehash(_ credentials: AccountCredentials, as passwordHash: String) async throws(SkyrowError) {
        try await store.write(
            """
            UPDATE \(schema.internal)._user AS account SET password_hash = \(passwordHash)
            WHERE account.id = \(credentials.id)
                AND account.password_hash IS NOT DISTINCT FROM \(credentials.passwordHash as String?)
            """
        )
    }

    /// Sets the access list of a user's new public records that bring no list; returns false if the user does not exist.
    ///
    /// Throws `108 InvalidArgument` for a list that no record may have.
    package func setDefaultAccess(
        _ list: AccessList?,
        of id: UserID,
        recording event: AuditEvent? = nil
    ) async throws(SkyrowError) -> Bool {
        try list?.requireDefault(maximumEntries: store.maximumAccessEntries)
        let stored = list.map { PostgresJSONB($0.storedJSON) }
        let isKnown =
            try await store.write(
                """
                WITH account AS (
                    UPDATE \(schema.internal)._user AS account SET default_access = \(stored as PostgresJSONB?)
                    WHERE account.id = \(id) RETURNING account.id
                )\(store.recording(event, from: "account", user: "account.id"))
                SELECT FROM account
                """
            ) > 0
        if isKnown, list != nil { store.rulesWatch.noteDefaultLists() }
        return isKnown
    }

    /// Changes an account, and opens and ends its sessions; nil if no account was changed.
    ///
    /// Of several statements that change one account, each waits for the one before and then evaluates the row that it left, so a
    /// condition on `account` holds at commit.
    ///
    /// - Parameters:
    ///   - former: named parts that the update refers to.
    ///   - further: named parts that do more with `account`, such as to end sessions, each after a comma.
    ///   - profile: a part that changes and returns the profile; nil for the change that a login makes, or for no change.
    ///   - registers: whether an anonymous account becomes a registered one.
    ///   - secondFactor: whether the second factor was given. Otherwise an account that requires one gets no session.
    func signIn(
        after former: SQL? = nil,
        updating update: SQL,
        isLogIn: Bool = false,
        session: NewSession?,
        further: SQL = "",
        profile changedProfile: ((RecordTable, SchemaCatalog) throws(SkyrowError) -> SQL)? = nil,
        registers: Bool = false,
        secondFactor: SecondFactorUse = .missing
    ) async throws(SkyrowError) -> SignedInAccount? {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let table = try catalog.userTable
                let profile: SQL =
                    if let changedProfile {
                        try changedProfile(table, catalog)
                    } else if isLogIn {
                        // _updated_by stays: no user edited the profile.
                        """
                        UPDATE \(table.qualifiedName) AS profile
                        SET last_login_at = now(), _updated_at = now(), _revision = \(schema)._revision()
                        FROM account WHERE profile._id = account.id RETURNING profile.*
                        """
                    } else {
                        "SELECT profile.* FROM \(table.qualifiedName) AS profile JOIN account ON profile._id = account.id"
                    }
                let (opened, recorded) = session.map { opening($0, isNew: false) } ?? ("", "")
                // The locked row decides, since it may have changed after it was read.
                let asked: SQL =
                    session != nil && secondFactor == .missing ? " AND NOT account.second_factor" : ""
                let begun: SQL = former.map { "\($0), " } ?? ""
                let columns = columns(
                    roles: store.roles.given(to: "\"r\"._id"),
                    groups: store.groups.held(by: "\"r\"._id"),
                    isRegistered: """
                        \(registers) OR account.verified_email IS NOT NULL OR \(UserTable.isRegistered("before", in: schema))
                        """,
                    isVerified: "coalesce(\"r\".email = account.verified_email, false)",
                    lastLogInAt: "before.last_login_at",
                    lastSeenAt: "before.last_seen_at"
                )
                // Every part sees the account as it was before the statement.
                let statement: SQL =
                    """
                    WITH \(begun)account AS (
                        \(update)\(asked) RETURNING account.id, account.epoch, account.verified_email
                    ), "r" AS (
                        \(profile)
                    )\(opened)\(further)\(recorded)
                    SELECT \(table.wholeRow.columns), \(columns.list)
                    FROM "r" JOIN account ON account.id = "r"._id JOIN \(schema.internal)._user AS before ON before.id = "r"._id
                    """
                let result = try await refusing(in: table) { try await store.client.write(statement) }
                return result.isEmpty ? nil : try SignedInAccount(result, table, columns)
            }
        }
    }

    /// Runs a statement that changes an account or its profile, and says which of their values PostgreSQL refuses.
    func refusing(in table: RecordTable, _ body: () async throws -> PostgresResult) async throws -> PostgresResult {
        do {
            return try await body()
        } catch let error as PostgresError where error.isTakenIdentity {
            throw SkyrowError.identityTaken
        } catch let error as PostgresError where error.sqlState == .uniqueViolation {
            throw SkyrowError.accountExists(error, await store.table(table, namedBy: error))
        } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
            throw store.report(error, table: table)
        }
    }

    /// Returns further parts that insert a session of `account`, in a statement that locks the account's row, and record how.
    ///
    /// - Parameter isNew: whether the account is created with it.
    private func opening(_ session: NewSession, isNew: Bool) -> (insertion: SQL, record: SQL) {
        // A row that the same statement deletes is still visible here.
        let replaced: SQL =
            session.replaced.map {
                " LEFT JOIN \(schema.internal)._session AS session ON session.user_id = account.id AND \(SessionTable.has($0))"
            } ?? ""
        func kept(_ value: String?, _ column: SQL) -> SQL {
            session.replaced == nil ? "\(value as String?)" : "coalesce(\(value as String?), session.\(column))"
        }
        let level: SQL = "\(Int16(session.level))"
        let row: NewRow = [
            "token_hash": "\(session.tokenHash)", "user_id": "account.id", "epoch": "account.epoch",
            "expires_at": "\(session.expiresAt as Timestamp?)", "device_id": kept(session.device.id, "device_id"),
            "device_name": kept(session.device.name, "device_name"),
            "address": "\(session.origin.address as String?)::inet",
            "user_agent": "\(session.origin.userAgent as String?)",
            "created_with": "\(session.createdWith?.rawValue as String?)",
            "level": session.replaced == nil ? level : "greatest(\(level), coalesce(session.level, 1))",
            // A user who has just signed up need not authenticate again.
            "elevated_until": isNew ? SessionTable.elevation : "NULL",
        ]
        let insertion: SQL = """
            , session AS (
                INSERT INTO \(schema.internal)._session (\(row.names))
                SELECT \(row.values) FROM account\(replaced) RETURNING id
            )
            """
        guard let opening = session.createdWith else { return (insertion, "") }
        let kind: AuditEvent.Kind =
            switch opening {
            case .signUp: .signUp
            case .register: .register
            case .logIn, .link: .logIn
            case .password: .password
            case .reset: .reset
            case .provider, .customToken: isNew ? .signUp : .logIn
            case .master: .master
            }
        let record = store.recording(
            AuditEvent(kind, by: opening == .master ? .master : .itself, from: session.origin),
            from: "account CROSS JOIN session",
            user: "account.id",
            session: "session.id",
            data: session.provider.map { "jsonb_build_object('provider', \($0)::text)" } ?? "NULL"
        )
        return (insertion, record)
    }

    /// Returns a further part that ends the sessions of `account` above the limit with a new one, those unused for longest.
    func surplus(beyond limit: Int) -> SQL {
        guard limit < .max else { return "" }
        return """
            , surplus AS (
                DELETE FROM \(schema.internal)._session AS session USING (
                    SELECT other.token_hash
                    FROM \(schema.internal)._session AS other JOIN account ON account.id = other.user_id
                    ORDER BY other.last_used_at DESC, other.created_at DESC, other.token_hash OFFSET \(limit - 1)
                ) AS above
                WHERE session.token_hash = above.token_hash
            )
            """
    }

    /// The assignments of a new password, which revoke the tokens of `account`.
    static func setting(_ passwordHash: String?) -> SQL {
        """
        password_hash = \(passwordHash as String?), password_changed_at = now(), token_valid_since = now(),
            epoch = account.epoch + 1, last_seen_at = now()
        """
    }

    /// The condition that an account, a row of `_user`, is not anonymous. An anonymous account has only its token, until it gets
    /// a password, is linked with a provider, or has a verified address.
    static func isRegistered(_ account: SQLIdentifier, in schema: SQLIdentifier) -> SQL {
        """
        (\(account).password_hash IS NOT NULL OR \(account).verified_email IS NOT NULL OR EXISTS (
            SELECT FROM \(schema.internal)._identity AS identity WHERE identity.user_id = \(account).id
        ))
        """
    }

    /// The recipient of a mail that sets a password: the address of a `profile`, else a username that is an address.
    static let mailAddress: SQL = "coalesce(profile.email, profile.username)"

    /// The condition that the address of an account, a row of `_user`, is verified.
    static func isVerified(_ account: SQLIdentifier, in schema: SQLIdentifier) -> SQL {
        """
        (\(account).verified_email IS NOT NULL AND EXISTS (
            SELECT FROM \(schema)."user" AS profile
            WHERE profile._id = \(account).id AND profile.email = \(account).verified_email
        ))
        """
    }

    /// The columns after those of the profile `r`.
    private func columns(
        roles given: SQL,
        groups: SQL,
        isRegistered: SQL,
        isVerified: SQL,
        lastLogInAt: SQL = "NULL::timestamptz",
        lastSeenAt: SQL = "NULL::timestamptz"
    ) -> Columns<AccountRights> {
        Columns(
            AccountRights.init(
                roles:
                heldRoles:
                isAdministrator:
                groups:
                isRegistered:
                isVerified:
                hasBegun:
                lastLogInAt:
                lastSeenAt:
            ),
            "ARRAY(\(given) ORDER BY given.role COLLATE \"C\")",
            "\(store.roles.allHeld(from: given))",
            "\(store.roles.isAdministrators(given))",
            "\(groups)",
            "\(isRegistered)",
            "\(isVerified)",
            "\"r\"._verified IS NOT NULL",
            "\(lastLogInAt)",
            "\(lastSeenAt)"
        )
    }
}

/// What an account that logs in has beside its profile.
private struct AccountRights: Sendable {
    let roles: [RoleName]
    let heldRoles: [RoleName]
    let isAdministrator: Bool
    let groups: [GroupName]
    let isRegistered: Bool
    let isVerified: Bool
    /// Whether the profile has a verification state.
    let hasBegun: Bool
    let lastLogInAt: Timestamp?
    let lastSeenAt: Timestamp?
}

extension SchemaCatalog {
    var userTable: RecordTable {
        get throws(SkyrowError) {
            guard let table = self[.user] else { throw .unexpected }
            return table
        }
    }
}

extension SignedInAccount {
    /// Reads a row of the profile's columns and these.
    fileprivate init(_ result: PostgresResult, _ table: RecordTable, _ columns: Columns<AccountRights>) throws {
        var row = RowReader(result, row: 0, column: table.wholeRow.width)
        let rights = try columns.read(&row)
        let user = Audience(
            user: UserID(StoredRows(result, plan: table.wholeRow.plan, for: .unrestricted)[0].storedID ?? ""),
            roles: rights.heldRoles,
            groups: rights.groups,
            isRegistered: rights.isRegistered,
            isVerified: rights.isVerified
        )
        // The profile is from before the triggers.
        let isShown = !table.rules.fields.standing(.read, of: .verified, for: .audience(user)).isNever
        self.init(
            // A login returns all of the profile that the rules show to its user, also if the profile has no owner.
            profile: StoredRows(result, plan: table.plan(for: .audience(user)), for: .unrestricted)[0],
            roles: rights.roles,
            heldRoles: rights.heldRoles,
            groups: rights.groups,
            isAdministrator: rights.isAdministrator,
            isRegistered: rights.isRegistered,
            isVerified: rights.isVerified,
            verified: isShown && (rights.isVerified || rights.hasBegun) ? rights.isVerified : nil,
            lastLoginAt: rights.lastLogInAt,
            lastSeenAt: rights.lastSeenAt
        )
    }
}

extension AccountCredentials {
    /// The condition that `account`, a row of `_user`, is this one and its tokens were not revoked since.
    var areCurrent: SQL { "account.id = \(id) AND account.epoch = \(epoch)" }
}

extension AccountSuspension {
    /// Of `account`, a row of `_user`; nil if it is not disabled.
    static let columns = Columns(
        { $0 ? AccountSuspension(message: $1, until: $2) : nil },
        "account.disabled",
        "account.disabled_message",
        "account.disabled_until"
    )
}

extension SkyrowError {
    /// `109 Duplicated` for an id or login key that another account has.
    static func accountExists(_ error: PostgresError, _ table: RecordTable) -> SkyrowError {
        let fields = error.constraint.map { index in
            LoginKeys.key(ofIndex: index).map { [$0] } ?? table.fields(ofIndex: index).map(\.rawValue)
        }
        return SkyrowError(
            .duplicated,
            "The user already exists.",
            info: (fields ?? []).isEmpty ? [:] : ["arguments": .list((fields ?? []).map { .string($0) })]
        )
    }
}
