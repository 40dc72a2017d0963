internal import SkyrowPostgres

// Checks for missing and superfluous indexes.

extension DoctorCheck {
    package static let foreignKeyIndexes = DoctorCheck(
        "foreign-key-indexes",
        "Indexes of references",
        .query { scope in
            """
            SELECT conrelid::regclass::text AS name, conname AS key,
                string_agg(quote_ident(attname), ', ' ORDER BY place) AS columns,
                confrelid::regclass::text AS target
            FROM pg_catalog.pg_constraint
            JOIN unnest(conkey) WITH ORDINALITY AS key (number, place) ON true
            JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND attnum = key.number
            WHERE contype = 'f' AND connamespace IN \(scope.namespaces)
                -- Those of the members of relations, whose names have a dot, are judged with these.
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE pg_class.oid = conrelid AND strpos(relname, '.') > 0)
                AND NOT EXISTS (
                    SELECT FROM pg_catalog.pg_index
                    WHERE indrelid = conrelid AND indisvalid AND indexprs IS NULL
                        AND (indkey::smallint[])[0:cardinality(conkey) - 1] @> conkey
                        AND (indpred IS NULL OR pg_get_expr(indpred, indrelid) LIKE '(% IS NOT NULL)')
                )
            GROUP BY conrelid, conname, confrelid ORDER BY 1, 2
            """
        },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "The reference \(row["columns"]) of \(row["name"]) has no index.",
                meaning: "Deleting a record of \(row["target"]) reads all of \(row["name"]), and so do queries for the "
                    + "records that refer to one.",
                remedy: "Create the index; CONCURRENTLY does not block writes.",
                commands: ["CREATE INDEX CONCURRENTLY ON \(row["name"]) (\(row["columns"]));"]
            )
        }
    )

    package static let sequentialScans = DoctorCheck(
        "sequential-scans",
        "Sequential scans of large tables",
        .query { scope in
            """
            SELECT relid::regclass::text AS name, n_live_tup AS alive, seq_scan AS scans, coalesce(idx_scan, 0) AS lookups,
                seq_tup_read / greatest(seq_scan, 1) AS rows_a_scan
            FROM pg_catalog.pg_stat_user_tables
            WHERE schemaname IN \(scope.schema.bothNames) AND n_live_tup >= \(Int64(scope.limits.bigTable))
            ORDER BY seq_tup_read DESC
            """
        },
        finding: { row, limits in
            let scans = row.integer("scans")
            guard row.integer("alive") >= limits.bigTable, scans >= limits.manyScans,
                scans * 10 > row.integer("lookups"), row.integer("rows_a_scan") * 2 > row.integer("alive")
            else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["name"]) with \(row["alive"]) rows was read completely \(scans) times, and by an index "
                    + "\(row["lookups"]) times.",
                meaning: "A frequent query has no index for its predicate or sort.",
                remedy:
                    "Find the query (pg_stat_statements lists queries by time), and create an index of its fields, here "
                    + "or in the schema file.",
                commands: ["CREATE INDEX CONCURRENTLY ON \(row["name"]) (<field>);"]
            )
        }
    )

    package static let unusedIndexes = DoctorCheck(
        "unused-indexes",
        "Unused indexes",
        .queries { scope in
            // Skyrow's own indexes serve queries that may not have run yet: newest of a database or owner, deletions, accounts.
            [
                """
                SELECT usage.indexrelid::regclass::text AS name, usage.relid::regclass::text AS relation,
                    pg_relation_size(usage.indexrelid) AS bytes, usage.idx_scan AS scans,
                    (extract(epoch FROM now() - coalesce(stats_reset, pg_postmaster_start_time())) / 86400)::float8 AS days
                FROM pg_catalog.pg_stat_user_indexes AS usage
                JOIN pg_catalog.pg_index ON pg_index.indexrelid = usage.indexrelid
                JOIN pg_catalog.pg_stat_database ON datname = current_database()
                WHERE usage.schemaname = \(PostgresName(scope.schema.name)) AND usage.idx_scan = 0 AND indisvalid
                    AND NOT indisunique AND NOT indisprimary AND NOT starts_with(usage.relname, '_')
                    AND pg_get_indexdef(usage.indexrelid) NOT LIKE '% (\\_database, \\_created\\_at)'
                    AND pg_get_indexdef(usage.indexrelid) NOT LIKE '% (\\_database, \\_revision)'
                    AND coalesce(pg_get_expr(indpred, indrelid), '') NOT LIKE '(% IS NOT NULL)'
                ORDER BY 3 DESC
                """
            ]
        },
        finding: { row, limits in
            guard row.integer("scans") == 0, row.integer("bytes") >= limits.bigIndex,
                row.number("days") >= limits.unusedDays
            else { return nil }
            return DoctorFinding(
                .warning,
                "The index \(row["name"]) of \(row["relation"]), \(row.integer("bytes") >> 20) MB, has not been used for "
                    + "\(Int(row.number("days"))) days.",
                meaning: "Every insert and many updates maintain it for no benefit.",
                remedy: "Drop it, unless a rare report or a standby needs it.",
                commands: ["DROP INDEX CONCURRENTLY \(row["name"]);"]
            )
        }
    )

    package static let duplicateIndexes = DoctorCheck(
        "duplicate-indexes",
        "Duplicate indexes",
        .query { scope in
            """
            SELECT indrelid::regclass::text AS relation,
                array_to_string(array_agg(indexrelid::regclass::text ORDER BY indisprimary DESC, indisunique DESC,
                    indexrelid), ' ') AS names,
                min(substring(pg_get_indexdef(indexrelid) FROM 'USING (.*)')) AS form
            FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indrelid
            WHERE relnamespace IN \(scope.namespaces) AND indisvalid
            GROUP BY indrelid, indkey::text, indclass::text, indcollation::text, indoption::text,
                pg_get_expr(indpred, indrelid), pg_get_expr(indexprs, indrelid), indnkeyatts
            HAVING count(*) > 1 ORDER BY 1, 2
            """
        },
        finding: { row, _ in
            // The first index backs a key constraint, if one of them does.
            let names = row["names"].split(separator: " ")
            guard let kept = names.first, names.count > 1 else { return nil }
            return DoctorFinding(
                .warning,
                "\(row["relation"]) has \(names.count) indexes of the form \(row["form"]).",
                meaning: "Every insert maintains all of them, and one is enough.",
                remedy: "Keep \(kept).",
                commands: names.dropFirst().map { "DROP INDEX CONCURRENTLY \($0);" }
            )
        }
    )

    /// Rows: `name`, `relation`, `reason` and `duplicates`.
    package static let failedIndexes = DoctorCheck(
        "failed-indexes",
        "Indexes that could not be built",
        needsTables: true,
        .observation { try await $0.failedIndexes() },
        finding: { row, _ in
            DoctorFinding(
                .warning,
                "The index \(row["name"]) of \(row["relation"]) was requested and could not be built: "
                    + "\(DoctorCheck.failure(of: row)).",
                meaning: "Queries cannot use it, and it does not enforce unique values.",
                remedy: "Fix the cause and send schema:index:create again, or withdraw the request with "
                    + "schema:index:delete."
            )
        }
    )

    private static func failure(of row: DoctorRow) -> String {
        switch row["reason"] {
        case "duplicate": "\(row["duplicates"]) values are not unique"
        case "too_long": "a stored text is too long for an index entry"
        case "cancelled": "its statement was cancelled"
        case "server_stopped": "the server or the service stopped three times during the build"
        case "deadlock": "it was in a deadlock three times"
        case "name_taken": "its name is in use"
        default: "PostgreSQL rejected it with \(row["sql_state"])"
        }
    }

    package static let invalidIndexes = DoctorCheck(
        "invalid-indexes",
        "Invalid indexes",
        .query { scope in
            """
            SELECT indexrelid::regclass::text AS name, indrelid::regclass::text AS relation, indisunique AS is_unique
            FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indrelid
            WHERE relnamespace IN \(scope.namespaces) AND NOT indisvalid
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_progress_create_index WHERE relid = indrelid)
            ORDER BY 1
            """
        },
        finding: { row, _ in
            DoctorFinding(
                .error,
                "The index \(row["name"]) of \(row["relation"]) is invalid.",
                meaning: "It is maintained but never used"
                    + (row.flag("is_unique") ? ", and does not enforce unique values." : "."),
                remedy: "Rebuild it, which fails again while rows violate it, or drop it.",
                commands: ["REINDEX INDEX CONCURRENTLY \(row["name"]);", "DROP INDEX CONCURRENTLY \(row["name"]);"]
            )
        }
    )
}

extension DoctorProbe {
    /// Returns the failed indexes, or an empty array for a schema that is not up to date, which another check reports.
    fileprivate func failedIndexes() async throws -> [DoctorRow] {
        let isThere = try await client.read(
            """
            SELECT FROM pg_catalog.pg_class WHERE relname = '_index' AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.internal.name))
            )
            """
        )
        guard !isThere.isEmpty else { return [] }
        let result = try await client.read(
            """
            SELECT name, type, coalesce(reason, ''), coalesce(duplicates::text, 'some'), coalesce(sql_state, '')
            FROM \(schema.internal)._index WHERE state = 'failed' ORDER BY name
            """
        )
        return try (0..<result.rowCount).map { row in
            DoctorRow([
                "name": try result.decode(row: row, column: 0), "relation": try result.decode(row: row, column: 1),
                "reason": try result.decode(row: row, column: 2), "duplicates": try result.decode(row: row, column: 3),
                "sql_state": try result.decode(row: row, column: 4),
            ])
        }
    }
}
