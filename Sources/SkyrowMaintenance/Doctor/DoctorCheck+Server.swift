internal import SkyrowPostgres

// Checks of the server and its settings.

extension DoctorCheck {
    package static let server = DoctorCheck(
        "server",
        "PostgreSQL's version and encoding",
        queries: { _ in
            [
                """
                SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
                    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby
                """
            ]
        },
        judge: { rows, _ in
            var findings: [DoctorFinding] = []
            for row in rows {
                if row.integer("number") < 140_000 {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "PostgreSQL is of version \(row["version"]).",
                            meaning: "Skyrow's own functions need version 14.",
                            remedy: "Upgrade it, with pg_upgrade or by dump and restore."
                        )
                    )
                }
                if row["encoding"] != "UTF8" {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "The database is encoded in \(row["encoding"]).",
                            meaning:
                                "Texts of clients that have other characters are refused, and login keys cannot be compared.",
                            remedy: "Dump it, make one in UTF-8, and restore into that.",
                            commands: ["CREATE DATABASE skyrow ENCODING 'UTF8' TEMPLATE template0;"]
                        )
                    )
                }
                if row.flag("standby") {
                    findings.append(
                        DoctorFinding(
                            .error,
                            "The server is a standby.",
                            meaning: "Nothing can be saved, and nobody can log in.",
                            remedy:
                                "Give the service the address of the primary; target_session_attrs=read-write finds it."
                        )
                    )
                }
            }
            return findings
        }
    )

    package static let durability = DoctorCheck(
        "durability",
        "What a crash may cost",
        queries: { _ in
            [
                """
                SELECT name, setting FROM pg_catalog.pg_settings
                WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'data_checksums', 'zero_damaged_pages',
                    'ignore_checksum_failure')
                ORDER BY name
                """
            ]
        },
        judge: { rows, _ in rows.compactMap(judgeDurability) }
    )

    private static func judgeDurability(_ row: DoctorRow) -> DoctorFinding? {
        switch (row["name"], row["setting"]) {
        case ("fsync", "off"):
            return .switchedOff(row["name"], .error, meaning: "A crash of the machine can destroy the whole database.")
        case ("full_page_writes", "off"):
            return .switchedOff(
                row["name"],
                .error,
                meaning: "A crash of the machine can leave pages that are half written.",
                remedy: "Switch it on, unless the file system writes pages as a whole."
            )
        case ("synchronous_commit", "off"):
            return .switchedOff(
                row["name"],
                .error,
                meaning: "What was acknowledged to clients in the last moments before a crash is lost."
            )
        case ("data_checksums", "off"):
            return DoctorFinding(
                .warning,
                "Data checksums are off.",
                meaning: "A disk that damages data is not noticed.",
                remedy: "Switch them on while the server is stopped; that reads all data once.",
                commands: ["$ pg_checksums --enable --progress -D <data directory>"]
            )
        case ("zero_damaged_pages", "on"), ("ignore_checksum_failure", "on"):
            return DoctorFinding(
                .error,
                "\(row["name"]) is on.",
                meaning: "Damaged data is passed over in silence.",
                remedy: "Switch it off as soon as what it was meant for is done.",
                commands: ["ALTER SYSTEM RESET \(row["name"]);", "SELECT pg_reload_conf();"]
            )
        default:
            return nil
        }
    }

    package static let connections = DoctorCheck(
        "connections",
        "Room for connections",
        queries: { _ in
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
        judge: { rows, limits in
            rows.compactMap { row in
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
                    meaning: "When there are no more, requests wait ten seconds and are then refused with 135.",
                    remedy: "Allow more, which takes a restart of PostgreSQL, or give the service fewer "
                        + "(--maximum-write-connections and its like).",
                    commands: ["ALTER SYSTEM SET max_connections = \(max(maximum, row.integer("maximum") * 2));"]
                )
            }
        }
    )

    package static let memory = DoctorCheck(
        "memory",
        "PostgreSQL's cache beside the machine's memory",
        queries: { _ in
            [
                """
                SELECT pg_size_bytes(current_setting('shared_buffers')) AS buffers,
                    pg_database_size(current_database()) AS data
                """
            ]
        },
        judge: { rows, limits in
            rows.compactMap { row in
                guard let memory = limits.machineMemory, memory > 0 else { return nil }
                let buffers = row.integer("buffers")
                let advice = min(memory / 4, 8 << 30) >> 20
                let command = "ALTER SYSTEM SET shared_buffers = '\(advice)MB';"
                if buffers > memory / 2 {
                    return DoctorFinding(
                        .warning,
                        "shared_buffers takes \(buffers >> 20) MB of the machine's \(memory >> 20) MB.",
                        meaning: "Too little is left for everything else, and the system may end PostgreSQL.",
                        remedy: "Take a quarter of the memory; that takes a restart of PostgreSQL.",
                        commands: [command]
                    )
                }
                guard row.integer("data") > buffers * 4, buffers < memory / 16, buffers < 1 << 30 else { return nil }
                return DoctorFinding(
                    .warning,
                    "shared_buffers is \(buffers >> 20) MB for \(row.integer("data") >> 20) MB of data, on a machine with "
                        + "\(memory >> 20) MB.",
                    meaning: "Pages are copied from the system's cache again and again.",
                    remedy: "Give it up to a quarter of the memory; that takes a restart of PostgreSQL.",
                    commands: [command]
                )
            }
        }
    )
}
