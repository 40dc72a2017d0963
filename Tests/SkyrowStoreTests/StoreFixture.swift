import Logging
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport

extension DatabaseTemplate {
    /// A database with the reserved tables in the schema `app`.
    static let migrated = DatabaseTemplate(key: "migrated") { url in
        try await withClient(url) { client in
            _ = try await MigrationRun(client: client, schema: "app", logger: .quiet)()
        }
    }
}

extension Logger {
    /// Says nothing below an error.
    static var quiet: Logger {
        var logger = Logger(label: "skyrow.tests")
        logger.logLevel = .error
        return logger
    }
}

/// Runs `body` with a client that is connected to a database.
func withClient<Success: Sendable>(
    _ url: String,
    _ body: (PostgresClient) async throws -> Success
) async throws -> Success {
    let client = PostgresClient(configuration: PostgresConfiguration(connection: url), logger: .quiet)
    return try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await client.run() }
        do {
            let success = try await body(client)
            group.cancelAll()
            try await group.waitForAll()
            return success
        } catch {
            group.cancelAll()
            // The body's error is the one that matters.
            try? await group.waitForAll()
            throw error
        }
    }
}

/// A store of a test's own, and its database for looking at with psql.
struct StoreFixture {
    let store: RecordStore
    let database: TemporaryDatabase

    /// Runs SQL of the test's own in the application's schema, with psql.
    @discardableResult
    func psql(_ statements: String) async throws -> String {
        try await database.psql("SET search_path = app;\n\(statements)")
    }
}

/// Runs `body` with a prepared and running store on a database of the test's own.
func withStore<Success: Sendable>(
    _ mode: SchemaMode = .development,
    loginKeys: [FieldName] = LoginKeys.standard,
    test: String = #function,
    _ body: (StoreFixture) async throws -> Success
) async throws -> Success {
    try await withTemporaryDatabaseAndPsql(template: .migrated, test: test) { database in
        try await withClient(database.url) { client in
            let store = RecordStore(client: client, schema: "app", mode: mode, loginKeys: loginKeys, logger: .quiet)
            try await store.prepare()
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await store.run() }
                defer { group.cancelAll() }
                return try await body(StoreFixture(store: store, database: database))
            }
        }
    }
}

/// A draft as a test writes it.
func draft(_ recordID: String, _ fields: KeyValuePairs<String, RecordValue> = [:]) -> RecordDraft {
    RecordDraft(id: id(recordID), fields: fields.map { (field($0.key), $0.value) })
}
