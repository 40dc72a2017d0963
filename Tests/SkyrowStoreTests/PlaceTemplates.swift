import SkyrowTestSupport

@testable import SkyrowPostgres
@testable import SkyrowStore

// PostGIS takes a second of processor time to be made.
extension DatabaseTemplate {
    /// The database of ``RecordsFixture`` with PostGIS.
    static let places = records(with: "places") { try await makePlaces($0) }

    /// A database with the reserved tables and PostGIS.
    static let migratedWithPlaces = DatabaseTemplate(key: "migrated with places") { url in
        try await withPostgresClient(url) { client in
            let store = RecordStore(client: client, schema: "app", mode: .development, logger: .silent)
            try await store.prepare()
            try await makePlaces(store)
        }
    }

    private static func makePlaces(_ store: RecordStore) async throws {
        try await store.client.withTransaction { _ = try await $0.query(PostGIS.requirement) }
    }
}
