package import Logging
internal import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// A restore of an application's schemas, those of the records and of the reserved tables. Clients do not see it until
/// it is complete.
///
/// The schemas are made in pieces, each in its own transaction, since PostgreSQL's lock table has no room for all objects of a
/// large schema. A dump names the schemas of its objects, so each of these transactions temporarily renames the existing
/// schemas, and gives their names to the new ones (Documentation/Decisions/import-export-backup.md).
///
/// Passed to the body of ``restore(_:client:replacing:keepingSessions:migrator:logger:_:)``.
package final class SchemaRestore {
    /// The temporary names of the new schemas, and of the replaced ones until they are dropped. One restore at a time
    /// uses them in a database.
    private static let growing: SQLIdentifier = "skyrow_restoring"
    private static let replaced: SQLIdentifier = "skyrow_replaced"

    private let client: PostgresClient
    private let schema: SQLIdentifier
    /// The existing schemas that are replaced.
    private let present: [SQLIdentifier]
    /// The transaction of all pieces, if they cannot be made beside the existing schemas (``RestorePlace/Contents``).
    private let whole: PostgresTransaction?
    /// Upper bound on the objects that a piece makes.
    package let pieceLength: Int

    private init(
        _ client: PostgresClient,
        _ schema: SQLIdentifier,
        present: [SQLIdentifier],
        whole: PostgresTransaction?,
        pieceLength: Int
    ) {
        self.client = client
        self.schema = schema
        self.present = present
        self.whole = whole
        self.pieceLength = pieceLength
    }

    /// Runs `body` once, in a transaction in which the new schemas have their final names.
    package func piece<Success>(_ body: (RestorePiece) async throws -> Success) async throws -> Success {
        if let whole { return try await body(RestorePiece(whole)) }
        return try await client.withTransaction(retries: 0, isTimed: false) { transaction in
            // Processes are notified when the schema is complete.
            _ = try await transaction.query("SELECT set_config('skyrow.announced', 'on', true)")
            try await putPresentAside(transaction)
            for (growing, own) in zip(Self.growing.both, schema.both) {
                try await transaction.execute("ALTER SCHEMA \(growing) RENAME TO \(own)")
            }
            let success = try await body(RestorePiece(transaction))
            for (growing, own) in zip(Self.growing.both, schema.both) {
                try await transaction.execute("ALTER SCHEMA \(own) RENAME TO \(growing)")
            }
            for (replaced, own) in zip(Self.replaced.both, schema.both) where present.contains(own) {
                try await transaction.execute("ALTER SCHEMA \(replaced) RENAME TO \(own)")
            }
            return success
        }
    }

    private func putPresentAside(_ transaction: PostgresTransaction) async throws {
        for (replaced, own) in zip(Self.replaced.both, schema.both) where present.contains(own) {
            try await transaction.execute("ALTER SCHEMA \(own) RENAME TO \(replaced)")
        }
    }

    /// Fills the schema with `body`, migrates it, advances its revisions, and swaps it in at once.
    ///
    /// - Parameter replacing: Whether existing contents of the schema may be replaced. Otherwise the schema must not
    ///   exist, or contain only what a first start creates.
    /// - Parameter keepingSessions: Whether the backup's access tokens stay valid. Otherwise they end, as a token
    ///   revoked after the backup would be valid again.
    ///
    /// Returns the migration steps. Throws ``BackupRefusal``, ``MigrationError``, `PostgresError`, and the errors of
    /// `body`; the database is unchanged then.
    package static func restore(
        _ schema: SQLIdentifier,
        client: PostgresClient,
        replacing: Bool,
        keepingSessions: Bool = false,
        migrator: Migrator = Migrator(),
        logger: Logger,
        _ body: (SchemaRestore) async throws -> Void
    ) async throws -> [Migrator.Step] {
        let migration = MigrationRun(client: client, schema: schema, migrator: migrator, logger: logger)
        let steps = try await client.withTransaction(retries: 0, isTimed: false) { transaction in
            try await transaction.lockSchema(growing)
            let place = RestorePlace(transaction, schema)
            try await place.refuseWhenServed()
            if !replacing { try await place.refuseUnlessEmpty() }
            let contents = try await place.contents()
            if contents != .noSchema, contents != .nothing { try await place.refuseWithDependents() }
            let isWhole = contents == .nothing || contents == .extensions
            if isWhole { try await transaction.lockSchema(schema) }
            if contents == .extensions {
                try await transaction.execute("DROP SCHEMA IF EXISTS \(schema), \(schema.internal) CASCADE")
            }
            let present = try await place.present()
            if isWhole {
                for home in schema.both where !present.contains(home) {
                    try await transaction.execute("CREATE SCHEMA \(home)")
                }
            } else {
                // Drops what an interrupted restore left.
                for name in [growing, replaced] { try await SchemaRemoval.drop(name, client: client) }
                for home in growing.both { _ = try await client.write("CREATE SCHEMA \(home)") }
            }
            let restore = SchemaRestore(
                client,
                schema,
                present: present,
                whole: isWhole ? transaction : nil,
                pieceLength: try await transaction.lockRoom() / 5
            )
            do {
                try await body(restore)
                var steps = try await restore.complete(migration, keepingSessions: keepingSessions)
                if !isWhole {
                    // The lock is not taken earlier, since pieces may take it, too.
                    try await transaction.lockSchema(schema)
                    try await place.refuseWhenServed()
                    if !replacing { try await place.refuseUnlessEmpty() }
                    try await restore.swap(in: transaction)
                }
                steps += try await migration(in: transaction)
                _ = try await transaction.query(
                    "SELECT \(schema)._notify('schema', ''), \(schema)._notify('session', '/all')"
                )
                return steps
            } catch {
                // The restore's error is the one to report; the next restore drops the leftovers.
                if !isWhole { try? await SchemaRemoval.drop(growing, client: client) }
                throw error
            }
        }
        try await SchemaRemoval.drop(replaced, client: client)
        try await analyze(schema, client)
        return steps
    }

    /// Migrates the filled schema, and returns the migration steps.
    private func complete(_ migration: MigrationRun, keepingSessions: Bool) async throws -> [Migrator.Step] {
        var steps: [Migrator.Step] = []
        while let step = try await piece({ piece -> Migrator.Step? in
            // Event triggers are global to the database, where the replaced schema still has them.
            let step = try await migration.pendingSteps(in: piece.transaction).first { $0 != .installEventTriggers }
            if let step { try await migration.apply(step, in: piece.transaction) }
            return step
        }) {
            steps.append(step)
        }
        // Revisions are rebased on the same cluster, too, as it may be a copy of the archive's source.
        if !steps.contains(.rebaseRevisions) {
            try await piece { try await migration.apply(.rebaseRevisions, in: $0.transaction) }
        }
        if !keepingSessions { try await piece { try await $0.endSessions(of: schema) } }
        return steps
    }

    private func swap(in transaction: PostgresTransaction) async throws {
        if !present.isEmpty {
            try await RestorePlace(transaction, schema).refuseWithDependents()
            try await putPresentAside(transaction)
            // This also drops the event triggers that call the function.
            if present.contains(schema) {
                try await transaction.execute("DROP FUNCTION IF EXISTS \(Self.replaced)._announce_schema() CASCADE")
            }
        }
        for (growing, own) in zip(Self.growing.both, schema.both) {
            try await transaction.execute("ALTER SCHEMA \(growing) RENAME TO \(own)")
        }
    }

    /// The planner gets statistics of the rows without waiting for autovacuum.
    private static func analyze(_ schema: SQLIdentifier, _ client: PostgresClient) async throws {
        for home in schema.both {
            let tables = try await client.read(
                """
                SELECT relname FROM pg_catalog.pg_class WHERE relkind IN ('r', 'p', 'm') AND relnamespace = (
                    SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(home.name))
                )
                """
            ).decodeColumn(0, as: String.self)
            for table in tables { _ = try await client.write("ANALYZE \(home).\(try SQLIdentifier(table))") }
        }
    }
}

/// A piece of a restore, in a transaction.
///
/// Not `Sendable`, like its transaction.
package struct RestorePiece {
    fileprivate let transaction: PostgresTransaction

    fileprivate init(_ transaction: PostgresTransaction) {
        self.transaction = transaction
    }

    /// Runs statements of a dump, chosen by the operator, with the operator's privileges.
    package func run(_ script: String) async throws {
        if PostGIS.isNeeded(by: script) { _ = try await transaction.query(PostGIS.requirement) }
        if Trigrams.isNeeded(by: script) { _ = try await transaction.query(Trigrams.requirement) }
        try await transaction.executeScript(SQL(trustedText: script))
    }

    /// Runs a `COPY … FROM stdin` of a dump and returns the number of rows.
    package func copy<Chunks: AsyncSequence>(_ statement: String, _ chunks: Chunks) async throws -> Int
    where Chunks.Element == [UInt8] {
        try await transaction.copyIn(SQL(trustedText: statement), chunks: chunks)
    }

    /// Returns a page of the rows of stored files behind a name.
    func storedFiles(after name: AssetName?, of schema: SQLIdentifier) async throws -> [FileRow] {
        try FileRow.all(in: await transaction.query(FileRow.page(after: name, in: schema)))
    }

    /// Deletes the rows with dangling references, and returns their number.
    func removeDangling(_ reference: DumpReference) async throws -> Int {
        try await transaction.execute(SQL(trustedText: reference.removal))
    }

    /// Ends every session, code and pending login, also those of archives that include them.
    fileprivate func endSessions(of schema: SQLIdentifier) async throws {
        // All processes get one notification instead of one per account.
        try await transaction.executeScript(
            """
            ALTER TABLE \(schema.internal)._session DISABLE TRIGGER USER;
            DELETE FROM \(schema.internal)._session;
            ALTER TABLE \(schema.internal)._session ENABLE TRIGGER USER;
            ALTER TABLE \(schema.internal)._user DISABLE TRIGGER _announce;
            UPDATE \(schema.internal)._user SET epoch = epoch + 1;
            ALTER TABLE \(schema.internal)._user ENABLE TRIGGER _announce;
            """
        )
    }
}

/// The target schemas of a restore.
private struct RestorePlace {
    let transaction: PostgresTransaction
    let schema: SQLIdentifier

    init(_ transaction: PostgresTransaction, _ schema: SQLIdentifier) {
        self.transaction = transaction
        self.schema = schema
    }

    private var names: SQL { schema.bothNames }

    private var relations: SQL {
        """
        SELECT pg_class.oid, relname, relkind, nspname
        FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname IN \(names)
        """
    }

    /// Returns the target schemas that exist.
    func present() async throws -> [SQLIdentifier] {
        let found = try await transaction.query(
            "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname IN \(names)"
        ).decodeColumn(0, as: String.self)
        return schema.both.filter { found.contains($0.name) }
    }

    /// Throws if a service uses the schema. The connections of a service are named after its default application's
    /// schema, but a service also serves all registered applications.
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

    /// Throws if the schemas have contents. The reserved tables and `user`, without accounts, do not count: a first
    /// start creates them.
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
            SELECT nspname::text, relname::text FROM (\(relations)) AS relation
            WHERE relkind IN ('r', 'p') AND relname NOT IN ('_lock', '_migration', '_meta', '_role', '_secret', '_version')
            ORDER BY relname
            """
        )
        var filled: [String] = []
        for row in 0..<reserved.rowCount {
            let home = try SQLIdentifier(try reserved.decode(row: row, column: 0, as: String.self))
            let table = try reserved.decode(row: row, column: 1, as: String.self)
            let rows = try await transaction.query("SELECT FROM \(home).\(try SQLIdentifier(table)) LIMIT 1")
            if !rows.isEmpty { filled.append(table) }
        }
        guard filled.isEmpty else { throw BackupRefusal.isNotEmpty(filled) }
    }

    enum Contents {
        /// The schema does not exist.
        case noSchema
        /// Empty schemas, which stay with the privileges granted on them.
        case nothing
        case something
        /// Contents with extensions. A database has at most one copy of each, so the existing one is dropped before the
        /// archive creates its own.
        case extensions
    }

    func contents() async throws -> Contents {
        let contents = try await transaction.query(
            """
            SELECT EXISTS (\(relations)) OR bool_or(
                EXISTS (SELECT FROM pg_catalog.pg_proc WHERE pronamespace = namespace.oid)
                OR EXISTS (SELECT FROM pg_catalog.pg_type WHERE typnamespace = namespace.oid)
            ), bool_or(EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extnamespace = namespace.oid))
            FROM pg_catalog.pg_namespace AS namespace WHERE nspname IN \(names) HAVING count(*) > 0
            """
        )
        guard !contents.isEmpty else { return .noSchema }
        guard try !contents.decode(row: 0, column: 1, as: Bool.self) else { return .extensions }
        return try contents.decode(row: 0, column: 0, as: Bool.self) ? .something : .nothing
    }

    func refuseWithDependents() async throws {
        let dependents = try await dependents()
        guard dependents.isEmpty else { throw BackupRefusal.othersDepend(dependents) }
    }

    /// Returns the views of other schemas that show these tables, and tables of other schemas that refer to them.
    private func dependents() async throws -> [String] {
        // The policies' views show only these tables, and applying policies recreates them. A schema whose name is too
        // long for such views has none.
        let visible = (try? SQLIdentifier(visible: schema)).map { PostgresName($0.name) }
        return try await transaction.query(
            """
            WITH relation AS MATERIALIZED (
                SELECT oid FROM (\(relations)) AS own UNION ALL
                SELECT oid FROM pg_catalog.pg_class
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
