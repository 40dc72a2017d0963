internal import SkyrowPostgres

// Checks of PostgreSQL's background work.

extension DoctorCheck {
    package static let autovacuum = DoctorCheck(
        "autovacuum",
        "Autovacuum",
        .query { scope in
            """
            SELECT 'setting' AS kind, name, setting AS value, '0' AS alive
            FROM pg_catalog.pg_settings
            WHERE name IN ('autovacuum', 'track_counts') AND setting = 'off'
            UNION ALL
            SELECT 'switched-off', oid::regclass::text, '', '0' FROM pg_catalog.pg_class
            WHERE relnamespace IN \(scope.namespaces)
                AND array_to_string(reloptions, ' ') ~ 'autovacuum_enabled=(false|off|no|0)'
            UNION ALL
            SELECT 'dead', relid::regclass::text, n_dead_tup::text, n_live_tup::text
            FROM pg_catalog.pg_stat_user_tables
            WHERE schemaname IN \(scope.schema.bothNames) AND n_dead_tup > \(Int64(scope.limits.deadRows))
            ORDER BY 1, 2
            """
        },
        finding: { row, limits in
            switch row["kind"] {
            case "setting":
                return .switchedOff(
                    row["name"],
                    .error,
                    meaning:
                        "Dead rows accumulate, statistics become stale, and PostgreSQL eventually stops accepting writes."
                )
            case "switched-off":
                return DoctorFinding(
                    .warning,
                    "Autovacuum is disabled for \(row["name"]).",
                    meaning: "Its dead rows accumulate, and its statistics become stale.",
                    remedy: "Enable it.",
                    commands: ["ALTER TABLE \(row["name"]) RESET (autovacuum_enabled);"]
                )
            default:
                let dead = row.integer("value")
                let alive = row.integer("alive")
                guard dead > limits.deadRows, Double(dead) > Double(alive) * limits.deadRatio else { return nil }
                return DoctorFinding(
                    .warning,
                    "\(row["name"]) has \(dead) dead rows and \(alive) live rows.",
                    meaning:
                        "Reads have to skip them; autovacuum does not keep up, or an old transaction holds it back.",
                    remedy: "Vacuum it, after checking for long transactions.",
                    commands: ["VACUUM (ANALYZE) \(row["name"]);"]
                )
            }
        }
    )

    package static let wraparound = DoctorCheck(
        "wraparound",
        "Age of transaction ids",
        .query { scope in
            """
            SELECT oid::regclass::text AS name, greatest(age(relfrozenxid), mxid_age(relminmxid)) AS age
            FROM pg_catalog.pg_class
            WHERE relkind IN ('r', 't', 'm') AND relfrozenxid <> '0'
                AND greatest(age(relfrozenxid), mxid_age(relminmxid)) > \(Int64(scope.limits.oldTransactions))
            ORDER BY 2 DESC LIMIT 5
            """
        },
        finding: { row, limits in
            let age = row.integer("age")
            guard age > limits.oldTransactions else { return nil }
            return DoctorFinding(
                age > limits.ancientTransactions ? .error : .warning,
                "\(row["name"]) has not been frozen for \(age) transactions.",
                meaning: "At 2 147 million PostgreSQL stops accepting writes.",
                remedy: "Vacuum it; if that does not help, an old transaction, a prepared one or a replication slot "
                    + "holds it back.",
                commands: ["VACUUM (FREEZE, VERBOSE) \(row["name"]);"]
            )
        }
    )

    package static let tracking = DoctorCheck(
        "tracking",
        "Activity statistics of PostgreSQL",
        // The autovacuum check covers track_counts.
        .query { _ in "SELECT name, setting FROM pg_catalog.pg_settings WHERE name = 'track_activities'" },
        finding: { row, _ in
            guard row["setting"] == "off" else { return nil }
            return .switchedOff(
                row["name"],
                .warning,
                meaning: "The activity of the server is not visible, not even to this doctor."
            )
        }
    )
}

extension DoctorFinding {
    /// A server setting that is off and can be switched on without a restart.
    static func switchedOff(
        _ setting: String,
        _ severity: Severity,
        meaning: String,
        remedy: String = "Enable it."
    ) -> DoctorFinding {
        DoctorFinding(
            severity,
            "\(setting) is off.",
            meaning: meaning,
            remedy: remedy,
            commands: ["ALTER SYSTEM SET \(setting) = on;", "SELECT pg_reload_conf();"]
        )
    }
}
