internal import SkyrowCrypto
internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

/// An event of an account or a key, for its user and the operator to read later.
///
/// It has no password, token or key, and no login key of an account that does not exist.
package struct AuditEvent: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case signUp = "signup"
        case logIn = "login"
        case logOut = "logout"
        case password
        /// A new password was set with a code from a mail.
        case reset
        /// An address was verified with a code from a mail.
        case verify
        /// The address was changed, or changed back, with a code from a mail.
        case address
        case addressUndo = "address.undo"
        /// An anonymous account was merged into this one.
        case merge
        /// The user of a session has authenticated again.
        case stepUp = "stepup"
        /// A second factor was added or replaced, or removed.
        case factorAdd = "factor.add"
        case factorRemove = "factor.remove"
        /// A recovery code was used up by a login.
        case recovery
        /// Sessions were ended by `session:revoke`.
        case session
        /// A session was ended because its previous token was used.
        case reuse
        case disable
        case enable
        /// An anonymous account got login keys and a password.
        case register
        /// An account was created for its user, who gets a code by mail.
        case invite
        /// An account was disabled in order to be deleted.
        case delete
        /// The master key opened a session of a user.
        case master
        /// A password was not checked because of too many attempts before.
        case lockout
        case providerLink = "provider.link"
        case providerUnlink = "provider.unlink"
        /// An account lost an unverified address to an account that has verified it.
        case addressLost = "address.lost"
        case keyCreate = "key.create"
        case keyRotate = "key.rotate"
        case keyRevoke = "key.revoke"
        /// A key was used that is no longer valid, or from a network that it does not allow.
        case key
        /// A role was created or changed, or deleted.
        case roleSave = "role.save"
        case roleDelete = "role.delete"
        /// A user or a role was added to a role, or removed from it.
        case roleAdd = "role.add"
        case roleRemove = "role.remove"
        /// A user was added to a group, or removed from it.
        case groupAdd = "group.add"
        case groupRemove = "group.remove"
        /// The rules of a type changed, or the default access list of a user's new records.
        case rule
        /// Records were transferred to the user.
        case transfer
        /// A function of the database was exposed, or exposed in another way, or hidden.
        case functionExpose = "function.expose"
        case functionHide = "function.hide"
        /// A file was deleted.
        case fileDelete = "file.delete"
        /// Files to which nothing refers were deleted.
        case fileCollect = "file.collect"
    }

    /// Who caused the event.
    package enum Actor: Hashable, Sendable {
        /// The user whose account it is.
        case itself
        case user(UserID)
        /// A server's key.
        case key(KeyID)
        case master
        /// An operator at a terminal of the machine.
        case `operator`
        /// The service itself, for example because an account was not used for long.
        case service
        /// A caller who was not authenticated.
        case unknown

        func text(of user: UserID?) -> String? {
            switch self {
            case .itself: user.map { "user:\($0)" }
            case .user(let id): "user:\(id)"
            case .key(let id): "key:\(id)"
            case .master: "master"
            case .operator: "operator"
            case .service: "service"
            case .unknown: nil
            }
        }
    }

    package var kind: Kind
    /// The error of a refusal; nil for a success.
    package var refusal: ErrorCode?
    package var user: UserID?
    package var actor: Actor
    package var origin: RequestOrigin
    /// A code that identifies a guessed account that does not exist, without revealing its login key.
    package var accountCode: String?
    /// The key that the event is about.
    package var key: KeyID?
    /// When it happened; nil for when it is stored.
    package var time: Timestamp?

    package init(
        _ kind: Kind,
        refusal: ErrorCode? = nil,
        of user: UserID? = nil,
        by actor: Actor,
        from origin: RequestOrigin = RequestOrigin(),
        accountCode: String? = nil,
        key: KeyID? = nil,
        at time: Timestamp? = nil
    ) {
        self.kind = kind
        self.refusal = refusal
        self.user = user
        self.actor = actor
        self.origin = origin
        self.accountCode = accountCode
        self.key = key
        self.time = time
    }

    /// Returns a statement that stores the event for each row of another part; see ``RecordStore/recording(_:from:)``.
    func insertion(
        into schema: SQLIdentifier,
        from source: SQL,
        user: SQL = "NULL",
        session: SQL = "NULL",
        data: SQL = "NULL"
    ) -> SQL {
        let actor: SQL =
            self.actor == .itself ? "'user:' || \(user)" : "\(self.actor.text(of: nil) as String?)::text"
        return """
            INSERT INTO \(schema.internal)._audit (event, outcome, user_id, actor, session_id, address, request_id, data, key_id)
            SELECT \(kind.rawValue), 'ok', \(user), \(actor), \(session)::uuid,
                \(origin.address as String?)::inet, \(origin.requestID as String?), \(data)::jsonb,
                \(key?.rawValue as String?)::text
            FROM \(source)
            """
    }
}

extension RecordStore {
    /// Returns a further part of a statement that stores an event, if any, for each row of another part, so that both are
    /// committed together. Begins with a comma.
    ///
    /// - Parameters:
    ///   - source: the text after FROM.
    ///   - user: the id of the account in these rows.
    ///   - session: the id of the session in these rows.
    ///   - data: `jsonb` of these rows.
    ///   - name: of the part.
    func recording(
        _ event: AuditEvent?,
        from source: SQL,
        user: SQL = "NULL",
        session: SQL = "NULL",
        data: SQL = "NULL",
        as name: SQL = "recorded"
    ) -> SQL {
        event.map {
            let stored = $0.insertion(into: schema, from: source, user: user, session: session, data: data)
            return ", \(name) AS (\(stored))"
        } ?? ""
    }

    /// Returns a statement that makes a change, and stores an event, if any, for each of the rows that it returns, `changed`. As
    /// many rows count as affected.
    ///
    /// - Parameter former: parts that come before.
    func recording(
        _ event: AuditEvent?,
        of change: SQL,
        after former: SQL? = nil,
        user: SQL = "NULL",
        session: SQL = "NULL",
        data: SQL = "NULL"
    ) -> SQL {
        let recorded = recording(event, from: "changed", user: user, session: session, data: data)
        let before: SQL = former.map { "\($0), " } ?? ""
        return "WITH \(before)changed AS (\(change))\(recorded) SELECT FROM changed"
    }
}

/// The audit log.
package struct AuditTable: StoreTable, Sendable {
    let store: RecordStore

    /// Stores events that go with no other change, in one statement.
    package func record(_ events: [AuditEvent]) async throws(SkyrowError) {
        guard !events.isEmpty else { return }
        try await store.write(
            """
            INSERT INTO \(schema.internal)._audit (at, event, outcome, user_id, actor, address, request_id, data, key_id)
            SELECT coalesce(given.at, now()), given.event,
                given.outcome, given.user_id, given.actor, given.address::inet, given.request_id,
                CASE WHEN given.account IS NOT NULL THEN jsonb_build_object('account', given.account) END,
                given.key_id
            FROM unnest(
                \(events.map(\.time)), \(events.map(\.kind.rawValue)),
                \(events.map { $0.refusal?.name ?? "ok" }), \(events.map(\.user)),
                \(events.map { $0.actor.text(of: $0.user) }), \(events.map(\.origin.address)), \(events.map(\.origin.requestID)),
                \(events.map(\.accountCode)), \(events.map { $0.key?.rawValue })
            ) AS given (at, event, outcome, user_id, actor, address, request_id, account, key_id)
            """
        )
    }

    /// Removes events before a time, at most `count`; returns true if there may be more.
    package func removeBefore(_ time: Timestamp, atMost count: Int = 10_000) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._audit WHERE id IN (
                SELECT old.id FROM \(schema.internal)._audit AS old WHERE old.at < \(time)
                ORDER BY old.at LIMIT \(count) FOR UPDATE SKIP LOCKED
            )
            """
        ) == count
    }

    /// Returns a code that identifies login keys without revealing them.
    package func code(of accounts: [GuessSource.Account]) async throws(SkyrowError) -> String {
        try await store.reporting {
            let key = try await store.guessKey()
            let text = accounts.map { "\($0.key)\u{0}\($0.value.lowercased())" }.joined(separator: "\u{0}")
            return Hexadecimal.text(
                Array(HMACSHA256(key: key).code(of: Array("audit\u{0}\(text)".utf8)).bytes.prefix(8))
            )
        }
    }
}
