package import SkyrowModel
internal import SkyrowPostgres

/// The anonymous accounts that are being merged into others, and those that were.
///
/// The statement that begins a merge disables the anonymous account. From then on a merge can only continue: the records move
/// in statements of 500 rows, each committed separately and repeatable, and then the account is deleted. If a process dies in
/// between, another one continues, or a client that sends the same call again.
package struct MergeTable: StoreTable, Sendable {
    /// For how long a process has a merge to itself unless it renews the claim.
    static let lease: SQL = "interval '2 minutes'"

    let store: RecordStore

    /// Disables the anonymous account of a session, ends its sessions, and records its merge into another account; returns nil
    /// if the session has ended, its account is not anonymous or is the target, or the target is gone or disabled.
    ///
    /// Locks both accounts in the order of their ids, so that two merges never deadlock.
    package func begin(
        _ tokenHash: [UInt8],
        into target: UserID,
        recording event: AuditEvent
    ) async throws(SkyrowError) -> UserID? {
        try await store.reporting {
            let recorded = store.recording(
                event,
                from: "account",
                user: "\(target)::text",
                data: "jsonb_build_object('from', account.id)"
            )
            let result = try await store.client.write(
                """
                WITH locked AS (
                    SELECT account.id, (\(UserTable.isDisabled)) AS is_disabled FROM \(schema.internal)._user AS account
                    WHERE account.id = \(target) OR account.id = (
                        SELECT session.user_id FROM \(schema.internal)._session AS session WHERE \(SessionTable.has(tokenHash))
                    )
                    ORDER BY account.id FOR NO KEY UPDATE
                ), account AS (
                    UPDATE \(schema.internal)._user AS account
                    SET disabled = true, disabled_message = NULL, disabled_until = NULL, token_valid_since = now(),
                        epoch = account.epoch + 1
                    FROM \(schema.internal)._session AS session
                    WHERE (SELECT count(*) FROM locked WHERE NOT locked.is_disabled) = 2
                        AND \(SessionTable.has(tokenHash)) AND session.user_id = account.id
                        AND session.epoch = account.epoch AND account.id <> \(target)
                        AND (session.expires_at IS NULL OR session.expires_at > now())
                        AND (
                            session.token_hash = \(tokenHash)
                            OR session.rotated_at > now() - \(SessionTable.previousTokenTime)
                        )
                        AND NOT (\(UserTable.isRegistered("account", in: schema)))
                    RETURNING account.id
                )\(store.sessions.ending), begun AS (
                    INSERT INTO \(schema.internal)._merge (user_id, target, token_hash, next_at)
                    SELECT account.id, \(target), \(tokenHash), now() + \(Self.lease) FROM account
                )\(recorded)
                SELECT account.id FROM account
                """
            )
            return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: UserID.self)
        }
    }

    /// Returns the account that was or is being merged into another one with this token; nil if there is no such merge.
    package func user(mergedWith tokenHash: [UInt8], into target: UserID) async throws(SkyrowError) -> UserID? {
        try await store.reporting {
            let result = try await store.client.read(
                """
                SELECT merged.user_id FROM \(schema.internal)._merge AS merged
                WHERE merged.token_hash = \(tokenHash) AND merged.target = \(target)
                """
            )
            return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: UserID.self)
        }
    }

    /// Continues a merge until everything has moved and the anonymous account can be deleted, or the call has moved
    /// `maximumRecords`. Throws database errors; another call continues.
    package func run(_ user: UserID, maximumRecords: Int) async throws(SkyrowError) -> MergeReport {
        try await store.reporting {
            guard let target = try await target(of: user) else { return try await report(of: user) }
            var run = MergeRun(store, from: user, to: target, maximumRecords: maximumRecords)
            do {
                if try await isThere(target) {
                    try await run.moveRecords()
                    try await run.moveRelations()
                    try await run.moveReferences()
                }
            } catch is MergeRun.OutOfBudget {
                try await note(run.moved, of: user, next: "now()")
                return try await report(of: user)
            } catch {
                try? await note(run.moved, of: user, next: "now() + interval '1 minute'")
                throw error
            }
            _ = try await store.deletions.begin(user, if: .none, recording: AuditEvent(.delete, by: .service))
            try await note(run.moved, of: user, next: "'infinity'", isFinished: true)
            return try await report(of: user)
        }
    }

    /// Returns a run that moves the records of a merged account to its target; nil without a merge, or if the target is gone.
    func run(of user: UserID, maximumRecords: Int) async throws -> MergeRun? {
        let result = try await store.client.read(
            "SELECT merged.target FROM \(schema.internal)._merge AS merged WHERE merged.user_id = \(user)"
        )
        guard !result.isEmpty else { return nil }
        let target: UserID = try result.decode(row: 0, column: 0)
        guard try await isThere(target) else { return nil }
        return MergeRun(store, from: user, to: target, maximumRecords: maximumRecords)
    }

    /// Claims due merges for the duration of a lease.
    package func claim(atMost count: Int64) async throws(SkyrowError) -> [UserID] {
        try await store.reporting {
            try await store.client.write(
                """
                WITH due AS (
                    SELECT merged.user_id FROM \(schema.internal)._merge AS merged
                    WHERE merged.next_at <= now() ORDER BY merged.next_at, merged.user_id
                    LIMIT \(count) FOR UPDATE SKIP LOCKED
                )
                UPDATE \(schema.internal)._merge AS merged SET next_at = now() + \(Self.lease)
                FROM due WHERE merged.user_id = due.user_id
                RETURNING merged.user_id
                """
            ).decodeColumn(0, as: UserID.self)
        }
    }

    /// Deletes the entries of merges finished 30 days ago.
    package func purge() async throws(SkyrowError) {
        try await store.write("DELETE FROM \(schema.internal)._merge WHERE finished_at < now() - interval '30 days'")
    }

    /// Extends the claim on a merge by another lease.
    func renew(_ user: UserID) async throws {
        _ = try await store.client.write(
            """
            UPDATE \(schema.internal)._merge SET next_at = now() + \(Self.lease) WHERE user_id = \(user) AND finished_at IS NULL
            """
        )
    }

    /// Returns nil if everything has moved.
    private func target(of user: UserID) async throws -> UserID? {
        let result = try await store.client.read(
            "SELECT merged.target FROM \(schema.internal)._merge AS merged WHERE merged.user_id = \(user) AND merged.finished_at IS NULL"
        )
        return result.isEmpty ? nil : try result.decode(row: 0, column: 0, as: UserID.self)
    }

    private func isThere(_ target: UserID) async throws -> Bool {
        try await !store.client.read(
            """
            SELECT FROM \(schema.internal)._user AS account
            WHERE account.id = \(target) AND NOT (\(UserTable.isBeingDeleted("account", in: schema)))
            """
        ).isEmpty
    }

    private func note(_ moved: Int, of user: UserID, next: SQL, isFinished: Bool = false) async throws {
        _ = try await store.client.write(
            """
            UPDATE \(schema.internal)._merge SET records = records + \(Int64(moved)), next_at = \(next),
                finished_at = CASE WHEN \(isFinished) THEN now() END
            WHERE user_id = \(user)
            """
        )
    }

    private func report(of user: UserID) async throws -> MergeReport {
        let merged = try await store.client.read(
            "SELECT finished_at IS NOT NULL, records FROM \(schema.internal)._merge WHERE user_id = \(user)"
        )
        guard !merged.isEmpty else { return MergeReport(isFinished: true, records: 0) }
        var report = MergeReport(
            isFinished: try merged.decode(row: 0, column: 0),
            records: Int(try merged.decode(row: 0, column: 1, as: Int64.self))
        )
        let changes = try await store.client.read(
            """
            SELECT change.type, change.old_id, change.new_id, change.cleared FROM \(schema.internal)._merge_change AS change
            WHERE change.user_id = \(user) ORDER BY change.type, change.old_id LIMIT \(Int64(MergeReport.maximumChanges))
            """
        )
        for row in 0..<changes.rowCount {
            guard let type = try? RecordTypeName(try changes.decode(row: row, column: 0, as: String.self)),
                let from = try? RecordID(type: type, id: try changes.decode(row: row, column: 1, as: String.self)),
                let to = try? RecordID(type: type, id: try changes.decode(row: row, column: 2, as: String.self))
            else { continue }
            let cleared: [String] = try changes.decode(row: row, column: 3)
            report.changes.append(MergeReport.Change(from: from, to: to, clearedFields: cleared))
        }
        return report
    }
}

extension RecordStore {
    package var merges: MergeTable { MergeTable(store: self) }
}
