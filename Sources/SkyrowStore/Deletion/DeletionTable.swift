package import SkyrowModel
internal import SkyrowPostgres

/// What must hold of an account in the statement that begins its deletion.
package enum DeletionCondition: Hashable, Sendable {
    /// Nothing more than that it is there.
    case none
    /// The session of this token goes on, and its user has proved within the last minutes who it is.
    case elevatedSession(tokenHash: [UInt8])
    /// It is anonymous, and nothing was done with it since.
    case abandoned(since: Timestamp)
}

/// A deletion that a process has taken to go on with.
package struct ClaimedDeletion: Hashable, Sendable {
    package let user: UserID
    /// Whether the account is gone, so that only what came late is looked for.
    package let isFinished: Bool
    /// Whether what it has done to records of others is to be looked for as well, which reads all records.
    package let looksForTraces: Bool
    /// Whether it is for the last time.
    package let isLast: Bool
}

/// The accounts that are being deleted, and those that were.
///
/// An account is disabled by the statement that begins its deletion, so a process that dies on the way leaves one that no one can
/// use, and another process goes on.
package struct DeletionTable: Sendable {
    /// For how long a process has a deletion to itself, unless it renews that.
    static let lease: SQL = "interval '2 minutes'"
    /// For how long records are looked for that a request has saved which began before the deletion: longer than any request.
    static let lateness: SQL = "interval '15 minutes'"

    let store: RecordStore

    private var schema: SQLIdentifier { store.schema }

    /// Disables an account, ends its sessions, forgets its password and codes, and writes down that it is being deleted; false
    /// where there is none, or what was to hold does not.
    package func begin(
        _ user: UserID,
        if condition: DeletionCondition,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> Bool {
        try await store.reporting {
            let required: SQL =
                switch condition {
                case .none: "true"
                case .elevatedSession(let tokenHash):
                    """
                    EXISTS (
                        SELECT FROM \(schema.internal)._session AS session
                        WHERE \(SessionTable.has(tokenHash)) AND session.user_id = account.id
                            AND session.epoch = account.epoch AND session.elevated_until > now()
                    )
                    """
                case .abandoned(let time): try isAbandoned(since: time)
                }
            return try await !store.client.write(
                """
                WITH account AS (
                    UPDATE \(schema.internal)._user AS account
                    SET disabled = true, disabled_message = NULL, disabled_until = NULL, password_hash = NULL,
                        token_valid_since = now(), epoch = account.epoch + 1
                    WHERE account.id = \(user) AND (\(required)) RETURNING account.id
                ), ended AS (
                    DELETE FROM \(schema.internal)._session AS session USING account WHERE session.user_id = account.id
                ), codes AS (
                    DELETE FROM \(schema.internal)._code AS code USING account WHERE code.user_id = account.id
                ), mails AS (
                    DELETE FROM \(schema.internal)._mail AS mail USING account WHERE mail.user_id = account.id
                ), begun AS (
                    INSERT INTO \(schema.internal)._deletion (user_id, next_at)
                    SELECT account.id, now() + \(Self.lease) FROM account
                    ON CONFLICT (user_id) DO UPDATE SET next_at = EXCLUDED.next_at
                ), recorded AS (
                    \(event.insertion(into: schema, from: "account", user: "account.id"))
                )
                SELECT FROM account
                """
            ).isEmpty
        }
    }

    /// Which types have public records that refer to a profile by a reference that keeps it from being deleted: those of others,
    /// since its owner's go with it, or name it no more.
    package func blockingTypes(of user: UserID) async throws(SkyrowError) -> [RecordTypeName] {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let references = RestrictingReferences(to: .user, in: catalog)
                guard let question = references.types(blocking: "\(user)::text") else { return [] }
                return try await store.client.read(question).decodeColumn(0, as: String.self).compactMap {
                    try? RecordTypeName($0)
                }
            }
        }
    }

    /// Anonymous accounts that were not used since a time, the oldest first; none that others' records keep from being deleted.
    package func abandoned(since time: Timestamp, atMost count: Int64) async throws(SkyrowError) -> [UserID] {
        try await store.reporting {
            try await store.withCatalog { catalog in
                let references = RestrictingReferences(to: .user, in: catalog)
                return try await store.client.read(
                    """
                    SELECT account.id FROM \(schema.internal)._user AS account
                    WHERE \(try isAbandoned(since: time)) AND NOT (\(references.isBlocked("account.id")))
                    ORDER BY account.created_at, account.id LIMIT \(count)
                    """
                ).decodeColumn(0, as: UserID.self)
            }
        }
    }

    /// Whether `account` is anonymous, has no login key, and was not used since.
    private func isAbandoned(since time: Timestamp) throws(PostgresError) -> SQL {
        let keys = try store.loginKeys.map { key throws(PostgresError) -> SQL in
            "profile.\(try SQLIdentifier(key.rawValue)) IS NOT NULL"
        }
        let hasKey: SQL = keys.isEmpty ? "false" : keys.joined(separator: " OR ")
        let since = PostgresTimestamp(time)
        return """
            account.password_hash IS NULL AND NOT (\(UserTable.isRegistered("account", in: store.schema)))
                AND account.created_at < \(since) AND coalesce(account.last_seen_at, account.created_at) < \(since)
                AND NOT EXISTS (
                    SELECT FROM \(schema)."user" AS profile WHERE profile._id = account.id AND (\(hasKey))
                )
                AND NOT EXISTS (
                    SELECT FROM \(schema.internal)._session AS session
                    WHERE session.user_id = account.id AND session.last_used_at >= \(since)
                )
                AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
            """
    }

    /// Takes deletions whose time has come, for the time of a lease.
    package func claim(atMost count: Int64) async throws(SkyrowError) -> [ClaimedDeletion] {
        try await store.reporting {
            let result = try await store.client.write(
                """
                WITH due AS (
                    SELECT deletion.user_id FROM \(schema.internal)._deletion AS deletion
                    WHERE deletion.next_at <= now() ORDER BY deletion.next_at, deletion.user_id
                    LIMIT \(count) FOR UPDATE SKIP LOCKED
                )
                UPDATE \(schema.internal)._deletion AS deletion SET next_at = now() + \(Self.lease)
                FROM due WHERE deletion.user_id = due.user_id
                RETURNING deletion.user_id, deletion.finished_at IS NOT NULL, deletion.swept_at IS NULL,
                    coalesce(deletion.finished_at < now() - \(Self.lateness), false)
                """
            )
            return try (0..<result.rowCount).map { row in
                let isLast: Bool = try result.decode(row: row, column: 3)
                return ClaimedDeletion(
                    user: try result.decode(row: row, column: 0),
                    isFinished: try result.decode(row: row, column: 1),
                    looksForTraces: try result.decode(row: row, column: 2, as: Bool.self) || isLast,
                    isLast: isLast
                )
            }
        }
    }

    /// How many deletions are not finished.
    package func waiting() async throws(SkyrowError) -> Int {
        try await store.reporting {
            let result = try await store.client.read(
                "SELECT count(*) FROM \(schema.internal)._deletion AS deletion WHERE deletion.finished_at IS NULL"
            )
            return Int(try result.decode(row: 0, column: 0, as: Int64.self))
        }
    }

    /// Says of finished deletions that what came late was looked for; it is again in a minute, except after the last time.
    package func settle(_ deletions: [ClaimedDeletion]) async throws(SkyrowError) {
        try await store.write(
            """
            UPDATE \(schema.internal)._deletion AS deletion
            SET swept_at = CASE WHEN given.traces THEN now() ELSE deletion.swept_at END,
                next_at = CASE WHEN given.last THEN 'infinity' ELSE now() + interval '1 minute' END
            FROM unnest(
                \(deletions.map(\.user)), \(deletions.map(\.looksForTraces)), \(deletions.map(\.isLast))
            ) AS given (user_id, traces, last)
            WHERE deletion.user_id = given.user_id
            """
        )
    }

    /// Lets another process, or this one, go on with a deletion at once.
    package func release(_ user: UserID) async throws(SkyrowError) {
        try await store.write(
            "UPDATE \(schema.internal)._deletion SET next_at = now() WHERE user_id = \(user) AND finished_at IS NULL"
        )
    }

    /// Keeps a deletion for the time of a further lease.
    func renew(_ user: UserID) async throws {
        _ = try await store.client.write(
            "UPDATE \(schema.internal)._deletion SET next_at = now() + \(Self.lease) WHERE user_id = \(user)"
        )
    }

    /// Forgets the deletions of 30 days ago, and the login keys that may be given again.
    package func purge() async throws(SkyrowError) {
        try await store.reporting {
            _ = try await store.client.write(
                "DELETE FROM \(schema.internal)._deletion WHERE finished_at < now() - interval '30 days' AND next_at = 'infinity'"
            )
            _ = try await store.client.write("DELETE FROM \(schema.internal)._former_login WHERE until < now()")
        }
    }

    /// Lets login keys of deleted accounts be given to others before their time.
    package func forgetFormerLogins(_ values: [FieldName: String]) async throws(SkyrowError) {
        try await store.reporting {
            let sorted = values.sorted { $0.key < $1.key }
            _ = try await store.client.write(
                """
                DELETE FROM \(schema.internal)._former_login AS former
                USING unnest(\(sorted.map(\.key.rawValue)), \(sorted.map(\.value))) AS given (field, value),
                    \(schema.internal)._secret AS known
                WHERE former.code = \(schema)._login_code(known.secret, given.field, given.value)
                """
            )
        }
    }
}

extension RecordStore {
    package var deletions: DeletionTable { DeletionTable(store: self) }
}

extension UserTable {
    /// Whether an account, a row of `_user`, is disabled in order to be deleted.
    static func isBeingDeleted(_ account: SQLIdentifier, in schema: SQLIdentifier) -> SQL {
        "EXISTS (SELECT FROM \(schema.internal)._deletion AS deletion WHERE deletion.user_id = \(account).id)"
    }
}

/// The references to a type with the rule `restrict`, which keep public records from being deleted.
struct RestrictingReferences {
    private let references: [(table: RecordTable, column: RecordColumn)]

    init(to target: RecordTypeName, in catalog: SchemaCatalog) {
        references = catalog.tables.values.sorted { $0.name < $1.name }.flatMap { table in
            table.columns.filter { $0.type == .reference(target) && $0.onDelete == .restrict }.map { (table, $0) }
        }
    }

    /// The names of the types whose records keep that of an id, whose owner has the same one; nil where there are none ever.
    func types(blocking id: SQL) -> SQL? {
        guard !references.isEmpty else { return nil }
        return references.map { "SELECT \($0.table.name.rawValue) WHERE EXISTS (\(rows($0, id)))" as SQL }
            .joined(separator: " UNION ")
    }

    /// Whether any keeps that of an id.
    func isBlocked(_ id: SQL) -> SQL {
        guard !references.isEmpty else { return "false" }
        return references.map { "EXISTS (\(rows($0, id)))" as SQL }.joined(separator: " OR ")
    }

    /// Private records keep nothing, nor do those of the user whose profile it is.
    private func rows(_ reference: (table: RecordTable, column: RecordColumn), _ id: SQL) -> SQL {
        """
        SELECT FROM \(reference.table.qualifiedName) AS "p" WHERE "p".\(reference.column.identifier) = \(id) \
        AND "p"."_database" = '_public' AND "p"."_owner" IS DISTINCT FROM \(id)
        """
    }
}
