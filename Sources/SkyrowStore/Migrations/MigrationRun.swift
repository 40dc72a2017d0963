package import Logging
package import SkyrowPostgres

/// Applies the steps that a ``Migrator`` decides; any number of processes may run concurrently.
package struct MigrationRun {
    /// Attempts to lock tables that others keep locked, for about a minute and a half.
    private static let attempts = 40

    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let migrator: Migrator
    private let logger: Logger

    package init(client: PostgresClient, schema: SQLIdentifier, migrator: Migrator = Migrator(), logger: Logger) {
        self.client = client
        self.schema = schema
        self.migrator = migrator
        self.logger = logger
    }

    /// Brings the database up to date, each step in a separate transaction, and returns the steps.
    ///
    /// Throws ``MigrationError`` when the database is newer than this version of Skyrow or not in UTF-8, and `PostgresError`,
    /// with state `lockNotAvailable` if a table stays locked for longer than a minute.
    @discardableResult
    package func callAsFunction() async throws -> [Migrator.Step] {
        var done: [Migrator.Step] = []
        while try await !pendingSteps().isEmpty {
            guard let step = try await applyNext() else { continue }
            // Every restart of PostgreSQL causes this step.
            let level: Logger.Level = step == .moveRevisions ? .debug : .notice
            logger.log(level: level, "The database was changed", metadata: ["step": "\(step.summary)"])
            done.append(step)
        }
        return done
    }

    /// Returns the steps that ``callAsFunction()`` would take now.
    package func pendingSteps() async throws -> [Migrator.Step] {
        try await migrator.steps(for: state { try await client.read($0) })
    }

    /// Whether the database has more than a first start creates: an account, or a table that Skyrow does not create.
    package func isFilled() async throws -> Bool {
        let name = PostgresName(schema.name)
        return try await client.read(
            """
            SELECT EXISTS (SELECT FROM \(schema.internal)._user) OR EXISTS (
                SELECT FROM pg_catalog.pg_class
                WHERE relkind IN ('r', 'p') AND relname <> 'user' AND NOT starts_with(relname, '_')
                    AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(name))
            )
            """
        ).decode(row: 0, column: 0, as: Bool.self)
    }

    /// Returns the pending steps that a transaction sees.
    package func pendingSteps(in transaction: PostgresTransaction) async throws -> [Migrator.Step] {
        try await migrator.steps(for: state { try await transaction.query($0) })
    }

    /// Applies all pending steps in a transaction that holds the schema lock, and returns them.
    package func callAsFunction(in transaction: PostgresTransaction) async throws -> [Migrator.Step] {
        var done: [Migrator.Step] = []
        while let step = try await pendingSteps(in: transaction).first {
            try await apply(step, in: transaction)
            done.append(step)
        }
        return done
    }

    /// Applies the first pending step, determined again under the lock since another process may have been faster.
    ///
    /// Processes of an older version are still running, so this must not block them behind a table that it waits for.
    private func applyNext() async throws -> Migrator.Step? {
        try await patiently(attempts: Self.attempts) {
            try await client.withTransaction(isTimed: false) { transaction in
                try await transaction.lockSchema(schema)
                guard let step = try await pendingSteps(in: transaction).first else { return nil }
                try await transaction.limitLockWaits()
                try await apply(step, in: transaction)
                return step
            }
        }
    }

    package func apply(_ step: Migrator.Step, in transaction: PostgresTransaction) async throws {
        if case .install = step {
            for home in [schema, schema.internal.identifier] where try await !isThere(home, in: transaction) {
                try await transaction.execute("CREATE SCHEMA \(home)")
            }
        }
        try await transaction.setPath(of: schema)
        switch step {
        case .install:
            try await transaction.executeScript(SQL(trustedText: Migration.present))
            for migration in migrator.migrations { try await record(migration, in: transaction) }
        case .migrate(let migration):
            try await transaction.executeScript(SQL(trustedText: migration.script))
            try await record(migration, in: transaction)
        case .rebaseRevisions:
            _ = try await transaction.query("SELECT _rebase_revisions()")
        case .moveRevisions:
            _ = try await transaction.query("SELECT _move_revisions()")
        case .installEventTriggers:
            _ = try await transaction.query("SELECT _install_event_triggers()")
        }
    }

    private func record(_ migration: Migration, in transaction: PostgresTransaction) async throws {
        try await transaction.execute(
            "INSERT INTO _migration (version, name) VALUES (\(Int32(migration.version)), \(migration.name))"
        )
    }

    /// Returns whether a schema exists: a role that may not create one may use an existing one.
    private func isThere(_ home: SQLIdentifier, in transaction: PostgresTransaction) async throws -> Bool {
        let found = try await transaction.query(
            "SELECT FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(home.name))"
        )
        return !found.isEmpty
    }

    private func state(_ query: (SQL) async throws -> PostgresResult) async throws -> Migrator.DatabaseState {
        let name = PostgresName(schema.name)
        let found = try await query(
            """
            WITH home AS MATERIALIZED (
                SELECT oid, nspname = \(name) AS is_of_records FROM pg_catalog.pg_namespace
                WHERE nspname IN (\(name), \(PostgresName(schema.internal.name)))
            ), relation AS MATERIALIZED (
                SELECT relname::text AS name, is_of_records
                FROM pg_catalog.pg_class JOIN home ON home.oid = relnamespace WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
            )
            SELECT current_setting('server_encoding'),
                EXISTS (SELECT FROM relation WHERE name = '_migration' AND is_of_records),
                -- A schema that was dropped without the other one leaves tables that nothing works with.
                EXISTS (SELECT FROM relation WHERE name = '_migration' AND NOT is_of_records) AND EXISTS (
                    SELECT FROM pg_catalog.pg_proc JOIN home ON home.oid = pronamespace
                    WHERE proname = '_revision' AND is_of_records
                ),
                ARRAY(SELECT name FROM relation WHERE NOT is_of_records OR starts_with(name, '_') ORDER BY name)
            """
        )
        let encoding = try found.decode(row: 0, column: 0, as: String.self)
        let isOld = try found.decode(row: 0, column: 1, as: Bool.self)
        guard !isOld, try found.decode(row: 0, column: 2, as: Bool.self) else {
            return Migrator.DatabaseState(
                versions: nil,
                encoding: encoding,
                isOld: isOld,
                strangers: try found.decode(row: 0, column: 3)
            )
        }
        let result = try await query(
            """
            SELECT
                (SELECT array_agg(version) FROM \(schema.internal)._migration),
                coalesce((
                    SELECT home.system_identifier = here.system_identifier
                        AND home.home_table = home.tableoid
                    FROM \(schema.internal)._meta AS home, pg_catalog.pg_control_system() AS here
                ), false),
                coalesce((
                    SELECT home.started_at <> pg_catalog.pg_postmaster_start_time()
                    FROM \(schema.internal)._meta AS home
                ), false),
                (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) AND 2 > (
                    SELECT count(*)
                    FROM pg_catalog.pg_event_trigger
                    JOIN pg_catalog.pg_proc AS function ON function.oid = evtfoid
                    JOIN pg_catalog.pg_namespace AS home ON home.oid = function.pronamespace
                    WHERE home.nspname = \(name) AND function.proname = '_announce_schema'
                )
            """
        )
        let versions = try result.decode(row: 0, column: 0, as: [Int32]?.self) ?? []
        return Migrator.DatabaseState(
            versions: Set(versions.map(Int.init)),
            isHomeCluster: try result.decode(row: 0, column: 1),
            hasRestarted: try result.decode(row: 0, column: 2),
            lacksEventTriggers: try result.decode(row: 0, column: 3),
            encoding: encoding
        )
    }
}

extension PostgresTransaction {
    /// Sets the search path to an application's schemas for the rest of the transaction, so that new objects are created in its
    /// schema and the reserved tables are found.
    package func setPath(of schema: SQLIdentifier) async throws {
        let path = "\(schema.quoted), \(schema.internal.quoted), pg_temp"
        _ = try await query("SELECT set_config('search_path', \(path), true)")
    }

    /// Waits until no other transaction changes the reserved tables or the record types of this schema.
    package func lockSchema(_ schema: SQLIdentifier) async throws {
        if try await holdLock(of: schema) { return }
        // There is no row to lock yet. The first number identifies Skyrow ("skyr" in ASCII).
        _ = try await query("SELECT pg_advisory_xact_lock(1936423282, hashtext(\(schema.name)))")
        _ = try await holdLock(of: schema)
    }

    /// Returns false if there are no reserved tables.
    private func holdLock(of schema: SQLIdentifier) async throws -> Bool {
        let isThere = try await query(
            """
            SELECT to_regclass(\(literal: "\(schema.internal.quoted)._lock")) IS NOT NULL
                AND to_regprocedure(\(literal: "\(schema.quoted)._hold(text)")) IS NOT NULL
            """
        ).decode(row: 0, column: 0, as: Bool.self)
        if isThere { _ = try await query("SELECT \(schema)._hold('schema')") }
        return isThere
    }
}

extension Migrator.Step {
    /// A description of the step for a log or a terminal.
    package var summary: String {
        switch self {
        case .install: "created the reserved tables"
        case .migrate(let migration): "applied \(migration.name)"
        case .rebaseRevisions: "advanced the revisions after a restore"
        case .moveRevisions: "advanced the revisions after a start of PostgreSQL"
        case .installEventTriggers: "created event triggers"
        }
    }
}
