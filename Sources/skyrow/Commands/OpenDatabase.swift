import Logging
import SkyrowMaintenance
import SkyrowPostgres
import SkyrowServer
import SkyrowSystem

/// A command's database, and a running client of it.
struct OpenDatabase: Sendable {
    let access: DatabaseAccess
    let client: PostgresClient
    /// The PostgreSQL schema of the application.
    let schema: SQLIdentifier
    let logger: Logger

    /// Returns the database for a backup or a restore.
    ///
    /// Throws ``ToolError`` if PostgreSQL's programs do not support the database's address.
    func forBackup() throws(ToolError) -> BackupDatabase {
        let (connection, descriptors) = access.connection(forChildWithOwn: 3)
        return BackupDatabase(
            client: client,
            schema: schema,
            logger: logger,
            environment: try processEnvironment(connectingTo: connection),
            descriptors: descriptors
        )
    }
}

/// Calls `body` with the settings' database, started if necessary.
///
/// - Parameters:
///   - readsOnly: Whether PostgreSQL refuses changes.
///   - readTimeout: The timeout of a reading statement; nil for none.
func withDatabase(
    _ settings: Settings,
    use: DatabaseUse = .shared,
    readsOnly: Bool = false,
    readTimeout: Duration? = nil,
    _ body: (OpenDatabase) async throws(ToolError) -> Void
) async throws(ToolError) {
    let logger = toolLogger()
    let access = try await DatabaseAccess(settings, use: use, logger: logger)
    var failure: ToolError?
    do throws(ToolError) {
        let (client, schema) = try makeClient(connection: access.connection, settings, logger: logger) { database in
            database.applicationName = "skyrow-tool"
            // A command works on one application, and does not qualify its tables.
            database.searchPath = (try? SQLIdentifier(settings.database.schema)).map { [$0] }
            // A command may take hours, with transactions that wait for files and other programs.
            database.statementTimeout = nil
            database.readTimeout = readTimeout
            database.sessionSettings["statement_timeout"] = "0"
            database.idleTransactionTimeout = .zero
            if readsOnly { database.sessionSettings["default_transaction_read_only"] = "on" }
        }
        let running = Task { try await client.run() }
        do throws(ToolError) {
            try await body(OpenDatabase(access: access, client: client, schema: schema, logger: logger))
        } catch {
            failure = error
        }
        running.cancel()
        _ = await running.result
    } catch {
        failure = error
    }
    await access.close()
    if let failure { throw failure }
}

/// Calls `body` with a running client of the settings' database.
func withClient(
    _ settings: Settings,
    readsOnly: Bool = false,
    readTimeout: Duration? = nil,
    _ body: (PostgresClient, SQLIdentifier, Logger) async throws(ToolError) -> Void
) async throws(ToolError) {
    try await withDatabase(settings, readsOnly: readsOnly, readTimeout: readTimeout) { database throws(ToolError) in
        try await body(database.client, database.schema, database.logger)
    }
}
