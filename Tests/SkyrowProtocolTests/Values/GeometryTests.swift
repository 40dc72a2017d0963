import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

private func at(_ longitude: Double, _ latitude: Double) -> Location {
    try! Location(latitude: latitude, longitude: longitude)
}

private let square = [at(0, 0), at(4, 0), at(4, 4), at(0, 4), at(0, 0)]
private let hole = [at(1, 1), at(1, 2), at(2, 2), at(1, 1)]

@Suite struct GeometryTests {
    static let readable: [(String, Geometry)] = [
        (#"{"type":"Point","coordinates":[114.15,22.28]}"#, .point(at(114.15, 22.28))),
        (#"{"type":"MultiPoint","coordinates":[[0,0],[-180,90]]}"#, .multiPoint([at(0, 0), at(-180, 90)])),
        (#"{"type":"LineString","coordinates":[[0,0],[1.5,-1]]}"#, .lineString([at(0, 0), at(1.5, -1)])),
        (
            #"{"type":"MultiLineString","coordinates":[[[0,0],[1,1]],[[2,2],[3,3],[4,4]]]}"#,
            .multiLineString([[at(0, 0), at(1, 1)], [at(2, 2), at(3, 3), at(4, 4)]])
        ),
        (
            #"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[1,2],[2,2],[1,1]]]}"#,
            .polygon([square, hole])
        ),
        (
            #"{"type":"MultiPolygon","coordinates":[[[[0,0],[4,0],[4,4],[0,4],[0,0]]],[[[1,1],[1,2],[2,2],[1,1]]]]}"#,
            .multiPolygon([[square], [hole]])
        ),
        (
            #"{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"GeometryCollection","geometries":[{"type":"LineString","coordinates":[[0,0],[1,1]]}]}]}"#,
            .collection([.point(at(1, 2)), .collection([.lineString([at(0, 0), at(1, 1)])])])
        ),
    ]

    @Test(arguments: readable)
    func aGeometryIsWrittenAsItIsRead(text: String, geometry: Geometry) throws {
        let value = #"{"$type":"geojson","$val":\#(text)}"#
        #expect(try readJSON(value) { try RecordValue($0, field: "area") } == .geometry(geometry))
        #expect(writtenJSON { $0.value(RecordValue.geometry(geometry)) } == value)
        let bytes = geometry.ewkb
        #expect(bytes.withUnsafeBytes { Geometry(ewkb: $0) } == geometry)
        // A part of it is none, nor is it with something behind it.
        for count in 0..<bytes.count { #expect(bytes[..<count].withUnsafeBytes { Geometry(ewkb: $0) } == nil) }
        #expect((bytes + [0]).withUnsafeBytes { Geometry(ewkb: $0) } == nil)
    }

    static let refused: [String] = [
        #"{}"#, "1", "[]", "null", #"{"type":"Point"}"#, #"{"type":1,"coordinates":[0,0]}"#,
        #"{"type":"point","coordinates":[0,0]}"#,
        #"{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":null}"#,
        #"{"type":"FeatureCollection","features":[]}"#, #"{"type":"Point","coordinates":[0,0],"crs":{}}"#,
        #"{"type":"Point","coordinates":[]}"#, #"{"type":"Point","coordinates":[0]}"#,
        #"{"type":"Point","coordinates":[0,0,0]}"#,
        #"{"type":"Point","coordinates":["0",0]}"#, #"{"type":"Point","coordinates":[181,0]}"#,
        #"{"type":"Point","coordinates":[0,-91]}"#,
        #"{"type":"Point","coordinates":[1e400,0]}"#, #"{"type":"Point","coordinates":[null,0]}"#,
        #"{"type":"MultiPoint","coordinates":[]}"#, #"{"type":"MultiPoint","coordinates":[0,0]}"#,
        #"{"type":"LineString","coordinates":[[0,0]]}"#, #"{"type":"LineString","coordinates":[]}"#,
        #"{"type":"MultiLineString","coordinates":[[[0,0]]]}"#, #"{"type":"MultiLineString","coordinates":[]}"#,
        #"{"type":"Polygon","coordinates":[]}"#, #"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#,
        #"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#,
        #"{"type":"Polygon","coordinates":[[0,0],[1,0],[1,1],[0,0]]}"#,
        #"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[-0.0,0]]]}"#,
        #"{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,0]],[[1,1],[2,1]]]}"#,
        #"{"type":"MultiPolygon","coordinates":[[]]}"#,
        #"{"type":"GeometryCollection","geometries":[]}"#, #"{"type":"GeometryCollection","coordinates":[]}"#,
        #"{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection","geometries":[]}]}"#,
        #"{"type":"GeometryCollection","geometries":[1]}"#,
        #"{"type":"CircularString","coordinates":[[0,0],[1,1],[2,0]]}"#,
    ]

    @Test(arguments: refused)
    func anythingElseIsRefused(text: String) throws {
        let error = try refusal(#"{"$type":"geojson","$val":\#(text)}"#) { try RecordValue($0, field: "area") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.arguments == ["area"])
    }

    @Test func positionsAndCollectionsAreBounded() throws {
        func line(_ count: Int) -> String {
            let positions = Array(repeating: "[1,2]", count: count).joined(separator: ",")
            return #"{"$type":"geojson","$val":{"type":"LineString","coordinates":[\#(positions)]}}"#
        }
        _ = try readJSON(line(10_000)) { try RecordValue($0, field: "area") }
        for count in [10_001, 60_000] {
            #expect(try refusal(line(count)) { try RecordValue($0, field: "area") }?.message.contains("10000") == true)
        }
        func nested(_ depth: Int) -> String {
            let inner = (0..<depth).reduce(#"{"type":"Point","coordinates":[1,2]}"#) { part, _ in
                #"{"type":"GeometryCollection","geometries":[\#(part)]}"#
            }
            return #"{"$type":"geojson","$val":\#(inner)}"#
        }
        _ = try readJSON(nested(15)) { try RecordValue($0, field: "area") }
        #expect(try refusal(nested(16)) { try RecordValue($0, field: "area") }?.code == .invalidArgument)
    }

    /// `SELECT ST_AsEWKB(…)` of PostGIS for shapes that GeoJSON does not have, and for counts without bytes behind them.
    @Test(arguments: [
        "0101000020E6100000000000000000F87F000000000000F87F", "0103000020E610000000000000",
        "0107000020E610000000000000",
        "0108000020E61000000300000000000000000000000000000000000000000000000000F03F000000000000F03F00000000000000400000000000000000",
        "01010000A0E6100000000000000000F03F00000000000000400000000000000840",
        "0101000000000000000000F03F0000000000000040",
        "0101000020110F0000000000000000F03F0000000000000040", "0102000020E6100000FFFFFFFF",
        "0107000020E6100000FFFFFFFF0101000000",
        "0101000020E610000000000000000069400000000000000000",
    ])
    func whatIsNoGeometryOfGeoJSONIsUnknown(hexadecimal: String) {
        let digits = Array(hexadecimal.utf8)
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).map {
            UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)!
        }
        #expect(bytes.withUnsafeBytes { Geometry(ewkb: $0) } == nil)
        let written = bytes.withUnsafeBytes { bytes in writtenJSON { $0.geometry(ewkb: bytes) } }
        #expect(written == #"{"$type":"unknown","$underlying_type":"geometry"}"#)
    }

    @Test func aPolygonOfGeoJSONIsOneOfLocations() throws {
        let area =
            #"{"$type":"geojson","$val":{"type":"Polygon","coordinates":[[[0,0],[4,0],[4,4],[0,4],[0,0]],[[1,1],[1,2],[2,2],[1,1]]]}}"#
        let text = #"["within_polygon",{"$type":"keypath","$val":"at"},\#(area)]"#
        let predicate = RecordPredicate.place(keyPath("at"), .inPolygon([square, hole]))
        #expect(try readJSON(text) { try RecordPredicate($0) } == predicate)
        #expect(writtenJSON { $0.predicate(predicate) } == text)
        let point =
            #"["within_polygon",{"$type":"keypath","$val":"at"},{"$type":"geojson","$val":{"type":"Point","coordinates":[1,2]}}]"#
        #expect(try refusal(point) { try RecordPredicate($0) }?.path == "predicate[2]")
        let turned = #"["in",{"$type":"geo","$lng":1,"$lat":2},{"$type":"keypath","$val":"area"}]"#
        let contains = RecordPredicate.comparison(.in, .value(.location(at(1, 2))), .keyPath(keyPath("area")))
        #expect(try readJSON(turned) { try RecordPredicate($0) } == contains)
    }
}
