package import SkyrowModel
internal import SkyrowPostgres

extension DeletionTable {
    /// Continues a deletion until the account is gone or the call has processed `maximumRecords`.
    ///
    /// Each statement changes at most 500 rows and is committed separately, so it blocks others only briefly, and a process
    /// that dies leaves its progress committed. Throws database errors; another call continues.
    ///
    /// Records that a merged account saved after its records moved are not deleted: they move too.
    ///
    /// - Parameters:
    ///   - maximumRecords: the number of records after which the rest is left to a later call.
    ///   - looksForTraces: whether to search the records of others for the user as creator or last editor, which reads all
    ///     records; otherwise a later call of ``removeLateRows(of:_:)`` does.
    package func run(
        _ user: UserID,
        _ rules: DeletedUserRules,
        maximumRecords: Int,
        looksForTraces: Bool
    ) async throws(SkyrowError) -> DeletionReport {
        try await store.reporting {
            var run = DeletionRun(store, user, rules, maximumRecords: maximumRecords)
            do {
                try await run.moveOrRemoveRecords()
                if looksForTraces { run.report.anonymised += try await run.removeTraces(of: [user]) }
                try await run.removeRelations()
                try await run.removeReferences()
                try await run.removeNotes()
                try await run.finish(hasLookedForTraces: looksForTraces)
            } catch is OutOfBudget {
                try await release(user)
            } catch is MergeRun.OutOfBudget {
                try await release(user)
            }
            return run.report
        }
    }

    /// Removes records saved by requests that were in progress when the accounts were deleted, and moves those of merged
    /// accounts; returns the number of records.
    package func removeLateRows(
        of deletions: [ClaimedDeletion],
        _ rules: DeletedUserRules
    ) async throws(SkyrowError) -> Int {
        let users = deletions.map(\.user)
        return try await store.reporting {
            guard !users.isEmpty else { return 0 }
            var count = 0
            for user in try await usersWithRows(among: users) {
                var run = DeletionRun(store, user, rules, maximumRecords: .max)
                try await run.moveOrRemoveRecords()
                try await run.removeNotes()
                count += run.report.count
            }
            let traced = deletions.filter(\.looksForTraces).map(\.user)
            if let first = traced.first {
                var run = DeletionRun(store, first, rules, maximumRecords: .max)
                count += try await run.removeTraces(of: traced)
            }
            return count
        }
    }

    /// Returns the users among these who own records, have private ones, or are named by tombstones.
    private func usersWithRows(among users: [UserID]) async throws -> [UserID] {
        try await store.withCatalog { catalog in
            var questions: [SQL] = [
                "SELECT owner FROM \(store.schema.internal)._tombstone WHERE owner = ANY (\(users))",
                "SELECT scope FROM \(store.schema.internal)._idempotency WHERE scope = ANY (\(users))",
            ]
            for table in catalog.sortedTables {
                questions.append("SELECT \"_owner\" FROM \(table.qualifiedName) WHERE \"_owner\" = ANY (\(users))")
                questions.append(
                    "SELECT \"_database\" FROM \(table.qualifiedName) WHERE \"_database\" = ANY (\(users))"
                )
            }
            return try await store.client.read(questions.joined(separator: " UNION ")).decodeColumn(0, as: UserID.self)
        }
    }
}

/// The work exceeds the budget of one call.
private struct OutOfBudget: Error {}

/// The step-by-step deletion of one account; each step may be repeated.
private struct DeletionRun {
    /// The number of rows that one statement changes.
    private static let batch: Int64 = 500
    /// How often to repeat a step that depends on another one.
    private static let rounds = 8

    private let store: RecordStore
    private let user: UserID
    private let rules: DeletedUserRules
    private var remaining: Int
    private var lastRenewal = ContinuousClock.now
    var report = DeletionReport()

    private let access = RecordAccess(in: .everyone, for: .writing, by: Caller(kind: .master(actingAs: nil)))

    init(_ store: RecordStore, _ user: UserID, _ rules: DeletedUserRules, maximumRecords: Int) {
        self.store = store
        self.user = user
        self.rules = rules
        remaining = maximumRecords
    }

    private var schema: SQLIdentifier { store.schema }

    /// Counts the work of a statement; throws ``OutOfBudget`` when the budget of the call is used up.
    private mutating func note(_ count: Int) async throws {
        if lastRenewal.duration(to: .now) > .seconds(30) {
            try await store.deletions.renew(user)
            lastRenewal = .now
        }
        remaining -= count
        if remaining <= 0 { throw OutOfBudget() }
    }

    /// Repeats a statement until it changes fewer rows than its limit.
    private mutating func repeating(
        _ statement: SQL,
        noting: WritableKeyPath<DeletionReport, Int>? = nil
    ) async throws {
        while true {
            let count = try await store.client.write(statement).affectedRows
            if let noting { report[keyPath: noting] += count }
            try await note(count)
            if count < Int(Self.batch) { return }
        }
    }

    // MARK: Records

    /// Moves the records if the account was merged into another one, and removes them otherwise.
    mutating func moveOrRemoveRecords() async throws {
        guard var merge = try await store.merges.run(of: user, maximumRecords: remaining) else {
            return try await removeRecords()
        }
        defer { report.transferred += merge.moved }
        try await merge.moveRecords()
        try await merge.moveRelations()
        try await merge.moveReferences()
    }

    /// Deletes private records, and deletes, anonymises or transfers public ones.
    private mutating func removeRecords() async throws {
        let tables = try await store.tables()
        for table in tables where table.name != .user { try await releasePrivate(table) }
        for table in tables where table.name != .user {
            try await repeating(
                """
                DELETE FROM \(table.qualifiedName) WHERE "_id" IN (
                    SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r"."_database" = \(user) LIMIT \(Self.batch)
                )
                """,
                noting: \.deleted
            )
        }
        try await deletePublic(tables.filter { rules[$0.name] == .delete })
        for table in tables { try await giveUp(table) }
    }

    /// Sets the references of private records to NULL that would prevent the deletion of others; all of them are deleted.
    private mutating func releasePrivate(_ table: RecordTable) async throws {
        let columns = table.columns.filter { column in
            if case .reference = column.type { column.onDelete == .restrict } else { false }
        }
        guard !columns.isEmpty else { return }
        let isSet = columns.map { "\"r\".\($0.identifier) IS NOT NULL" as SQL }.joined(separator: " OR ")
        let changes = columns.map { "\($0.identifier) = NULL" as SQL }.joined(separator: ", ")
        do {
            try await repeating(
                """
                UPDATE \(table.qualifiedName) SET \(changes) WHERE "_id" IN (
                    SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                    WHERE "r"."_database" = \(user) AND (\(isSet)) LIMIT \(Self.batch)
                )
                """
            )
        } catch let error as PostgresError where error.sqlState == .notNullViolation {
            // psql made the column NOT NULL; records whose targets are not deleted first can still be deleted.
        }
    }

    /// Deletes the user's records of these types by the rules of references; records that others refer to may remain.
    private mutating func deletePublic(_ tables: [RecordTable]) async throws {
        var blocked: [(table: RecordTable, ids: [RecordID])] = []
        for table in tables {
            let ids = try await deleteOwned(table)
            if !ids.isEmpty { blocked.append((table, ids)) }
        }
        // A record that another one of these refers to can be deleted after that one.
        for _ in 0..<Self.rounds where !blocked.isEmpty {
            let before = report.deleted
            for index in blocked.indices { blocked[index].ids = try await delete(blocked[index].ids) }
            blocked.removeAll { $0.ids.isEmpty }
            if report.deleted == before { break }
        }
        guard !blocked.isEmpty else { return }
        // The remaining records refer to each other in a cycle.
        for (table, _) in blocked {
            for source in tables { try await releaseOwned(source, references: table.name) }
        }
        for (_, ids) in blocked { _ = try await delete(ids) }
    }

    private mutating func releaseOwned(_ table: RecordTable, references target: RecordTypeName) async throws {
        for column in table.columns where column.type == .reference(target) && column.onDelete == .restrict {
            do {
                try await repeating(
                    """
                    UPDATE \(table.qualifiedName) SET \(column.identifier) = NULL WHERE "_id" IN (
                        SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                        WHERE "r"."_owner" = \(user) AND "r".\(column.identifier) IS NOT NULL LIMIT \(Self.batch)
                    )
                    """
                )
            } catch let error as PostgresError where error.sqlState == .notNullViolation {
                continue
            }
        }
    }

    /// Deletes the user's public records of a type; returns those that could not be deleted.
    private mutating func deleteOwned(_ table: RecordTable) async throws -> [RecordID] {
        var blocked: [RecordID] = []
        var last: (time: PostgresTimestamp, id: String)?
        while true {
            let after: SQL =
                last.map { #" AND ("r"."_created_at", "r"."_id") > (\#($0.time), \#($0.id))"# as SQL } ?? ""
            let rows = try await store.client.read(
                """
                SELECT "r"."_id", "r"."_created_at" FROM \(table.qualifiedName) AS "r"
                WHERE "r"."_owner" = \(user) AND "r"."_database" = '_public'\(after)
                ORDER BY "r"."_created_at", "r"."_id" LIMIT \(Self.batch)
                """
            )
            guard !rows.isEmpty else { return blocked }
            let texts = try rows.decodeColumn(0, as: String.self)
            // psql may have created an id that is not valid for a record; such a record is anonymised.
            blocked += try await delete(texts.compactMap { try? RecordID(type: table.name, id: $0) })
            guard texts.count == Int(Self.batch), let id = texts.last else { return blocked }
            last = (try rows.decode(row: rows.rowCount - 1, column: 1), id)
        }
    }

    /// Deletes public records of one type by the rules of references; returns those that could not be deleted.
    private mutating func delete(_ ids: [RecordID], depth: Int = 0) async throws -> [RecordID] {
        var blocked: [RecordID] = []
        for start in stride(from: 0, to: ids.count, by: Int(Self.batch)) {
            let part = Array(ids[start..<min(start + Int(Self.batch), ids.count)])
            let outcomes = try await store.delete(part, with: access, atomic: false)
            var count = 0
            var large: [RecordID] = []
            for (id, outcome) in zip(part, outcomes) {
                switch outcome {
                case .deleted(_, let dependents): count += 1 + dependents.ids.count + dependents.hidden
                // It was deleted with another one.
                case .failure(let error, _) where error.code == .resourceNotFound: break
                // It has more dependents than one statement deletes.
                case .failure(let error, _) where error.code == .invalidArgument: large.append(id)
                case .record, .failure: blocked.append(id)
                }
            }
            report.deleted += count
            try await note(count)
            for id in large where try await !deleteLarge(id, alone: part.count == 1, depth: depth) {
                blocked.append(id)
            }
        }
        return blocked
    }

    /// Deletes a record with more dependents than one statement deletes; returns false if it cannot be deleted.
    private mutating func deleteLarge(_ id: RecordID, alone: Bool, depth: Int) async throws -> Bool {
        // Without the others, its dependents may be within the bound.
        if !alone { return try await delete([id], depth: depth).isEmpty }
        guard depth < 32 else { return false }
        let references = try await store.withCatalog { $0.deleteRules[id.type] ?? [] }
        for reference in references where reference.column.onDelete == .cascade {
            while true {
                let ids = try await store.client.read(
                    """
                    SELECT "r"."_id" FROM \(reference.table.qualifiedName) AS "r"
                    WHERE "r".\(reference.column.identifier) = \(id.id) AND "r"."_database" = '_public' LIMIT \(Self.batch)
                    """
                ).decodeColumn(0, as: String.self).compactMap { try? RecordID(type: reference.table.name, id: $0) }
                guard !ids.isEmpty else { break }
                guard try await delete(ids, depth: depth + 1).count < ids.count else { return false }
            }
        }
        for reference in references { try await release(reference.table, reference.column, from: id.id) }
        return try await delete([id], depth: 32).isEmpty
    }

    /// Sets references to a record to NULL.
    private mutating func release(_ table: RecordTable, _ column: RecordColumn, from id: String) async throws {
        try await repeating(
            """
            UPDATE \(table.qualifiedName) SET \(column.identifier) = NULL WHERE "_id" IN (
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r".\(column.identifier) = \(id) LIMIT \(Self.batch)
            )
            """
        )
    }

    /// Removes the user from the records that stay, or transfers them to another user. Their modification time stays the same.
    private mutating func giveUp(_ table: RecordTable) async throws {
        var heir: UserID?
        var counted: WritableKeyPath<DeletionReport, Int> = \.anonymised
        switch rules[table.name] {
        case .anonymise: break
        case .delete: counted = \.kept
        case .transfer(let other):
            if other != user { heir = other }
            counted = \.transferred
        }
        // If the account of the new owner is gone, the record has no owner.
        let owner: SQL =
            "(SELECT account.id FROM \(schema.internal)._user AS account WHERE account.id = \(heir as UserID?))"
        let profile: SQL = table.name == .user ? " AND \"r\".\"_id\" <> \(user)" : ""
        try await repeating(
            """
            UPDATE \(table.qualifiedName) SET "_owner" = \(owner), "_created_by" = nullif("_created_by", \(user)),
                "_updated_by" = nullif("_updated_by", \(user)), "_revision" = \(schema)."_revision"()
            WHERE "_id" IN (
                SELECT "r"."_id" FROM \(table.qualifiedName) AS "r" WHERE "r"."_owner" = \(user)\(profile) LIMIT \(Self.batch)
            )
            """,
            noting: counted
        )
    }

    /// Removes users from the metadata of others' records that they created or changed; returns the number of records.
    mutating func removeTraces(of users: [UserID]) async throws -> Int {
        let most = 10_000
        var total = 0
        for table in try await store.tables() {
            let profiles: SQL = table.name == .user ? " AND \"r\".\"_id\" <> ALL (\(users))" : ""
            while true {
                let ids = try await store.client.read(
                    """
                    SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                    WHERE ("r"."_created_by" = ANY (\(users)) OR "r"."_updated_by" = ANY (\(users)))\(profiles)
                    LIMIT \(Int64(most))
                    """
                ).decodeColumn(0, as: String.self)
                for start in stride(from: 0, to: ids.count, by: Int(Self.batch)) {
                    let part = Array(ids[start..<min(start + Int(Self.batch), ids.count)])
                    let count = try await store.client.write(
                        """
                        UPDATE \(table.qualifiedName) SET
                            "_created_by" = CASE WHEN "_created_by" <> ALL (\(users)) THEN "_created_by" END,
                            "_updated_by" = CASE WHEN "_updated_by" <> ALL (\(users)) THEN "_updated_by" END,
                            "_revision" = \(schema)."_revision"()
                        WHERE "_id" = ANY (\(part))
                        """
                    ).affectedRows
                    total += count
                    try await note(count)
                }
                if ids.count < most { break }
            }
        }
        return total
    }

    // MARK: The profile and the account

    /// Removes the user from relations between users and from relations of records to profiles.
    mutating func removeRelations() async throws {
        try await repeating(
            """
            DELETE FROM \(schema.internal)._relation WHERE (user_id, name, other_id) IN (
                SELECT relation.user_id, relation.name, relation.other_id FROM \(schema.internal)._relation AS relation
                WHERE relation.user_id = \(user) OR relation.other_id = \(user) LIMIT \(Self.batch)
            )
            """
        )
        for table in try await store.tables() {
            for column in table.columns where column.type == .relation(.user) {
                guard let members = column.members else { continue }
                try await repeating(
                    """
                    DELETE FROM \(schema).\(members) WHERE _to = \(user) AND _from IN (
                        SELECT member._from FROM \(schema).\(members) AS member WHERE member._to = \(user) LIMIT \(Self.batch)
                    )
                    """
                )
            }
        }
    }

    /// Deletes the public records that depend on the profile by the rules of references, and sets all other references to it to
    /// NULL. References that prevent its deletion were checked before the deletion began.
    mutating func removeReferences() async throws {
        for table in try await store.tables() {
            for column in table.columns where column.type == .reference(.user) {
                while column.onDelete == .cascade {
                    let ids = try await store.client.read(
                        """
                        SELECT "r"."_id" FROM \(table.qualifiedName) AS "r"
                        WHERE "r".\(column.identifier) = \(user) AND "r"."_database" = '_public' LIMIT \(Self.batch)
                        """
                    ).decodeColumn(0, as: String.self).compactMap { try? RecordID(type: table.name, id: $0) }
                    let blocked = ids.isEmpty ? [] : try await delete(ids)
                    guard ids.count == blocked.count else { continue }
                    // The remaining records no longer refer to the profile.
                    report.kept += blocked.count
                    break
                }
                try await release(table, column, from: user.rawValue)
            }
        }
    }

    /// Removes the stored responses for the user's retries and the merges into the account, removes the user from tombstones and
    /// files, and addresses from the audit log, which keeps the id.
    mutating func removeNotes() async throws {
        let master = "_master:\(user)"
        let end = ":\(user)"
        _ = try await store.client.write(
            """
            DELETE FROM \(schema.internal)._idempotency
            WHERE scope = \(user.rawValue) OR scope = \(master)
                OR starts_with(scope, '_key:') AND right(scope, length(\(end))) = \(end)
            """
        )
        _ = try await store.client.write(
            "DELETE FROM \(schema.internal)._merge WHERE target = \(user) AND finished_at IS NOT NULL"
        )
        try await repeating(
            """
            DELETE FROM \(schema.internal)._tombstone WHERE owner = \(user) AND (database, revision, type, id) IN (
                SELECT grave.database, grave.revision, grave.type, grave.id FROM \(schema.internal)._tombstone AS grave
                WHERE grave.owner = \(user) AND grave.database = \(user) LIMIT \(Self.batch)
            )
            """
        )
        // Records may still refer to the files.
        try await repeating(
            """
            UPDATE \(schema.internal)._asset SET owner = NULL WHERE name IN (
                SELECT asset.name FROM \(schema.internal)._asset AS asset WHERE asset.owner = \(user) LIMIT \(Self.batch)
            )
            """
        )
        try await repeating(
            """
            UPDATE \(schema.internal)._tombstone SET owner = NULL WHERE owner = \(user) AND (database, revision, type, id) IN (
                SELECT grave.database, grave.revision, grave.type, grave.id FROM \(schema.internal)._tombstone AS grave
                WHERE grave.owner = \(user) LIMIT \(Self.batch)
            )
            """
        )
        do {
            try await repeating(
                """
                UPDATE \(schema.internal)._audit SET address = NULL, request_id = NULL, data = NULL WHERE id IN (
                    SELECT entry.id FROM \(schema.internal)._audit AS entry
                    WHERE entry.user_id = \(user)
                        AND (entry.address IS NOT NULL OR entry.request_id IS NOT NULL OR entry.data IS NOT NULL)
                    LIMIT \(Self.batch)
                )
                """
            )
        } catch let error as PostgresError where error.sqlState == .insufficientPrivilege {
            // An operator may grant the service only INSERT on the log.
        }
    }

    /// Deletes the profile, and with it everything that depends on the account; reserves its login keys for a time.
    mutating func finish(hasLookedForTraces: Bool) async throws {
        let keys = try store.loginKeys.map { key throws(PostgresError) -> SQL in
            "(\(key.rawValue)::text, profile.\(try SQLIdentifier(key.rawValue)))"
        }
        let former: SQL =
            keys.isEmpty
            ? ""
            : """
            former AS (
                INSERT INTO \(schema.internal)._former_login (code, until)
                SELECT \(schema)._login_code(known.secret, given.field, given.value), now() + interval '30 days'
                FROM \(schema)."user" AS profile
                CROSS JOIN LATERAL (VALUES \(keys.joined(separator: ", "))) AS given (field, value)
                CROSS JOIN (SELECT secret FROM \(schema.internal)._secret ORDER BY number DESC LIMIT 1) AS known
                WHERE profile._id = \(user) AND given.value IS NOT NULL
                ON CONFLICT (code) DO UPDATE SET until = EXCLUDED.until, user_id = NULL
            ), 
            """
        for attempt in 1... {
            do {
                _ = try await store.client.write(
                    """
                    WITH \(former)gone AS (
                        DELETE FROM \(schema)."user" WHERE _id = \(user)
                    )
                    UPDATE \(schema.internal)._deletion SET finished_at = now(), next_at = now() + interval '1 minute',
                        swept_at = CASE WHEN \(hasLookedForTraces) THEN now() END
                    WHERE user_id = \(user)
                    """
                )
                break
            } catch let error as PostgresError where error.sqlState == .foreignKeyViolation && attempt < Self.rounds {
                // A record saved meanwhile refers to the profile.
                try await removeReferences()
            }
        }
        report.isFinished = true
        // Covers the tombstone of the profile, and those of its dependents.
        try await removeNotes()
    }
}
