package import SkyrowPostgres

/// The publication whose changes live queries follow, `skyrow_app`: every record table of an application is in it,
/// and the tombstones.
package struct Publication: Hashable, Sendable {
    package let name: SQLIdentifier
    /// PostgreSQL's sentence about what the role may not do; nil when every table is in the publication.
    package let refusal: String?

    /// Makes the publication where there is none, and adds the record tables that psql made.
    ///
    /// A stream of changes asks for it before it makes a slot: one that is made later is not seen by the slot.
    ///
    /// - Throws: ``PostgresError``. That the role lacks a right is no error.
    package static func prepare(of schema: SQLIdentifier, by client: PostgresClient) async throws -> Publication {
        let result = try await client.write("SELECT \(schema)._publication_name(), \(schema)._publish()")
        return Publication(
            name: try SQLIdentifier(try result.decode(row: 0, column: 0, as: String.self)),
            refusal: try result.decode(row: 0, column: 1)
        )
    }

    /// Drops the publications that have tables of a schema which is about to be dropped, as far as the role may.
    static func drop(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let names = try await transaction.query(
            """
            SELECT pubname::text FROM pg_catalog.pg_publication
            WHERE starts_with(pubname, 'skyrow_') AND pg_catalog.pg_has_role(pubowner, 'USAGE') AND EXISTS (
                SELECT FROM pg_catalog.pg_publication_rel
                JOIN pg_catalog.pg_class ON pg_class.oid = prrelid
                JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
                WHERE prpubid = pg_publication.oid AND nspname = \(PostgresName(schema.name))
            )
            """
        ).decodeColumn(0, as: String.self)
        for name in names {
            try await transaction.execute("DROP PUBLICATION IF EXISTS \(try SQLIdentifier(name))")
        }
    }
}
