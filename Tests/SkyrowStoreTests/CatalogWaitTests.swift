import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

@Suite(.timeLimit(.minutes(60))) struct CatalogWaitTests {
    private static let long: Duration = .seconds(3600)

    /// What waits for another catalogue is woken by the reading that finds it, by its time and by the end of its task.
    @Test func whatWaitsForACatalogIsWokenByIt() async throws {
        try await withStore { fixture async throws in
            let cache = fixture.store.cache
            let version = cache.current.version
            try await waiting(for: "what is so already") {
                await cache.waitForChange(since: version - 1, atMost: Self.long)
                await cache.waitForChange(since: version, atMost: .zero)
            }
            let waits: [@Sendable () async -> Void] = [
                { await cache.waitForChange(since: version, atMost: Self.long) },
                { await cache.waitForTable(of: type("thing")) },
            ]
            for wait in waits {
                let cancelled = Task { await wait() }
                cancelled.cancel()
                try await waiting(for: "the task to end") { await cancelled.value }
            }
            let tasks = waits.map { wait in Task { await wait() } }
            _ = try await fixture.store.createTypes(
                [RecordType(name: type("thing"), fields: [field("title"): .string])]
            )
            for task in tasks { try await waiting(for: "it to be woken") { await task.value } }
        }
    }
}
