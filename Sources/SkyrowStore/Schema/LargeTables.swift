package import SkyrowModel
package import SkyrowPostgres

/// What PostgreSQL does with all rows of a table for a change of it, while it keeps others from the table.
package enum RowWork: Hashable, Sendable {
    /// Rewrites each row.
    case rewriting
    /// Reads each row for an index.
    case indexing
    /// Reads each row for a constraint; one that is added as `NOT VALID` asks for the new rows only.
    case checking
}

/// Which tables are so large that others would wait too long while PostgreSQL reads or writes all of their rows.
package enum LargeTables {
    /// How many bytes a table has at most that is changed at once; it is rewritten within about 40 ms.
    package static let bound: Int64 = 1 << 20

    /// Those of some types, by the sizes of their files, which takes no look at their rows.
    package static func types(
        among types: Set<RecordTypeName>,
        in schema: SQLIdentifier,
        beyond bound: Int64,
        in transaction: PostgresTransaction
    ) async throws -> Set<RecordTypeName> {
        guard !types.isEmpty else { return [] }
        let names = types.sorted().map { PostgresName($0.rawValue) }
        let rows = try await transaction.query(
            """
            SELECT relname::text FROM pg_catalog.pg_class
            WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name)))
                AND relname = ANY (\(names)) AND CASE relkind
                    WHEN 'r' THEN pg_table_size(oid)
                    WHEN 'p' THEN (SELECT sum(pg_table_size(relid)) FROM pg_partition_tree(pg_class.oid))
                END > \(bound)
            """
        )
        return Set(try rows.decodeColumn(0, as: String.self).compactMap { try? RecordTypeName($0) })
    }
}
