package import Logging
package import SkyrowModel
package import SkyrowPostgres

/// The applications apart from the default one, in the schema `_skyrow` of the database that all of them share.
///
/// ```swift
/// let registry = ApplicationRegistry(client: client, defaultSchema: "app", logger: logger)
/// let shop = try await registry.application(named: ApplicationName("shop"))
/// ```
///
/// Its methods throw `SkyrowError` with messages for the operator: 108 for invalid arguments, 109 for a name, a schema, a key
/// or a host that another application has, 110 for a missing application.
package struct ApplicationRegistry: Sendable {
    /// The channel that announces changes.
    static let channel: SQLIdentifier = "skyrow_application"

    let client: PostgresClient
    /// The schema of the default application, from the settings of the service.
    let defaultSchema: SQLIdentifier
    let logger: Logger

    package init(client: PostgresClient, defaultSchema: SQLIdentifier, logger: Logger) {
        self.client = client
        self.defaultSchema = defaultSchema
        self.logger = logger
    }

    /// Whether a connection is open for a statement; cheap.
    package var isReady: Bool { client.isReady }

    /// The numbers of statements held back behind locks, so that connections stay free for others.
    package var heldBack: (reads: Int, writes: Int) { client.heldBack }

    // MARK: Reading

    /// Returns all applications by name; empty without a registry.
    ///
    /// The default application is included if it has keys or host names in addition to those of its settings. The default
    /// application of another service on the same database is not.
    package func applications() async throws(SkyrowError) -> [RegisteredApplication] {
        try await reporting {
            guard try await client.read(ApplicationRegistry.installed).decode(row: 0, column: 0, as: Bool.self) else {
                return []
            }
            let columns = Columns(
                { (name: String, schema: String, isDisabled: Bool, createdAt: Timestamp) in
                    RegisteredApplication(
                        name: try ApplicationName(name),
                        schema: try SQLIdentifier(schema),
                        isDisabled: isDisabled,
                        createdAt: createdAt
                    )
                },
                "name",
                "schema",
                "disabled",
                "created_at"
            )
            let found = try await client.read(
                """
                SELECT \(columns.list) FROM _skyrow.application
                WHERE name <> \(ApplicationName.default.rawValue) OR schema = \(defaultSchema.name) ORDER BY name
                """
            )
            let keys = try await self.keys()
            let hosts = try await self.hosts()
            return try found.rows(columns).map { application in
                var application = application
                application.keys = keys[application.name] ?? []
                application.hosts = (hosts[application.name] ?? []).sorted()
                return application
            }
        }
    }

    /// Throws `110 ResourceNotFound` if there is no application of that name.
    package func application(named name: ApplicationName) async throws(SkyrowError) -> RegisteredApplication {
        guard let found = try await applications().first(where: { $0.name == name }) else {
            throw ApplicationRegistry.unknown(name)
        }
        return found
    }

    /// Emits an element after each change, and one when listening begins; ends when the database client shuts down.
    package func changes() -> some AsyncSequence<Void, Never> & Sendable {
        client.listen(ApplicationRegistry.channel).map { _ in () }
    }

    /// Returns a builder for the indexes of the default application, and of those with the given schemas.
    package func indexBuilder(besides schemas: @escaping @Sendable () -> [SQLIdentifier]) -> IndexBuilder {
        IndexBuilder(client: client, logger: logger) { [defaultSchema] in
            [defaultSchema] + schemas().filter { $0 != defaultSchema }
        }
    }

    /// Whether an application has that schema, as a transaction sees it.
    package static func isRegistered(_ schema: SQLIdentifier, in transaction: PostgresTransaction) async throws -> Bool
    {
        guard try await transaction.query(installed).decode(row: 0, column: 0, as: Bool.self) else { return false }
        let found = try await transaction.query("SELECT FROM _skyrow.application WHERE schema = \(schema.name)")
        return !found.isEmpty
    }

    /// Whether the database has a registry, as one boolean.
    static let installed: SQL = "SELECT pg_catalog.to_regclass('_skyrow.application_host') IS NOT NULL"

    private func keys() async throws -> [ApplicationName: [ApplicationKey]] {
        let columns = Columns(
            {
                (
                    application: String,
                    kind: String,
                    hash: [UInt8],
                    hint: String,
                    createdAt: Timestamp,
                    expiresAt: Timestamp?
                ) in
                try ApplicationKey.Kind(rawValue: kind).map { kind in
                    (
                        try ApplicationName(application),
                        ApplicationKey(kind: kind, hash: hash, hint: hint, createdAt: createdAt, expiresAt: expiresAt)
                    )
                }
            },
            "application",
            "kind",
            "hash",
            "hint",
            "created_at",
            "expires_at"
        )
        let keys = try await client.read(
            "SELECT \(columns.list) FROM _skyrow.application_key ORDER BY created_at, hash"
        ).rows(columns).compactMap(\.self)
        return Dictionary(grouping: keys, by: \.0).mapValues { $0.map(\.1) }
    }

    private func hosts() async throws -> [ApplicationName: [HostName]] {
        let result = try await client.read("SELECT application, host FROM _skyrow.application_host")
        var hosts: [ApplicationName: [HostName]] = [:]
        for row in 0..<result.rowCount {
            guard let host = HostName(field: try result.decode(row: row, column: 1)) else { continue }
            hosts[try ApplicationName(try result.decode(row: row, column: 0)), default: []].append(host)
        }
        return hosts
    }

    // MARK: Errors

    static func unknown(_ name: ApplicationName) -> SkyrowError {
        SkyrowError(.resourceNotFound, "The application \(name) does not exist.")
    }

    static let nameTaken = SkyrowError(.duplicated, "An application of this name already exists.")
    static let schemaTaken = SkyrowError(.duplicated, "Another application uses this schema.")

    /// Runs `body` and converts database errors to `SkyrowError`.
    func reporting<Success>(_ body: () async throws -> Success) async throws(SkyrowError) -> Success {
        do {
            return try await body()
        } catch let error as SkyrowError {
            throw error
        } catch let error as PostgresError {
            throw ApplicationRegistry.refusal(error) ?? SkyrowError(error)
        } catch let error as MigrationError {
            throw .invalidArgument(error.description)
        } catch {
            throw .unexpected
        }
    }

    private static func refusal(_ error: PostgresError) -> SkyrowError? {
        switch (error.sqlState, error.constraint) {
        case (.uniqueViolation?, "application_pkey"?):
            nameTaken
        case (.uniqueViolation?, "application_schema_key"?):
            schemaTaken
        case (.uniqueViolation?, "application_key_pkey"?):
            SkyrowError(.duplicated, "An application already has this key.")
        case (.uniqueViolation?, "application_host_pkey"?):
            SkyrowError(.duplicated, "Another application has this host name.")
        case (.undefinedTable?, _):
            SkyrowError(.notSupported, "The database schema is older than this skyrow; run 'skyrow migrate' first.")
        case (.insufficientPrivilege?, _):
            SkyrowError(
                .permissionDenied,
                "The service's database role has no right to do this: GRANT CREATE ON DATABASE to it, "
                    + "or make it the owner of the schema."
            )
        default: nil
        }
    }
}
