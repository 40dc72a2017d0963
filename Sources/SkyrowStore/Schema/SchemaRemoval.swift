package import SkyrowPostgres

/// Drops the schemas of an application with all that is in them, in several transactions: with its columns, indexes and triggers
/// a table takes dozens of locks, and a schema with a thousand tables takes more than PostgreSQL's lock table has.
package enum SchemaRemoval {
    /// Drops the existing schemas and what depends on them.
    ///
    /// Throws `PostgresError`. A part may be dropped by then, and the next call continues.
    package static func drop(_ schema: SQLIdentifier, client: PostgresClient) async throws {
        try await dropTables(of: schema, client: client)
        try await client.withTransaction { transaction in
            try await announceNothing(transaction)
            try await transaction.execute("DROP SCHEMA IF EXISTS \(schema), \(schema.internal) CASCADE")
        }
    }

    /// Drops the tables of an application, and what depends on them.
    package static func dropTables(of schema: SQLIdentifier, client: PostgresClient) async throws {
        var isDone = false
        while !isDone {
            isDone = try await client.withTransaction { transaction in
                try await announceNothing(transaction)
                let tables = try await transaction.query(
                    """
                    SELECT nspname::text, relname::text
                    FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
                    WHERE relkind IN ('r', 'p') AND NOT relispartition
                        AND nspname IN (\(PostgresName(schema.name)), \(PostgresName(schema.internal.name)))
                    ORDER BY nspname, relname LIMIT \(Int64(try await transaction.lockRoom() / locksPerTable))
                    """
                )
                if tables.isEmpty { return true }
                let names = try (0..<tables.rowCount).map { row -> SQL in
                    let home = try SQLIdentifier(try tables.decode(row: row, column: 0, as: String.self))
                    return "\(home).\(try SQLIdentifier(try tables.decode(row: row, column: 1, as: String.self)))"
                }
                try await transaction.execute("DROP TABLE \(names.joined(separator: ", ")) CASCADE")
                return false
            }
        }
    }

    /// Some tables have more triggers than record tables.
    private static let locksPerTable = 2 * Int(SchemaChange.locksPerDeletedType)

    private static func announceNothing(_ transaction: PostgresTransaction) async throws {
        _ = try await transaction.query("SELECT set_config('skyrow.announced', 'on', true)")
    }
}
