internal import SkyrowModel
internal import SkyrowPostgres

/// A number for each relation of the application's schema, which changes with everything about it that the catalog holds. Used to
/// find changes without a notification.
struct SchemaVersions: Hashable, Sendable {
    let numbers: [String: Int64]

    /// The types that have changed; nil if none has.
    ///
    /// - Parameter known: The types of the cached catalog. One that came after the old numbers were read, and has gone since, is
    ///   in neither of them.
    func changes(since old: SchemaVersions, known: some Sequence<RecordTypeName> = []) -> CatalogPart? {
        let names = Set(numbers.keys).union(old.numbers.keys).filter { numbers[$0] != old.numbers[$0] }
        let types = Set(names.compactMap { try? RecordTypeName($0) }).union(
            known.lazy.filter { numbers[$0.rawValue] == nil }
        )
        return types.isEmpty ? nil : .types(types)
    }

    /// Reads the numbers. Every change of a row in PostgreSQL's catalogs gives it a new `xmin`.
    static func load(from client: PostgresClient, of schema: SQLIdentifier) async throws -> SchemaVersions {
        let result = try await client.read(
            """
            WITH relation AS MATERIALIZED (
                SELECT oid, relname, xmin::text AS version FROM pg_catalog.pg_class
                WHERE relnamespace = \(schema.namespace)
                    AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT starts_with(relname, '_')
            ), part AS (
                SELECT oid, hashtext(version) AS number FROM relation
                UNION ALL
                SELECT attrelid, hashtext(concat_ws(' ', attnum, xmin)) FROM pg_catalog.pg_attribute
                WHERE attrelid IN (SELECT oid FROM relation) AND attnum > 0
                UNION ALL
                SELECT conrelid, hashtext(concat_ws(' ', rule.oid, rule.xmin, target.relname))
                FROM pg_catalog.pg_constraint AS rule
                LEFT JOIN pg_catalog.pg_class AS target ON target.oid = confrelid
                WHERE conrelid IN (SELECT oid FROM relation)
                UNION ALL
                -- What the ids of an array refer to (ArrayColumn).
                SELECT conrelid, hashtext(concat_ws(' ', rule.oid, target.relname))
                FROM pg_catalog.pg_constraint AS rule
                JOIN pg_catalog.pg_depend ON classid = 'pg_constraint'::regclass AND objid = rule.oid
                    AND refclassid = 'pg_class'::regclass AND refobjsubid = 0
                JOIN pg_catalog.pg_class AS target ON target.oid = refobjid
                WHERE contype = 'c' AND conrelid IN (SELECT oid FROM relation)
                UNION ALL
                SELECT indrelid, hashtext(concat_ws(' ', indexrelid, indisvalid, relname))
                FROM pg_catalog.pg_index JOIN pg_catalog.pg_class ON pg_class.oid = indexrelid
                WHERE indrelid IN (SELECT oid FROM relation)
            )
            SELECT relname::text, sum(number)::bigint FROM relation JOIN part USING (oid) GROUP BY relname
            """
        )
        let names: [String] = try result.decodeColumn(0)
        let numbers: [Int64] = try result.decodeColumn(1)
        return SchemaVersions(numbers: Dictionary(zip(names, numbers)) { first, _ in first })
    }
}
