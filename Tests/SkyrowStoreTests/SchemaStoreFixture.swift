import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport

@testable import SkyrowStore

/// Waits until something that comes by itself has come.
func until(_ condition: () async throws -> Bool) async throws {
    try await waiting(until: "the schema store has heard of it", condition)
}

/// A second store on the same database, as another process would have.
func withOtherStore(
    _ fixture: StoreFixture,
    _ mode: SchemaMode = .development,
    _ body: (RecordStore) async throws -> Void
) async throws {
    try await withPostgresClient(fixture.database.url) { client in
        let store = RecordStore(
            client: client,
            schema: "app",
            mode: mode,
            schemaCheckInterval: .seconds(3600),
            rulesPatience: testPatience,
            logger: .quiet
        )
        try await store.prepare()
        try await withRunning {
            await store.run()
        } while: {
            try await body(store)
        }
    }
}

extension RecordStore {
    /// The fields of a type as far as the store knows.
    func knownFields(_ name: String) -> [FieldName: FieldType]? {
        cache.current[type(name)]?.recordType.fields
    }
}
