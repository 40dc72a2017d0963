package import SkyrowPostgres

/// Drops a PostgreSQL schema with all that is in it, in pieces: a table takes dozens of locks with its columns, indexes and
/// triggers, and a schema with a thousand of them more than PostgreSQL's lock table has room for.
package enum SchemaRemoval {
    /// Drops a schema if it is there; what depends on it goes with it.
    ///
    /// Throws `PostgresError`; a part may be gone then, and the next call goes on.
    package static func drop(_ schema: SQLIdentifier, client: PostgresClient) async throws {
        try await dropTables(of: schema, client: client)
        try await client.withTransaction { transaction in
            try await announceNothing(transaction)
            try await transaction.execute("DROP SCHEMA IF EXISTS \(schema) CASCADE")
        }
    }

    /// Drops the tables of a schema, and what depends on them.
    package static func dropTables(of schema: SQLIdentifier, client: PostgresClient) async throws {
        var isDone = false
        while !isDone {
            isDone = try await client.withTransaction { transaction in
                try await announceNothing(transaction)
                let tables = try await transaction.query(
                    """
                    SELECT relname FROM pg_catalog.pg_class
                    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = (
                        SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
                    )
                    ORDER BY relname LIMIT \(Int64(try await transaction.lockRoom() / locksPerTable))
                    """
                ).decodeColumn(0, as: String.self)
                if tables.isEmpty { return true }
                let names = try tables.map { "\(schema).\(try SQLIdentifier($0))" as SQL }.joined(separator: ", ")
                try await transaction.execute("DROP TABLE \(names) CASCADE")
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
