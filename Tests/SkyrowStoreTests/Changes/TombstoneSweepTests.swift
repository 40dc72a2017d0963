import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Tombstones go when no change token needs them any more.
@Suite(.timeLimit(.minutes(60))) struct TombstoneSweepTests {
    @Test func oldTombstonesAreDeletedAndNoOthers() async throws {
        try await withRecords { f in
            func count(_ condition: String = "true") async throws -> String {
                try await f.psql("SELECT count(*) FROM _tombstone WHERE \(condition)")
            }
            for id in ["note/1", "note/2", "note/3"] { try await f.save(id) }
            var reader = FeedReader(f.store)
            try await reader.catchUp()
            try await f.psql("DELETE FROM note")
            #expect(try await count() == "3")
            // A token is good for ten days, and a tombstone is kept for a day longer.
            let retention = Duration.seconds(10 * 86_400)
            try await f.psql(
                """
                UPDATE _tombstone SET deleted_at = now() - interval '11 days 1 minute' WHERE id = '1';
                UPDATE _tombstone SET deleted_at = now() - interval '10 days 23 hours' WHERE id = '2';
                INSERT INTO _tombstone (database, type, id, revision, deleted_at) SELECT '_public', '_role', 'r' || i, 1, now() - interval '1 day' * (i + 0.5)
                FROM generate_series(29, 33) AS i
                """
            )
            #expect(try await f.store.sweepTombstones(olderThan: retention) == 4)
            #expect(try await count("type = 'note' AND id = '1'") == "0")
            #expect(try await count("type = 'note'") == "2")
            let roles = "SELECT string_agg(id, ' ' ORDER BY id) FROM _tombstone WHERE type = '_role'"
            #expect(try await f.psql(roles) == "r29 r30")
            #expect(try await f.store.sweepTombstones(olderThan: retention) == 0)
            // A client that asks in time gets those that are left.
            try await reader.catchUp()
            #expect(reader.removed.sorted() == ["note/2", "note/3"])
        }
    }

    @Test func oneProcessAtATimeSweeps() async throws {
        try await withRecords { f in
            try await f.save("note/1")
            try await f.psql("DELETE FROM note; UPDATE _tombstone SET deleted_at = now() - interval '1 year'")
            try await f.client.withTransaction { transaction in
                _ = try await transaction.query("SELECT app._hold('sweep')")
                #expect(try await f.store.sweepTombstones(olderThan: .seconds(86_400)) == 0)
            }
            #expect(try await f.store.sweepTombstones(olderThan: .seconds(86_400)) == 1)
        }
    }
}
