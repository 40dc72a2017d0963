internal import SkyrowPostgres

// What goes on at this moment, and what PostgreSQL does in the background.

extension DoctorCheck {
    package static let autovacuum = DoctorCheck(
        "autovacuum",
        "Clearing away what is dead",
        queries: { scope in
            [
                """
                SELECT 'setting' AS kind, name, setting AS value, '0' AS alive
                FROM pg_catalog.pg_settings
                WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'
                UNION ALL
                SELECT 'switched-off', oid::regclass::text, '', '0' FROM pg_catalog.pg_class
                WHERE relnamespace = \(scope.namespace)
                    AND array_to_string(reloptions, ' ') ~ 'autovacuum_enabled=(false|off|no|0)'
                UNION ALL
                SELECT 'dead', relid::regclass::text, n_dead_tup::text, n_live_tup::text
                FROM pg_catalog.pg_stat_user_tables
                WHERE schemaname = \(PostgresName(scope.schema.name)) AND n_dead_tup > \(Int64(scope.limits.deadRows))
                ORDER BY 1, 2
                """
            ]
        },
        judge: { rows, limits in
            rows.compactMap { row in
                switch row["kind"] {
                case "setting":
                    return DoctorFinding(
                        .error,
                        "\(row["name"]) is off.",
                        meaning: "Dead rows pile up, plans grow old, and in the end PostgreSQL stops to take writes.",
                        remedy: "Switch it on.",
                        commands: ["ALTER SYSTEM SET \(row["name"]) = on;", "SELECT pg_reload_conf();"]
                    )
                case "switched-off":
                    return DoctorFinding(
                        .warning,
                        "Autovacuum is switched off for \(row["name"]).",
                        meaning: "Its dead rows pile up, and its statistics grow old.",
                        remedy: "Switch it on.",
                        commands: ["ALTER TABLE \(row["name"]) RESET (autovacuum_enabled);"]
                    )
                default:
                    let dead = row.integer("value")
                    let alive = row.integer("alive")
                    guard dead > limits.deadRows, Double(dead) > Double(alive) * limits.deadRatio else { return nil }
                    return DoctorFinding(
                        .warning,
                        "\(row["name"]) has \(dead) dead rows beside \(alive).",
                        meaning:
                            "Reads pass over them; autovacuum does not keep up, or an old transaction holds it back.",
                        remedy: "Vacuum it, after a look at long transactions.",
                        commands: ["VACUUM (ANALYZE) \(row["name"]);"]
                    )
                }
            }
        }
    )

    package static let wraparound = DoctorCheck(
        "wraparound",
        "The age of transaction ids",
        queries: { scope in
            [
                """
                SELECT oid::regclass::text AS name, greatest(age(relfrozenxid), mxid_age(relminmxid)) AS age
                FROM pg_catalog.pg_class
                WHERE relkind IN ('r', 't', 'm') AND relfrozenxid <> '0'
                    AND greatest(age(relfrozenxid), mxid_age(relminmxid)) > \(Int64(scope.limits.oldTransactions))
                ORDER BY 2 DESC LIMIT 5
                """
            ]
        },
        judge: { rows, limits in
            rows.compactMap { row in
                let age = row.integer("age")
                guard age > limits.oldTransactions else { return nil }
                return DoctorFinding(
                    age > limits.ancientTransactions ? .error : .warning,
                    "\(row["name"]) has not been frozen for \(age) transactions.",
                    meaning: "At 2 147 million PostgreSQL stops to take writes.",
                    remedy:
                        "Vacuum it; if that does not help, an old transaction, a prepared one or a replication slot "
                        + "holds it back.",
                    commands: ["VACUUM (FREEZE, VERBOSE) \(row["name"]);"]
                )
            }
        }
    )

    package static let transactions = DoctorCheck(
        "transactions",
        "Old transactions",
        queries: { scope in
            [
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
            ]
        },
        judge: { rows, limits in rows.compactMap { judgeTransaction($0, limits) } }
    )

    private static func judgeTransaction(_ row: DoctorRow, _ limits: DoctorLimits) -> DoctorFinding? {
        let seconds = row.integer("seconds")
        let meaning = "Dead rows cannot be cleared away, and readers who catch up wait for it."
        switch row["kind"] {
        case "idle":
            guard seconds > limits.idleTransaction else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["who"]) (process \(row["id"])) has been idle in a transaction for \(seconds) s.",
                meaning: meaning,
                remedy: "Have its program commit, or end it.",
                commands: ["SELECT pg_terminate_backend(\(row["id"]));"]
            )
        case "long":
            guard seconds > limits.longTransaction else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["who"]) (process \(row["id"])) has been in one transaction for \(seconds) s.",
                meaning: meaning,
                remedy: "See what it does, and end it if that is not wanted.",
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
                remedy: "Commit it or roll it back, whatever its program wanted.",
                commands: ["ROLLBACK PREPARED \(row["id"]);"]
            )
        default:
            return DoctorFinding(
                .warning,
                "The replication slot \(row["id"]) (\(row["who"])) has no reader.",
                meaning: "PostgreSQL keeps everything that was written since for it, until the disk is full.",
                remedy: "Start its reader, or drop the slot.",
                commands: ["SELECT pg_drop_replication_slot(\(row["id"]));"]
            )
        }
    }

    package static let locks = DoctorCheck(
        "locks",
        "Waiting for locks",
        queries: { _ in
            [
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
            ]
        },
        judge: { rows, limits in
            rows.compactMap { row in
                guard row.integer("seconds") > limits.lockWait else { return nil }
                let place = row["relation"].isEmpty ? "" : " on \(row["relation"])"
                return DoctorFinding(
                    .warning,
                    "Process \(row["waiting"]) has been waiting for a lock\(place) for \(row["seconds"]) s, held by "
                        + "\(row["blocking"]).",
                    meaning: "Requests that need the same rows or table wait as well.",
                    remedy: "See what holds it, and end that if it is not wanted.",
                    commands: [
                        "SELECT pid, state, query FROM pg_stat_activity WHERE pid IN (\(row["blocking"]));",
                        "SELECT pg_terminate_backend(pid) FROM unnest(ARRAY[\(row["blocking"])]) AS pid;",
                    ]
                )
            }
        }
    )

    package static let tracking = DoctorCheck(
        "tracking",
        "What PostgreSQL writes down about itself",
        queries: { _ in
            [
                """
                SELECT name, setting FROM pg_catalog.pg_settings
                WHERE name IN ('track_activities', 'track_counts') ORDER BY name
                """
            ]
        },
        judge: { rows, _ in
            rows.filter { $0["setting"] == "off" }.map { row in
                DoctorFinding(
                    .warning,
                    "\(row["name"]) is off.",
                    meaning: "Nobody can see what the server does, this doctor neither.",
                    remedy: "Switch it on.",
                    commands: ["ALTER SYSTEM SET \(row["name"]) = on;", "SELECT pg_reload_conf();"]
                )
            }
        }
    )
}

extension String {
    fileprivate var lowercasedFirst: String { prefix(1).lowercased() + dropFirst() }
}
