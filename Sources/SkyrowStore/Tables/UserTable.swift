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
package struct UserTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

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
                let given = account.profile.filter { $0.value != .null }.map(\.name)
                let denied = table.rules.fields.refusedInNew(given, by: creator)
                guard denied.isEmpty else { throw SkyrowError.fieldsDenied(denied) }
                var names: [SQL] = ["_id, _owner, _created_by, _updated_by"]
                var values: [SQL] = ["\(account.id), \(account.id), \(account.id), \(account.id)"]
                for (name, value) in account.profile {
                    guard let column = table[name], let value = try column.accepted(value) else { continue }
                    names.append("\(column.identifier)")
                    values.append(column.parameter(value, judgedBy: access, in: catalog))
                }
                if account.verifies {
                    names.append("_verified")
                    values.append("false")
                }
                if let list = table.rules.defaultAccess {
                    names.append("_access")
                    values.append("\(PostgresJSONB(list.storedJSON))")
                }
                // Signing up logs in, so that the first login has a previous one.
                let loggedIn: SQL = session == nil ? "NULL, NULL" : "now(), now()"
                let opened: SQL = session.map { ", session AS (\(insertion(of: $0, isNew: true)))" } ?? ""
                let recorded: SQL
                if let session {
                    recorded = recording(of: session, isNew: true)
                } else {
                    let insertion = event.insertion(into: schema, from: "account", user: "account.id")
                    recorded = ", recorded AS (\(insertion))"
                }
                let linked: SQL = account.identity.map { ", linked AS (\(store.identities.insertion(of: $0)))" } ?? ""
                let statement: SQL =
                    """
                    WITH "r" AS (
                        INSERT INTO \(table.qualifiedName) (\(names.joined(separator: ", ")))
                        VALUES (\(values.joined(separator: ", "))) RETURNING *
                    ), account AS (
                        INSERT INTO \(schema.internal)._user (id, password_hash, verified_email, last_login_at, last_seen_at)
                        VALUES (
                            \(account.id), \(account.passwordHash as String?), \(account.verifiedEmail as String?),
                            \(loggedIn)
                        ) RETURNING id, epoch
                    )\(linked)\(opened)\(recorded), given AS (
                        INSERT INTO \(schema.internal)._user_role (user_id, role)
                        SELECT \(account.id), role.name FROM \(schema.internal)._role AS role
                        WHERE role.by_default OR role.name = ANY (\(further))
                        RETURNING role
                    )
                    SELECT \(table.wholeRow.columns), \(roles("SELECT given.role FROM given")), '{}'::text[],
                        \(account.isRegistered), coalesce("r".email = \(account.verifiedEmail as String?), false),
                        "r"._verified IS NOT NULL
                    FROM "r"
                    """
                do {
                    return try SignedInAccount(try await store.client.write(statement), table)
                } catch let error as PostgresError where error.isTakenIdentity {
                    throw SkyrowError.identityTaken
                } catch let error as PostgresError where error.sqlState == .uniqueViolation {
                    throw SkyrowError.accountExists(error, await store.table(table, namedBy: error))
                } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
                    throw store.report(error, table: table)
                }
            }
        }
    }

    /// Finds the account that all of these login keys match, regardless of their case and form, in one statement.
    package func credentials(of values: [FieldName: String]) async throws(SkyrowError) -> AccountCredentials? {
        guard !values.isEmpty else { return nil }
        return try await store.reporting {
            // In a fixed order, so that the statement text is always the same.
            let meant = try values.sorted { $0.key < $1.key }.map { key, value in
                "account.id = (\(accountID(of: value, in: try SQLIdentifier(key.rawValue))))" as SQL
            }
            return try await credentials(where: meant.joined(separator: " AND "))
        }
    }

    /// Selects the id of the account that a login key matches.
    func accountID(of value: String, in column: SQLIdentifier) -> SQL {
        """
        SELECT profile._id FROM \(schema)."user" AS profile JOIN \(schema.internal)._user AS owner ON owner.id = profile._id
        WHERE \(LoginKeys.canonical("profile.\(column)", in: schema)) = \(LoginKeys.canonical("\(value)", in: schema))
        """
    }

    /// Returns the credentials of an account by its id.
    package func credentials(of id: UserID) async throws(SkyrowError) -> AccountCredentials? {
        try await store.reporting { try await credentials(where: "account.id = \(id)") }
    }

    private func credentials(where condition: SQL) async throws -> AccountCredentials? {
        let result = try await store.client.read(
            """
            SELECT account.id, account.password_hash,
                account.disabled, account.disabled_message, account.disabled_until, account.epoch, account.second_factor,
                extract(epoch FROM now() - account.password_changed_at)::float8,
                coalesce(\(UserTable.mailAddress) = account.verified_email, false)
            FROM \(schema)."user" AS profile JOIN \(schema.internal)._user AS account ON account.id = profile._id
            WHERE \(condition)
            """
        )
        guard !result.isEmpty else { return nil }
        return AccountCredentials(
            id: try result.decode(row: 0, column: 0),
            passwordHash: try result.decode(row: 0, column: 1),
            epoch: try result.decode(row: 0, column: 5),
            suspension: try AccountSuspension(result, row: 0, column: 2),
            hasSecondFactor: try result.decode(row: 0, column: 6),
            hasProvedAddress: try result.decode(row: 0, column: 8),
            passwordAge: try result.decode(row: 0, column: 7)
        )
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
                WHERE account.id = \(credentials.id) AND account.epoch = \(credentials.epoch)
                """,
            isLogIn: true,
            session: session,
            ended: surplus(beyond: session.limit)
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
            after: [
                (
                    "locked",
                    """
                    SELECT account.id FROM \(schema.internal)._user AS account
                    WHERE account.id = \(id) AND NOT (\(UserTable.isDisabled)) FOR NO KEY UPDATE
                    """
                ),
                ("used", store.identities.use(of: identity, where: "identity.user_id = locked.id", from: "locked")),
            ],
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_login_at = now(), last_seen_at = now()
                FROM used WHERE account.id = used.user_id
                """,
            isLogIn: true,
            session: session,
            ended: surplus(beyond: session.limit)
        )
    }

    /// Opens a session without a password, for the master key; nil if the account does not exist or is being deleted.
    package func open(_ id: UserID, session: NewSession) async throws(SkyrowError) -> SignedInAccount? {
        try await signIn(
            updating: """
                UPDATE \(schema.internal)._user AS account SET last_seen_at = now()
                WHERE account.id = \(id) AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
                """,
            isLogIn: false,
            session: session,
            ended: surplus(beyond: session.limit),
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
                WHERE account.id = \(id) AND \(SessionTable.has(tokenHash))
                    AND session.user_id = account.id AND session.epoch = account.epoch
                """,
            isLogIn: false,
            session: nil,
            ended: nil
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
                UPDATE \(schema.internal)._user AS account
                SET password_hash = \(passwordHash), password_changed_at = now(), token_valid_since = now(),
                    epoch = account.epoch + 1, last_seen_at = now()
                WHERE account.id = \(credentials.id) AND account.epoch = \(credentials.epoch)
                """,
            isLogIn: false,
            session: session,
            ended:
                "DELETE FROM \(schema.internal)._session AS session USING account WHERE session.user_id = account.id",
            further: keepingFormerPassword(historySize),
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
        return try await store.reporting {
            let stored = list.map { PostgresJSONB($0.storedJSON) }
            let isKnown =
                try await store.client.write(
                    """
                    WITH account AS (
                        UPDATE \(schema.internal)._user AS account SET default_access = \(stored as PostgresJSONB?)
                        WHERE account.id = \(id) RETURNING account.id
                    )\(event.part(into: schema, from: "account", user: "account.id"))
                    SELECT FROM account
                    """
                ).rowCount > 0
            if isKnown, list != nil { store.rulesWatch.noteDefaultLists() }
            return isKnown
        }
    }

    /// Changes an account, and opens and ends its sessions; nil if no account was changed.
    ///
    /// Of several statements that change one account, each waits for the one before and then evaluates the row that it left, so a
    /// condition on `account` holds at commit.
    ///
    /// - Parameters:
    ///   - former: named parts that the update refers to.
    ///   - further: named parts that do more with `account`.
    ///   - profile: a part that changes and returns the profile; nil for the change that a login makes, or for no change.
    ///   - registers: whether an anonymous account becomes a registered one.
    ///   - secondFactor: whether the second factor was given. Otherwise an account that requires one gets no session.
    func signIn(
        after former: [(name: SQL, part: SQL)] = [],
        updating update: SQL,
        isLogIn: Bool,
        session: NewSession?,
        ended: SQL?,
        further: [(name: SQL, part: SQL)] = [],
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
                let opened: SQL = session.map { ", session AS (\(insertion(of: $0, isNew: false)))" } ?? ""
                var closed: SQL = ended.map { ", ended AS (\($0))" } ?? ""
                for (name, part) in further { closed += ", \(name) AS (\(part))" }
                let recorded: SQL = session.map { recording(of: $0, isNew: false) } ?? ""
                var begun: SQL = ""
                for (name, part) in former { begun += "\(name) AS (\(part)), " }
                // The locked row decides, since it may have changed after it was read.
                let asked: SQL =
                    session != nil && secondFactor == .missing ? " AND NOT account.second_factor" : ""
                // Every part sees the account as it was before the statement.
                let statement: SQL =
                    """
                    WITH \(begun)account AS (
                        \(update)\(asked) RETURNING account.id, account.epoch, account.verified_email
                    ), "r" AS (
                        \(profile)
                    )\(opened)\(closed)\(recorded)
                    SELECT \(table.wholeRow.columns),
                        \(roles("SELECT given.role FROM \(schema.internal)._user_role AS given WHERE given.user_id = \"r\"._id")),
                        ARRAY(
                            SELECT carried.name FROM \(schema.internal)._user_group AS carried
                            WHERE carried.user_id = "r"._id ORDER BY carried.name
                        ),
                        \(registers) OR account.verified_email IS NOT NULL OR \(UserTable.isRegistered("before", in: schema)),
                        coalesce("r".email = account.verified_email, false), "r"._verified IS NOT NULL,
                        before.last_login_at, before.last_seen_at
                    FROM "r" JOIN account ON account.id = "r"._id JOIN \(schema.internal)._user AS before ON before.id = "r"._id
                    """
                do {
                    let result = try await store.client.write(statement)
                    return result.isEmpty ? nil : try SignedInAccount(result, table)
                } catch let error as PostgresError where error.sqlState == .uniqueViolation {
                    throw SkyrowError.accountExists(error, await store.table(table, namedBy: error))
                } catch let error as PostgresError where error.sqlState == .foreignKeyViolation {
                    throw store.report(error, table: table)
                }
            }
        }
    }

    /// Returns the part that inserts a session of `account`, in a statement that locks the account's row.
    ///
    /// - Parameter isNew: whether the account is created with it.
    private func insertion(of session: NewSession, isNew: Bool) -> SQL {
        // A row that the same statement deletes is still visible here.
        let replaced: SQL =
            session.replaced.map {
                " LEFT JOIN \(schema.internal)._session AS session ON session.user_id = account.id AND \(SessionTable.has($0))"
            } ?? ""
        let (id, name): (SQL, SQL) =
            session.replaced == nil
            ? ("\(session.device.id as String?)", "\(session.device.name as String?)")
            : (
                "coalesce(\(session.device.id as String?), session.device_id)",
                "coalesce(\(session.device.name as String?), session.device_name)"
            )
        let level: SQL =
            session.replaced == nil
            ? "\(Int16(session.level))" : "greatest(\(Int16(session.level)), coalesce(session.level, 1))"
        // A user who has just signed up need not authenticate again.
        let elevatedUntil: SQL = isNew ? SessionTable.elevation : "NULL"
        return """
            INSERT INTO \(schema.internal)._session (
                token_hash, user_id, expires_at, epoch, device_id, device_name, address, user_agent, created_with,
                elevated_until, level
            )
            SELECT \(session.tokenHash), account.id,
                \(session.expiresAt.map(PostgresTimestamp.init) as PostgresTimestamp?), account.epoch,
                \(id), \(name), \(session.origin.address as String?)::inet, \(session.origin.userAgent as String?),
                \(session.createdWith?.rawValue as String?), \(elevatedUntil), \(level)
            FROM account\(replaced)
            RETURNING id
            """
    }

    /// Returns the part that records how a session of `account` was opened.
    ///
    /// - Parameter isNew: whether the account is created with it.
    private func recording(of session: NewSession, isNew: Bool) -> SQL {
        guard let opening = session.createdWith else { return "" }
        let event: AuditEvent =
            switch opening {
            case .signUp: AuditEvent(.signUp, by: .itself, from: session.origin)
            case .register: AuditEvent(.register, by: .itself, from: session.origin)
            case .logIn: AuditEvent(.logIn, by: .itself, from: session.origin)
            case .password: AuditEvent(.password, by: .itself, from: session.origin)
            case .reset: AuditEvent(.reset, by: .itself, from: session.origin)
            case .link: AuditEvent(.logIn, by: .itself, from: session.origin)
            case .provider, .customToken: AuditEvent(isNew ? .signUp : .logIn, by: .itself, from: session.origin)
            case .master: AuditEvent(.master, by: .master, from: session.origin)
            }
        let insertion = event.insertion(
            into: schema,
            from: "account CROSS JOIN session",
            user: "account.id",
            session: "session.id",
            data: session.provider.map { "jsonb_build_object('provider', \($0)::text)" } ?? "NULL"
        )
        return ", recorded AS (\(insertion))"
    }

    /// Returns the part that ends the sessions of `account` above the limit with a new one, those unused for longest.
    func surplus(beyond limit: Int) -> SQL? {
        guard limit < .max else { return nil }
        return """
            DELETE FROM \(schema.internal)._session AS session USING (
                SELECT other.token_hash
                FROM \(schema.internal)._session AS other JOIN account ON account.id = other.user_id
                ORDER BY other.last_used_at DESC, other.created_at DESC, other.token_hash OFFSET \(Int64(limit - 1))
            ) AS surplus
            WHERE session.token_hash = surplus.token_hash
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

    /// The sorted roles, these with the roles that contain them, and whether one of the latter is an administrator's.
    private func roles(_ given: SQL) -> SQL {
        let held = store.roles.held(from: given)
        return """
            ARRAY(\(given) ORDER BY given.role COLLATE "C"),
            ARRAY(SELECT held.role FROM (\(held)) AS held ORDER BY held.role COLLATE "C"),
            EXISTS (
                SELECT FROM (\(held)) AS held JOIN \(schema.internal)._role AS role ON role.name = held.role WHERE role.is_admin
            )
            """
    }
}

extension RecordStore {
    package var users: UserTable { UserTable(store: self) }
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
    /// Reads a row of the profile's columns, the roles, the roles held through them, whether one of these is an administrator's,
    /// the groups, whether the account is registered and its address verified, whether the profile has a verification state, and
    /// the times.
    fileprivate init(_ result: PostgresResult, _ table: RecordTable) throws(PostgresError) {
        let next = table.wholeRow.width
        let heldRoles: [RoleName] = try result.decode(row: 0, column: next + 1)
        let groups: [GroupName] = try result.decode(row: 0, column: next + 3)
        let id = StoredRows(result, plan: table.wholeRow.plan, for: .unrestricted)[0].storedID ?? ""
        let isRegistered: Bool = try result.decode(row: 0, column: next + 4)
        let isVerified: Bool = try result.decode(row: 0, column: next + 5)
        let user = Audience(
            user: UserID(id),
            roles: heldRoles,
            groups: groups,
            isRegistered: isRegistered,
            isVerified: isVerified
        )
        self.init(
            // A login returns all of the profile that the rules show to its user, also if the profile has no owner.
            profile: StoredRows(result, plan: table.plan(for: .audience(user)), for: .unrestricted)[0],
            roles: try result.decode(row: 0, column: next),
            heldRoles: heldRoles,
            groups: groups,
            isAdministrator: try result.decode(row: 0, column: next + 2),
            isRegistered: isRegistered,
            isVerified: isVerified
        )
        // The profile is from before the triggers.
        let hasBegun: Bool = try result.decode(row: 0, column: next + 6)
        let isHidden = table.rules.fields.standing(.read, of: .verified, for: .audience(user)).isNever
        verified = isHidden || !(isVerified || hasBegun) ? nil : isVerified
        guard result.columnCount > next + 7 else { return }
        lastLoginAt = try Timestamp(result, row: 0, column: next + 7)
        lastSeenAt = try Timestamp(result, row: 0, column: next + 8)
    }
}

extension AccountSuspension {
    /// Reads whether the account is disabled, the message, and the end; nil if it is not disabled.
    init?(_ result: PostgresResult, row: Int, column: Int) throws(PostgresError) {
        guard try result.decode(row: row, column: column, as: Bool.self) else { return nil }
        message = try result.decode(row: row, column: column + 1)
        until = try Timestamp(result, row: row, column: column + 2)
    }
}

extension Timestamp {
    init?(_ result: PostgresResult, row: Int, column: Int) throws(PostgresError) {
        guard let value = try result.decode(row: row, column: column, as: PostgresTimestamp?.self) else { return nil }
        self.init(microseconds: value.microsecondsSince2000)
    }
}

extension PostgresTimestamp {
    init(_ timestamp: Timestamp) {
        self.init(microsecondsSince2000: timestamp.microseconds)
    }
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
