internal import SkyrowCrypto
internal import SkyrowJSON
package import SkyrowModel
internal import SkyrowPostgres

/// Something that happened to an account or a key, for its user and the operator to read later.
///
/// It holds no password, token or key, and no login key of an account that does not exist.
package struct AuditEvent: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case signUp = "signup"
        case logIn = "login"
        case logOut = "logout"
        case password
        /// A code of a mail set a new password.
        case reset
        /// A code of a mail proved an address.
        case verify
        /// A code of a mail gave the account another address, or the former one back.
        case address
        case addressUndo = "address.undo"
        /// An anonymous account was merged into this one.
        case merge
        /// The user of a session has proved once more who it is.
        case stepUp = "stepup"
        /// A second factor was added or replaced, or removed.
        case factorAdd = "factor.add"
        case factorRemove = "factor.remove"
        /// A recovery code was used up by a log-in.
        case recovery
        /// Sessions were ended by `session:revoke`.
        case session
        /// A session was ended since its previous token was used.
        case reuse
        case disable
        case enable
        /// An anonymous account got login keys and a password.
        case register
        /// An account was made for its user, who gets a code by mail.
        case invite
        /// An account was disabled in order to be deleted.
        case delete
        /// The master key opened a session of a user.
        case master
        /// A password was not judged because too many were tried before.
        case lockout
        case providerLink = "provider.link"
        case providerUnlink = "provider.unlink"
        /// An account lost an address that it had not proved, to one who has.
        case addressLost = "address.lost"
        case keyCreate = "key.create"
        case keyRotate = "key.rotate"
        case keyRevoke = "key.revoke"
        /// A key was used that holds no more, or from where it does not count.
        case key
        /// A role was made or changed, or deleted.
        case roleSave = "role.save"
        case roleDelete = "role.delete"
        /// A user or a role came into a role, or left it.
        case roleAdd = "role.add"
        case roleRemove = "role.remove"
        /// A user got a group, or lost it.
        case groupAdd = "group.add"
        case groupRemove = "group.remove"
        /// Rules of a type changed, or the list that a user's new records begin with.
        case rule
        /// Records were given to the user.
        case transfer
    }

    /// Who did it.
    package enum Actor: Hashable, Sendable {
        /// The user whose account it is.
        case itself
        case user(UserID)
        /// A server's key.
        case key(KeyID)
        case master
        /// One with a terminal of the machine.
        case `operator`
        /// The service by itself, as where an account was not used for long.
        case service
        /// One who was not let in.
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
    /// nil: it succeeded.
    package var refusal: ErrorCode?
    package var user: UserID?
    package var actor: Actor
    package var origin: RequestOrigin
    /// What says which account that does not exist was guessed at, and nothing about it.
    package var accountCode: String?
    /// The key that it is about.
    package var key: KeyID?
    /// nil: when it is stored.
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

    /// A part of a statement that stores the event for each row of another part, so that neither is without the other.
    ///
    /// - Parameters:
    ///   - source: what stands after FROM.
    ///   - user: the id of the account in these rows.
    ///   - session: the id of the session in these rows.
    ///   - data: `jsonb` of these rows.
    func insertion(
        into schema: SQLIdentifier,
        from source: SQL,
        user: SQL,
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

extension AuditEvent? {
    /// A further part of a statement that stores the event, if there is one, for each row of another part; begins with a comma.
    ///
    /// The parameters are those of ``AuditEvent/insertion(into:from:user:session:data:)``.
    func part(into schema: SQLIdentifier, from source: SQL, user: SQL = "NULL", data: SQL = "NULL") -> SQL {
        guard let self else { return "" }
        return ", recorded AS (\(self.insertion(into: schema, from: source, user: user, data: data)))"
    }
}

/// What happened to accounts.
package struct AuditTable: Sendable {
    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Stores events that changed nothing else, in one statement.
    package func record(_ events: [AuditEvent]) async throws(SkyrowError) {
        guard !events.isEmpty else { return }
        try await store.reporting {
            let now: Int64? = nil
            _ = try await store.client.write(
                """
                INSERT INTO \(schema.internal)._audit (at, event, outcome, user_id, actor, address, request_id, data, key_id)
                SELECT coalesce(timestamptz '2000-01-01 00:00:00Z' + given.at * interval '1 us', now()), given.event,
                    given.outcome, given.user_id, given.actor, given.address::inet, given.request_id,
                    CASE WHEN given.account IS NOT NULL THEN jsonb_build_object('account', given.account) END,
                    given.key_id
                FROM unnest(
                    \(events.map { $0.time?.microseconds ?? now }), \(events.map(\.kind.rawValue)),
                    \(events.map { $0.refusal?.name ?? "ok" }), \(events.map { $0.user?.rawValue }),
                    \(events.map { $0.actor.text(of: $0.user) }), \(events.map(\.origin.address)), \(events.map(\.origin.requestID)),
                    \(events.map(\.accountCode)), \(events.map { $0.key?.rawValue })
                ) AS given (at, event, outcome, user_id, actor, address, request_id, account, key_id)
                """
            )
        }
    }

    /// Removes a number of events of before a time; true when there may be more.
    package func removeBefore(_ time: Timestamp, atMost count: Int = 10_000) async throws(SkyrowError) -> Bool {
        try await store.write(
            """
            DELETE FROM \(schema.internal)._audit WHERE id IN (
                SELECT old.id FROM \(schema.internal)._audit AS old WHERE old.at < \(PostgresTimestamp(time))
                ORDER BY old.at LIMIT \(Int64(count)) FOR UPDATE SKIP LOCKED
            )
            """
        ) == count
    }

    /// A code of login keys that recognises them and does not reveal them.
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

extension RecordStore {
    package var audit: AuditTable { AuditTable(store: self) }
}
