import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowStore

/// Large types have an index by which their changes are found.
@Suite(.timeLimit(.minutes(60))) struct FollowedTypeTests {
    private let index =
        "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE pg_get_indexdef(indexrelid) LIKE '%(\\_database, \\_revision)'"

    private func build(_ store: RecordStore) async throws {
        let builder = IndexBuilder(client: store.client, logger: .quiet) { ["app"] }
        #expect(try await builder.pass())
        try await store.cache.reload()
    }

    /// Why a reader does not catch up.
    private func refusal(_ reader: inout FeedReader) async throws -> SkyrowError {
        do {
            try await reader.catchUp()
        } catch let error as SkyrowError {
            return error
        }
        throw UnexpectedOutcome()
    }

    /// As the statistics of a large table have it.
    private func makeLarge(_ store: RecordStore) { store.sizes.withLock { $0["note"] = 20_000 } }

    /// Also by a plan that knows no values, which an `EXISTS` does not: every third row is expected to be new.
    @Test func whetherThereIsNewsIsFoundByTheIndex() async throws {
        try await withStore { fixture in
            try await fixture.psql(
                """
                SELECT _create_type('note');
                INSERT INTO note (_id) SELECT 'n' || i FROM generate_series(1, 20000) AS i;
                CREATE INDEX ON note (_database, _revision);
                ANALYZE note;
                """
            )
            try await fixture.store.cache.reload()
            let table = try #require(try await fixture.store.table(of: type("note")))
            let seen = TransactionSet(end: 1_000_000)
            let news = RecordStore.hasNews(of: table.name, table, in: .everyone, since: seen, "app")
            let plan = try await fixture.psql(
                """
                SET plan_cache_mode = force_generic_plan;
                PREPARE news AS SELECT \(news.text);
                EXPLAIN (COSTS OFF) EXECUTE news('_public', 1, 'note', '_public', 1)
                """
            )
            #expect(plan.contains("note__database__revision_idx") && !plan.contains("Seq Scan"), "\(plan)")
            let none = try await fixture.store.hasChanges(of: table.name, in: .everyone, since: seen)
            let all = try await fixture.store.hasChanges(of: table.name, in: .everyone, since: TransactionSet(end: 1))
            #expect(!none && all)
        }
    }

    @Test func aLargeTypeIsFollowedOnceItIsAskedFor() async throws {
        try await withStore(.production) { fixture in
            let store = fixture.store
            try await fixture.psql("SELECT _create_type('note'); INSERT INTO note (_id) VALUES ('1')")
            try await store.cache.reload()
            var reader = FeedReader(store)
            try await reader.catchUp()
            makeLarge(store)
            var error = try await refusal(&reader)
            #expect(error.code == .notSupported)
            #expect(error.message.hasSuffix("skyrow schema follow note"))
            // All records are read in the order of their ids.
            var another = FeedReader(store)
            try await another.catchUp()
            #expect(another.ids == ["1"])
            try await store.follow(type("note"))
            try await store.follow(type("note"))
            makeLarge(store)
            error = try await refusal(&reader)
            #expect(error.code == .overloaded)
            #expect(error.message.contains("being built"))
            try await build(store)
            #expect(
                try await fixture.psql(index)
                    == "CREATE INDEX note__database__revision_idx ON app.note USING btree (_database, _revision)"
            )
            try await fixture.psql("INSERT INTO note (_id) VALUES ('2')")
            makeLarge(store)
            try await reader.catchUp()
            #expect(reader.ids == ["1", "2"])
            try await store.unfollow(type("note"))
            try await build(store)
            #expect(try await fixture.psql(index) == "")
            #expect(try await fixture.psql("SELECT count(*) FROM _index") == "0")
            makeLarge(store)
            #expect(try await refusal(&reader).code == .notSupported)
            await #expect(throws: SkyrowError.self) { try await store.follow(type("nothing")) }
        }
    }

    @Test func whereClientsMakeTypesTheFirstRequestAsksForTheIndex() async throws {
        try await withStore(.development) { fixture in
            let store = fixture.store
            try await fixture.psql("SELECT _create_type('note'); INSERT INTO note (_id) VALUES ('1')")
            try await store.cache.reload()
            var reader = FeedReader(store)
            try await reader.catchUp()
            #expect(try await fixture.psql("SELECT count(*) FROM _index") == "0")
            makeLarge(store)
            #expect(try await refusal(&reader).code == .overloaded)
            try await build(store)
            makeLarge(store)
            try await reader.catchUp()
            #expect(reader.ids == ["1"])
        }
    }

    /// A name that psql took, a failed row, and an index that psql made.
    @Test func aWishFindsItsPlace() async throws {
        try await withStore(.production) { fixture in
            let store = fixture.store
            try await fixture.psql("SELECT _create_type('note'); CREATE TABLE note__database__revision_idx ()")
            try await store.cache.reload()
            try await store.follow(type("note"))
            #expect(try await fixture.psql("SELECT name FROM _index") == "note__database__revision_idx1")
            try await fixture.psql("UPDATE _index SET state = 'failed', reason = 'cancelled', attempts = 3")
            try await store.follow(type("note"))
            #expect(try await fixture.psql("SELECT state, attempts, reason IS NULL FROM _index") == "building|0|t")
            try await store.unfollow(type("note"))
            #expect(try await fixture.psql("SELECT count(*) FROM _index") == "0")
            try await fixture.psql("CREATE INDEX mine ON note (_database, _revision)")
            try await store.follow(type("note"))
            #expect(try await fixture.psql("SELECT count(*) FROM _index") == "0")
            try await store.unfollow(type("note"))
            try await build(store)
            #expect(try await fixture.psql(index) == "")
        }
    }
}
