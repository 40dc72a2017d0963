import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowQuery
@testable import SkyrowStore

/// Instants inside JSON: which texts are some, in SQL and in memory, and what is asked of them.
@Suite(.timeLimit(.minutes(60))) struct JSONInstantTests {
    /// A value inside JSON, and the instant that it is; nil where it is none.
    private static let table = texts.map { (json: "\"\($0.text)\"", instant: $0.instant) } + values

    private static let values: [(json: String, instant: String?)] = [
        (#"{"$type":"date","$date":"2019-03-01T10:00:00+01:00"}"#, "2019-03-01T09:00:00Z"),
        (#"{"$date":"2019-03-01T09:00:00Z","note":[1],"$type":"date"}"#, "2019-03-01T09:00:00Z"),
        (#"{"$type":"date","$date":"infinity"}"#, "infinity"),
        (#"{"$type":"date","$date":"yesterday"}"#, nil), (#"{"$type":"date","$date":0}"#, nil),
        (#"{"$type":"date","$date":{"$type":"date","$date":"2019-03-01T09:00:00Z"}}"#, nil),
        (#"{"$type":"date"}"#, nil), (#"{"$date":"2019-03-01T09:00:00Z"}"#, nil),
        (#"{"$type":"Date","$date":"2019-03-01T09:00:00Z"}"#, nil),
        (#"{"$type":["date"],"$date":"2019-03-01T09:00:00Z"}"#, nil),
        (#"["2019-03-01T09:00:00Z"]"#, nil), ("1551430800", nil), ("true", nil), ("null", nil), ("{}", nil),
        ("[]", nil),
        (#""2019-03-01\u005409:00:00Z""#, "2019-03-01T09:00:00Z"),
        ("\"2019-03-01T09:00:00.\(String(repeating: "4", count: 43))Z\"", "2019-03-01T09:00:00.444444Z"),
        // Longer than 64 bytes.
        ("\"2019-03-01T09:00:00.\(String(repeating: "4", count: 44))Z\"", nil),
        ("\"\(String(repeating: "2019-03-01T09:00:00Z", count: 50_000))\"", nil),
    ]

    private static let texts: [(text: String, instant: String?)] = [
        ("2019-03-01T09:00:00Z", "2019-03-01T09:00:00Z"), ("2019-03-01t09:00:00z", "2019-03-01T09:00:00Z"),
        ("2019-03-01T09:00:00.5+02:00", "2019-03-01T07:00:00.5Z"),
        ("2019-03-01T00:30:00-05:30", "2019-03-01T06:00:00Z"),
        ("2019-03-01T09:00:00-00:00", "2019-03-01T09:00:00Z"), ("2000-02-29T23:59:59+23:59", "2000-02-29T00:00:59Z"),
        ("1999-12-31T23:59:59.999999Z", "1999-12-31T23:59:59.999999Z"),
        // Finer than a microsecond.
        ("2019-03-01T09:00:00.1234564999Z", "2019-03-01T09:00:00.123456Z"),
        ("2019-03-01T09:00:00.1234565Z", "2019-03-01T09:00:00.123457Z"),
        ("2019-12-31T23:59:59.999999500+00:00", "2020-01-01T00:00:00Z"),
        // The ends of the calendar.
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"), ("0000-02-29T12:00:00Z", "0000-02-29T12:00:00Z"),
        ("-000043-03-15T12:00:00Z", "-000043-03-15T12:00:00Z"), ("-000004-02-29T00:00:00Z", "-000004-02-29T00:00:00Z"),
        ("9999-12-31T23:59:59.9999996Z", "+010000-01-01T00:00:00Z"),
        ("+010000-01-01T00:00:00Z", "+010000-01-01T00:00:00Z"),
        ("+002019-03-01T09:00:00Z", "2019-03-01T09:00:00Z"), ("-000000-03-01T09:00:00Z", nil),
        ("+294276-12-31T23:59:59.999999Z", "+294276-12-31T23:59:59.999999Z"),
        ("+294276-12-31T23:59:59.9999995Z", nil), ("+294277-01-01T00:00:00Z", nil),
        ("+294277-01-01T00:30:00+01:00", "+294276-12-31T23:30:00Z"), ("+294276-12-31T23:30:00-01:00", nil),
        ("-004713-11-24T00:00:00Z", "-004713-11-24T00:00:00Z"), ("-004713-11-23T23:59:59.999999Z", nil),
        ("-004713-11-23T23:30:00-01:00", "-004713-11-24T00:30:00Z"), ("-004713-11-24T00:30:00+01:00", nil),
        ("+999999-12-31T23:59:59Z", nil), ("-999999-01-01T00:00:00Z", nil), ("+294277-01-10T00:00:00Z", nil),
        ("infinity", "infinity"), ("-infinity", "-infinity"), ("Infinity", nil), ("+infinity", nil),
        // Dates and times that there are not.
        ("2016-12-31T23:59:60Z", nil), ("2019-01-01T24:00:00Z", nil), ("2019-01-01T00:60:00Z", nil),
        ("2019-02-29T00:00:00Z", nil), ("1900-02-29T00:00:00Z", nil), ("2000-02-30T00:00:00Z", nil),
        ("2019-04-31T00:00:00Z", nil), ("2019-00-01T00:00:00Z", nil), ("2019-13-01T00:00:00Z", nil),
        ("2019-01-00T00:00:00Z", nil), ("2019-01-32T00:00:00Z", nil), ("2019-01-01T00:00:00+24:00", nil),
        ("2019-01-01T00:00:00+00:60", nil),
        // Other forms, which PostgreSQL reads by the settings of a session or not at all.
        ("2019-03-01T09:00:00", nil), ("2019-03-01", nil), ("2019-03-01 09:00:00Z", nil), ("2019-03-01T09:00Z", nil),
        ("2019-03-01T09:00:00+0200", nil), ("2019-03-01T09:00:00+02", nil), ("2019-03-01T09:00:00.Z", nil),
        ("2019-03-01T09:00:00,5Z", nil), ("2019-03-01T09:00:00Zz", nil), ("2019-03-01T09:00:00Z+01:00", nil),
        ("2019-03-01T09:00:00 Europe/Warsaw", nil), (" 2019-03-01T09:00:00Z", nil), ("2019-03-01T09:00:00Z ", nil),
        ("2019-03-01T09:00:00Z\\n", nil), ("2019-03-01T09:00:00\\u221201:00", nil), ("２019-03-01T09:00:00Z", nil),
        ("2019-03-01T09:00:0٣Z", nil), ("2019-03-01T09:00:00Z BC", nil), ("01/03/2019", nil), ("now", nil),
        ("20190301T090000Z", nil), ("J2458544", nil), ("epoch", nil), ("", nil), ("Z", nil), ("+", nil), ("-", nil),
    ]

    /// What the database takes each value for; it fails where that is an error for one of them.
    private static func stored(_ f: RecordsFixture, _ values: [String]) async throws -> [Timestamp?] {
        let result = try await f.client.read(
            """
            SELECT app._json_instant("v"."value") FROM unnest(\(values.map { PostgresJSONB($0) })) \
            WITH ORDINALITY AS "v" ("value", "place") ORDER BY "place"
            """
        )
        return try (0..<result.rowCount).map { row in
            try result.decode(row: row, column: 0, as: PostgresTimestamp?.self)
                .map { Timestamp(microseconds: $0.microsecondsSince2000) }
        }
    }

    private static func inMemory(_ value: String) -> Timestamp? {
        JSONText(validated: Array(value.utf8)).withValue { $0.instant } ?? nil
    }

    @Test func databaseAndMemoryTakeTheSameForAnInstant() async throws {
        try await withRecords { f in
            let expected = try Self.table.map { row in try row.instant.map { try Timestamp(rfc3339: $0) } }
            let stored = try await Self.stored(f, Self.table.map(\.json))
            for (place, row) in Self.table.enumerated() {
                #expect(stored[place] == expected[place], "in the database: \(row.json.prefix(100))")
                #expect(Self.inMemory(row.json) == expected[place], "in memory: \(row.json.prefix(100))")
            }
        }
    }

    /// Every text that one or two changes make of a good one, which is the neighbourhood of all that is almost an instant.
    @Test func whatIsAlmostAnInstantIsTheSameInBoth() async throws {
        try await withRecords { f in
            var random = SeededGenerator.forTest()
            let good = Self.texts.filter { $0.instant != nil }.map(\.text)
            let pieces = Array("0123456789+-:.TtZz 9") + ["é", "٣", "−"]
            var values: [String] = []
            var instants = 0
            for _ in 0..<20_000 {
                var text = Array(random.element(good))
                for _ in 0...Int.random(in: 0...1, using: &random) where !text.isEmpty {
                    let place = Int.random(in: text.indices, using: &random)
                    switch Int.random(in: 0..<3, using: &random) {
                    case 0: text[place] = random.element(pieces)
                    case 1: text.insert(random.element(pieces), at: place)
                    default: text.remove(at: place)
                    }
                }
                values.append("\"\(String(text))\"")
            }
            for (value, stored) in zip(values, try await Self.stored(f, values)) {
                let expected = Self.inMemory(value)
                if expected != nil { instants += 1 }
                guard stored == expected else {
                    Issue.record(
                        "seed \(random.seed): \(value) is \(expected as Any) in memory and \(stored as Any) in SQL"
                    )
                    return
                }
            }
            #expect(instants > 1000)
        }
    }

    @Test func anInstantIsTheSameWhateverTheSettingsOfTheSession() async throws {
        try await withRecords { f in
            let answer = try await f.psql(
                """
                SET timezone = 'Asia/Kathmandu'; SET datestyle = 'SQL, DMY'; SET intervalstyle = 'sql_standard';
                SET search_path = '';
                SELECT extract(epoch FROM app._json_instant('"2001-02-03T04:05:06.789+01:00"')) = 981169506.789,
                    provolatile, proparallel
                FROM pg_catalog.pg_proc WHERE oid = 'app._json_instant(jsonb)'::regprocedure
                """
            )
            #expect(answer == "t|i|s")
        }
    }

    // MARK: Questions

    private static func at(_ name: String = "tags.at") -> KeyPath {
        var path = path(name)
        path.jsonType = .datetime
        return path
    }

    private static func instant(_ text: String) -> RecordValue { .datetime(try! Timestamp(rfc3339: text)) }

    /// The instants of three notes in the order of their ids, then notes without one.
    private static let notes = [
        #"{"at":"2019-03-01T09:00:00Z","all":["2019-01-01T00:00:00Z","x"]}"#,
        #"{"at":{"$type":"date","$date":"2019-03-01T10:30:00+02:00"},"all":[]}"#,
        #"{"at":"2019-03-02T00:00:00.0000004+00:00","all":[{"$type":"date","$date":"2020-01-01T00:00:00Z"}]}"#,
        #"{"at":"2019-03-01"}"#, #"{"at":1551430800}"#, "[]",
    ]

    private func withNotes(_ body: @escaping @Sendable (RecordsFixture) async throws -> Void) async throws {
        try await withRecords { f in
            for (place, tags) in Self.notes.enumerated() {
                try await f.save(
                    "note/\(place + 1)",
                    ["tags": .json(JSONText(validated: Array(tags.utf8))), "due": Self.instant("2019-03-01T09:00:00Z")]
                )
            }
            try await body(f)
        }
    }

    @Test func instantsInsideJSONAreComparedAndSorted() async throws {
        try await withNotes { f in
            let nine = Self.instant("2019-03-01T09:00:00Z")
            func at(_ comparison: ComparisonOperator, _ value: RecordValue) -> Predicate {
                .comparison(comparison, .keyPath(Self.at()), .value(value))
            }
            let rows: [(Predicate, [String])] = [
                (at(.eq, nine), ["1"]), (at(.neq, nine), ["2", "3"]), (at(.lt, nine), ["2"]),
                (at(.lte, nine), ["1", "2"]),
                (at(.gt, nine), ["3"]), (at(.gte, nine), ["1", "3"]), (.not(at(.lt, nine)), ["1", "3"]),
                // A text is cast, as beside a field.
                (at(.eq, .string("2019-03-02T01:00:00+01:00")), ["3"]),
                (.comparison(.in, .keyPath(Self.at()), .list([nine, .null])), ["1"]),
                (.comparison(.nin, .keyPath(Self.at()), .list([nine])), ["2", "3"]),
                (.between(.keyPath(Self.at()), Self.instant("2019-03-01T08:30:00Z"), nine), ["1", "2"]),
                (.comparison(.exists, .keyPath(Self.at()), .value(.boolean(false))), ["4", "5", "6"]),
                (.comparison(.eq, .keyPath(Self.at()), .value(.null)), ["4", "5", "6"]),
                // The type of the literal, where the path says none.
                (.compare(.gt, "tags.at", nine), ["3"]),
                (.comparison(.gte, .keyPath(Self.at()), .keyPath(path("due"))), ["1", "3"]),
                (.comparison(.lt, .keyPath(path("due")), .keyPath(Self.at())), ["3"]),
                (.elements(path("tags.all"), .any, .comparison(.lt, .keyPath(Self.at("$")), .value(nine))), ["1"]),
                (
                    .elements(path("tags.all"), .all, .comparison(.gt, .keyPath(Self.at("$")), .value(nine))),
                    ["2", "3", "4", "5", "6"]
                ),
            ]
            for (predicate, expected) in rows {
                let found = try await f.query(predicate) { $0.sort = [SortKey(path("_id"))] }
                #expect(found == expected, "\(predicate)")
            }
            let reader = PageReader(store: f.store)
            let orders: [(SortKey.Direction, SortKey.Nulls?, [String])] = [
                (.ascending, nil, ["2", "1", "3", "4", "5", "6"]), (.descending, nil, ["6", "5", "4", "3", "1", "2"]),
                (.ascending, .first, ["4", "5", "6", "2", "1", "3"]),
                (.descending, .last, ["3", "1", "2", "6", "5", "4"]),
            ]
            for (direction, nulls, expected) in orders {
                let query = RecordQuery(type: type("note"), sort: [SortKey(Self.at(), direction, nulls)])
                for isBackwards in [false, true] {
                    let ids = try await reader.ids(query, by: 2, isBackwards: isBackwards)
                    #expect(ids == expected, "\(direction), backwards: \(isBackwards)")
                }
            }
        }
    }
}
