internal import SkyrowPostgres

/// Where the database can name files: the columns with a foreign key to `_asset`, and the columns with JSON.
///
/// Read from PostgreSQL and not from the service's catalog, which may be some seconds old and has no tables that are not record
/// types. A file that only such a table refers to is kept, too.
struct AssetReferences: Sendable {
    /// A column with a foreign key to `_asset`.
    struct Column: Sendable {
        let table: SQL
        let name: SQLIdentifier
    }

    /// The JSON columns of a table.
    struct Documents: Sendable {
        let table: SQL
        /// Columns of the type `jsonb`.
        var values: [SQLIdentifier] = []
        /// Columns of the type `jsonb[]`.
        var arrays: [SQLIdentifier] = []
    }

    let columns: [Column]
    let documents: [Documents]

    /// Selects the names of the files in a JSON value: `{"$type": "asset", "$name": "…"}` at any depth.
    static let path: SQL = #"'strict $.** ? (@."$type" == "asset" && exists (@."$name"))."$name"'"#

    /// Reads them as a transaction sees them. An upload does not hold its file.
    init(to schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let keys = try await transaction.query(
            """
            SELECT DISTINCT nspname::text, relname::text, attname::text
            FROM pg_catalog.pg_constraint
            JOIN pg_catalog.pg_class ON pg_class.oid = conrelid
            JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
            JOIN pg_catalog.pg_attribute ON attrelid = conrelid AND conkey = ARRAY[attnum]
            WHERE contype = 'f' AND conparentid = 0 AND confrelid = (
                SELECT oid FROM pg_catalog.pg_class
                WHERE relname = '_asset' AND relnamespace = \(schema.internal.identifier.namespace)
            ) AND has_column_privilege(conrelid, attnum, 'SELECT')
                AND NOT (relname = '_upload' AND relnamespace = \(schema.internal.identifier.namespace))
            ORDER BY 1, 2, 3
            """
        )
        columns = try (0..<keys.rowCount).map { row in
            let home = try SQLIdentifier(keys.decode(row: row, column: 0, as: String.self))
            let table = try SQLIdentifier(keys.decode(row: row, column: 1, as: String.self))
            return Column(
                table: "\(home).\(table)",
                name: try SQLIdentifier(keys.decode(row: row, column: 2, as: String.self))
            )
        }
        let json = try await transaction.query(
            """
            SELECT relname::text, attname::text, atttypid = 'pg_catalog.jsonb[]'::regtype
            FROM pg_catalog.pg_class JOIN pg_catalog.pg_attribute ON attrelid = pg_class.oid
            WHERE relnamespace = \(schema.namespace) AND relkind IN ('r', 'p') AND NOT relispartition
                AND attnum > 0 AND NOT attisdropped AND NOT starts_with(attname, '_')
                AND atttypid IN ('pg_catalog.jsonb'::regtype, 'pg_catalog.jsonb[]'::regtype)
                AND has_column_privilege(pg_class.oid, attnum, 'SELECT')
            ORDER BY relname, attnum
            """
        )
        var documents: [Documents] = []
        var last: String?
        for row in 0..<json.rowCount {
            let name = try json.decode(row: row, column: 0, as: String.self)
            if last != name { documents.append(Documents(table: "\(schema).\(try SQLIdentifier(name))")) }
            last = name
            let column = try SQLIdentifier(json.decode(row: row, column: 1, as: String.self))
            if try json.decode(row: row, column: 2, as: Bool.self) {
                documents[documents.count - 1].arrays.append(column)
            } else {
                documents[documents.count - 1].values.append(column)
            }
        }
        self.documents = documents
    }

    /// Whether a foreign key refers to the file of this name; a lookup in the index of each column.
    func refer(to name: SQL) -> SQL {
        guard !columns.isEmpty else { return "false" }
        let tests = columns.map { column -> SQL in
            "EXISTS (SELECT FROM \(column.table) AS holder WHERE holder.\(column.name) = \(name))"
        }
        return "(\(tests.joined(separator: " OR ")))"
    }
}

extension AssetReferences.Documents {
    /// Selects the names of files in the JSON of each row: at least one row for each row of the table, with NULL for no file.
    ///
    /// The lookup in `_asset` is a sub-select, not a join, which PostgreSQL may make by reading all of `_asset` for each row.
    func names(in schema: SQLIdentifier) -> SQL {
        let found =
            values.map { "SELECT jsonb_path_query(holder.\($0), \(AssetReferences.path))" as SQL }
            + arrays.map {
                "SELECT jsonb_path_query(element, \(AssetReferences.path)) FROM unnest(holder.\($0)) AS element" as SQL
            }
        let isSet = (values + arrays).map { "holder.\($0) IS NOT NULL" as SQL }
        return """
            SELECT named.name FROM \(table) AS holder LEFT JOIN LATERAL (
                SELECT DISTINCT (
                    SELECT asset.name FROM \(schema.internal)._asset AS asset WHERE asset.name = found.value #>> '{}'
                ) AS name
                FROM (\(found.joined(separator: " UNION ALL "))) AS found (value)
            ) AS named ON true
            WHERE \(isSet.joined(separator: " OR "))
            """
    }
}
