import SkyrowModel
import Testing

@testable import SkyrowQuery

private func place(_ longitude: Double, _ latitude: Double) -> Location {
    try! Location(latitude: latitude, longitude: longitude)
}

private func ring(_ positions: (Double, Double)...) -> [Location] { positions.map { place($0.0, $0.1) } }

@Suite struct PlaceTests {
    /// Distances on the sphere of PostGIS 3.3: `SELECT a <-> b`.
    @Test(
        arguments: [
            (place(114.15, 22.28), place(114.15, 22.28), 0),
            (place(0, 0), place(0, 1), 111_195.0797343687),
            (place(0, 0), place(180, 0), 20_015_114.352186374),
            (place(0, 90), place(77, -90), 20_015_114.352186374),
            (place(-180, 10), place(180, 10), 0),
            (place(179.5, 0), place(-179.5, 0), 111_195.0797343687),
            (place(0, 0), place(179.99999, 0.00001), 20_015_114.352186374 - 1.5725),
        ] as [(Location, Location, Double)]
    )
    func distancesAreThoseOfASphere(a: Location, b: Location, metres: Double) {
        #expect(abs(a.distance(to: b) - metres) < 1e-3)
        #expect(abs(a.distance(to: b) - b.distance(to: a)) < 1e-6)
    }

    @Test func aBoxGoesEastwards() {
        let plain = PlaceBox.boxes(from: place(-10, -5), to: place(10, 5))
        #expect(plain == [PlaceBox(west: -10, south: -5, east: 10, north: 5)])
        let across = PlaceBox.boxes(from: place(170, -5), to: place(-170, 5))
        #expect(across.map(\.west) == [170, -180] && across.map(\.east) == [180, -170])
        let rows: [(boxes: [PlaceBox], location: Location, isInside: Bool)] = [
            (plain, place(0, 0), true), (plain, place(-10, 5), true), (plain, place(10.0000001, 0), false),
            (plain, place(0, 5.0000001), false), (across, place(180, 0), true), (across, place(-180, 5), true),
            (across, place(-170, -5), true), (across, place(0, 0), false), (across, place(169, 0), false),
        ]
        for row in rows {
            #expect(row.boxes.contains { $0.covers(row.location) } == row.isInside, "\(row)")
        }
    }

    /// A triangle, one that is closed, one across the meridian from either side, one with a hole, and a star that crosses itself.
    static let polygons: [(rings: [[Location]], inside: [Location], outside: [Location])] = [
        (
            [ring((0, 0), (10, 0), (0, 10))], [place(1, 1), place(0, 0), place(5, 0), place(5, 5), place(0, 10)],
            [place(6, 6), place(-1, 0), place(11, 0), place(0, -1)]
        ),
        ([ring((0, 0), (10, 0), (0, 10), (0, 0))], [place(1, 1)], [place(6, 6)]),
        (
            [ring((170, -10), (-170, -10), (-170, 10), (170, 10))],
            [place(180, 0), place(-180, 0), place(175, 9), place(-171, 0), place(-170, 10)],
            [place(0, 0), place(169, 0), place(-169, 0), place(180, 11)]
        ),
        (
            [ring((-170, 10), (170, 10), (170, -10), (-170, -10))], [place(180, 0), place(-171, 0), place(171, 0)],
            [place(0, 0)]
        ),
        (
            [ring((170, -10), (-170, -10), (-170, 10), (170, 10)), ring((-179, -1), (-177, -1), (-177, 1), (-179, 1))],
            [place(180, 0), place(-179, 0), place(-176, 0)], [place(-178, 0), place(0, 0)]
        ),
        (
            [ring((0, 0), (8, 0), (8, 8), (0, 8)), ring((2, 2), (2, 6), (6, 6), (6, 2))],
            [place(1, 1), place(2, 4), place(8, 8)], [place(4, 4), place(9, 4)]
        ),
        // What it goes around twice is inside.
        (
            [ring((0, 5), (3, -4), (-5, 2), (5, 2), (-3, -4))], [place(0, 0), place(0, 4)],
            [place(3, 3.5), place(0, -4)]
        ),
    ]

    @Test(arguments: polygons)
    func aPolygonHasItsEdgesButNotItsHoles(rings: [[Location]], inside: [Location], outside: [Location]) throws {
        let polygon = try PlacePolygon(rings, path("at"))
        for location in inside { #expect(polygon.covers(location), "\(location)") }
        for location in outside { #expect(!polygon.covers(location), "\(location)") }
    }

    static let refusals: [(Predicate, ErrorCode, String)] = {
        let near = Predicate.place(path("at"), .near(place(0, 0), radius: nil))
        let distance = Operand.function(.distance(place(0, 0)), path("at"))
        func polygon(_ rings: [Location]...) -> Predicate { .place(path("at"), .inPolygon(rings)) }
        let many = (0...1000).map { place(Double($0) / 10, Double($0 % 2)) }
        return [
            (.place(path("title"), .near(place(0, 0), radius: 1)), .invalidArgument, "predicate[0]"),
            (.place(path("tags.a"), .near(place(0, 0), radius: 1)), .invalidArgument, "predicate[0]"),
            (.place(path("missing"), .near(place(0, 0), radius: 1)), .recordQueryInvalid, "predicate[1]"),
            (.place(path("at"), .near(place(0, 0), radius: -1)), .invalidArgument, "predicate[3]"),
            (.place(path("at"), .near(place(0, 0), radius: .nan)), .invalidArgument, "predicate[3]"),
            (.place(path("at"), .near(place(0, 0), radius: .infinity)), .invalidArgument, "predicate[3]"),
            (.and([near, near]), .invalidArgument, "predicate[2][0]"),
            (.and([near, .found("next", in: "note", near)]), .invalidArgument, "predicate[2][2].predicate[0]"),
            (.or([.compare(.eq, "stars", .integer(1)), near]), .recordQueryInvalid, "predicate[2][0]"),
            (.and([.not(near)]), .recordQueryInvalid, "predicate[1][1][0]"),
            (.none([.and([near])]), .recordQueryInvalid, "predicate[1][1][0]"),
            (
                .place(path("at"), .inBox(southWest: place(0, 1), northEast: place(1, 0))), .invalidArgument,
                "predicate[3]"
            ),
            (
                .place(path("title"), .inBox(southWest: place(0, 0), northEast: place(1, 1))), .invalidArgument,
                "predicate[0]"
            ),
            (polygon(), .invalidArgument, "predicate[2]"),
            (polygon(ring((0, 0), (1, 1))), .invalidArgument, "predicate[2]"),
            (polygon(ring((0, 0), (1, 1), (0, 0))), .invalidArgument, "predicate[2]"),
            (polygon(many), .invalidArgument, "predicate[2]"),
            (polygon(ring((0, 0), (4, 0), (0, 4)), Array(many.prefix(998))), .invalidArgument, "predicate[2]"),
            // Around a pole, and around the Earth and back.
            (polygon(ring((0, 80), (120, 80), (-120, 80))), .invalidArgument, "predicate[2]"),
            (
                polygon(ring((0, 0), (120, 0), (-120, 0), (0, 10), (120, 10), (0, 20), (-120, 10), (120, 5))),
                .invalidArgument, "predicate[2]"
            ),
            (.compare(.lt, "at", .location(place(0, 0))), .invalidArgument, "predicate[0]"),
            (.compare(.contains, "at", .location(place(0, 0))), .invalidArgument, "predicate[0]"),
            (.compare(.eq, "at", .string("POINT(0 0)")), .invalidArgument, "predicate[2]"),
            (.compare(.eq, "title", .location(place(0, 0))), .invalidArgument, "predicate[2]"),
            (.isIn("at", [.location(place(0, 0)), .integer(1)]), .invalidArgument, "predicate[2][1]"),
            (.paths(.lt, "at", "at"), .invalidArgument, "predicate[0]"),
            (.paths(.eq, "at", "title"), .invalidArgument, "predicate[2]"),
            (
                .comparison(.lt, .function(.distance(place(0, 0)), path("title")), .value(.integer(1))),
                .invalidArgument, "predicate[1][2]"
            ),
            (.comparison(.lt, distance, .value(.string("far"))), .invalidArgument, "predicate[2]"),
            (.comparison(.like, distance, .value(.string("1%"))), .invalidArgument, "predicate[0]"),
            (.found("at", in: "note", key: "at"), .invalidArgument, "predicate[0]"),
            (.place(path("area"), .near(place(0, 0), radius: nil)), .invalidArgument, "predicate[0]"),
            (
                .place(path("area"), .inPolygon([ring((0, 0), (4, 0), (0, 4)), ring((1, 1), (2, 1), (1, 2))])),
                .invalidArgument,
                "predicate[2]"
            ),
            (.compare(.eq, "area", .location(place(0, 0))), .invalidArgument, "predicate[2]"),
            (.compare(.contains, "area", .geometry(.point(place(0, 0)))), .invalidArgument, "predicate[2]"),
            (.compare(.contains, "area", .null), .invalidArgument, "predicate[2]"),
            (.compare(.contains, "at", .geometry(.point(place(0, 0)))), .invalidArgument, "predicate[0]"),
            (.isIn("area", [.geometry(.point(place(0, 0)))]), .invalidArgument, "predicate[0]"),
            (.compare(.lt, "area", .geometry(.point(place(0, 0)))), .invalidArgument, "predicate[0]"),
            (
                .comparison(.in, .value(.location(place(0, 0))), .keyPath(path("tags"))), .invalidArgument,
                "predicate[1]"
            ),
            (.comparison(.in, .value(.string("x")), .keyPath(path("area"))), .invalidArgument, "predicate[1]"),
        ]
    }()

    private static let schema: TestSchema = {
        var schema = TestSchema.notes
        schema.types[type("note")]?.fields[field("at")] = .location
        schema.types[type("note")]?.fields[field("area")] = .geometry
        schema.types[type("note")]?.fields[field("friends")] = .array(.reference(type("note")))
        return schema
    }()

    private static func resolve(_ query: RecordQuery) throws -> ResolvedQuery {
        var resolver = Resolver(schema: schema, root: schema.note, access: RecordAccess(.ann, in: .everyone))
        return try resolver.resolve(query)
    }

    @Test(arguments: refusals)
    func whatHasNoMeaningIsRefused(predicate: Predicate, code: ErrorCode, path: String) throws {
        let error = #expect(throws: SkyrowError.self) {
            try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
        }
        #expect(error?.code == code)
        #expect(error?.path == path)
    }

    /// Each operator is either about geometries, or says in a sentence what is asked of them.
    @Test func everyOperatorHasAMeaningForGeometriesOrARefusal() {
        let area = path("area")
        let here = RecordValue.location(place(0, 0))
        let shape = RecordValue.geometry(.point(place(0, 0)))
        let box = PlaceCondition.inBox(southWest: place(0, 0), northEast: place(1, 1))
        let admitted: [Predicate] = [
            .compare(.eq, "area", shape), .compare(.neq, "area", shape), .compare(.eq, "area", .null),
            .compare(.exists, "area", .boolean(false)), .compare(.contains, "area", here),
            .comparison(.in, .value(here), .keyPath(area)), .comparison(.in, .value(.null), .keyPath(area)),
            .comparison(.eq, .keyPath(area), .keyPath(area)), .place(area, box),
            .place(area, .inPolygon([ring((0, 0), (4, 0), (0, 4))])),
        ]
        for predicate in admitted {
            #expect(throws: Never.self, "\(predicate)") {
                try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
            }
        }
        let text = RecordValue.string("a")
        let comparisons: [ComparisonOperator] = [
            .gt, .gte, .lt, .lte, .like, .ilike, .startsWith, .endsWith,
        ]
        let lists: [ComparisonOperator] = [.in, .nin, .containsAll, .containsAny, .containedBy]
        let refused: [Predicate] =
            comparisons.flatMap { [.compare($0, "area", shape), .compare($0, "area", text)] }
            + lists.map { .comparison($0, .keyPath(area), .list([shape])) }
            + [
                .comparison(.lt, .keyPath(area), .keyPath(area)), .between(.keyPath(area), shape, shape),
                .match(.keyPath(area), "a"), .regex(.keyPath(area), "a", ignoresCase: false),
                .elements(area, .any, .and([])), .found("area", in: "note"), .found("area", in: "note", key: "area"),
                .place(area, .near(place(0, 0), radius: 5)), .compare(.contains, "area", text),
                .comparison(.lt, .function(.distance(place(0, 0)), area), .value(.integer(1))),
                .comparison(.eq, .function(.fold, area), .value(text)),
                .comparison(.eq, .function(.size, area), .value(.integer(1))),
            ]
        for predicate in refused {
            let error = #expect(throws: SkyrowError.self, "\(predicate)") {
                try Self.resolve(RecordQuery(type: type("note"), predicate: predicate))
            }
            #expect(error?.code == .invalidArgument && error?.path != nil, "\(predicate)")
        }
    }

    @Test func theDatabaseAloneSaysWhichGeometriesAreInAPolygon() throws {
        let polygon = PlaceCondition.inPolygon([ring((0, 0), (4, 0), (0, 4))])
        let box = PlaceCondition.inBox(southWest: place(0, 0), northEast: place(1, 1))
        let rows: [(predicate: Predicate, needsDatabase: Bool)] = [
            (.place(path("area"), polygon), true), (.not(.and([.place(path("area"), polygon)])), true),
            (.found("next", in: "note", .place(path("area"), polygon)), true),
            (.elements(path("friends"), .any, .place(path("area"), polygon)), true),
            (.place(path("at"), polygon), false),
            (.place(path("area"), box), false), (.compare(.contains, "area", .location(place(0, 0))), false),
            (.compare(.eq, "area", .geometry(.point(place(0, 0)))), false),
            (.compare(.exists, "area", .boolean(true)), false),
        ]
        for row in rows {
            let predicate = try Self.resolve(RecordQuery(type: type("note"), predicate: row.predicate)).predicate
            #expect(predicate?.needsDatabase == row.needsDatabase, "\(row.predicate)")
        }
    }

    @Test func nearGivesTheOrderUnlessTheQueryDoes() throws {
        let near = Predicate.place(path("at"), .near(place(0, 0), radius: nil))
        let nearest = try Self.resolve(RecordQuery(type: type("note"), predicate: .and([near])))
        #expect(nearest.sort.map(\.column.reading) == [.distance(place(0, 0)), .stored])
        #expect(nearest.sort.map(\.isNeverMissing) == [true, true])
        let sorted = RecordQuery(type: type("note"), predicate: .or([near]), sort: [SortKey(path("title"))])
        #expect(try Self.resolve(sorted).sort.map(\.column.reading) == [.stored, .stored])
        // Inside of another query there is no order.
        let inner = Predicate.found("next", in: "note", .not(near))
        #expect(try Self.resolve(RecordQuery(type: type("note"), predicate: inner)).sort.count == 1)
        // Each of several places is somewhere else.
        var several = RecordQuery(
            type: type("note"),
            predicate: .place(path("friends.at"), .near(place(0, 0), radius: 1))
        )
        let error = #expect(throws: SkyrowError.self) { try Self.resolve(several) }
        #expect(error?.code == .recordQueryInvalid && error?.path == "predicate[0]")
        several.sort = [SortKey(path("title"))]
        guard case .any(let elements)? = try Self.resolve(several).predicate, case .place = elements.predicate else {
            Issue.record("no condition on several records")
            return
        }
    }

    @Test func aDistanceUpToANumberIsACircle() throws {
        func condition(_ comparison: ComparisonOperator, _ value: RecordValue) throws -> ResolvedPredicate? {
            let operand = Operand.function(.distance(place(0, 0)), path("at"))
            let predicate = Predicate.comparison(comparison, operand, .value(value))
            return try Self.resolve(RecordQuery(type: type("note"), predicate: predicate)).predicate
        }
        for (comparison, value) in [
            (ComparisonOperator.lt, RecordValue.integer(5)), (.lte, .number(5)), (.lt, .string("5")),
        ] {
            guard case .place(let column, .within(place(0, 0), metres: 5))? = try condition(comparison, value) else {
                Issue.record("\(comparison) \(value)")
                continue
            }
            #expect(column.kind == .location)
        }
        guard case .place(_, .anywhere)? = try condition(.lt, .number(1e300)),
            case .constant(_, false)? = try condition(.lte, .integer(-1)),
            case .comparison(_, .greater, .number(5))? = try condition(.gt, .integer(5)),
            case .unknown? = try condition(.lt, .null)
        else {
            Issue.record("another condition")
            return
        }
    }

    @Test(arguments: [
        (
            Inclusion(name: "d", keyPath: path("title"), function: .distance(place(0, 0))), ErrorCode.invalidArgument,
            "include.d[2]"
        ),
        (
            Inclusion(name: "d", keyPath: path("no"), function: .distance(place(0, 0))), .recordQueryInvalid,
            "include.d[2]"
        ),
        (Inclusion(name: "d", keyPath: path("title"), function: .fold), .notSupported, "include.d[1]"),
        (Inclusion(name: "d", keyPath: path("tags"), function: .size), .notSupported, "include.d[1]"),
    ])
    func anIncludedFunctionIsADistance(inclusion: Inclusion, code: ErrorCode, path: String) throws {
        let error = #expect(throws: SkyrowError.self) {
            try Self.resolve(RecordQuery(type: type("note"), include: [inclusion]))
        }
        #expect(error?.code == code)
        #expect(error?.path == path)
    }
}
