internal import SkyrowPostgres

// Checks of the server and its settings.

extension DoctorCheck {
    package static let server = DoctorCheck(
        "server",
        "PostgreSQL's version and encoding",
        .query { _ in
            """
            SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
                current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby
            """
        },
        judge: { rows, _ in
            var findings: [DoctorFinding] = []
            for row in rows {
                if row.integer("number") < 140_000 {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "PostgreSQL has version \(row["version"]).",
                            meaning: "Skyrow needs version 14 or newer.",
                            remedy: "Upgrade it, with pg_upgrade or by dump and restore."
                        )
                    )
                }
                if row["encoding"] != "UTF8" {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "The encoding of the database is \(row["encoding"]).",
                            meaning:
                                "Text with characters outside of it is refused, and login keys cannot be compared.",
                            remedy: "Dump it, create a database in UTF-8, and restore into that.",
                            commands: ["CREATE DATABASE skyrow ENCODING 'UTF8' TEMPLATE template0;"]
                        )
                    )
                }
                if row.flag("standby") {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "The server is a standby.",
                            meaning: "Records cannot be saved, and no user can log in.",
                            remedy: "Set the address of the primary; target_session_attrs=read-write finds it."
                        )
                    )
                }
            }
            return findings
        }
    )

    package static let durability = DoctorCheck(
        "durability",
        "Durability",
        .query { _ in
            """
            SELECT name, setting FROM pg_catalog.pg_settings
            WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums', 'zero_damaged_pages',
                'ignore_checksum_failure')
            ORDER BY name
            """
        },
        finding: { row, _ in judgeDurability(row) }
    )

    private static func judgeDurability(_ row: DoctorRow) -> DoctorFinding? {
        switch (row["name"], row["setting"]) {
        case ("fsync", "off"):
            return .switchedOff(row["name"], .error, meaning: "A crash of the machine can destroy the whole database.")
        case ("full_page_writes", "off"):
            return .switchedOff(
                row["name"],
                .error,
                meaning: "A crash of the machine can leave partially written pages.",
                remedy: "Enable it, unless the file system writes pages atomically."
            )
        case ("synchronous_commit", "off"):
            return .switchedOff(
                row["name"],
                .error,
                meaning: "A crash loses writes that were acknowledged shortly before it."
            )
        case ("data_checksums", "off"):
            return DoctorFinding(
                .warning,
                "Data checksums are off.",
                meaning: "Data corruption on disk is not detected.",
                remedy: "Enable them while the server is stopped; that reads all data once.",
                commands: ["$ pg_checksums --enable --progress -D <data directory>"]
            )
        case ("zero_damaged_pages", "on"), ("ignore_checksum_failure", "on"):
            return DoctorFinding(
                .error,
                "\(row["name"]) is on.",
                meaning: "Damaged data is ignored silently.",
                remedy: "Disable it as soon as the recovery is complete.",
                commands: ["ALTER SYSTEM RESET \(row["name"]);", "SELECT pg_reload_conf();"]
            )
        default:
            return nil
        }
    }

    package static let connections = DoctorCheck(
        "connections",
        "Connection limit",
        .queries { _ in
            // Each service process listens on exactly one connection.
            [
                """
                SELECT current_setting('max_connections') AS maximum,
                    current_setting('superuser_reserved_connections')::int
                        + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved,
                    count(*) FILTER (WHERE datname = current_database()) AS used,
                    count(*) FILTER (WHERE datname <> current_database()) AS elsewhere,
                    count(*) FILTER (WHERE datname = current_database() AND query ~ '^LISTEN "skyrow_') AS services
                FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'
                """
            ]
        },
        finding: { row, limits in
            let room = row.integer("maximum") - row.integer("reserved") - row.integer("elsewhere")
            let services = max(row.integer("services"), 1)
            let needed = services * limits.connectionsOfAService
            let isFull = row.integer("used") >= room * 9 / 10
            guard isFull || needed > room else { return nil }
            let maximum = needed + row.integer("reserved") + row.integer("elsewhere") + 20
            return DoctorFinding(
                isFull ? .error : .warning,
                "\(row["used"]) of \(room) connections are in use, and \(services) running "
                    + "service\(services == 1 ? "" : "s") may open \(needed).",
                meaning: "When none are left, requests wait ten seconds and then fail with 135.",
                remedy: "Raise the limit, which needs a restart of PostgreSQL, or let the service use fewer "
                    + "(--maximum-write-connections and similar settings).",
                commands: ["ALTER SYSTEM SET max_connections = \(max(maximum, row.integer("maximum") * 2));"]
            )
        }
    )

    package static let memory = DoctorCheck(
        "memory",
        "Size of PostgreSQL's cache",
        .query { _ in
            """
            SELECT pg_size_bytes(current_setting('shared_buffers')) AS buffers,
                pg_database_size(current_database()) AS data
            """
        },
        finding: { row, limits in
            guard let memory = limits.machineMemory, memory > 0 else { return nil }
            let buffers = row.integer("buffers")
            let advice = min(memory / 4, 8 << 30) >> 20
            let command = "ALTER SYSTEM SET shared_buffers = '\(advice)MB';"
            if buffers > memory / 2 {
                return DoctorFinding(
                    .warning,
                    "shared_buffers takes \(buffers >> 20) MB of the machine's \(memory >> 20) MB.",
                    meaning: "Too little is left for everything else, and the kernel may kill PostgreSQL.",
                    remedy: "Set it to a quarter of the memory; that needs a restart of PostgreSQL.",
                    commands: [command]
                )
            }
            guard row.integer("data") > buffers * 4, buffers < memory / 16, buffers < 1 << 30 else { return nil }
            return DoctorFinding(
                .warning,
                "shared_buffers is \(buffers >> 20) MB for \(row.integer("data") >> 20) MB of data, on a machine with "
                    + "\(memory >> 20) MB.",
                meaning: "Pages are copied from the system's cache repeatedly.",
                remedy: "Set it to up to a quarter of the memory; that needs a restart of PostgreSQL.",
                commands: [command]
            )
        }
    )
}
