package import SkyrowModel
package import SkyrowPostgres

/// A row of the reserved table `_index`, with the state of the relation of its name.
package struct IndexRow: Hashable, Sendable {
    package struct Key: Hashable, Sendable {
        package var schema: SQLIdentifier
        package var name: String
    }

    package var schema: SQLIdentifier
    package var name: String
    /// The stored record type; for an index not created by the service it may be any name.
    package var type: String
    /// nil for an index not created by the service.
    package var definition: IndexDefinition?
    package var record: IndexRecord
    package var observed: IndexRecord.Observation

    package var key: Key { Key(schema: schema, name: name) }

    /// The columns of the reserved table that ``init(_:row:from:)`` reads.
    static let columns: SQL = """
        item.name, item.type, item.kind, item.fields, item.is_unique, item.nulls_equal, item.state, item.attempts, \
        item.has_begun, item.reason, item.duplicates, item.sql_state
        """

    /// Reads ``columns``, starting at a column.
    init(_ result: PostgresResult, row: Int, in schema: SQLIdentifier, from first: Int = 0) throws(PostgresError) {
        self.schema = schema
        name = try result.decode(row: row, column: first)
        type = try result.decode(row: row, column: first + 1)
        record = IndexRecord(
            IndexRecord.State(rawValue: try result.decode(row: row, column: first + 6)) ?? .failed,
            attempts: Int(try result.decode(row: row, column: first + 7, as: Int32.self)),
            hasBegun: try result.decode(row: row, column: first + 8)
        )
        if let text = try result.decode(row: row, column: first + 9, as: String?.self) {
            record.failure = IndexFailure(
                IndexFailure.Reason(rawValue: text) ?? .error,
                duplicates: try result.decode(row: row, column: first + 10),
                sqlState: try result.decode(row: row, column: first + 11)
            )
        }
        observed = .absent
        guard let kind = try result.decode(row: row, column: first + 2, as: String?.self).flatMap(IndexKind.init),
            let type = try? RecordTypeName(type)
        else { return }
        definition = IndexDefinition(
            of: type,
            try result.decode(row: row, column: first + 3, as: [String].self).compactMap { IndexField(text: $0) },
            kind: kind,
            isUnique: try result.decode(row: row, column: first + 4),
            treatsNullsAsEqual: try result.decode(row: row, column: first + 5)
        )
    }

    /// Reads the rows of some schemas, the oldest first; a schema without the table has none.
    static func all(
        in schemas: [SQLIdentifier],
        _ query: (SQL) async throws -> PostgresResult
    ) async throws -> [IndexRow] {
        guard !schemas.isEmpty else { return [] }
        let prepared = try await query(
            """
            SELECT nspname::text FROM pg_catalog.pg_class
            JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
            WHERE relname = '_index' AND relkind = 'r' AND nspname = ANY (\(schemas.map { PostgresName($0.internal.name) }))
            """
        ).decodeColumn(0, as: String.self)
        let parts = schemas.filter { prepared.contains($0.internal.name) }.map { schema -> SQL in
            """
            SELECT \(columns), \(schema.name)::text AS schema, item.changed_at,
                CASE
                    WHEN relation.oid IS NULL THEN 'absent'
                    WHEN record_table.relname IS DISTINCT FROM item.type::name THEN 'other'
                    WHEN NOT indisvalid THEN 'invalid'
                    WHEN item.kind = 'text' AND \(TableIndex.isOutdated(wordsOf: "item.fields[1]")) THEN 'outdated'
                    ELSE 'valid'
                END AS observed
            FROM \(schema.internal)._index AS item
            LEFT JOIN pg_catalog.pg_class AS relation ON relation.relname = item.name::name
                AND relation.relnamespace = \(schema.namespace)
            LEFT JOIN pg_catalog.pg_index ON indexrelid = relation.oid
            LEFT JOIN pg_catalog.pg_class AS record_table ON record_table.oid = indrelid
            """
        }
        guard !parts.isEmpty else { return [] }
        let result = try await query(
            "SELECT * FROM (\(parts.joined(separator: " UNION ALL "))) AS found ORDER BY changed_at, schema, name"
        )
        return try (0..<result.rowCount).map { row in
            let schema = try SQLIdentifier(try result.decode(row: row, column: 12, as: String.self))
            var item = try IndexRow(result, row: row, in: schema)
            item.observed = IndexRecord.Observation(rawValue: try result.decode(row: row, column: 14)) ?? .other
            return item
        }
    }

    // MARK: Statements

    /// Writes ``record`` unless the row has changed; the result has a row if it was written.
    ///
    /// Notifies all processes to reload the type, so that they see an index that plans can use.
    func update(from old: IndexRecord) -> SQL {
        """
        WITH changed AS (
            UPDATE \(schema.internal)._index SET state = \(record.state.rawValue), attempts = \(Int32(record.attempts)),
                has_begun = \(record.hasBegun), reason = \(record.failure?.reason.rawValue as String?),
                duplicates = \(record.failure?.duplicates as Int64?), sql_state = \(record.failure?.sqlState as String?), changed_at = now()
            WHERE name = \(name) AND state = \(old.state.rawValue) AND attempts = \(Int32(old.attempts))
            RETURNING type
        )
        SELECT \(schema)._notify('schema', ' ' || type) FROM changed
        """
    }

    /// Deletes the row unless it has changed.
    var deletion: SQL {
        """
        WITH changed AS (
            DELETE FROM \(schema.internal)._index WHERE name = \(name) AND state = \(record.state.rawValue) RETURNING type
        )
        SELECT \(schema)._notify('schema', ' ' || type) FROM changed
        """
    }

    /// Selects a row unless it has changed.
    var look: SQL {
        """
        SELECT FROM \(schema.internal)._index
        WHERE name = \(name) AND state = \(record.state.rawValue) AND attempts = \(Int32(record.attempts))
        """
    }
}
