internal import SkyrowCrypto
package import SkyrowModel
internal import SkyrowPostgres
internal import SkyrowSystem

extension RecordStore {
    /// How often a moment is asked for while too many transactions run.
    private static let momentAttempts = 200
    /// More transactions that run make no token.
    private static let maximumRunning = 4096
    /// How often it is looked whether PostgreSQL has written its log by itself, each time after a pause twice as long.
    private static let flushLooks = 4
    /// How often it is looked afterwards: its log writer does so three times a second, whatever happens.
    private static let patientFlushLooks = 20
    /// For how long a client goes on with a token since which nothing has changed, rather than wait for the log; in seconds.
    private static let keptTokenAge: Int64 = 3600

    /// The present moment: the first question of every pass through the change feed.
    ///
    /// Where PostgreSQL was started anew, revisions are moved first. All that had ended at the moment is in the log on the disk
    /// when it is returned: PostgreSQL gives ids out again that a crash has taken back, also where it goes on by itself with the
    /// same start, and a token that had seen them would take the next ones for seen.
    ///
    /// Throws what the database failed with, and `135 Overloaded` where more than 4,096 transactions run for two seconds.
    package func changeMoment() async throws -> ChangeMoment {
        try await changeMoment(relationsOf: nil, since: nil).moment
    }

    /// The present moment, with what else is asked of it in the same statement.
    ///
    /// Where nothing has changed since a token and the log is not on the disk, the moment has the transactions of that token: a client
    /// that has seen these has seen everything, and nothing waits for the disk.
    ///
    /// - Parameters:
    ///   - user: whose relations are asked for too; nil for nothing.
    ///   - since: a token, and what is true if anything has changed that it has not seen; nil for nothing.
    func changeMoment(
        relationsOf user: UserID?,
        since known: (token: ChangeToken, hasNews: SQL)?
    ) async throws -> PresentMoment {
        for attempt in 0..<Self.momentAttempts {
            // PostgreSQL says nothing when transactions end.
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

    /// Reads at one moment: all statements of `body` see what was visible at the moment that it is given.
    ///
    /// Throws what `body` throws, and as ``changeMoment()``.
    func atOneMoment<Success>(
        _ body: (PostgresTransaction, ChangeMoment) async throws -> Success
    ) async throws -> Success {
        for attempt in 0..<Self.momentAttempts {
            // PostgreSQL says nothing when transactions end.
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

    /// Returns when PostgreSQL's log is on the disk up to a position.
    ///
    /// Any commit writes it, those of other sessions too, of which PostgreSQL gives no notice. Where none comes, a message is committed.
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
            // A standby that is away is no reason to wait.
            _ = try await client.write(
                """
                SELECT pg_logical_emit_message(true, 'skyrow', set_config('synchronous_commit', 'local', true))
                """,
                groupCommit: .never
            )
        } catch is PostgresError {
            // Who may not send messages waits for the log writer.
            for _ in 0..<Self.patientFlushLooks {
                try await ServiceTimer.sleep(for: .milliseconds(50))
                if try await isFlushed() { return }
            }
        }
    }

    /// Whether the database was at a place of its history before it came to the present one.
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

    /// Has revisions moved where PostgreSQL was started anew.
    ///
    /// Soon after a start: where the log of the one before has ended is known until the next checkpoint, and no token of that
    /// one is good without it.
    func followStart() async throws {
        let found = try await client.read(
            """
            SELECT "meta"."started_at" = pg_postmaster_start_time() AND "meta"."home_table" = "meta"."tableoid"
            FROM \(schema.internal)."_meta" AS "meta"
            """
        )
        if try !found.isEmpty && !found.decode(row: 0, column: 0, as: Bool.self) { try await moveRevisions() }
    }

    /// Has `_revision()` count on above all that was stamped since another start of PostgreSQL.
    private func moveRevisions() async throws {
        do {
            try await client.withTransaction { transaction in
                try await transaction.setPath(of: self.schema)
                _ = try await transaction.query("SELECT _move_revisions()")
            }
        } catch let error as PostgresError where error.code == .indeterminateCommit {
            // The next look shows whether it took effect. A caller that only reads has lost nothing.
        }
    }
}

extension SkyrowError {
    fileprivate static let tooManyRun = SkyrowError(
        .overloaded,
        "Too many transactions run for a change token; try again in a moment."
    )
}

/// A moment, with what was asked for in the statement that read it.
struct PresentMoment: Sendable {
    var moment: ChangeMoment
    /// A digest of the relations of a user.
    let relations: Int64
    /// Whether anything has changed that a token has not seen; true where that was not asked.
    let hasNews: Bool
    /// Whether PostgreSQL's log is on the disk, as far as it had come at the moment or farther.
    let isOnDisk: Bool

    /// The moment with the transactions of a token since which nothing has changed; nil for one of another history and for an old one,
    /// which would expire some day.
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

/// The question for the present moment, in one statement, so that all of it is of one snapshot.
///
/// ```sql
/// SELECT pg_current_snapshot()::text, …, pg_current_wal_insert_lsn() FROM "app_internal"."_meta" AS "meta"
/// ```
enum MomentStatement {
    /// - Parameters:
    ///   - user: of whose relations a digest is asked for.
    ///   - hasNews: a condition that is asked of the same snapshot.
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

    /// nil where PostgreSQL was started anew or the database restored, and revisions are to be moved.
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

/// The first bytes of a SHA-256, of what makes something the same.
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
    /// Whether anything of a type in a database was written, deleted or hidden that a set of transactions does not have,
    /// for any reader.
    package func hasChanges(
        of type: RecordTypeName,
        in database: DatabaseScope,
        since seen: TransactionSet
    ) async throws -> Bool {
        let question = Self.hasNews(of: type, try await table(of: type), in: database, since: seen, schema)
        return try await client.read("SELECT \(question)").decode(row: 0, column: 0, as: Bool.self)
    }

    /// The condition that anything of a type in a database was written, deleted or hidden that a set of transactions does not have.
    ///
    /// - Parameter table: nil for a type without one.
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
            // In the order of the index: with EXISTS a plan for any revision reads the whole table, since it expects every third row.
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
