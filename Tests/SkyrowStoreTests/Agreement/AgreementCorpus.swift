import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport

/// Values at which two interpreters could part.
enum AgreementCorpus {
    static let integers: [Int64] = [
        0, 1, -1, 2, 3, 9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, -9_007_199_254_740_993,
        .max, .max - 1, .min, .min + 1, 1994,
    ]

    static let numbers: [Double] = [
        0, -0.0, 1, -1, 0.5, 2.5, -2.5, .leastNonzeroMagnitude, 1e308, 0x1p53, 0x1p53 + 2, -0x1p53, 0x1p63, -0x1p63,
        0x1p63.nextDown,
        1994, .infinity, -.infinity, .nan,
    ]

    static let texts: [String] = [
        "", "a", "A", "b", "aa", "Aa", "z", "Z", "İ", "i", "ı", "I", "ß", "ẞ", "ss", "ς", "Σ", "σ", "ΑΣ", "\u{10FFFF}",
        "\u{E000}", "\u{10000}", "é", "e\u{301}", "É", "%", "_", "\\", "a%b", "a_b", "Å", "å", "ä", "Ä", "Ö", "-a",
        "a-b",
        "ab", "a b", "1", "10", "2", "ǅ", "\t", String(repeating: "Ab", count: 1352),
    ]

    static let instants: [Timestamp] = [
        Timestamp(microseconds: 0), Timestamp(microseconds: 1), Timestamp(microseconds: -1),
        Timestamp(microseconds: -Timestamp.unixEpochOffset), Timestamp(microseconds: -Timestamp.unixEpochOffset + 1),
        Timestamp(microseconds: -211_810_204_800_000_000), Timestamp(microseconds: 9_223_371_331_199_999_999),
        .infinity,
        .negativeInfinity,
    ]

    /// No two of them are as far away from a third one.
    static let locations: [Location] = [
        (114.15, 22.28), (13.4, 52.5), (-73.98, 40.75), (151.2, -33.87), (179.9, -16.5), (-179.8, -16.9), (0, 0),
        (180, 65), (-180, -77.5), (0, 90), (0, -90), (0.1 + 0.2, -Double.leastNonzeroMagnitude),
    ].map { try! Location(latitude: $0.1, longitude: $0.0) }

    /// Some of them are one place.
    static let spots: [Location] =
        locations
        + [(-0.0, 0), (0, -0.0), (-180, 65), (180, -77.5), (77, 90), (-180, 90), (180, -90), (90, 45), (-90, 45)].map {
            try! Location(latitude: $0.1, longitude: $0.0)
        }

    /// Shapes of every kind, one that crosses itself among them, and two that differ in a sign of zero.
    static let geometries: [Geometry] = {
        func ring(_ positions: (Double, Double)...) -> [Location] {
            positions.map { try! Location(latitude: $0.1, longitude: $0.0) }
        }
        let world = ring((-180, -90), (180, -90), (180, 90), (-180, 90), (-180, -90))
        let north = ring((-120, 10), (130, 20), (100, 80), (-120, 10))
        let star = ring((0, 80), (100, -60), (-150, 30), (150, 30), (-100, -60), (0, 80))
        return [
            .point(locations[0]), .point(ring((0, 0))[0]), .point(ring((-0.0, 0))[0]), .multiPoint(spots),
            .lineString(star), .multiLineString([star, north]), .polygon([world]), .polygon([world, north]),
            .polygon([star]), .multiPolygon([[north], [ring((-179, -80), (-10, -80), (-10, -10), (-179, -80))]]),
            .multiPolygon([
                [ring((170, 0), (180, 0), (180, 60), (170, 0))], [ring((-180, 0), (-90, 0), (-180, 60), (-180, 0))],
            ]),
            .collection([.polygon([star]), .collection([.point(locations[1]), .polygon([north])]), .lineString(north)]),
        ]
    }()

    /// Names that the order of bytes and that of a language sort differently.
    static let assets: [Asset] = [
        asset("a.png"), asset("B.png"), asset("a-b.png"), asset("ab.png"), asset("a.png", number: 1),
    ]

    static let bytes: [[UInt8]] = [[], [0], [0, 0], [1], [0x7F], [0x80], [0xFF], [0xFF, 0]]

    static let json: [String] = [
        "[]", "[[]]", "[null]", "{}", "{\"a\": null}", "[\"a\", \"b\"]", "{\"red\": 1, \"b\": [\"c\"]}", "\"a\"", "1",
        "true",
        "[\"\\u00e9\"]", "[\"é\", \"b\\\"\\\\\"]", "[[\"a\"]]", "{\"x\": \"a\"}", "{\"é\": {\"b\": 1}}", "[\"\"]",
        "{\"\": 1}", "[1.0, 1e2, \"\\ud83e\\udd5b\"]", "[[1, 2], {\"a\": 1, \"b\": 2}]", "[[2, 1], [1]]",
        "[1, 1.0, true]",
        "{\"a\": {\"b\": [1, 2.50, \"x\"]}, \"x\": 12345678901234567890.5}", "{\"a\": \"ΣÅb\", \"x\": 0.1}",
        "{\"a\": true, \"x\": -0.0}", "{\"a\": {\"b\": \"a_b\"}, \"x\": 9007199254740993}",
        "{\"a\": [], \"x\": \"10\"}",
        "{\"a\": {\"b\": false}, \"x\": 1e1}", "[\"a\", \"a\"]", "[{\"b\": 2, \"a\": 1.0}]", "[[[]], null, \"é\"]",
        "100", "[0, 10]",
        "\"\"", "false", "[false]", "{\"é\": {\"0\": [\"z\"]}}",
        // Instants, and texts that are almost some.
        #"{"a": "2019-03-01T09:00:00Z", "x": "2019-03-01t10:00:00.0000004+01:00"}"#,
        #"{"a": {"$type": "date", "$date": "2019-03-01T09:00:00.0000005Z"}, "x": "-000043-03-15T12:00:00Z"}"#,
        #"["2016-12-31T23:59:60Z", "+010000-01-01T00:00:00z"]"#, #"["infinity", "2019-01-01T24:00:00Z"]"#,
        #"{"a": "+294277-01-01T00:30:00+01:00", "x": "+999999-12-31T23:59:59Z"}"#,
        #"{"a": {"b": ["2019-03-01T09:00:00", "a", "9999-12-31T23:59:59.9999999-00:00"]}, "x": "2019-03-01T09:00:00+24:00"}"#,
        #"{"a": {"$type": "date", "$date": 1}, "x": {"$date": "2019-03-01T09:00:00Z"}, "é": ["0000-02-29T00:00:00-23:59"]}"#,
    ]

    /// Those among them, and what is beside one.
    static let moments: [Timestamp] = [
        "2019-03-01T09:00:00Z", "2019-03-01T09:00:00.000001Z", "-000043-03-15T12:00:00Z", "+010000-01-01T00:00:00Z",
        "+294276-12-31T23:30:00Z", "0000-02-29T23:59:00Z", "2017-01-01T00:00:00Z",
    ].map { try! Timestamp(rfc3339: $0) }

    /// Values that JSON is compared with, beside those above.
    static let jsonLiterals: [RecordValue] = [
        .string("a"), .string("é"), .string("e\u{301}"), .string(""), .string("x"), .string("b"), .integer(1),
        .integer(2),
        .integer(100), .integer(0), .integer(10), .integer(9_007_199_254_740_993), .number(0.1), .number(2.5),
        .number(-0.0), .number(1e30), .boolean(true), .boolean(false), json("null"), json("[1]"), json("[2, 1]"),
        json("{\"a\":1,\"b\":2.0}"), json("[]"), json("[[]]"), json("{}"), json("1.00"), json("12345678901234567890.5"),
    ]

    static func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

    /// Paths into the JSON of a thing.
    static let jsonPaths = ["a", "x", "0", "1", "a.b", "a.b.0", "a.b.2", "é", "é.0", "é.b.1", "00", "red", "missing.x"]

    /// What may be looked for in JSON.
    static let names: [String] = ["a", "b", "c", "red", "x", "é", "", "b\"\\", "\u{1F95B}", "1", "null"]

    static let users = ["ann", "bob", "carl", "Ann"]
    static let ids = ["1", "2", "10", "a", "A", "é", "~", "home", "a/b", "_"]

    /// Pieces of patterns.
    static let pieces = [
        "a", "A", "b", "%", "_", "\\%", "\\_", "\\\\", "ß", "Σ", "ς", "é", "İ", "\u{10000}", "%a", "ab", "",
    ]
}

extension SeededGenerator {
    mutating func element<Value>(_ values: [Value]) -> Value {
        values.randomElement(using: &self)!
    }

    /// True once in this number of times, on average.
    mutating func oneIn(_ count: Int) -> Bool {
        Int.random(in: 0..<count, using: &self) == 0
    }
}
