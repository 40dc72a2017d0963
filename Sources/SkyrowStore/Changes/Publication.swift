package import SkyrowPostgres

/// The publication that live queries follow, such as `skyrow_app`: every record table of an application, and the tombstones.
package struct Publication: Hashable, Sendable {
    package let name: SQLIdentifier
    /// PostgreSQL's error message for the right that the role lacks; nil when every table is in the publication.
    package let refusal: String?

    /// Creates a missing publication, and adds the record tables that psql created.
    ///
    /// A stream of changes calls it before it creates its slot, since a slot does not see a publication created after it.
    ///
    /// - Throws: ``PostgresError``. A missing right of the role is not an error.
    package static func prepare(of schema: SQLIdentifier, by client: PostgresClient) async throws -> Publication {
        let result = try await client.write("SELECT \(schema)._publication_name(), \(schema)._publish()")
        return Publication(
            name: try SQLIdentifier(try result.decode(row: 0, column: 0, as: String.self)),
            refusal: try result.decode(row: 0, column: 1)
        )
    }

    /// The record tables of which every change is published: the oid of the membership by the oid of the table.
    ///
    /// A table that left the publication and came back has another membership. A table that is renamed keeps its own.
    ///
    /// - Throws: ``PostgresError``.
    static func members(of schema: SQLIdentifier, by client: PostgresClient) async throws -> [UInt32: UInt32] {
        let result = try await client.read(
            """
            SELECT prrelid, member.oid FROM pg_catalog.pg_publication_rel AS member
            JOIN pg_catalog.pg_class ON pg_class.oid = prrelid
            WHERE \(isWhole(in: schema)) AND relnamespace = \(schema.namespace)
            """
        )
        let tables: [PostgresOID] = try result.decodeColumn(0)
        let memberships: [PostgresOID] = try result.decodeColumn(1)
        return Dictionary(zip(tables.map(\.rawValue), memberships.map(\.rawValue))) { first, _ in first }
    }

    /// Whether a row of `pg_publication_rel`, aliased `member`, publishes every change of its table, like those that
    /// `_unpublished` skips.
    static func isWhole(in schema: SQLIdentifier) -> SQL {
        """
        to_jsonb(member) ->> 'prqual' IS NULL AND to_jsonb(member) ->> 'prattrs' IS NULL AND member.prpubid IN (
            SELECT oid FROM pg_catalog.pg_publication WHERE pubname = \(schema)._publication_name()
                AND pubinsert AND pubupdate AND pubdelete AND pubtruncate
        )
        """
    }

    /// Drops the publications with tables of an application that is about to be dropped, if the role may drop them.
    static func drop(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        let names = try await transaction.query(
            """
            SELECT pubname::text FROM pg_catalog.pg_publication
            WHERE starts_with(pubname, 'skyrow_') AND pg_catalog.pg_has_role(pubowner, 'USAGE') AND EXISTS (
                SELECT FROM pg_catalog.pg_publication_rel
                JOIN pg_catalog.pg_class ON pg_class.oid = prrelid
                JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
                WHERE prpubid = pg_publication.oid
                    AND nspname IN (\(PostgresName(schema.name)), \(PostgresName(schema.internal.name)))
            )
            """
        ).decodeColumn(0, as: String.self)
        for name in names { try await transaction.execute("DROP PUBLICATION IF EXISTS \(try SQLIdentifier(name))") }
    }
}
