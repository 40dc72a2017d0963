import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

private func at(_ longitude: Double, _ latitude: Double) -> Location {
    try! Location(latitude: latitude, longitude: longitude)
}

private func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> [Location] {
    [at(west, south), at(east, south), at(east, north), at(west, north), at(west, south)]
}

/// Geometries in columns of PostGIS, which the first of them makes, and what is asked of them.
@Suite(.timeLimit(.minutes(60))) struct GeometryTests {
    /// A square with a hole, a line, points, two squares across the meridian, a bow that crosses itself, and a collection.
    private static let areas: [(id: String, area: Geometry?)] = [
        ("bow", .polygon([[at(20, 0), at(24, 4), at(24, 0), at(20, 4), at(20, 0)]])),
        ("line", .lineString([at(0, 10), at(4, 10), at(4, 14)])),
        ("meridian", .multiPolygon([[box(178, 0, 180, 2)], [box(-180, 0, -178, 2)]])),
        ("mix", .collection([.point(at(41, 1)), .polygon([box(40, 2, 42, 4)]), .lineString([at(40, 5), at(42, 5)])])),
        ("none", nil), ("points", .multiPoint([at(30, 0), at(31, 1)])),
        ("square", .polygon([box(0, 0, 4, 4), box(1, 1, 2, 2)])),
    ]

    private func withParks(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords(template: .places) { f in
            let drafts = Self.areas.map { park in
                draft("park/\(park.id)", ["area": park.area.map { .geometry($0) } ?? .null, "name": .string(park.id)])
            }
            try await f.store.createMissingSchema(for: drafts)
            let saved = try await f.save(drafts)
            #expect(saved.map { $0.fields[field("area")] } == Self.areas.map { $0.area.map { .geometry($0) } })
            try await body(f)
        }
    }

    @Test func aGeometryIsStoredAsPostGISHasIt() async throws {
        try await withParks { f in
            for (id, area) in Self.areas {
                #expect(try await f.fetch("park/\(id)")?.fields[field("area")] == area.map { .geometry($0) })
            }
            #expect(
                try await f.psql(
                    """
                    SELECT format_type(atttypid, atttypmod), col_description(attrelid, attnum)
                    FROM pg_attribute WHERE attrelid = 'park'::regclass AND attname = 'area'
                    """
                )
                    == "postgis.geometry(Geometry,4326)|A geometry of GeoJSON: longitudes and latitudes in degrees of WGS 84."
            )
            #expect(
                try await f.psql("SELECT postgis.ST_AsGeoJSON(area) FROM park WHERE _id = 'points'")
                    == #"{"type":"MultiPoint","coordinates":[[30,0],[31,1]]}"#
            )
            // What psql writes is read, and what GeoJSON does not have is of an unknown type.
            try await f.psql(
                """
                INSERT INTO park (_id, area) VALUES ('psql', '{"type":"Point","coordinates":[7,8]}'),
                    ('arc', 'SRID=4326;CIRCULARSTRING(0 0,1 1,2 0)'), ('empty', 'SRID=4326;POLYGON EMPTY');
                ALTER TABLE park ADD plane postgis.geometry, ADD dot postgis.geometry(Point,4326)
                """
            )
            try await f.store.cache.reload()
            #expect(try await f.fetch("park/psql")?.fields == [field("area"): .geometry(.point(at(7, 8)))])
            for id in ["arc", "empty"] { #expect(try await f.fetch("park/\(id)")?.fields == [:]) }
            for name in ["plane", "dot"] {
                guard case .unknown? = f.store.cache.current[type("park")]?[field(name)]?.type else {
                    Issue.record("\(name) is of a type of ours")
                    continue
                }
            }
            // One that a client of this package made is judged too.
            let open = draft("park/open", ["area": .geometry(.polygon([[at(0, 0), at(1, 0), at(1, 1), at(0, 1)]]))])
            let refused = try await f.store.save([.draft(open)], in: .everyone, caller: .ann, atomic: false)
            #expect(refused[0].error?.code == .invalidArgument && refused[0].error?.path == "records[0].area")
            for (name, value) in [("area", RecordValue.location(at(0, 0))), ("name", .geometry(.point(at(0, 0))))] {
                let draft = draft("park/x", [name: value])
                #expect(throws: SkyrowError.self) { try f.store.schemaPlan(saving: [draft]) }
            }
        }
    }

    @Test(arguments: ["", "CREATE INDEX park_box ON park USING gist (area)"])
    func geometriesAreAskedForPlaces(index: String) async throws {
        try await withParks { f in
            if !index.isEmpty { try await f.psql(index) }
            try await f.store.cache.reload()
            func contains(_ longitude: Double, _ latitude: Double) -> Predicate {
                .compare(.contains, "area", .location(at(longitude, latitude)))
            }
            func within(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> Predicate {
                .place(path("area"), .inBox(southWest: at(west, south), northEast: at(east, north)))
            }
            func inside(_ vertices: (Double, Double)...) -> Predicate {
                .place(path("area"), .inPolygon([vertices.map { at($0.0, $0.1) }]))
            }
            let everywhere = ["bow", "line", "meridian", "mix", "points", "square"]
            let rows: [(Predicate, [String])] = [
                (contains(3, 3), ["square"]), (contains(0, 0), ["square"]), (contains(1.5, 1.5), []),
                (contains(1, 1.5), ["square"]),
                (contains(2, 10), ["line"]), (contains(2, 10.001), []), (contains(31, 1), ["points"]),
                (contains(30.5, 0.5), []),
                (contains(179, 1), ["meridian"]), (contains(-179, 1), ["meridian"]), (contains(23.5, 2), ["bow"]),
                (contains(41, 1), ["mix"]), (contains(41, 3), ["mix"]), (contains(41, 5), ["mix"]),
                (contains(41, 1.5), []),
                (.comparison(.in, .value(.location(at(3, 3))), .keyPath(path("area"))), ["square"]),
                (.not(contains(3, 3)), everywhere.filter { $0 != "square" }),
                (within(0, 0, 4, 4), ["square"]), (within(0, 0, 3.999, 4), []),
                (within(-180, -90, 180, 90), everywhere),
                (within(177, -1, -177, 3), ["meridian"]), (within(179, -1, -177, 3), []),
                (within(30, 0, 42, 5), ["mix", "points"]),
                (.not(within(-180, -90, 180, 90)), []),
                (inside((-1, -1), (5, -1), (5, 5), (-1, 5)), ["square"]),
                (inside((0, 0), (4, 0), (4, 4), (0, 4)), ["square"]),
                // Its corners are inside, an edge is not.
                (inside((-1, -1), (5, -1), (5, 5), (2, 3), (-1, 5)), []),
                (inside((177, -1), (-177, -1), (-177, 3), (177, 3)), ["meridian"]),
                (inside((19, -1), (25, -1), (25, 5), (19, 5)), ["bow"]),
                (inside((29, -1), (43, -1), (43, 6), (29, 6)), ["mix", "points"]),
                (inside((-1, 9), (5, 9), (5, 15), (3, 15), (3, 11), (-1, 11)), ["line"]),
                // Nothing is inside of a polygon that crosses itself.
                (inside((-1, -1), (5, 5), (5, -1), (-1, 5)), []),
                (.not(inside((-1, -1), (5, -1), (5, 5), (-1, 5))), everywhere.filter { $0 != "square" }),
                (.compare(.eq, "area", .geometry(Self.areas[5].area!)), ["points"]),
                (.compare(.neq, "area", .geometry(Self.areas[5].area!)), everywhere.filter { $0 != "points" }),
                (.compare(.eq, "area", .null), ["none"]), (.compare(.exists, "area", .boolean(true)), everywhere),
                (.comparison(.eq, .keyPath(path("area")), .keyPath(path("area"))), everywhere),
            ]
            for (predicate, expected) in rows {
                let ids = try await f.query(predicate, type: "park") { $0.sort = [SortKey(path("name"))] }
                #expect(ids == expected, "\(predicate)")
                // Memory says the same, or nothing.
                let root = try #require(f.store.cache.current[type("park")])
                var resolver = Resolver(
                    schema: f.store.cache.current,
                    root: root,
                    access: RecordAccess(.ann, for: .reading)
                )
                let resolved = try resolver.resolve(RecordQuery(type: type("park"), predicate: predicate))
                if resolved.predicate?.needsDatabase ?? false { continue }
                let interpreter = MemoryInterpreter(resolved)
                let found = Self.areas.filter { park in
                    var record = StoredRecord(type: type("park"), storedID: park.id)
                    if let area = park.area { record.fields[field("area")] = .scalar(.geometry(area)) }
                    return interpreter.matches(record)
                }
                #expect(found.map(\.id) == expected, "\(predicate) in memory")
            }
        }
    }

    /// Lines that cross themselves millions of times, and a polygon of as many teeth, are compared edge by edge.
    @Test func theLongestLinesAreAnsweredInTime() async throws {
        try await withParks { f in
            let corners = (0..<10_000).map { (number: Int) -> Location in
                let longitude: Double = Double(number % 2) * 10 + Double(number) * 0.0001
                return at(longitude, Double(number * 7919 % 10_000) / 1000)
            }
            let zigzag = Geometry.lineString(corners)
            try await f.save("park/zigzag", ["area": .geometry(zigzag), "name": .string("zigzag")])
            let teeth = (0..<998).map { (number: Int) -> Location in
                at(-1 + Double(number) * 0.014, number.isMultiple(of: 2) ? 11 : -1)
            }
            let comb = teeth + [at(14, -2), at(-1, -2)]
            for predicate in [
                Predicate.compare(.contains, "area", .location(at(5, 5.00005))),
                .place(path("area"), .inPolygon([comb])),
                .place(path("area"), .inBox(southWest: at(170, 0), northEast: at(-170, 11))),
            ] {
                let found = try await f.query(predicate, type: "park")
                #expect(!found.contains("zigzag"), "\(predicate)")
            }
        }
    }

    /// Each of 10,000 edges in one of many slanted teeth lies beside all the others: that is the longest to find out, and it ends
    /// when it is cancelled.
    @Test func theWorstPolygonEndsWithTheTimeLimit() async throws {
        try await withParks { f in
            let teeth = (0..<996).map { (number: Int) -> Location in
                let place = Double(number) * 0.01
                let height: Double = number % 4 == 1 || number % 4 == 2 ? 40 : 0
                return at(place + height, height - place)
            }
            let comb = teeth + [at(10, -12), at(0, -12), at(-1, -1)]
            let slants = (0..<10_000).map { (number: Int) -> Location in
                let place = 4.01 + Double(number % 100) * 0.00009
                let height = number.isMultiple(of: 2) ? 0.5 : 39.5
                return at(place + height, height - place)
            }
            try await f.save("park/slants", ["area": .geometry(.lineString(slants)), "name": .string("slants")])
            let predicate = Predicate.place(path("area"), .inPolygon([comb]))
            #expect(try await f.query(predicate, type: "park") == ["slants"])
            let ring = Geometry.polygon([slants.dropLast() + [slants[0]]])
            try await f.save("park/slants", ["area": .geometry(ring), "name": .string("slants")])
            #expect(try await f.query(predicate, type: "park") == ["slants"])
            #expect(try await f.query(.compare(.contains, "area", .location(slants[7])), type: "park") == ["slants"])
            try await f.psql(
                "INSERT INTO park (_id, area) SELECT n, area FROM park, generate_series(1, 2000) AS n WHERE name = 'slants'"
            )
            let conditions = [predicate, .not(.compare(.contains, "area", .location(at(20.00001, 12))))]
            for condition in conditions {
                let statement = try QueryStatement(
                    RecordQuery(type: type("park"), predicate: condition, limit: 1, offset: 2000),
                    table: try #require(f.store.cache.current[type("park")]),
                    catalog: f.store.cache.current,
                    access: RecordAccess(.ann, for: .reading)
                )
                let error = await #expect(throws: PostgresError.self) {
                    try await f.client.withTransaction { transaction in
                        _ = try await transaction.query("SELECT set_config('statement_timeout', '100', true)")
                        _ = try await transaction.query(statement.sql)
                    }
                }
                #expect(error?.sqlState == .queryCanceled, "\(condition)")
            }
        }
    }

    @Test func anIndexServesPlansWithoutValues() async throws {
        try await withParks { f in
            try await f.psql(
                """
                INSERT INTO park (_id, area) SELECT 'x' || n,
                    postgis.ST_MakeEnvelope(n % 350 - 175, n % 160 - 80, n % 350 - 174, n % 160 - 79, 4326)
                FROM generate_series(1, 20000) AS n; ANALYZE park
                """
            )
            let inBox = Predicate.place(path("area"), .inBox(southWest: at(0, 0), northEast: at(1, 1)))
            let rows: [Predicate] = [
                .compare(.contains, "area", .location(at(3, 3))), inBox,
                .place(path("area"), .inBox(southWest: at(179, 0), northEast: at(-179, 1))),
                .place(path("area"), .inPolygon([box(0, 0, 2, 2)])),
            ]
            let access = RecordAccess(.master, for: .reading)
            let before = try await f.store.explain(
                RecordQuery(type: type("park"), predicate: inBox),
                .plan,
                with: access
            )
            let advised = IndexDefinition(of: type("park"), [IndexField("area")], kind: .box)
            #expect(before.advice.map(\.index) == [advised])
            let made = try await f.store.createIndex(advised)
            #expect(try await IndexBuilder(client: f.client, logger: .quiet) { ["app"] }.pass())
            try await f.store.cache.reload()
            try await f.psql("ANALYZE park")
            let after = try await f.store.explain(
                RecordQuery(type: type("park"), predicate: inBox),
                .plan,
                with: access
            )
            #expect(after.advice.isEmpty)
            for predicate in rows {
                let statement = try QueryStatement(
                    RecordQuery(type: type("park"), predicate: predicate),
                    table: try #require(f.store.cache.current[type("park")]),
                    catalog: f.store.cache.current,
                    access: RecordAccess(.ann, for: .reading)
                )
                let plan = try await f.client.withTransaction { transaction in
                    _ = try await transaction.query("SELECT set_config('plan_cache_mode', 'force_generic_plan', true)")
                    return try await transaction.query("EXPLAIN (COSTS OFF) \(statement.sql)")
                        .decodeColumn(0, as: String.self).joined(separator: "\n")
                }
                #expect(plan.contains(made.name) && !plan.contains("Seq Scan on park"), "\(predicate): \(plan)")
            }
            let near = IndexDefinition(of: type("park"), [IndexField("area")], kind: .near)
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.createIndex(near)
            }
            #expect(error?.code == .invalidArgument)
        }
    }

    /// By which a restore finds out whether it makes the extension before the tables.
    @Test(arguments: [
        ("CREATE TABLE app.park (area postgis.geometry(Geometry,4326))", true),
        ("CREATE TABLE \"app\".\"park\" (\"area\" \"postgis\".\"geometry\"(Geometry,4326))", true),
        ("CREATE TABLE app.shop (place postgis.geography(Point,4326))", true),
        ("CREATE TABLE app.geometry (area text)", false),
    ])
    func aDumpWithGeometriesNeedsTheExtension(script: String, isNeeded: Bool) {
        #expect(PostGIS.isNeeded(by: script) == isNeeded)
    }

    @Test func whereTheExtensionCannotBeHadThatIsSaid() async throws {
        try await withStore { f in
            try await f.psql(
                "CREATE ROLE \(f.database.name.suffix(30)); CREATE SCHEMA postgis AUTHORIZATION \(f.database.name.suffix(30))"
            )
            let error = await #expect(throws: SkyrowError.self) {
                try await f.store.createMissingSchema(for: [draft("park/1", ["area": .geometry(.point(at(0, 0)))])])
            }
            #expect(
                error?.code == .invalidArgument && error?.message.contains("PostGIS, which is not installed") == true
            )
            try await f.psql("DROP SCHEMA postgis; DROP ROLE \(f.database.name.suffix(30))")
        }
    }
}
