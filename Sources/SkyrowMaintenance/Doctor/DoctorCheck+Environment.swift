internal import SkyrowPostgres

// Checks of what texts, times and functions depend on outside PostgreSQL.

extension DoctorCheck {
    package static let timeZone = DoctorCheck(
        "time-zone",
        "Time zone of psql",
        .query { _ in
            """
            SELECT name, setting, quote_ident(current_database()) AS database
            FROM pg_catalog.pg_settings WHERE name = 'TimeZone'
            """
        },
        finding: { row, _ in
            guard
                !["UTC", "Etc/UTC", "GMT", "Etc/GMT", "Zulu", "Etc/Zulu", "UCT", "Etc/UCT"].contains(row["setting"])
            else { return nil }
            return DoctorFinding(
                .warning,
                "PostgreSQL's time zone is \(row["setting"]).",
                meaning: "psql shows and reads times in this zone, and the API in UTC; stored values are not affected.",
                remedy: "Set UTC for the database, if nothing relies on the other zone.",
                commands: ["ALTER DATABASE \(row["database"]) SET timezone = 'UTC';"]
            )
        }
    )

    package static let collations = DoctorCheck(
        "collations",
        "Collation versions",
        .queries { scope in
            // Databases do not record their collation version before PostgreSQL 15.
            let database: SQL =
                scope.serverVersion >= 150_000
                ? """
                SELECT 'database' AS kind, quote_ident(datname) AS name, datcollversion AS stored,
                    pg_database_collation_actual_version(oid) AS actual
                FROM pg_catalog.pg_database
                WHERE datname = current_database()
                    AND datcollversion <> pg_database_collation_actual_version(oid)
                UNION ALL
                """ : ""
            return [
                """
                \(database)
                SELECT 'collation', oid::regcollation::text, collversion, pg_collation_actual_version(oid)
                FROM pg_catalog.pg_collation
                WHERE collversion <> pg_collation_actual_version(oid) AND oid IN (
                    SELECT refobjid FROM pg_catalog.pg_depend WHERE refclassid = 'pg_collation'::regclass
                )
                """
            ]
        },
        finding: { row, _ in
            let isDatabase = row["kind"] == "database"
            return DoctorFinding(
                .error,
                "The \(isDatabase ? "database" : "collation") \(row["name"]) was created with version \(row["stored"]) of "
                    + "its library, and version \(row["actual"]) is installed.",
                meaning: "Indexes of text may miss rows, and unique ones may allow duplicates.",
                remedy: "Rebuild the indexes, then record the new version.",
                commands: [
                    "REINDEX DATABASE CONCURRENTLY;",
                    isDatabase
                        ? "ALTER DATABASE \(row["name"]) REFRESH COLLATION VERSION;"
                        : "ALTER COLLATION \(row["name"]) REFRESH VERSION;",
                ]
            )
        }
    )

    package static let extensions = DoctorCheck(
        "extensions",
        "Extensions and their versions",
        .query { _ in
            """
            SELECT quote_ident(extname) AS name, extversion AS installed, default_version AS available
            FROM pg_catalog.pg_extension LEFT JOIN pg_catalog.pg_available_extensions ON name = extname
            WHERE extversion IS DISTINCT FROM default_version ORDER BY extname
            """
        },
        finding: { row, _ in
            guard !row["available"].isEmpty else {
                return DoctorFinding(
                    .error,
                    "The extension \(row["name"]) is in use, but its files are missing on the server.",
                    meaning: "Calls of its functions fail, and a restore fails completely.",
                    remedy: "Install the package of the extension for this version of PostgreSQL."
                )
            }
            return DoctorFinding(
                .warning,
                "The extension \(row["name"]) has version \(row["installed"]), and version \(row["available"]) is available.",
                meaning: "The library is newer than its definitions in the database.",
                remedy: "Update it.",
                commands: ["ALTER EXTENSION \(row["name"]) UPDATE;"]
            )
        }
    )
}
