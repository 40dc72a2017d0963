internal import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// The properties of an application's schema that a backup needs.
package struct BackupSource: Hashable, Sendable {
    /// The version of the newest migration.
    package var schemaVersion: Int
    /// The server's major version.
    package var serverVersion: Int
    /// The extensions that indexes, columns or defaults of the schema depend on.
    package var extensions: [String]
    /// The tables whose rows an archive without sessions excludes: short-lived ones, and all tables that refer to them,
    /// whose rows could not be restored alone.
    package var momentary: [String]
    /// The number of stored files.
    package var files: Int

    /// Inspects the schema, read-only.
    ///
    /// Throws ``MigrationError`` if the schema is newer than this version of Skyrow, which may not cover all of its
    /// objects; ``BackupRefusal/nothing`` if there is no application; and `PostgresError`.
    package init(of schema: SQLIdentifier, client: PostgresClient, migrator: Migrator = Migrator()) async throws {
        serverVersion = try await BackupSource.serverVersion(client)
        let found = try await client.read(
            """
            SELECT nspname::text
            FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
            WHERE relname = '_migration'
                AND nspname IN \(schema.bothNames)
            """
        ).decodeColumn(0, as: String.self)
        guard !found.contains(schema.name) else { throw MigrationError.databaseIsOld }
        guard !found.isEmpty else { throw BackupRefusal.nothing }
        let versions = try await client.read("SELECT version FROM \(schema.internal)._migration").decodeColumn(
            0,
            as: Int32.self
        )
        schemaVersion = Int(versions.max() ?? 0)
        _ = try migrator.steps(for: Migrator.DatabaseState(versions: Set(versions.map(Int.init))))
        extensions = try await client.read(BackupSource.extensions(of: schema)).decodeColumn(0, as: String.self)
        momentary = try await client.read(BackupSource.momentary(of: schema)).decodeColumn(0, as: String.self)
        let stored = try await client.read("SELECT count(*) FROM \(schema.internal)._asset WHERE state = 'stored'")
        files = Int(try stored.decode(row: 0, column: 0, as: Int64.self))
    }

    /// Returns the server's major version.
    package static func serverVersion(_ client: PostgresClient) async throws -> Int {
        let result = try await client.read("SELECT current_setting('server_version_num')::int / 10000")
        return Int(try result.decode(row: 0, column: 0, as: Int32.self))
    }

    private static func namespaces(of schema: SQLIdentifier) -> SQL {
        """
        SELECT oid FROM pg_catalog.pg_namespace
        WHERE nspname IN \(schema.bothNames)
        """
    }

    /// A restored code would be valid again, a restored mail would be sent again, and a restored upload would have no bytes.
    private static func momentary(of schema: SQLIdentifier) -> SQL {
        """
        WITH RECURSIVE momentary (oid) AS (
            SELECT oid FROM pg_catalog.pg_class
            WHERE relnamespace = \(schema.internal.identifier.namespace)
                AND relname IN (
                    '_session', '_code', '_mail', '_pending_login', '_flow', '_live_ticket', '_upload'
                )
            UNION
            SELECT conrelid
            FROM momentary JOIN pg_catalog.pg_constraint ON confrelid = momentary.oid
            WHERE contype = 'f' AND connamespace IN (\(namespaces(of: schema)))
        )
        SELECT relname FROM momentary JOIN pg_catalog.pg_class USING (oid) ORDER BY relname
        """
    }

    /// Returns the extensions that objects of both schemas depend on.
    ///
    /// PostGIS is excluded: a restore creates it (``PostGIS``), and its dump would contain its table of reference
    /// systems, which only the owner may write.
    private static func extensions(of schema: SQLIdentifier) -> SQL {
        """
        WITH app AS MATERIALIZED (
            \(namespaces(of: schema))
        ), object (classid, objid) AS MATERIALIZED (
            SELECT 'pg_class'::regclass, oid FROM pg_catalog.pg_class WHERE relnamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_proc'::regclass, oid FROM pg_catalog.pg_proc WHERE pronamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_type'::regclass, oid FROM pg_catalog.pg_type WHERE typnamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_catalog.pg_constraint
                WHERE connamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_attrdef'::regclass, pg_attrdef.oid
                FROM pg_catalog.pg_attrdef JOIN pg_catalog.pg_class ON pg_class.oid = adrelid
                WHERE relnamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_rewrite'::regclass, pg_rewrite.oid
                FROM pg_catalog.pg_rewrite JOIN pg_catalog.pg_class ON pg_class.oid = ev_class
                WHERE relnamespace IN (SELECT oid FROM app)
            UNION ALL SELECT 'pg_trigger'::regclass, pg_trigger.oid
                FROM pg_catalog.pg_trigger JOIN pg_catalog.pg_class ON pg_class.oid = tgrelid
                WHERE relnamespace IN (SELECT oid FROM app)
        )
        SELECT DISTINCT extname
        FROM object
        JOIN pg_catalog.pg_depend AS use ON use.classid = object.classid AND use.objid = object.objid
        JOIN pg_catalog.pg_depend AS part
            ON part.classid = use.refclassid AND part.objid = use.refobjid AND part.deptype = 'e'
        JOIN pg_catalog.pg_extension ON part.refclassid = 'pg_extension'::regclass AND pg_extension.oid = part.refobjid
        WHERE extname NOT IN ('plpgsql', 'postgis')
        ORDER BY extname
        """
    }
}

/// Why a backup or restore is refused.
package enum BackupRefusal: Error, Hashable, Sendable {
    /// The schema has no application.
    case nothing
    /// The schemas contain these tables or other objects.
    case isNotEmpty([String])
    /// A service that serves the schema is connected.
    case isServed
    /// These objects outside of the schema would be dropped with it.
    case othersDepend([String])
}
