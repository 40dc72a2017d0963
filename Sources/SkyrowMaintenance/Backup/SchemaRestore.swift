package import Logging
internal import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// An application's schema while a backup is put in its place; nothing is changed until that is complete.
///
/// Lent by ``restore(_:client:replacing:migrator:logger:_:)`` and not `Sendable`, like the transaction that it is.
package final class SchemaRestore {
    private let transaction: PostgresTransaction
    private let schema: SQLIdentifier

    private init(_ transaction: PostgresTransaction, _ schema: SQLIdentifier) {
        self.transaction = transaction
        self.schema = schema
    }

    /// Runs statements of a dump. They are what the operator chose to restore, and run with the operator's rights.
    package func run(_ script: String) async throws {
        if PostGIS.isNeeded(by: script) { _ = try await transaction.query(PostGIS.requirement) }
        if Trigrams.isNeeded(by: script) { _ = try await transaction.query(Trigrams.requirement) }
        try await transaction.executeScript(SQL(trustedText: script))
    }

    /// Runs a `COPY … FROM stdin` of a dump and returns how many rows went in.
    package func copy<Chunks: AsyncSequence>(_ statement: String, _ chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        try await transaction.copyIn(SQL(trustedText: statement), chunks: chunks)
    }

    /// Empties the schema, has `body` fill it, brings it up to date, and lets revisions grow on, in one transaction.
    ///
    /// - Parameter replacing: whether what is in the schema may go. Otherwise it must not be there yet, or hold nothing but
    ///   what a first start leaves.
    /// - Parameter keepingSessions: whether access tokens of the backup count; otherwise one that was given up after it would be
    ///   good again.
    ///
    /// Returns what was migrated. Throws ``BackupRefusal``, ``MigrationError``, `PostgresError`, and what `body` throws.
    package static func restore(
        _ schema: SQLIdentifier,
        client: PostgresClient,
        replacing: Bool,
        keepingSessions: Bool = false,
        migrator: Migrator = Migrator(),
        logger: Logger,
        _ body: (SchemaRestore) async throws -> Void
    ) async throws -> [Migrator.Step] {
        let steps = try await client.withTransaction(retries: 0) { transaction in
            try await transaction.lockSchema(schema)
            let place = RestorePlace(transaction, schema)
            try await place.refuseWhenServed()
            if !replacing { try await place.refuseUnlessEmpty() }
            try await place.clear()
            try await body(SchemaRestore(transaction, schema))
            let migration = MigrationRun(client: client, schema: schema, migrator: migrator, logger: logger)
            let steps = try await migration(in: transaction)
            // On the same cluster too: it may be a copy of the one that the archive is from.
            if !steps.contains(.rebaseRevisions) { try await migration.apply(.rebaseRevisions, in: transaction) }
            if !keepingSessions { try await endSessions(of: schema, in: transaction) }
            _ = try await transaction.query(
                "SELECT pg_notify('skyrow_schema', \(schema.name)), pg_notify('skyrow_session', \("\(schema.name)/all"))"
            )
            return steps
        }
        try await analyze(schema, client)
        return steps
    }

    /// Ends every session, code and log-in that waits, also of archives that others restore beside this one.
    private static func endSessions(of schema: SQLIdentifier, in transaction: PostgresTransaction) async throws {
        // All processes hear of it at once, and not of each account.
        try await transaction.executeScript(
            """
            ALTER TABLE \(schema)._session DISABLE TRIGGER USER;
            DELETE FROM \(schema)._session;
            ALTER TABLE \(schema)._session ENABLE TRIGGER USER;
            ALTER TABLE \(schema)._user DISABLE TRIGGER _announce;
            UPDATE \(schema)._user SET epoch = epoch + 1;
            ALTER TABLE \(schema)._user ENABLE TRIGGER _announce;
            """
        )
    }

    /// The planner has statistics of the rows at once and not when autovacuum comes by.
    private static func analyze(_ schema: SQLIdentifier, _ client: PostgresClient) async throws {
        let tables = try await client.read(
            """
            SELECT relname FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'm') AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            )
            """
        ).decodeColumn(0, as: String.self)
        for table in tables { _ = try await client.write("ANALYZE \(schema).\(try SQLIdentifier(table))") }
    }
}

/// The schema that a backup is to be put into.
private struct RestorePlace {
    let transaction: PostgresTransaction
    let schema: SQLIdentifier

    init(_ transaction: PostgresTransaction, _ schema: SQLIdentifier) {
        self.transaction = transaction
        self.schema = schema
    }

    private var relations: SQL {
        """
        SELECT pg_class.oid, relname, relkind FROM pg_catalog.pg_class
        WHERE relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name)))
        """
    }

    /// A service has connections whose names have the schema of its default application, and serves all that are
    /// registered besides.
    func refuseWhenServed() async throws {
        let isRegistered = try await ApplicationRegistry.isRegistered(schema, in: transaction)
        let served = try await transaction.query(
            """
            SELECT FROM pg_catalog.pg_stat_activity
            WHERE datname = current_database() AND (
                application_name = \(PostgresConfiguration.serviceName(of: schema))
                OR (\(isRegistered) AND starts_with(application_name, \(PostgresConfiguration.servicePrefix)))
            )
            LIMIT 1
            """
        )
        if !served.isEmpty { throw BackupRefusal.isServed }
    }

    /// What a first start leaves counts as nothing: the reserved tables and `user`, without accounts.
    func refuseUnlessEmpty() async throws {
        let others = try await transaction.query(
            """
            SELECT relname FROM (\(relations)) AS relation
            WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT starts_with(relname, '_') AND relname <> 'user'
            ORDER BY relname
            """
        ).decodeColumn(0, as: String.self)
        guard others.isEmpty else { throw BackupRefusal.isNotEmpty(others) }
        let reserved = try await transaction.query(
            """
            SELECT relname FROM (\(relations)) AS relation
            WHERE relkind IN ('r', 'p') AND relname NOT IN ('_migration', '_meta', '_role', '_secret', '_version')
            ORDER BY relname
            """
        ).decodeColumn(0, as: String.self)
        var filled: [String] = []
        for table in reserved {
            let rows = try await transaction.query("SELECT FROM \(schema).\(try SQLIdentifier(table)) LIMIT 1")
            if !rows.isEmpty { filled.append(table) }
        }
        guard filled.isEmpty else { throw BackupRefusal.isNotEmpty(filled) }
    }

    /// Leaves an empty schema.
    func clear() async throws {
        let name = PostgresName(schema.name)
        let contents = try await transaction.query(
            """
            SELECT namespace.oid, EXISTS (\(relations)) OR EXISTS (
                SELECT FROM pg_catalog.pg_proc WHERE pronamespace = namespace.oid
            ) OR EXISTS (SELECT FROM pg_catalog.pg_type WHERE typnamespace = namespace.oid)
            FROM pg_catalog.pg_namespace AS namespace WHERE nspname = \(name)
            """
        )
        if !contents.isEmpty {
            // An empty one stays, with whatever rights were given on it.
            guard try contents.decode(row: 0, column: 1, as: Bool.self) else { return }
            let dependents = try await dependents()
            guard dependents.isEmpty else { throw BackupRefusal.othersDepend(dependents) }
            try await transaction.execute("DROP SCHEMA \(schema) CASCADE")
        }
        try await transaction.execute("CREATE SCHEMA \(schema)")
    }

    /// Views of other schemas that show tables of this one, and tables there that refer to them.
    private func dependents() async throws -> [String] {
        // The views of policies show nothing but these tables, and applying policies makes them anew. A schema whose name is too long
        // for them has none.
        let visible = (try? SQLIdentifier(visible: schema)).map { PostgresName($0.name) }
        return try await transaction.query(
            """
            WITH relation AS MATERIALIZED (
                \(relations) UNION ALL
                SELECT pg_class.oid, relname, relkind FROM pg_catalog.pg_class
                WHERE relkind = 'v' AND relnamespace = (
                    SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(visible as PostgresName?)
                )
            ), dependent (oid) AS (
                SELECT ev_class
                FROM pg_catalog.pg_depend JOIN pg_catalog.pg_rewrite ON pg_rewrite.oid = objid
                WHERE classid = 'pg_rewrite'::regclass AND refclassid = 'pg_class'::regclass
                    AND refobjid IN (SELECT oid FROM relation)
                UNION
                SELECT conrelid FROM pg_catalog.pg_constraint
                WHERE contype = 'f' AND confrelid IN (SELECT oid FROM relation)
            )
            SELECT format('%I.%I', nspname, relname)
            FROM dependent
            JOIN pg_catalog.pg_class ON pg_class.oid = dependent.oid
            JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
            WHERE dependent.oid NOT IN (SELECT oid FROM relation)
            ORDER BY 1
            """
        ).decodeColumn(0, as: String.self)
    }
}
