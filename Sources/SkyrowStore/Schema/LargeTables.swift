package import SkyrowModel
package import SkyrowPostgres

/// The work on all rows of a table that a change requires, while PostgreSQL locks the table.
package enum RowWork: Hashable, Sendable {
    /// Rewrites each row.
    case rewriting
    /// Reads each row for an index.
    case indexing
    /// Reads each row for a constraint; a constraint added as `NOT VALID` checks new rows only.
    case checking
}

/// The tables that are so large that others would wait too long while PostgreSQL reads or writes all of their rows.
package enum LargeTables {
    /// The largest size in bytes of a table that is changed at once; it is rewritten within about 40 ms.
    package static let bound: Int64 = 1 << 20

    /// Returns those types whose tables are larger than `bound`, by the sizes of their files, without reading rows.
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
            WHERE relnamespace = \(schema.namespace)
                AND relname = ANY (\(names)) AND CASE relkind
                    WHEN 'r' THEN pg_table_size(oid)
                    WHEN 'p' THEN (SELECT sum(pg_table_size(relid)) FROM pg_partition_tree(pg_class.oid))
                END > \(bound)
            """
        )
        return Set(try rows.decodeColumn(0, as: String.self).compactMap { try? RecordTypeName($0) })
    }
}
