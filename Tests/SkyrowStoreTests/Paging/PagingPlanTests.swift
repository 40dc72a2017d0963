import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// A deep page reads about as much as it has, where an index gives its order.
@Suite(.timeLimit(.minutes(60))) struct PagingPlanTests {
    /// What PostgreSQL did for a query: how many pages of its tables it read, and how.
    private struct Work {
        var pages: Int64
        var text: String
    }

    private static func work(_ f: RecordsFixture, _ query: RecordQuery, _ caller: Caller) async throws -> Work {
        let access = RecordAccess(caller, in: .everyone, for: .reading)
        let table = try #require(f.store.cache.current[query.type])
        let statement = try QueryStatement(
            query,
            table: table,
            catalog: f.store.cache.current,
            access: access,
            cursors: try await f.store.cursorKeys()
        )
        let result = try await f.client.read("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) \(statement.sql)")
        let text = try result.decode(row: 0, column: 0, as: String.self)
        let pages = try JSONDocument(Array(text.utf8)).withRoot { root in
            let plan = root.firstElement?["Plan"]
            return (plan?["Shared Hit Blocks"]?.wholeNumber ?? 0) + (plan?["Shared Read Blocks"]?.wholeNumber ?? 0)
        }
        return Work(pages: pages, text: text)
    }

    @Test func aDeepPageReadsARangeOfTheIndex() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('film'); ALTER TABLE film ADD year bigint, ADD rating double precision;
                INSERT INTO film (_id, year, rating)
                SELECT 'f' || n, CASE WHEN n % 20 > 0 THEN n % 97 + 1900 END, n % 13 FROM generate_series(1, 30000) AS n;
                CREATE INDEX ON film (year, _id);
                VACUUM ANALYZE film
                """
            )
            try await f.store.cache.reload()
            typealias Row = (sort: [SortKey], offset: Int, usesBranches: Bool)
            let year = path("year")
            let rows: [Row] = [
                // Behind what is missing: one range.
                ([SortKey(year, .descending)], 20_000, false), ([SortKey(year, .ascending, .first)], 20_000, false),
                // Before what is missing: a range for each branch.
                ([SortKey(year)], 20_000, true), ([SortKey(year, .descending, .last)], 20_000, true),
                // Within what is missing: the last branch alone, or one before all others.
                ([SortKey(year)], 29_000, false), ([SortKey(year, .descending)], 700, true),
                // Two directions.
                ([SortKey(year, .descending), SortKey(path("_id"))], 20_000, true),
            ]
            for caller in [Caller.master, .anonymous] {
                for row in rows {
                    var query = RecordQuery(type: type("film"), sort: row.sort, limit: 1, offset: row.offset)
                    let far = try await f.store.query(query, in: .everyone, caller: caller)
                    query.offset = 0
                    query.limit = 20
                    query.position = .after(try #require(far.cursor))
                    let work = try await Self.work(f, query, caller)
                    #expect(work.text.contains("film_year__id_idx"))
                    #expect(!work.text.contains("Seq Scan"), "\(row.sort)")
                    #expect(work.text.contains("Append") == row.usesBranches, "\(row.sort)")
                    // The index gives the years; where the ids go the other way, those of one year are sorted: some 300.
                    let bound: Int64 = row.sort.count == 2 ? 400 : 200
                    #expect(work.pages < bound, "\(row.sort): \(work.pages) pages, \(work.text)")
                    // An offset of as many reads all that is before.
                    query.position = .first
                    query.offset = row.offset
                    #expect(try await Self.work(f, query, caller).pages > 250)
                }
            }
        }
    }

    /// PostgreSQL keeps the plan of a listing, whose limit is in the text; that of anything else is a value.
    @Test func whatNoValueChangesIsPlannedOnce() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('film'); ALTER TABLE film ADD year bigint;
                INSERT INTO film (_id, year) SELECT 'f' || n, n % 97 FROM generate_series(1, 30000) AS n;
                CREATE INDEX ON film (year, _id);
                VACUUM ANALYZE film
                """
            )
            try await f.store.cache.reload()
            var listing = RecordQuery(type: type("film"), sort: [SortKey(path("year"))], limit: 100)
            let cursor = try #require(try await f.store.query(listing, in: .everyone, caller: .ann).cursor)
            var behind = listing
            behind.position = .after(cursor)
            var last = listing
            last.position = .last
            var chosen = listing
            chosen.predicate = .compare(.eq, "year", .integer(7))
            var far = listing
            far.offset = 100
            typealias Row = (query: RecordQuery, caller: Caller, database: DatabaseScope, isPlannedOnce: Bool)
            var rows: [Row] = []
            for caller in [Caller.anonymous, .ann, .master] {
                rows += [
                    (listing, caller, .everyone, true), (behind, caller, .everyone, true),
                    (last, caller, .everyone, true),
                    (chosen, caller, .everyone, false), (far, caller, .everyone, false),
                ]
            }
            rows.append((listing, .ann, .user("ann"), false))
            listing.limit = 101
            rows.append((listing, .ann, .everyone, false))
            let configure = { (configuration: inout PostgresConfiguration) in
                configuration.readConnections = 1
                configuration.maximumReadConnections = 1
            }
            try await withPostgresClient(f.database.url, configure: configure) { client in
                func kept() async throws -> Int64 {
                    try await client.read(
                        "SELECT coalesce(sum(generic_plans), 0)::bigint FROM pg_prepared_statements WHERE statement LIKE '%\"film\"%'"
                    ).decode(row: 0, column: 0, as: Int64.self)
                }
                for (place, row) in rows.enumerated() {
                    let catalog = f.store.cache.current
                    let table = try #require(catalog[row.query.type])
                    let cursors = try await f.store.cursorKeys()
                    let access = RecordAccess(row.caller, in: row.database, for: .reading)
                    func statement(_ query: RecordQuery) throws -> SQL {
                        try QueryStatement(query, table: table, catalog: catalog, access: access, cursors: cursors).sql
                    }
                    var other = row.query
                    other.limit += row.query.limit > 100 ? 1 : -1
                    let sql = try statement(row.query)
                    #expect(try sql.hasSameText(as: statement(other)) != row.isPlannedOnce, "row \(place)")
                    guard row.isPlannedOnce else { continue }
                    let before = try await kept()
                    for _ in 0..<8 { _ = try await client.read(sql) }
                    #expect(try await kept() > before, "row \(place)")
                }
            }
        }
    }

    @Test func aPageWithoutAnIndexReadsTheTableOnce() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('film'); ALTER TABLE film ADD year bigint;
                INSERT INTO film (_id, year) SELECT 'f' || n, nullif(n % 97, 0) FROM generate_series(1, 20000) AS n;
                VACUUM ANALYZE film
                """
            )
            try await f.store.cache.reload()
            var query = RecordQuery(type: type("film"), sort: [SortKey(path("year"))], limit: 1, offset: 10_000)
            let far = try await f.store.query(query, in: .everyone, caller: .master)
            query.offset = 0
            query.position = .after(try #require(far.cursor))
            let work = try await Self.work(f, query, .master)
            #expect(work.text.ranges(of: "Seq Scan").count == 1)
            let size = try await f.psql("SELECT pg_relation_size('film') / 8192")
            #expect(work.pages <= (Int64(size) ?? 0) + 100)
        }
    }

    @Test func theCatalogHasTheOrdersThatIndexesGive() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                SELECT _create_type('film');
                ALTER TABLE film ADD a bigint, ADD b text COLLATE "C", ADD c text COLLATE "C", ADD d bigint, ADD e bigint,
                    ADD g bigint, ADD h bigint, ADD i text COLLATE "C";
                CREATE INDEX ON film (a DESC, _id DESC);
                CREATE INDEX ON film (b);
                CREATE INDEX ON film (c text_pattern_ops);
                CREATE INDEX ON film (d) WHERE d > 7;
                CREATE INDEX ON film USING hash (e);
                CREATE INDEX ON film ((g + 1));
                CREATE INDEX ON film (h NULLS FIRST);
                CREATE INDEX ON film (i COLLATE "sv-x-icu");
                """
            )
            try await f.store.cache.reload()
            let orders = try #require(f.store.cache.current[type("film")]).orders
            let names: [SQLIdentifier] = ["a", "b", "c", "d", "e", "g", "h", "i", "_id", "_created_at", "_owner"]
            #expect(names.filter { orders.contains($0, in: .union) } == ["a", "b", "_id"])
            #expect(names.filter { orders.contains($0, in: .everyone) } == ["a", "b", "_id", "_created_at"])
        }
    }
}
