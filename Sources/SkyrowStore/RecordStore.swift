package import Logging
package import SkyrowPostgres

/// The application's records, accounts and schema in PostgreSQL; every SQL statement the service runs lives behind it.
///
/// ```swift
/// let store = RecordStore(client: client, schema: "app", mode: .development, logger: logger)
/// try await store.prepare()
/// // elsewhere, for as long as the store is used: try await store.run()
/// ```
///
/// Its methods are grouped by concern in extensions: records in `Records/`, types and fields in `Schema/`. The client's
/// own `run()` is its owner's affair and must be running before ``prepare()``.
package final class RecordStore: Sendable {
    package let client: PostgresClient
    /// The PostgreSQL schema of the application.
    package let schema: SQLIdentifier
    package let mode: SchemaMode
    package let cache: SchemaCache
    package let logger: Logger

    package init(client: PostgresClient, schema: SQLIdentifier, mode: SchemaMode, logger: Logger) {
        self.client = client
        self.schema = schema
        self.mode = mode
        self.logger = logger
        cache = SchemaCache(client: client, schema: schema)
    }

    /// Brings the reserved tables up to date and reads the catalogue; call it before anything else.
    package func prepare() async throws {
        try await cache.reload()
    }

    /// Keeps the catalogue fresh while other processes change the schema; returns when the client shuts down.
    package func run() async throws {
        for await event in client.listen("skyrow_schema") {
            switch event {
            case .connected, .reconnected: break
            case .notification(_, let payload, _) where payload != schema.name: continue
            case .notification: break
            }
            do {
                try await cache.reload()
            } catch {
                logger.warning("The schema could not be read again", metadata: ["error": "\(error)"])
            }
        }
    }
}
