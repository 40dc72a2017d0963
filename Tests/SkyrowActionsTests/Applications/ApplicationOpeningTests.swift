import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// Requests that open an application, and go away before it is open.
@Suite struct ApplicationOpeningTests {
    /// What opening the application waits for.
    private final class Opening: Sendable {
        private let begun = AsyncStream<Void>.makeStream()
        private let end = AsyncStream<Void>.makeStream()

        /// Called where the application is made.
        func run() async {
            begun.continuation.finish()
            for await _ in end.stream {}
        }

        func hasBegun() async throws {
            try await waiting(for: "the opening to begin") { for await _ in self.begun.stream {} }
        }

        func finish() { end.continuation.finish() }
    }

    @Test func aRequestThatGoesAwayLeavesTheOpeningToOthers() async throws {
        try await withService { f in
            let shop = try ApplicationName("shop")
            let client = f.service.store.client
            let registry = ApplicationRegistry(client: client, defaultSchema: "app", logger: .quiet)
            try await registry.create(shop, schema: "shop", keys: [])
            let opening = Opening()
            let applications = Applications(registry: registry, clock: f.clock.clock, logger: .quiet) { registered in
                await opening.run()
                let store = RecordStore(client: client, schema: "shop", mode: .production, logger: .quiet)
                let actions = ActionService(
                    store: store,
                    configuration: ServiceConfiguration(keys: GivenKeys(api: Secret("api"), master: Secret("master"))),
                    clock: f.clock.clock,
                    logger: .quiet
                )
                return Applications.Opened(actions: actions)
            }
            try await applications.reload()

            let first = Task { try await applications.open(shop) }
            try await opening.hasBegun()
            let second = Task { try await applications.open(shop) }
            first.cancel()
            // The first is refused though the opening goes on.
            let refusal = await #expect(throws: SkyrowError.self) {
                _ = try await waiting(for: "the cancelled request to end") { try await first.value }
            }
            #expect(refusal?.code == .overloaded)
            #expect(applications.allOpen.isEmpty)
            opening.finish()
            let opened = try await waiting(for: "the other request") { try await second.value }
            #expect(applications.allOpen.map(\.name) == [shop])
            #expect(try await applications.open(shop) === opened)
            for (_, opened) in applications.allOpen {
                opened.upkeep?.cancel()
                await opened.upkeep?.value
            }
        }
    }
}
