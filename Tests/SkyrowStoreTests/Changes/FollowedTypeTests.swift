import SkyrowModel
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// Large types have an index by which their changes are found.
@Suite(.timeLimit(.minutes(5))) struct FollowedTypeTests {
    @Test func aLargeTypeTakesAnIndex() async throws {
        try await withRecords { f in
            try await f.save("note/1")
            var reader = FeedReader(f.store)
            try await reader.catchUp()
            // As the statistics of a large table have it.
            f.store.sizes.withLock { $0["note"] = 20_000 }
            do {
                try await reader.catchUp()
                Issue.record("the table is read without an index")
            } catch {
                let error = try #require(error as? SkyrowError)
                #expect(error.code == .notSupported)
                #expect(error.message.hasSuffix("CREATE INDEX CONCURRENTLY ON \"note\" (_database, _revision)"))
            }
            // All records are read in the order of their ids.
            var another = FeedReader(f.store)
            try await another.catchUp()
            #expect(another.ids == ["1"])
            try await f.database.psql("CREATE INDEX ON app.note (_database, _revision)")
            try await f.store.cache.reload()
            try await f.save("note/2")
            f.store.sizes.withLock { $0["note"] = 20_000 }
            try await reader.catchUp()
            #expect(reader.ids == ["1", "2"])
        }
    }
}
