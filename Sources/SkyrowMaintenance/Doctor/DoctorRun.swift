package import Logging
internal import SkyrowModel
package import SkyrowPostgres
import SkyrowStore

/// Runs checks on a database, read-only.
///
/// ```swift
/// let run = DoctorRun(client: client, schema: "app", limits: DoctorLimits(), now: now, logger: logger)
/// for diagnosis in try await run(DoctorCheck.ofTheDatabase) { … }
/// ```
package struct DoctorRun: Sendable {
    private let client: PostgresClient
    private let schema: SQLIdentifier
    private let limits: DoctorLimits
    private let now: @Sendable () -> Int64
    private let files: DoctorFiles?
    private let logger: Logger

    /// - Parameters:
    ///   - now: Returns this machine's time in microseconds since 1970.
    ///   - files: nil if the application has no files.
    package init(
        client: PostgresClient,
        schema: SQLIdentifier,
        limits: DoctorLimits,
        now: @escaping @Sendable () -> Int64,
        files: DoctorFiles? = nil,
        logger: Logger
    ) {
        self.client = client
        self.schema = schema
        self.limits = limits
        self.now = now
        self.files = files
        self.logger = logger
    }

    /// Returns the diagnosis of each check, in order.
    ///
    /// A check that fails yields a finding; the other checks still run. Throws the database's error if the database
    /// does not respond at all.
    package func callAsFunction(_ checks: [DoctorCheck]) async throws -> [DoctorDiagnosis] {
        let version = try await client.read("SELECT current_setting('server_version_num')::int")
        let migrations = try await migrationRows()
        let isInstalled = !migrations.contains { $0["step"] == "install" || $0["step"] == "refused" }
        let nothing = SchemaCatalog(schema: schema, version: 0, tables: [])
        let catalog = try await SchemaCatalog.load(.everything, from: client, replacing: nothing).catalog
        var scope = DoctorScope(
            schema: schema,
            tables: catalog.sortedTables,
            serverVersion: Int(try version.decode(row: 0, column: 0, as: Int32.self)),
            limits: limits
        )
        let probe = DoctorProbe(client: client, schema: schema, now: now, migrations: migrations, files: files)
        var diagnoses: [DoctorDiagnosis] = []
        for check in checks {
            guard isInstalled || !check.needsTables else { continue }
            let findings: [DoctorFinding]
            do {
                // The block counts wait for table locks, which this check takes anyway.
                if check.name == DoctorCheck.records.name { scope.blocks = try await blocks() }
                let rows = try await rows(of: check, in: scope, probe)
                findings = check.judge(rows, limits).map { $0.naming(schema.internal) }
            } catch let error as PostgresError {
                findings = [DoctorFinding(failureOf: check, error)]
            }
            diagnoses.append(DoctorDiagnosis(check: check.name, title: check.title, findings: findings))
        }
        return diagnoses
    }

    private func rows(of check: DoctorCheck, in scope: DoctorScope, _ probe: DoctorProbe) async throws -> [DoctorRow] {
        switch check.source {
        case .queries(let queries):
            var rows: [DoctorRow] = []
            for query in try queries(scope) { rows += try DoctorRow.all(in: await client.read(query)) }
            return rows
        case .observation(let observe):
            return try await observe(probe)
        case .machine:
            return []
        }
    }

    /// Returns the number of blocks of each table of the schema.
    private func blocks() async throws -> [RecordTypeName: Int] {
        let sizes = try await client.read(
            """
            SELECT relname, pg_catalog.pg_relation_size(oid) / current_setting('block_size')::bigint FROM pg_catalog.pg_class
            WHERE relkind = 'r' AND relnamespace = (
                SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = \(PostgresName(schema.name))
            )
            """
        )
        var blocks: [RecordTypeName: Int] = [:]
        for row in 0..<sizes.rowCount {
            guard let type = try? RecordTypeName(try sizes.decode(row: row, column: 0, as: String.self)) else {
                continue
            }
            blocks[type] = Int(try sizes.decode(row: row, column: 1, as: Int64.self))
        }
        return blocks
    }

    private func migrationRows() async throws -> [DoctorRow] {
        do {
            let steps = try await MigrationRun(client: client, schema: schema, logger: logger).pendingSteps()
            return steps.map { step in
                switch step {
                case .install: ["step": "install"]
                case .migrate(let migration): ["step": "migrate", "summary": migration.name]
                case .rebaseRevisions, .moveRevisions, .installEventTriggers:
                    ["step": "other", "summary": step.missing]
                }
            }
        } catch MigrationError.databaseIsNotUTF8 {
            // The server check reports the encoding; such a database has no reserved tables.
            return [["step": "install"]]
        } catch let error as MigrationError {
            let step = if case .databaseIsNewer = error { "newer" } else { "refused" }
            return [["step": step, "summary": error.description]]
        }
    }
}

extension DoctorFinding {
    /// Returns the finding with `{internal}` in its commands replaced by the name of the reserved tables' schema.
    fileprivate func naming(_ schema: InternalSchema) -> DoctorFinding {
        var named = self
        named.commands = commands.map { $0.replacing("{internal}", with: schema.plain) }
        return named
    }
}

/// The result of one check.
package struct DoctorDiagnosis: Hashable, Sendable {
    package var check: String
    package var title: String
    package var findings: [DoctorFinding]

    package init(check: String, title: String, findings: [DoctorFinding]) {
        self.check = check
        self.title = title
        self.findings = findings
    }

    /// The highest severity; nil if all is well.
    package var severity: DoctorFinding.Severity? { findings.map(\.severity).max() }
}

extension DoctorFinding {
    /// Makes the finding for a check that failed. It includes PostgreSQL's message, as the reader is an operator.
    package init(failureOf check: DoctorCheck, _ error: PostgresError) {
        let remedy =
            switch (error.code, error.sqlState) {
            case (_, .insufficientPrivilege):
                "Run it as a superuser, or as a member of pg_monitor that may read the tables."
            case (.statementTimeout, _): "Allow its statements more time, such as --timeout 2m."
            default: "Find out what blocks it."
            }
        self.init(
            .warning,
            "The check '\(check.name)' could not run: \(error.message ?? error.description).",
            meaning: "Its result is unknown.",
            remedy: remedy
        )
    }
}

extension Migrator.Step {
    /// What the step adds, such as `the table of …`.
    fileprivate var missing: String {
        switch self {
        case .install: "the reserved tables"
        case .migrate(let migration): migration.name
        case .rebaseRevisions: "the increase of revisions after a restore"
        case .moveRevisions: "the increase of revisions after a start of PostgreSQL"
        case .installEventTriggers: "the event triggers for changes in psql"
        }
    }
}

extension DoctorRow {
    package static func all(in result: PostgresResult) throws -> [DoctorRow] {
        try (0..<result.rowCount).map { row in
            var values: [String: String] = [:]
            for column in 0..<result.columnCount {
                guard let name = result.columnName(column) else { continue }
                values[name] = try result.text(row: row, column: column)
            }
            return DoctorRow(values)
        }
    }
}

extension PostgresResult {
    /// Returns a value of a type that the checks select, as text; nil for NULL.
    fileprivate func text(row: Int, column: Int) throws -> String? {
        guard !isNull(row: row, column: column) else { return nil }
        return switch columnType(column) {
        case .bool: try decode(row: row, column: column, as: Bool.self) ? "true" : "false"
        case .int2: "\(try decode(row: row, column: column, as: Int16.self))"
        case .int4: "\(try decode(row: row, column: column, as: Int32.self))"
        case .int8: "\(try decode(row: row, column: column, as: Int64.self))"
        case .float8: "\(try decode(row: row, column: column, as: Double.self))"
        default: try decode(row: row, column: column, as: String.self)
        }
    }
}
