internal import SkyrowCrypto
package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem

extension RecordStore {
    /// Upper bound on attempts to read the snapshot while too many transactions run.
    private static let momentAttempts = 200
    /// The most running transactions for which a token is made.
    private static let maximumRunning = 4096
    /// How many times to check whether PostgreSQL has flushed its log by itself, with doubling pauses.
    private static let flushLooks = 4
    /// How many further checks to make: PostgreSQL's log writer flushes three times a second in any case.
    private static let patientFlushLooks = 20
    /// The age in seconds up to which a client without changes keeps its token instead of waiting for the log.
    private static let keptTokenAge: Int64 = 3600

    /// Returns the present snapshot: the first query of every pass through the change feed.
    ///
    /// After a restart of PostgreSQL, it moves revisions first. On return, the log is flushed up to the end of every
    /// transaction that had ended in the snapshot. PostgreSQL reuses transaction ids that a crash has taken back, even if it
    /// recovers without a restart, and a token that had seen them would treat the next transactions as seen.
    ///
    /// Throws database errors, and `135 Overloaded` where more than 4,096 transactions run for two seconds.
    package func changeMoment() async throws -> ChangeMoment {
        try await changeMoment(relationsOf: nil, since: nil).moment
    }

    /// Returns the present snapshot, with further values from the same statement.
    ///
    /// If nothing has changed since a token and the log is not flushed yet, the result has the transactions of that token: a
    /// client that has seen these has seen everything, and nothing waits for the disk.
    ///
    /// - Parameters:
    ///   - user: the user whose relations are digested; nil for none.
    ///   - since: a token, and a condition that is true if anything has changed since it; nil for none.
    func changeMoment(
        relationsOf user: UserID?,
        since known: (token: ChangeToken, hasNews: SQL)?
    ) async throws -> PresentMoment {
        for attempt in 0..<Self.momentAttempts {
            // PostgreSQL sends no notification when transactions end.
            if attempt > 0 { try await ServiceTimer.sleep(for: .milliseconds(10)) }
            let found = try await client.read(
                MomentStatement.make(in: schema, relationsOf: user, hasNews: known?.hasNews)
            )
            guard let read = try MomentStatement.read(found) else {
                try await moveRevisions()
                continue
            }
            guard read.moment.snapshot.running.count <= Self.maximumRunning else { continue }
            guard !read.isOnDisk else { return read }
            if let token = known?.token, let kept = read.keeping(token, for: Self.keptTokenAge) { return kept }
            try await flushLog(upTo: read.moment.walPosition)
            return read
        }
        throw SkyrowError.tooManyRun
    }

    /// Runs `body` in a transaction with one snapshot: all its statements see what the given `ChangeMoment` has as visible.
    ///
    /// Throws what `body` throws, and as ``changeMoment()``.
    func atOneMoment<Success>(
        _ body: (PostgresTransaction, ChangeMoment) async throws -> Success
    ) async throws -> Success {
        for attempt in 0..<Self.momentAttempts {
            // PostgreSQL sends no notification when transactions end.
            if attempt > 0 { try await ServiceTimer.sleep(for: .milliseconds(10)) }
            let found = try await client.withTransaction(isolation: .snapshot) { transaction in
                let rows = try await transaction.query(MomentStatement.make(in: schema, relationsOf: nil))
                let present = try MomentStatement.read(rows)
                guard let present, present.moment.snapshot.running.count <= Self.maximumRunning else {
                    return (present, Success?.none)
                }
                return (present, try await body(transaction, present.moment))
            }
            guard let present = found.0 else {
                try await moveRevisions()
                continue
            }
            guard let success = found.1 else { continue }
            if !present.isOnDisk { try await flushLog(upTo: present.moment.walPosition) }
            return success
        }
        throw SkyrowError.tooManyRun
    }

    /// Returns when PostgreSQL's log is flushed up to `position`.
    ///
    /// Any commit flushes it, those of other sessions too, but without a notification. If none comes soon, commits a message.
    private func flushLog(upTo position: UInt64) async throws {
        let position = Int64(bitPattern: position)
        func isFlushed() async throws -> Bool {
            try await client.read("SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint >= \(position)")
                .decode(row: 0, column: 0, as: Bool.self)
        }
        for look in 0..<Self.flushLooks {
            try await ServiceTimer.sleep(for: .milliseconds(1 << look))
            if try await isFlushed() { return }
        }
        do {
            // Does not wait for a standby, which may be unavailable.
            _ = try await client.write(
                """
                SELECT pg_logical_emit_message(true, 'skyrow', set_config('synchronous_commit', 'local', true))
                """,
                groupCommit: .never
            )
        } catch is PostgresError {
            // A role that may not emit messages waits for the log writer.
            for _ in 0..<Self.patientFlushLooks {
                try await ServiceTimer.sleep(for: .milliseconds(50))
                if try await isFlushed() { return }
            }
        }
    }

    /// Returns whether the database was at `known` in its history before it came to `present`.
    func hasPassed(_ known: HistoryPlace, at present: HistoryPlace) async throws -> Bool {
        guard known.branch == present.branch, known.start != present.start else {
            return known.isBehind(present, endOfStart: nil)
        }
        let found = try await client.read(
            """
            SELECT "meta"."former_ends"[array_position("meta"."former_starts", \(known.start))]
            FROM \(schema.internal)."_meta" AS "meta"
            """
        )
        let end = try found.isEmpty ? nil : found.decode(row: 0, column: 0, as: Int64?.self)
        return known.isBehind(present, endOfStart: end.map { UInt64(bitPattern: $0) })
    }

    /// Moves revisions if PostgreSQL was restarted.
    ///
    /// Runs soon after a restart: until the next checkpoint, PostgreSQL has the end of the previous start's log, and no token
    /// of that start can be continued without it.
    func followStart() async throws {
        let found = try await client.read(
            """
            SELECT "meta"."started_at" = pg_postmaster_start_time() AND "meta"."home_table" = "meta"."tableoid"
            FROM \(schema.internal)."_meta" AS "meta"
            """
        )
        if try !found.isEmpty && !found.decode(row: 0, column: 0, as: Bool.self) { try await moveRevisions() }
    }

    /// Makes `_revision()` continue above all revisions stamped under other starts of PostgreSQL.
    private func moveRevisions() async throws {
        do {
            try await client.withTransaction { transaction in
                try await transaction.setPath(of: self.schema)
                _ = try await transaction.query("SELECT _move_revisions()")
            }
        } catch let error as PostgresError where error.code == .indeterminateCommit {
            // The next attempt shows whether it took effect. A caller that only reads has lost nothing.
        }
    }
}

extension SkyrowError {
    fileprivate static let tooManyRun = SkyrowError(
        .overloaded,
        "Too many transactions are running for a change token; try again in a moment."
    )
}

/// A snapshot, with further values of the statement that read it.
struct PresentMoment: Sendable {
    var moment: ChangeMoment
    /// A digest of the relations of a user.
    let relations: Int64
    /// Whether anything has changed since a token; true if the statement did not check it.
    let hasNews: Bool
    /// Whether PostgreSQL's log was flushed at least up to the position of the snapshot.
    let isOnDisk: Bool

    /// Returns the snapshot with the transactions of a token since which nothing has changed; nil for a token of another
    /// history, and for one so old that it would expire.
    ///
    /// - Parameter age: in seconds.
    func keeping(_ token: ChangeToken, for age: Int64) -> PresentMoment? {
        guard !hasNews, token.place.isBehind(moment.place, endOfStart: nil), moment.takenAt - token.takenAt < age else {
            return nil
        }
        var kept = self
        kept.moment = ChangeMoment(
            snapshot: moment.snapshot,
            transactions: token.transactions,
            place: token.place,
            takenAt: token.takenAt,
            walPosition: moment.walPosition
        )
        return kept
    }
}

/// The query for the present snapshot: one statement, so that all its values are consistent.
///
/// ```sql
/// SELECT pg_current_snapshot()::text, …, pg_current_wal_insert_lsn() FROM "app_internal"."_meta" AS "meta"
/// ```
enum MomentStatement {
    /// - Parameters:
    ///   - user: the user whose relations are digested.
    ///   - hasNews: a condition to evaluate in the same snapshot.
    static func make(in schema: SQLIdentifier, relationsOf user: UserID?, hasNews: SQL? = nil) -> SQL {
        let relations: SQL =
            if let user {
                """
                (SELECT coalesce(bit_xor(hashtextextended(
                    concat_ws('/', "edge"."user_id", "edge"."name", "edge"."other_id", "edge"."mutual"), 0
                )), 0) FROM \(schema.internal)."_relation" AS "edge"
                WHERE "edge"."user_id" = \(user) OR "edge"."other_id" = \(user))
                """
            } else {
                "0::bigint"
            }
        return """
            SELECT pg_current_snapshot()::text,
                "meta"."started_at" = pg_postmaster_start_time() AND "meta"."home_table" = "meta"."tableoid",
                "meta"."revision_offset", "meta"."former_offsets", "meta"."former_until",
                concat_ws(' ', "meta"."system_identifier", "meta"."timeline", "meta"."history"),
                extract(epoch FROM now())::bigint, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, \(relations),
                (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint, \(hasNews ?? "true"), "meta"."start_id"
            FROM \(schema.internal)."_meta" AS "meta"
            """
    }

    /// Returns nil if PostgreSQL was restarted or the database restored, and revisions have to be moved.
    static func read(_ result: PostgresResult) throws -> PresentMoment? {
        guard try !result.isEmpty && result.decode(row: 0, column: 1, as: Bool.self) else { return nil }
        let text = try result.decode(row: 0, column: 0, as: String.self)
        guard let snapshot = TransactionSnapshot(text) else { throw SkyrowError.unexpected }
        let former = zip(
            try result.decode(row: 0, column: 3, as: [Int64].self),
            try result.decode(row: 0, column: 4, as: [Int64].self)
        )
        let offsets = RevisionOffsets(
            present: try result.decode(row: 0, column: 2),
            former: former.map { RevisionOffsets.Former(offset: $0, until: $1) }
        )
        let history = try result.decode(row: 0, column: 5, as: String.self)
        let position = try result.decode(row: 0, column: 7, as: Int64.self)
        let moment = ChangeMoment(
            snapshot: snapshot,
            transactions: TransactionSet(snapshot, offsets),
            place: HistoryPlace(
                branch: ChangeDigest.of { $0.append(counted: Array(history.utf8)[...]) },
                start: try result.decode(row: 0, column: 11),
                position: UInt64(bitPattern: position)
            ),
            takenAt: try result.decode(row: 0, column: 6),
            walPosition: UInt64(bitPattern: position)
        )
        let flushed = try result.decode(row: 0, column: 9, as: Int64.self)
        return PresentMoment(
            moment: moment,
            relations: try result.decode(row: 0, column: 8),
            hasNews: try result.decode(row: 0, column: 10),
            isOnDisk: flushed >= position
        )
    }
}

/// The first 64 bits of a SHA-256 hash, as the identity of a value.
enum ChangeDigest {
    static func of(_ write: (inout [UInt8]) -> Void) -> UInt64 {
        var identity: [UInt8] = []
        identity.reserveCapacity(512)
        write(&identity)
        var hash = SHA256()
        hash.update(identity)
        return hash.finish().bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension RecordStore {
    /// Returns whether a transaction outside `seen` wrote, deleted or hid anything of a type in a database, for any reader.
    package func hasChanges(
        of type: RecordTypeName,
        in database: DatabaseScope,
        since seen: TransactionSet
    ) async throws -> Bool {
        let question = Self.hasNews(of: type, try await table(of: type), in: database, since: seen, schema)
        return try await client.read("SELECT \(question)").decode(row: 0, column: 0, as: Bool.self)
    }

    /// Returns the condition that a transaction outside `seen` has written, deleted or hidden anything of a type in a database.
    ///
    /// - Parameter table: nil for a type without a table.
    static func hasNews(
        of type: RecordTypeName,
        _ table: RecordTable?,
        in database: DatabaseScope,
        since seen: TransactionSet,
        _ schema: SQLIdentifier
    ) -> SQL {
        let name =
            switch database {
            case .everyone: "_public"
            case .user(let user): user.rawValue
            case .union: ""
            }
        func found(_ source: SQL, _ database: SQL, _ revision: SQL) -> SQL {
            // In index order. With EXISTS the planner expects every third row to match, and reads the whole table.
            func first(_ isUnseen: SQL) -> SQL {
                """
                (SELECT \(revision) FROM \(source) WHERE \(database) = \(name) AND \(revision) \(isUnseen) \
                ORDER BY \(revision) LIMIT 1) IS NOT NULL
                """
            }
            let later = first(">= \(seen.end)")
            return seen.missing.isEmpty ? later : "\(later) OR \(first("= ANY (\(seen.missing))"))"
        }
        let graves = found(
            "\(schema.internal).\"_tombstone\" AS \"t\"",
            "\"t\".\"type\" = \(type.rawValue) AND \"t\".\"database\"",
            "\"t\".\"revision\""
        )
        guard let table else { return "(\(graves))" }
        let rows = found("\(table.qualifiedName) AS \"r\"", "\"r\".\"_database\"", "\"r\".\"_revision\"")
        return "(\(rows) OR \(graves))"
    }
}
