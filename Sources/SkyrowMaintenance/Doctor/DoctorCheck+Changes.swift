internal import SkyrowPostgres
import SkyrowStore

// Checks of the change stream that feeds live queries. Without the stream, the service polls.

extension DoctorCheck {
    /// The consequence that findings about the change stream state.
    private static let polling =
        "Live queries poll for changes many times a second instead, and lack the records as they were before a change."

    /// A row whose `what` is one of:
    /// - `server`: the limits `wal_level`, `slots` and `senders`, and the usage `slots_used` and `senders_used`;
    /// - `role`: `permitted`, whether this role or another login role may replicate;
    /// - `unpublished`: a `table` whose changes are not published, and the `statement` that publishes it;
    /// - `slot`: the `name` of a leftover replication slot that the service created;
    /// - `standby`: `names`, where the stream may count as a synchronous standby;
    /// - `wide`: a `table` with an average row size of `bytes`, whose complete old rows are in the WAL;
    /// - `writer`: the connection `id` to `database` whose writing transaction has been open for `seconds`;
    /// - `follow`: a `type` whose changes need an index, the `state` of the index row, its age `old` in seconds, and
    ///   whether the index is `built`;
    /// - `tombstones`: the `count` of tombstones that are past their retention.
    package static let changes = DoctorCheck(
        "changes",
        "Source of changes for live queries",
        needsTables: true,
        .queries { scope in
            let schema = scope.schema
            return [
                """
                SELECT 'server' AS what, current_setting('wal_level') AS wal_level,
                    current_setting('max_replication_slots') AS slots, current_setting('max_wal_senders') AS senders,
                    (SELECT count(*) FROM pg_catalog.pg_replication_slots) AS slots_used,
                    (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'walsender') AS senders_used
                """,
                """
                SELECT 'role' AS what, EXISTS (
                    SELECT FROM pg_catalog.pg_roles
                    WHERE rolcanlogin AND (
                        rolname = current_user AND rolsuper OR rolreplication AND (NOT rolsuper OR rolname = current_user)
                    )
                ) AS permitted, current_user AS role
                """,
                """
                SELECT 'unpublished' AS what, record_table::text AS table,
                    format('SELECT %I._publish(%L);', \(schema.name), record_table) AS statement
                FROM \(schema)._unpublished() AS record_table
                """,
                """
                SELECT 'slot' AS what, slot_name AS name FROM pg_catalog.pg_replication_slots
                WHERE starts_with(slot_name, 'skyrow_') AND database = current_database() AND NOT temporary
                """,
                """
                SELECT 'standby' AS what, current_setting('synchronous_standby_names') AS names
                WHERE current_setting('synchronous_standby_names') ~ '[*]'
                """,
                """
                SELECT 'wide' AS what, relname AS table, (pg_table_size(pg_class.oid) / reltuples)::bigint AS bytes
                FROM pg_catalog.pg_class
                WHERE relnamespace = \(scope.schema.namespace)
                    AND relkind = 'r' AND relreplident = 'f' AND NOT starts_with(relname, '_')
                    AND reltuples >= 1000 AND pg_table_size(pg_class.oid) / reltuples > 8192
                """,
                """
                SELECT 'writer' AS what, pid::text AS id, coalesce(datname::text, '') AS database,
                    extract(epoch FROM clock_timestamp() - xact_start)::bigint AS seconds
                FROM pg_catalog.pg_stat_activity
                WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
                    AND clock_timestamp() - xact_start > make_interval(secs => \(Double(scope.limits.openWriter)))
                ORDER BY xact_start
                """,
                """
                SELECT 'follow' AS what, item.type, item.state, extract(epoch FROM now() - item.changed_at)::bigint AS old,
                    coalesce(indisvalid, false) AS built
                FROM \(schema.internal)._index AS item
                LEFT JOIN pg_catalog.pg_class ON relname = item.name::name AND relnamespace = \(scope.schema.namespace)
                LEFT JOIN pg_catalog.pg_index ON indexrelid = pg_class.oid
                WHERE \(FollowedTypes.isWish()) AND state <> 'deleting' ORDER BY item.type
                """,
                """
                SELECT 'tombstones' AS what, count(*) AS count FROM \(schema.internal)._tombstone
                WHERE deleted_at < now() - make_interval(secs => \(Double(scope.limits.feedRetention + 2 * 86_400)))
                    AND (type <> '_role' OR deleted_at < now() - interval '33 days')
                """,
            ]
        },
        finding: { row, _ in judgeChanges(row) }
    )

    private static func judgeChanges(_ row: DoctorRow) -> DoctorFinding? {
        switch row["what"] {
        case "server":
            judgeServer(row)
        case "role" where !row.flag("permitted"):
            DoctorFinding(
                .warning,
                "No login role, including \(row["role"]), has REPLICATION.",
                meaning: polling,
                remedy:
                    "Grant it to the role of the service, or better to a separate role that --replication-url names: "
                    + "it lets a role copy the whole cluster.",
                commands: ["CREATE ROLE skyrow_replication LOGIN REPLICATION PASSWORD '…';"]
            )
        case "unpublished":
            DoctorFinding(
                .warning,
                "The changes of \(row["table"]) are not published.",
                meaning: "Live queries of the type receive no changes from the stream.",
                remedy:
                    "Publish them as a role that owns the table and the publication and has CREATE on the database.",
                commands: [row["statement"]]
            )
        case "slot":
            DoctorFinding(
                .error,
                "The replication slot \(row["name"]) is not temporary, and the service creates only temporary ones.",
                meaning: "PostgreSQL retains its WAL for the slot until the disk is full.",
                remedy: "Find out what created it; drop it if nothing needs it.",
                commands: ["SELECT pg_drop_replication_slot('\(row["name"])');"]
            )
        case "standby":
            DoctorFinding(
                .warning,
                "synchronous_standby_names is '\(row["names"])', which also matches the service's stream of changes.",
                meaning:
                    "A commit may wait up to a second for the service, and be acknowledged although no standby has it.",
                remedy: "Name each standby."
            )
        case "wide":
            DoctorFinding(
                .warning,
                "A record of \(row["table"]) takes \(row["bytes"]) bytes on average, and the WAL gets the whole old record with "
                    + "each change.",
                meaning: "An update of one small field writes the whole record to the WAL.",
                remedy: "If its records change often, set \"live\": \"key\" for the type in the schema file."
            )
        case "writer":
            DoctorFinding(
                .warning,
                "A transaction of process \(row["id"]) in the database \(row["database"]) has written, and has been open for "
                    + "\(row["seconds"]) seconds.",
                meaning: "No stream of changes can start before it ends: until then live queries poll for changes.",
                remedy: "Find out what it waits for; terminate it if it is no longer needed.",
                commands: ["SELECT pg_terminate_backend(\(row["id"]));"]
            )
        case "follow" where row["state"] == "failed":
            DoctorFinding(
                .error,
                "The index that finds the changes of \(row["type"]) could not be built.",
                meaning: following,
                remedy: "Fix the cause, which the check failed-indexes names, and build it again.",
                commands: ["$ skyrow schema follow \(row["type"])"]
            )
        case "follow" where !row.flag("built") && row.integer("old") > 600:
            DoctorFinding(
                .warning,
                "The index that finds the changes of \(row["type"]) is missing.",
                meaning: following,
                remedy: "Run the service, which builds it, or build it now.",
                commands: ["$ skyrow schema follow \(row["type"])"]
            )
        case "tombstones" where row.integer("count") > 0:
            DoctorFinding(
                .warning,
                "\(row["count"]) tombstones are older than the validity of change tokens.",
                meaning: "The table _tombstone grows, and ids of deleted records are kept for too long.",
                remedy: "Run the service, which deletes them within an hour."
            )
        default:
            nil
        }
    }

    private static let following =
        "While the type has more than 10,000 records, changes:fetch cannot resume from change tokens."

    private static func judgeServer(_ row: DoctorRow) -> DoctorFinding? {
        if row["wal_level"] != "logical" {
            return DoctorFinding(
                .warning,
                "wal_level is \(row["wal_level"]).",
                meaning: polling,
                remedy: "Set it to logical, which needs a restart of PostgreSQL and does not slow down writes.",
                commands: ["ALTER SYSTEM SET wal_level = logical;"]
            )
        }
        for (what, setting) in [("slots", "max_replication_slots"), ("senders", "max_wal_senders")] {
            let (limit, used) = (row.integer(what), row.integer("\(what)_used"))
            guard used >= limit else { continue }
            return DoctorFinding(
                .warning,
                "\(used) of \(limit) \(what == "slots" ? "replication slots" : "WAL senders") are in use.",
                meaning: "A service that starts now cannot get one. \(polling)",
                remedy: "Raise the limit, which needs a restart of PostgreSQL. A running service uses one.",
                commands: ["ALTER SYSTEM SET \(setting) = \(max(20, limit * 2));"]
            )
        }
        return nil
    }
}
