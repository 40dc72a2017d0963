import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

/// Locations in files: exported, imported into a database that has no PostGIS yet, and kept to the last digit.
@Suite(.timeLimit(.minutes(60))) struct LocationTransferTests {
    private static let places = [
        try! Location(latitude: 22.28, longitude: 114.15), try! Location(latitude: -90, longitude: -180),
        try! Location(latitude: 0.1 + 0.2, longitude: .leastNonzeroMagnitude),
    ]

    private static func area(_ place: Location) -> Geometry {
        .collection([
            .point(place), .polygon([[place, places[0], places[1], place]]), .lineString([places[1], place]),
        ])
    }

    @Test func aGeometryIsReadInThePlaceOfTextByPostGISToo() throws {
        let place = Self.places[0]
        for text in [
            #"{"type":"Point","coordinates":[114.15,22.28]}"#, "0101000020E61000009A99999999895C4048E17A14AE473640",
        ] {
            #expect(try FieldType.geometry.value(inText: text) == .geometry(.point(place)))
        }
        for text in ["", "x", "POINT(1 2)", "{}", "01", #"{"type":"Point","coordinates":[181,0]}"#] {
            #expect(throws: FieldFault.self) { try FieldType.geometry.value(inText: text) }
        }
    }

    @Test(arguments: [FileFormat.csv, .json, .ndjson])
    func whatIsExportedIsImported(format: FileFormat) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        try await withStore { f in
            let drafts =
                Self.places.enumerated().map {
                    draft("shop/\($0)", ["place": .location($1), "area": .geometry(Self.area($1))])
                }
                + [draft("shop/none")]
            try await f.store.createMissingSchema(for: drafts)
            _ = try await f.store.save(drafts.map { .draft($0) }, in: .everyone, caller: .ann, atomic: false)
            try await f.exportAll(as: format, to: directory)
        }
        try await withStore { f in
            #expect(try await f.psql("SELECT count(*) FROM pg_extension WHERE extname = 'postgis'") == "0")
            try await f.importAll(of: directory)
            let ids = Self.places.indices.map { id("shop/\($0)") } + [id("shop/none")]
            let found = try await f.store.fetch(ids, in: .everyone, caller: .master).map {
                try $0.record.fields[field("place")]
            }
            #expect(found == Self.places.map { .location($0) } + [nil])
            let areas = try await f.store.fetch(ids, in: .everyone, caller: .master).map {
                try $0.record.fields[field("area")]
            }
            #expect(areas == Self.places.map { .geometry(Self.area($0)) } + [nil])
        }
    }

    @Test(arguments: [
        (["POINT(114.15 22.28)", "POINT (1 2)", "SRID=4326;POINT(-180 90)"], FieldType.location),
        (["0101000020E61000009A99999999895C4048E17A14AE473640"], .location),
        (["POINT(114.15 22.28)", "x"], .string), (["POINT(181 0)"], .string), (["POINT(1 2 3)"], .string),
        (["POINT EMPTY"], .string), (["SRID=3857;POINT(1 2)"], .string), (["POINT(1,2)"], .string),
        (["point(1 2)"], .string), (["22.28,114.15"], .string),
    ])
    func aTextIsALocationInPostGISsSpellings(texts: [String], type: FieldType) throws {
        var inference = TypeInference()
        for text in texts { inference.observe(text: text) }
        #expect(inference.type == type)
        guard type == .location else { return }
        for text in texts {
            guard case .location(let location) = try FieldType.location.value(inText: text) else {
                Issue.record("\(text) is no location")
                continue
            }
            #expect(CSVText.location(location.csvText) == location)
        }
    }

    @Test func anythingElseInALocationsColumnIsRefused() {
        for text in ["x", "POINT(181 0)", "POINT(1)", "[1,2]"] {
            let fault = #expect(throws: FieldFault.self) { try FieldType.location.value(inText: text) }
            #expect(fault?.reason.contains("POINT(longitude latitude)") == true)
        }
    }
}
