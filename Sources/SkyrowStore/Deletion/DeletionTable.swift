package import SkyrowModel
internal import SkyrowPostgres

/// The condition on an account in the statement that begins its deletion.
package enum DeletionCondition: Hashable, Sendable {
    /// The account exists.
    case none
    /// The session of this token is valid, and its user has re-authenticated within the last minutes.
    case elevatedSession(tokenHash: [UInt8])
    /// The account is anonymous and was not used since this time.
    case abandoned(since: Timestamp)
}

/// A deletion that a process has claimed, to continue it.
package struct ClaimedDeletion: Hashable, Sendable {
    package let user: UserID
    /// Whether the account is gone, so that only late rows are searched for.
    package let isFinished: Bool
    /// Whether to remove the user from others' records as well, which reads all records.
    package let looksForTraces: Bool
    /// Whether this is the last call for it.
    package let isLast: Bool
}

/// The accounts that are being deleted, and those that were.
///
/// The statement that begins a deletion disables the account, so if a process dies in between, the account is unusable and
/// another process continues.
package struct DeletionTable: StoreTable, Sendable {
    /// For how long a process has a deletion to itself unless it renews the claim.
    static let lease: SQL = "interval '2 minutes'"
    /// How long to search for records of requests that began before the deletion: longer than any request.
    static let lateness: SQL = "interval '15 minutes'"

    let store: RecordStore

    /// Disables an account, ends its sessions, deletes its password and codes, and records its deletion; returns false if the
    /// account does not exist or does not meet the condition.
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
                        WHERE \(SessionTable.isOpen(tokenHash)) AND session.elevated_until > now()
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
                )\(store.sessions.ending), codes AS (
                    DELETE FROM \(schema.internal)._code AS code USING account WHERE code.user_id = account.id
                ), mails AS (
                    DELETE FROM \(schema.internal)._mail AS mail USING account WHERE mail.user_id = account.id
                ), begun AS (
                    INSERT INTO \(schema.internal)._deletion (user_id, next_at)
                    SELECT account.id, now() + \(Self.lease) FROM account
                    ON CONFLICT (user_id) DO UPDATE SET next_at = EXCLUDED.next_at
                )\(store.recording(event, from: "account", user: "account.id"))
                SELECT FROM account
                """
            ).isEmpty
        }
    }

    /// Returns the types with public records of other users that refer to a profile by a restricting reference. Records of the
    /// profile's owner are deleted with it or anonymised.
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

    /// Returns anonymous accounts that were not used since a time, the oldest first, except those that others' records
    /// restrict.
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

    /// Whether `account` is anonymous, has no login key, and was not used since a time.
    private func isAbandoned(since: Timestamp) throws(SkyrowError) -> SQL {
        let keys = try store.loginColumns.map { "\($0) IS NOT NULL" as SQL }
        let hasKey: SQL = keys.isEmpty ? "false" : keys.joined(separator: " OR ")
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

    /// Claims due deletions for the duration of a lease.
    package func claim(atMost count: Int64) async throws(SkyrowError) -> [ClaimedDeletion] {
        try await store.reporting {
            let columns = Columns(
                { ClaimedDeletion(user: $0, isFinished: $1, looksForTraces: $2 || $3, isLast: $3) },
                "deletion.user_id",
                "deletion.finished_at IS NOT NULL",
                "deletion.swept_at IS NULL",
                "coalesce(deletion.finished_at < now() - \(Self.lateness), false)"
            )
            return try await store.client.write(
                """
                WITH due AS (
                    SELECT deletion.user_id FROM \(schema.internal)._deletion AS deletion
                    WHERE deletion.next_at <= now() ORDER BY deletion.next_at, deletion.user_id
                    LIMIT \(count) FOR UPDATE SKIP LOCKED
                )
                UPDATE \(schema.internal)._deletion AS deletion SET next_at = now() + \(Self.lease)
                FROM due WHERE deletion.user_id = due.user_id
                RETURNING \(columns.list)
                """
            ).rows(columns)
        }
    }

    /// Returns the number of unfinished deletions.
    package func waiting() async throws(SkyrowError) -> Int {
        try await store.value(
            reading: "SELECT count(*) FROM \(schema.internal)._deletion AS deletion WHERE deletion.finished_at IS NULL"
        ) ?? 0
    }

    /// Records that finished deletions were searched for late rows; schedules the next search in a minute, unless it was the
    /// last.
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

    /// Makes a deletion due at once, for this or another process.
    package func release(_ user: UserID) async throws(SkyrowError) {
        try await store.write(
            "UPDATE \(schema.internal)._deletion SET next_at = now() WHERE user_id = \(user) AND finished_at IS NULL"
        )
    }

    /// Extends the claim on a deletion by another lease.
    func renew(_ user: UserID) async throws {
        _ = try await store.client.write(
            "UPDATE \(schema.internal)._deletion SET next_at = now() + \(Self.lease) WHERE user_id = \(user)"
        )
    }

    /// Deletes the entries of deletions finished 30 days ago, and expired reservations of login keys.
    package func purge() async throws(SkyrowError) {
        try await store.reporting {
            _ = try await store.client.write(
                "DELETE FROM \(schema.internal)._deletion WHERE finished_at < now() - interval '30 days' AND next_at = 'infinity'"
            )
            _ = try await store.client.write("DELETE FROM \(schema.internal)._former_login WHERE until < now()")
        }
    }

    /// Releases reserved login keys of deleted accounts before their time.
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

    /// Returns all record types, ordered by name.
    func tables() async throws -> [RecordTable] {
        try await withCatalog { catalog in catalog.sortedTables }
    }
}

extension UserTable {
    /// Whether an account, a row of `_user`, is disabled because it is being deleted.
    static func isBeingDeleted(_ account: SQLIdentifier, in schema: SQLIdentifier) -> SQL {
        "EXISTS (SELECT FROM \(schema.internal)._deletion AS deletion WHERE deletion.user_id = \(account).id)"
    }
}

/// The references to a type with the rule `restrict`, which prevent the deletion of public records.
struct RestrictingReferences {
    private let references: [(table: RecordTable, column: RecordColumn)]

    init(to target: RecordTypeName, in catalog: SchemaCatalog) {
        references = catalog.sortedTables.flatMap { table in
            table.columns.filter { $0.type == .reference(target) && $0.onDelete == .restrict }.map { (table, $0) }
        }
    }

    /// Selects the types with records that restrict the deletion of the record with this id, whose owner has the same id; nil
    /// without such references.
    func types(blocking id: SQL) -> SQL? {
        guard !references.isEmpty else { return nil }
        return references.map { "SELECT \($0.table.name.rawValue) WHERE EXISTS (\(rows($0, id)))" as SQL }
            .joined(separator: " UNION ")
    }

    /// Whether any record restricts the deletion of that record.
    func isBlocked(_ id: SQL) -> SQL {
        guard !references.isEmpty else { return "false" }
        return references.map { "EXISTS (\(rows($0, id)))" as SQL }.joined(separator: " OR ")
    }

    /// Private records and those of the profile's own user restrict nothing.
    private func rows(_ reference: (table: RecordTable, column: RecordColumn), _ id: SQL) -> SQL {
        """
        SELECT FROM \(reference.table.qualifiedName) AS "p" WHERE "p".\(reference.column.identifier) = \(id) \
        AND "p"."_database" = '_public' AND "p"."_owner" IS DISTINCT FROM \(id)
        """
    }
}
