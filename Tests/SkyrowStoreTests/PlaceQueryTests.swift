import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

private func place(_ longitude: Double, _ latitude: Double) -> Location {
    try! Location(latitude: latitude, longitude: longitude)
}

/// Queries about places on PostGIS, with an index and without one.
@Suite(.timeLimit(.minutes(60))) struct PlaceQueryTests {
    /// Shops on the equator by their degrees, three of them at one place; one across the meridian, and some elsewhere.
    private static let shops: [(id: String, at: Location?)] = [
        ("a", place(3, 0)), ("b", place(1, 0)), ("c", place(2, 0)), ("d", place(2, 0)), ("e", place(2, 0)),
        ("f", place(10, 0)), ("g", place(-179, 0)), ("h", place(179, 0)), ("n", nil), ("p", place(0, 90)),
    ]

    private static let origin = place(0, 0)
    private static let nearest = ["b", "c", "d", "e", "a", "f", "p", "g", "h"]

    private static func near(_ radius: Double? = nil) -> Predicate { .place(path("at"), .near(origin, radius: radius)) }

    private static func distance(_ direction: SortKey.Direction = .ascending) -> SortKey {
        var key = SortKey(path("at"), direction)
        key.function = .distance(origin)
        return key
    }

    /// - Parameter indexes: statements that make some.
    private func withShops(
        _ indexes: String = "",
        _ body: @escaping @Sendable (RecordsFixture) async throws -> Void
    ) async throws {
        try await withRecords(template: .places) { f in
            let drafts = Self.shops.map { shop in
                draft("shop/\(shop.id)", ["at": shop.at.map { .location($0) } ?? .null, "name": .string(shop.id)])
            }
            try await f.store.createMissingSchema(for: drafts)
            try await f.save(drafts)
            // Neither here nor there.
            try await f.psql("INSERT INTO shop (_id, name, at) VALUES ('empty', 'empty', 'POINT EMPTY'); \(indexes)")
            try await f.store.cache.reload()
            try await body(f)
        }
    }

    private static let indexes = ["", "CREATE INDEX shop_near ON shop USING gist (at)"]

    @Test(arguments: indexes)
    func whatIsNearComesByItsDistance(index: String) async throws {
        try await withShops(index) { f in
            let table = try #require(f.store.cache.current[type("shop")])
            #expect(table.indexes.contains { $0.hasDistances(of: field("at")) } == !index.isEmpty)
            func ids(_ predicate: Predicate, _ change: (inout RecordQuery) -> Void = { _ in }) async throws -> [String]
            {
                try await f.query(predicate, type: "shop", .ann, in: .everyone, change)
            }
            // g and h are one degree on either side of the opposite meridian: as far away up to rounding.
            let all = try await ids(Self.near())
            #expect(Array(all.prefix(7)) == Array(Self.nearest.prefix(7)) && Set(all.suffix(2)) == ["g", "h"])
            #expect(try await ids(Self.near(250_000)) == ["b", "c", "d", "e"])
            #expect(try await ids(Self.near(0)) == [])
            // Ties are cut by their ids.
            for limit in 0...5 {
                #expect(try await ids(Self.near()) { $0.limit = limit } == Array(Self.nearest.prefix(limit)))
                let page = try await ids(Self.near()) {
                    $0.limit = limit
                    $0.offset = 2
                    $0.countsMatches = true
                }
                #expect(page == Array(Self.nearest.dropFirst(2).prefix(limit)))
            }
            var counted = RecordQuery(type: type("shop"), predicate: Self.near(250_000), limit: 1)
            counted.countsMatches = true
            let answer = try await f.store.query(counted, in: .everyone, caller: .ann)
            #expect(answer.count == 4 && answer.hasMore)
            // An order that is asked for is that of the answer, and near may stand anywhere then.
            let named = try await ids(.or([Self.near(150_000), .compare(.eq, "name", .string("p"))])) {
                $0.sort = [SortKey(path("name"), .descending)]
            }
            #expect(named == ["p", "b"])
            let none = try await ids(.none([Self.near(250_000)])) { $0.sort = [SortKey(path("name"))] }
            #expect(none == ["a", "empty", "f", "g", "h", "n", "p"])
            let not = try await ids(.not(Self.near())) { $0.sort = [SortKey(path("name"))] }
            #expect(not == ["empty"])
        }
    }

    @Test(arguments: indexes)
    func pagesGoOnBehindADistance(index: String) async throws {
        try await withShops(index) { f in
            let reader = PageReader(store: f.store)
            let queries = [
                RecordQuery(type: type("shop"), predicate: Self.near()),
                RecordQuery(type: type("shop"), predicate: Self.near(1_200_000)),
                RecordQuery(type: type("shop"), sort: [Self.distance()]),
                RecordQuery(type: type("shop"), sort: [Self.distance(.descending), SortKey(path("name"))]),
                RecordQuery(
                    type: type("shop"),
                    predicate: .compare(.neq, "name", .string("c")),
                    sort: [Self.distance()]
                ),
            ]
            for query in queries {
                let whole = try await f.store.query(query, in: .everyone, caller: .ann).records
                    .map { $0.collected()?.id.id ?? "?" }
                for size in [1, 2, 3, 7] {
                    #expect(try await reader.ids(query, by: size) == whole, "\(query)")
                    #expect(try await reader.ids(query, by: size, isBackwards: true) == whole, "\(query)")
                }
            }
            // Records without a place come last, or first.
            let ascending = try await f.query(type: "shop") { $0.sort = [Self.distance()] }
            #expect(ascending.suffix(2) == ["empty", "n"])
            let descending = try await f.query(type: "shop") { $0.sort = [Self.distance(.descending)] }
            #expect(descending.prefix(2) == ["n", "empty"])
            // A cursor is one of its place.
            let page = try await f.store.query(
                RecordQuery(type: type("shop"), predicate: Self.near(), limit: 1),
                in: .everyone,
                caller: .ann
            )
            let other = Predicate.place(path("at"), .near(place(1, 1), radius: nil))
            var elsewhere = RecordQuery(type: type("shop"), predicate: other)
            elsewhere.position = .after(try #require(page.cursor))
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.query(elsewhere, in: .everyone, caller: .ann)
            }
            #expect(error?.path == "after")
        }
    }

    @Test(arguments: ["", "CREATE INDEX shop_box ON shop USING gist ((at::postgis.geometry))"])
    func boxesAndPolygonsHaveTheirEdges(index: String) async throws {
        try await withShops(index) { f in
            func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> Predicate {
                .place(path("at"), .inBox(southWest: place(west, south), northEast: place(east, north)))
            }
            func polygon(_ rings: [(Double, Double)]...) -> Predicate {
                .place(path("at"), .inPolygon(rings.map { $0.map { place($0.0, $0.1) } }))
            }
            let across = [(170.0, -5.0), (-170, -5), (-170, 5), (170, 5)]
            let rows: [(Predicate, [String])] = [
                (box(1, 0, 2, 0), ["b", "c", "d", "e"]), (box(1.0000000001, 0, 2, 0), ["c", "d", "e"]),
                (box(-180, -90, 180, 90), ["a", "b", "c", "d", "e", "f", "g", "h", "p"]),
                (box(178, -1, -178, 1), ["g", "h"]),
                (box(178, -1, 178.5, 1), []), (box(0, 90, 0, 90), ["p"]),
                (.not(box(-180, -1, 180, 1)), ["p", "empty"].sorted()),
                (polygon([(2, 0), (11, -1), (11, 1)]), ["a", "c", "d", "e", "f"]), (polygon(across), ["g", "h"]),
                (polygon(across.reversed()), ["g", "h"]),
                (polygon(across, [(178.5, -1), (179.5, -1), (179.5, 1), (178.5, 1)]), ["g"]),
                (.and([polygon([(0, -1), (9, -1), (9, 1), (0, 1)]), Self.near(150_000)]), ["b"]),
                (.not(polygon([(-180, -90), (0, -90), (180, -90), (180, 89), (0, 89), (-180, 89)])), ["empty", "p"]),
            ]
            for (predicate, expected) in rows {
                let ids = try await f.query(predicate, type: "shop") { $0.sort = [SortKey(path("name"))] }
                #expect(ids == expected, "\(predicate)")
            }
        }
    }

    @Test func aDistanceIsComparedAndSentAlong() async throws {
        try await withShops { f in
            let distance = Operand.function(.distance(Self.origin), path("at"))
            let degree = 111_195.0797343687
            let rows: [(Predicate, [String])] = [
                (.comparison(.lt, distance, .value(.number(degree * 1.5))), ["b"]),
                (.comparison(.gt, .value(.number(degree * 1.5)), distance), ["b"]),
                (.comparison(.lt, distance, .value(.integer(0))), []),
                (
                    .not(.comparison(.lt, distance, .value(.integer(0)))),
                    ["a", "b", "c", "d", "e", "empty", "f", "g", "h", "p"]
                ),
                (.comparison(.lte, distance, .value(.number(1e300))), ["a", "b", "c", "d", "e", "f", "g", "h", "p"]),
                (.comparison(.gte, distance, .value(.number(degree * 100))), ["g", "h"]),
                (.between(distance, .number(degree * 2.5), .number(degree * 10.5)), ["a", "f"]),
                (.compare(.eq, "at", .location(place(2, 0))), ["c", "d", "e"]),
                (
                    .isIn("at", [.location(place(2, 0)), .location(place(2, -0.0)), .location(place(1, 0))]),
                    ["b", "c", "d", "e"]
                ),
                (.compare(.neq, "at", .location(place(2, 0))), ["a", "b", "empty", "f", "g", "h", "p"]),
            ]
            for (predicate, expected) in rows {
                let ids = try await f.query(predicate, type: "shop") { $0.sort = [SortKey(path("name"))] }
                #expect(ids == expected, "\(predicate)")
            }
            for counts in [false, true] {
                var query = RecordQuery(
                    type: type("shop"),
                    predicate: .compare(.gt, "name", .string("h")),
                    sort: [SortKey(path("name"))],
                    include: [
                        Inclusion(name: "away", keyPath: path("at"), function: .distance(Self.origin)),
                        Inclusion(name: "by", keyPath: path("_owner")),
                        Inclusion(name: "too", keyPath: path("at"), function: .distance(place(0, 90))),
                    ]
                )
                query.countsMatches = counts
                let records = try await f.store.query(query, in: .everyone, caller: .ann).records
                    .map { $0.collected() }
                #expect(records.map { $0?.id.id } == ["n", "p"])
                #expect(records[0]?.computed == [:] && records[0]?.transient["away"] == .some(nil))
                #expect(abs((records[1]?.computed["away"] ?? 0) - degree * 90) < 1e-3)
                #expect(records[1]?.computed["too"] == 0)
                #expect((records[1]?.transient["by"] ?? nil)?.id == id("user/ann"))
            }
            // Through a reference, and from a query inside of another.
            try await f.psql("ALTER TABLE note ADD shop text REFERENCES shop (_id) DEFERRABLE")
            try await f.store.cache.reload()
            try await f.save("note/1", ["shop": .reference(id("shop/f"))])
            try await f.save("note/2", ["shop": .reference(id("shop/b"))])
            try await f.save("note/3", ["shop": .reference(id("shop/n"))])
            #expect(try await f.query(.place(path("shop.at"), .near(Self.origin, radius: nil))) == ["2", "1"])
            let shops = Subquery(type: type("shop"), predicate: Self.near(150_000))
            #expect(try await f.query(.found(.keyPath(path("shop")), by: shops, isNegated: false)) == ["2"])
            // The first of them are the nearest.
            for (limit, notes) in [(1, ["2"]), (5, ["2"]), (6, ["1", "2"])] {
                let first = Subquery(type: type("shop"), predicate: Self.near(), limit: limit)
                let found = try await f.query(.found(.keyPath(path("shop")), by: first, isNegated: false))
                #expect(found == notes)
            }
        }
    }

    /// The most that a request may ask about places, of many records.
    @Test func theLargestPolygonIsAnsweredInTime() async throws {
        try await withShops(
            """
            INSERT INTO shop (_id, at) SELECT 'x' || n, postgis.ST_MakePoint(n % 360 - 180, n % 170 - 85)::postgis.geography
            FROM generate_series(1, 20000) AS n
            """
        ) { f in
            // A comb, all of whose teeth cross the parallels of the records.
            let comb =
                (0..<999).map { place(-179 + Double($0) * 0.358, $0.isMultiple(of: 2) ? -89 : 89) } + [place(0, -89.5)]
            var query = RecordQuery(type: type("shop"), predicate: .place(path("at"), .inPolygon([comb])), limit: 1)
            query.countsMatches = true
            let answer = try await f.store.query(query, in: .everyone, caller: .ann)
            #expect((answer.count ?? 0) > 1_000)
        }
    }

    @Test func theExtensionMayBeInAnySchema() async throws {
        try await withRecords { f in
            try await f.psql(#"CREATE SCHEMA "Maps"; CREATE EXTENSION postgis SCHEMA "Maps""#)
            let drafts = Self.shops.map { draft("shop/\($0.id)", ["at": $0.at.map { .location($0) } ?? .null]) }
            try await f.store.createMissingSchema(for: drafts)
            try await f.save(drafts)
            #expect(try await f.query(Self.near(250_000), type: "shop") == ["b", "c", "d", "e"])
            let box = Predicate.place(path("at"), .inBox(southWest: place(0, -1), northEast: place(1, 1)))
            #expect(try await f.query(box, type: "shop") == ["b"])
        }
    }

    /// The plan that PostgreSQL keeps for all values of a statement has the index too.
    @Test func indexesServePlansWithoutValues() async throws {
        try await withShops(
            """
            INSERT INTO shop (_id, at) SELECT 'x' || n, postgis.ST_MakePoint(n % 360 - 180, n % 170 - 85)::postgis.geography
            FROM generate_series(1, 20000) AS n; ANALYZE shop
            """
        ) { f in
            for kind in [IndexKind.near, .box] {
                let definition = IndexDefinition(of: type("shop"), [IndexField("at")], kind: kind)
                let made = try await f.store.createIndex(definition)
                #expect(made.name == "shop_at_\(kind.rawValue)")
            }
            #expect(try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass())
            #expect(try await f.store.indexes(of: type("shop")).map(\.state) == [.ready, .ready])
            try await f.psql("ANALYZE shop")
            try await f.store.cache.reload()
            let cursor = try await f.store.query(
                RecordQuery(type: type("shop"), predicate: Self.near(), limit: 3),
                in: .everyone,
                caller: .ann
            ).cursor
            var behind = RecordQuery(type: type("shop"), predicate: Self.near(), limit: 20)
            behind.position = .after(try #require(cursor))
            let box = PlaceCondition.inBox(southWest: place(170, -1), northEast: place(-170, 1))
            let polygon = PlaceCondition.inPolygon([[place(170, -1), place(-170, -1), place(-170, 1), place(170, 1)]])
            let distance = Operand.function(.distance(Self.origin), path("at"))
            let rows: [(RecordQuery, String)] = [
                (RecordQuery(type: type("shop"), predicate: Self.near(), limit: 20), "shop_at_near"),
                (RecordQuery(type: type("shop"), predicate: Self.near(100_000), limit: 20), "shop_at_near"),
                (behind, "shop_at_near"),
                (RecordQuery(type: type("shop"), sort: [Self.distance()], limit: 20), "shop_at_near"),
                (
                    RecordQuery(type: type("shop"), predicate: .comparison(.lt, distance, .value(.integer(100)))),
                    "shop_at_near"
                ),
                (RecordQuery(type: type("shop"), predicate: .place(path("at"), box)), "shop_at_box"),
                (RecordQuery(type: type("shop"), predicate: .place(path("at"), polygon)), "shop_at_box"),
            ]
            for (query, index) in rows {
                let statement = try QueryStatement(
                    query,
                    table: try #require(f.store.cache.current[type("shop")]),
                    catalog: f.store.cache.current,
                    access: RecordAccess(.ann, for: .reading),
                    cursors: try await f.store.cursorKeys()
                )
                for mode in ["force_generic_plan", "force_custom_plan"] {
                    let plan = try await f.client.withTransaction { transaction in
                        _ = try await transaction.query("SELECT set_config('plan_cache_mode', \(mode), true)")
                        return try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                            .decodeColumn(0, as: String.self).joined(separator: "\n")
                    }
                    #expect(plan.contains(index) && !plan.contains("Seq Scan on shop"), "\(query), \(mode): \(plan)")
                }
            }
        }
    }

    @Test func anAdvisedIndexOfPlacesIsUsed() async throws {
        try await withShops(
            """
            INSERT INTO shop (_id, at) SELECT 'x' || n, postgis.ST_MakePoint(n % 360 - 180, n % 170 - 85)::postgis.geography
            FROM generate_series(1, 20000) AS n; ANALYZE shop
            """
        ) { f in
            try await f.store.readSizes()
            let box = PlaceCondition.inBox(southWest: place(1, -1), northEast: place(2, 1))
            for (predicate, kind) in [(Self.near(), IndexKind.near), (.place(path("at"), box), .box)] {
                let query = RecordQuery(type: type("shop"), predicate: predicate, limit: 20)
                let access = RecordAccess(.master, for: .reading)
                let before = try await f.store.explain(query, .plan, with: access)
                #expect(before.advice.map(\.reason) == [.placeScan] && before.costClass == .scan)
                let index = try #require(before.advice.first?.index)
                #expect(index == IndexDefinition(of: type("shop"), [IndexField("at")], kind: kind))
                _ = try await f.store.createIndex(index)
                #expect(try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass())
                try await f.store.cache.reload()
                try await f.psql("ANALYZE shop")
                let after = try await f.store.explain(query, .plan, with: access)
                #expect(after.advice.isEmpty && after.costClass == .indexed, "\(kind)")
            }
        }
    }
}
