import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

@Suite struct ApplicationIndexTests {
    /// What was asked for before a restart is built although no request has asked for the application since.
    @Test func theIndexesOfAnApplicationThatRestsAreBuilt() async throws {
        try await withService { f in
            let client = f.service.store.client
            let registry = ApplicationRegistry(client: client, defaultSchema: "app", logger: .quiet)
            try await registry.create(ApplicationName("shop"), schema: "shop", keys: [])
            let shop = RecordStore(client: client, schema: "shop", mode: .development, logger: .quiet)
            try await shop.prepare()
            let wanted = IndexDefinition(of: type("book"), [IndexField("title")], isUnique: true)
            for store in [shop, f.service.store] {
                try await store.createMissingSchema(for: [draft("book/1", ["title": .string("x")])])
                let asked = try await store.createIndex(wanted)
                #expect(asked.state == .building)
            }
            let applications = Applications(registry: registry, clock: f.clock.clock, logger: .quiet) { _ in
                throw SkyrowError(.unexpectedError, "No application is to be opened.")
            }
            try await applications.reload()
            try await withRunning {
                try await applications.run()
            } while: {
                for store in [shop, f.service.store] {
                    try await waiting(until: "the index is ready") {
                        try await store.indexes().map(\.state) == [.ready]
                    }
                }
            }
            #expect(applications.allOpen.isEmpty)
        }
    }
}
