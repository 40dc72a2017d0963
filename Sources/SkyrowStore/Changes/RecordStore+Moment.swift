internal import SkyrowCrypto
package import SkyrowModel
internal import SkyrowPostgres

extension RecordStore {
    /// How often a moment is asked for while too many transactions run.
    private static let momentAttempts = 200
    /// More transactions that run make no token.
    private static let maximumRunning = 4096
    /// How often it is looked whether PostgreSQL has written its log by itself, each time after a pause twice as long.
    private static let flushLooks = 4
    /// How often it is looked afterwards: its log writer does so three times a second, whatever happens.
    private static let patientFlushLooks = 20

    /// The present moment: the first question of every pass through the change feed.
    ///
    /// Where PostgreSQL was started anew, revisions are moved first. All that had ended at the moment is in the log on the disk
    /// when it is returned: PostgreSQL gives ids out again that a crash has taken back, also where it goes on by itself with the
    /// same start, and a token that had seen them would take the next ones for seen.
    ///
    /// Throws what the database failed with, and `135 Overloaded` where more than 4,096 transactions run for two seconds.
    package func changeMoment() async throws -> ChangeMoment {
        try await changeMoment(relationsOf: nil).moment
    }

    /// - Parameter user: whose relations are asked for too; nil for nothing.
    func changeMoment(relationsOf user: UserID?) async throws -> (moment: ChangeMoment, relations: Int64) {
        for attempt in 0..<Self.momentAttempts {
            if attempt > 0 { try await Task.sleep(for: .milliseconds(10)) }
            let found = try await client.read(MomentStatement.make(in: schema, relationsOf: user))
            guard let read = try MomentStatement.read(found) else {
                try await moveRevisions()
                continue
            }
            guard read.moment.snapshot.running.count <= Self.maximumRunning else { continue }
            if !read.isOnDisk { try await flushLog(upTo: read.moment.walPosition) }
            return (read.moment, read.relations)
        }
        throw SkyrowError(.overloaded, "Too many transactions run for a change token; try again in a moment.")
    }

    /// Returns when PostgreSQL's log is on the disk up to a position.
    ///
    /// Commits have it written, of others too. Where none does, a message of its own is committed.
    private func flushLog(upTo position: UInt64) async throws {
        let position = Int64(bitPattern: position)
        func isFlushed() async throws -> Bool {
            try await client.read("SELECT (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint >= \(position)")
                .decode(row: 0, column: 0, as: Bool.self)
        }
        for look in 0..<Self.flushLooks {
            try await Task.sleep(for: .milliseconds(1 << look))
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
                try await Task.sleep(for: .milliseconds(50))
                if try await isFlushed() { return }
            }
        }
    }

    /// Has `_revision()` count on above all that was stamped since another start of PostgreSQL.
    private func moveRevisions() async throws {
        try await client.withTransaction { transaction in
            let path = "\(self.schema.quoted), pg_temp"
            _ = try await transaction.query("SELECT set_config('search_path', \(path), true)")
            _ = try await transaction.query("SELECT _move_revisions()")
        }
    }
}

/// The question for the present moment, in one statement, so that all of it is of one snapshot.
///
/// ```sql
/// SELECT pg_current_snapshot()::text, …, pg_current_wal_insert_lsn() FROM "app"."_meta" AS "meta"
/// ```
enum MomentStatement {
    /// - Parameter user: of whose relations a digest is asked for.
    static func make(in schema: SQLIdentifier, relationsOf user: UserID?) -> SQL {
        let relations: SQL =
            if let user {
                """
                (SELECT coalesce(bit_xor(hashtextextended(
                    concat_ws('/', "edge"."user_id", "edge"."name", "edge"."other_id", "edge"."mutual"), 0
                )), 0) FROM \(schema)."_relation" AS "edge"
                WHERE "edge"."user_id" = \(user) OR "edge"."other_id" = \(user))
                """
            } else {
                "0::bigint"
            }
        return """
            SELECT pg_current_snapshot()::text, "meta"."started_at" = pg_postmaster_start_time(),
                "meta"."revision_offset", "meta"."former_offsets", "meta"."former_until",
                concat_ws(' ', "meta"."system_identifier", "meta"."timeline", "meta"."history"),
                extract(epoch FROM now())::bigint, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint, \(relations),
                (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint
            FROM \(schema)."_meta" AS "meta"
            """
    }

    /// nil where PostgreSQL was started anew, and revisions are to be moved.
    ///
    /// Whether it is on disk says whether PostgreSQL's log is, as far as it had come at the moment or farther.
    static func read(
        _ result: PostgresResult
    ) throws -> (moment: ChangeMoment, relations: Int64, isOnDisk: Bool)? {
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
            branch: ChangeDigest.of { $0.append(counted: Array(history.utf8)[...]) },
            takenAt: try result.decode(row: 0, column: 6),
            walPosition: UInt64(bitPattern: position)
        )
        let flushed = try result.decode(row: 0, column: 9, as: Int64.self)
        return (moment, try result.decode(row: 0, column: 8), flushed >= position)
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
        let name =
            switch database {
            case .everyone: "_public"
            case .user(let user): user.rawValue
            case .union: ""
            }
        func found(_ source: SQL, _ database: SQL, _ revision: SQL) -> SQL {
            let later: SQL = "EXISTS (SELECT FROM \(source) WHERE \(database) = \(name) AND \(revision) >= \(seen.end))"
            guard !seen.missing.isEmpty else { return later }
            return """
                \(later) OR EXISTS (SELECT FROM \(source) WHERE \(database) = \(name) AND \(revision) = ANY (\(seen.missing)))
                """
        }
        let graves = found(
            "\(schema).\"_tombstone\" AS \"t\"",
            "\"t\".\"type\" = \(type.rawValue) AND \"t\".\"database\"",
            "\"t\".\"revision\""
        )
        let rows = try await table(of: type).map { table in
            found("\(table.qualifiedName) AS \"r\"", "\"r\".\"_database\"", "\"r\".\"_revision\"")
        }
        let question: SQL = rows.map { "SELECT \($0) OR \(graves)" } ?? "SELECT \(graves)"
        return try await client.read(question).decode(row: 0, column: 0, as: Bool.self)
    }
}
