package import Logging
internal import SkyrowModel
package import SkyrowPostgres
package import SkyrowStore

/// The schemas of an application, its own and that of the reserved tables, while a backup is put in their place. Clients see
/// nothing of it until that is complete.
///
/// They are made in pieces, each in a transaction of its own, since PostgreSQL's lock table has no room for all objects of a
/// large schema. A dump names the schemas of its objects, so in each of these transactions those that grow have these names,
/// and what is in their place others; when the transaction ends all have their own names again
/// (Documentation/Decisions/0096-restore-in-pieces.md).
///
/// Lent by ``restore(_:client:replacing:keepingSessions:migrator:logger:_:)``.
package final class SchemaRestore {
    /// What grows, and what was replaced, until it is dropped, each with the schema beside it. One restore at a time uses them in a
    /// database.
    private static let growing: SQLIdentifier = "skyrow_restoring"
    private static let replaced: SQLIdentifier = "skyrow_replaced"

    private let client: PostgresClient
    private let schema: SQLIdentifier
    /// The schemas in whose place others are put.
    private let present: [SQLIdentifier]
    /// The transaction of all pieces, where they cannot be made beside what is there (``RestorePlace/Contents``).
    private let whole: PostgresTransaction?
    /// How many objects a piece may make.
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

    /// Runs `body` in a transaction in which the schema has its name; `body` is run once.
    package func piece<Success>(_ body: (RestorePiece) async throws -> Success) async throws -> Success {
        if let whole { return try await body(RestorePiece(whole)) }
        return try await client.withTransaction(retries: 0, isTimed: false) { transaction in
            // Processes learn of the schema when it is complete.
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

    /// Has `body` fill the schema, brings it up to date, lets revisions grow on, and puts it in its place at once.
    ///
    /// - Parameter replacing: whether what is in the schema may go. Otherwise it must not be there yet, or hold nothing but
    ///   what a first start leaves.
    /// - Parameter keepingSessions: whether access tokens of the backup count; otherwise one that was given up after it would be
    ///   good again.
    ///
    /// Returns what was migrated. Throws ``BackupRefusal``, ``MigrationError``, `PostgresError`, and what `body` throws; what was
    /// there is unchanged then.
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
                // What a restore has left that was interrupted.
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
                    // Not before, since pieces may take this lock, too.
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
                // The error of the restore is the one to report; the next restore drops what is left.
                if !isWhole { try? await SchemaRemoval.drop(growing, client: client) }
                throw error
            }
        }
        try await SchemaRemoval.drop(replaced, client: client)
        try await analyze(schema, client)
        return steps
    }

    /// Brings what was filled up to date, and returns what was migrated.
    private func complete(_ migration: MigrationRun, keepingSessions: Bool) async throws -> [Migrator.Step] {
        var steps: [Migrator.Step] = []
        while let step = try await piece({ piece -> Migrator.Step? in
            // Event triggers belong to the database, where what is replaced has them still.
            let step = try await migration.pendingSteps(in: piece.transaction).first { $0 != .installEventTriggers }
            if let step { try await migration.apply(step, in: piece.transaction) }
            return step
        }) {
            steps.append(step)
        }
        // On the same cluster too: it may be a copy of the one that the archive is from.
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
            // With the event triggers that call it.
            if present.contains(schema) {
                try await transaction.execute("DROP FUNCTION IF EXISTS \(Self.replaced)._announce_schema() CASCADE")
            }
        }
        for (growing, own) in zip(Self.growing.both, schema.both) {
            try await transaction.execute("ALTER SCHEMA \(growing) RENAME TO \(own)")
        }
    }

    /// The planner has statistics of the rows at once and not when autovacuum comes by.
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

extension SQLIdentifier {
    /// The schema of an application's records, and that of its reserved tables.
    fileprivate var both: [SQLIdentifier] { [self, self.internal.identifier] }
}

/// A piece of a restore, in a transaction.
///
/// Not `Sendable`, like the transaction that it is.
package struct RestorePiece {
    fileprivate let transaction: PostgresTransaction

    fileprivate init(_ transaction: PostgresTransaction) {
        self.transaction = transaction
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

    /// Removes the rows that refer to something that is not there, and returns how many there were.
    func removeDangling(_ reference: DumpReference) async throws -> Int {
        try await transaction.execute(SQL(trustedText: reference.removal))
    }

    /// Ends every session, code and log-in that waits, also of archives that others restore beside this one.
    fileprivate func endSessions(of schema: SQLIdentifier) async throws {
        // All processes hear of it at once, and not of each account.
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

/// The schemas that a backup goes into.
private struct RestorePlace {
    let transaction: PostgresTransaction
    let schema: SQLIdentifier

    init(_ transaction: PostgresTransaction, _ schema: SQLIdentifier) {
        self.transaction = transaction
        self.schema = schema
    }

    /// The names of both, after `IN`.
    private var names: SQL { "(\(PostgresName(schema.name)), \(PostgresName(schema.internal.name)))" }

    private var relations: SQL {
        """
        SELECT pg_class.oid, relname, relkind, nspname
        FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname IN \(names)
        """
    }

    /// Those of both that there are.
    func present() async throws -> [SQLIdentifier] {
        let found = try await transaction.query(
            "SELECT nspname::text FROM pg_catalog.pg_namespace WHERE nspname IN \(names)"
        ).decodeColumn(0, as: String.self)
        return schema.both.filter { found.contains($0.name) }
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
        /// There is no such schema.
        case noSchema
        /// Empty ones, which stay, with the rights that were given on them.
        case nothing
        case something
        /// Something that has extensions in it, of which a database has one each: they must be gone before the archive makes them.
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

    /// Views of other schemas that show tables of these, and tables there that refer to them.
    private func dependents() async throws -> [String] {
        // The views of policies show nothing but these tables, and applying policies makes them anew. A schema whose name is too long
        // for them has none.
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
