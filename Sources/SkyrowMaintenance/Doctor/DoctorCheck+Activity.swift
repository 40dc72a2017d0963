internal import SkyrowPostgres

// Checks of current activity: transactions and locks.

extension DoctorCheck {
    package static let transactions = DoctorCheck(
        "transactions",
        "Old transactions",
        .query { scope in
            """
            SELECT CASE WHEN state LIKE 'idle in transaction%' THEN 'idle' ELSE 'long' END AS kind, pid::text AS id,
                coalesce(nullif(application_name, ''), 'a session') || ' of ' || coalesce(usename, '?') AS who,
                extract(epoch FROM clock_timestamp()
                    - CASE WHEN state LIKE 'idle in transaction%' THEN state_change ELSE xact_start END)::bigint AS seconds
            FROM pg_catalog.pg_stat_activity
            WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND backend_type = 'client backend'
                AND datname = current_database()
            UNION ALL
            SELECT 'prepared', quote_literal(gid), owner::text,
                extract(epoch FROM clock_timestamp() - prepared)::bigint
            FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
            UNION ALL
            SELECT 'slot', quote_literal(slot_name), coalesce(plugin, 'physical'), 0
            FROM pg_catalog.pg_replication_slots WHERE NOT active AND NOT temporary
            ORDER BY 4 DESC
            """
        },
        finding: { judgeTransaction($0, $1) }
    )

    private static func judgeTransaction(_ row: DoctorRow, _ limits: DoctorLimits) -> DoctorFinding? {
        let seconds = row.integer("seconds")
        let meaning = "Dead rows cannot be removed, and clients that fetch changes wait for it."
        switch row["kind"] {
        case "idle":
            guard seconds > limits.idleTransaction else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["who"]) (process \(row["id"])) has been idle in a transaction for \(seconds) s.",
                meaning: meaning,
                remedy: "Make its program commit, or terminate it.",
                commands: ["SELECT pg_terminate_backend(\(row["id"]));"]
            )
        case "long":
            guard seconds > limits.longTransaction else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["who"]) (process \(row["id"])) has been in one transaction for \(seconds) s.",
                meaning: meaning,
                remedy: "Check what it does, and cancel it if it is not needed.",
                commands: [
                    "SELECT query FROM pg_stat_activity WHERE pid = \(row["id"]);",
                    "SELECT pg_cancel_backend(\(row["id"]));",
                ]
            )
        case "prepared":
            guard seconds > limits.idleTransaction else { return nil }
            return DoctorFinding(
                .warning,
                "The prepared transaction \(row["id"]) of \(row["who"]) has been waiting for \(seconds) s.",
                meaning: "It keeps its locks, and " + meaning.lowercasedFirst,
                remedy: "Commit it or roll it back, as its program intended.",
                commands: ["ROLLBACK PREPARED \(row["id"]);"]
            )
        default:
            return DoctorFinding(
                .warning,
                "The replication slot \(row["id"]) (\(row["who"])) has no consumer.",
                meaning: "PostgreSQL retains its WAL for the slot until the disk is full.",
                remedy: "Start its consumer, or drop the slot.",
                commands: ["SELECT pg_drop_replication_slot(\(row["id"]));"]
            )
        }
    }

    package static let locks = DoctorCheck(
        "locks",
        "Waiting for locks",
        .query { _ in
            """
            SELECT waiting.pid::text AS waiting, waiting.relation::regclass::text AS relation,
                extract(epoch FROM clock_timestamp() - waiting.waitstart)::bigint AS seconds,
                array_to_string(pg_blocking_pids(waiting.pid), ', ') AS blocking
            FROM pg_catalog.pg_locks AS waiting
            WHERE NOT waiting.granted AND waiting.waitstart IS NOT NULL AND waiting.database = (
                SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database()
            )
            ORDER BY 3 DESC LIMIT 20
            """
        },
        finding: { row, limits in
            guard row.integer("seconds") > limits.lockWait else { return nil }
            let place = row["relation"].isEmpty ? "" : " on \(row["relation"])"
            return DoctorFinding(
                .warning,
                "Process \(row["waiting"]) has been waiting for a lock\(place) for \(row["seconds"]) s, held by "
                    + "\(row["blocking"]).",
                meaning: "Requests that need the same rows or table also wait.",
                remedy: "Check what holds the lock, and terminate it if it is not needed.",
                commands: [
                    "SELECT pid, state, query FROM pg_stat_activity WHERE pid IN (\(row["blocking"]));",
                    "SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[\(row["blocking"])]) AS pid;",
                ]
            )
        }
    )
}

extension String {
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
