import Logging
package import SkyrowModel
import SkyrowPostgres
package import SkyrowStore

extension DatabaseTemplate {
    /// A database with the reserved tables in the schema `app`.
    package static let migrated = DatabaseTemplate(key: "migrated") { url in
        try await withPostgresClient(url) { client in
            _ = try await MigrationRun(client: client, schema: "app", logger: .quiet)()
        }
    }
}

/// A test's store, and its database for access with psql.
package struct StoreFixture {
    package let store: RecordStore
    package let database: TemporaryDatabase

    /// Runs SQL in the application's schema, outside of the store.
    @discardableResult
    package func psql(_ statements: String) async throws -> String {
        try await database.psql("SET search_path = app, app_internal;\n\(statements)")
    }
}

/// The age up to which tests of other things accept stale type rules: a machine busy with other tests reloads them late.
package let testPatience = Duration.seconds(1200)

/// Runs `body` with a prepared, running store on a temporary database, in the shared cluster unless another is given.
package func withStore<Success: Sendable>(
    _ mode: SchemaMode = .development,
    loginKeys: [FieldName] = LoginKeys.default,
    largeTableBound: Int64 = LargeTables.bound,
    on cluster: TemporaryCluster? = nil,
    test: String = #function,
    _ body: (StoreFixture) async throws -> Success
) async throws -> Success {
    try await withTemporaryDatabaseAndPsql(template: .migrated, on: cluster, test: test) { database in
        try await withPostgresClient(database.url) { client in
            let store = RecordStore(
                client: client,
                schema: "app",
                mode: mode,
                loginKeys: loginKeys,
                // Tests of notifications must not depend on polling.
                schemaCheckInterval: .seconds(3600),
                rulesPatience: testPatience,
                largeTableBound: largeTableBound,
                logger: .quiet
            )
            try await store.prepare()
            return try await withRunning {
                await store.run()
            } while: {
                try await body(StoreFixture(store: store, database: database))
            }
        }
    }
}

/// Returns a draft.
package func draft(_ recordID: String, _ fields: KeyValuePairs<String, RecordValue> = [:]) -> RecordDraft {
    RecordDraft(id: id(recordID), fields: fields.map { (field($0.key), $0.value) })
}
