import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowPostgres
@testable import SkyrowStore

/// Groups and aggregates of values inside JSON.
@Suite(.timeLimit(.minutes(60))) struct AggregateJSONTests: AggregateSuite {
    @Test func valuesInsideJSONAreComputedAsTheTypeThatIsAsked() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, tags) VALUES ('1', '{"price": 0.10, "kind": "a"}'), ('2', '{"price": 0.1, "kind": "a"}'),
                    ('3', '{"price": 0.2, "kind": "a"}'), ('4', '{"price": "x", "kind": "b"}'), ('5', '{"kind": "b"}'),
                    ('6', '{"price": 12345678901234567890.5, "kind": "c"}'), ('7', '{"price": 1e399, "kind": "d"}'), ('8', NULL)
                """
            )
            func inside(_ name: String, _ type: JSONValueType) -> KeyPath {
                var path = path("tags.\(name)")
                path.jsonType = type
                return path
            }
            func number(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }
            let price = inside("price", .number)
            var query = AggregateQuery(
                type: type("note"),
                groupKeys: [GroupKey("kind", inside("kind", .string))],
                aggregates: [
                    Aggregate("sum", .sum, price), Aggregate("avg", .average, price),
                    Aggregate("least", .minimum, price),
                    Aggregate("most", .maximum, price), Aggregate("values", .countDistinct, price),
                ]
            )
            let huge = number("1" + String(repeating: "0", count: 399))
            let long = number("12345678901234567890.5")
            let groups: [Group] = [
                [
                    "kind": .string("a"), "sum": number("0.4"), "avg": .number(0.4 / 3),
                    "least": number("0.1"), "most": number("0.2"), "values": .integer(2),
                ],
                ["kind": .string("b"), "values": .integer(0)],
                [
                    "kind": .string("c"), "sum": long, "avg": .number(12345678901234567890.5), "least": long,
                    "most": long,
                    "values": .integer(1),
                ],
                [
                    "kind": .string("d"), "sum": huge, "avg": .number(.infinity), "least": huge, "most": huge,
                    "values": .integer(1),
                ],
                ["values": .integer(0)],
            ]
            #expect(try await Self.groups(f, query) == groups)
            query.having = .compare(.gte, "sum", .number(0.4))
            query.sort = [SortKey(path("most"), .descending)]
            #expect(try await Self.groups(f, query) == [groups[3], groups[2], groups[0]])
            let keys = AggregateQuery(
                type: type("note"),
                groupKeys: [GroupKey("price", price)],
                aggregates: [Self.aggregate("n", .count)]
            )
            #expect(
                try await Self.groups(f, keys) == [
                    ["price": number("0.1"), "n": .integer(2)], ["price": number("0.2"), "n": .integer(1)],
                    ["price": long, "n": .integer(1)], ["price": huge, "n": .integer(1)], ["n": .integer(3)],
                ]
            )
            for (function, path, code) in [
                (.sum, inside("kind", .string), .invalidArgument),
                (.average, inside("kind", .boolean), .invalidArgument),
                (.sum, path("tags.price"), .invalidArgument),
            ] as [(Aggregate.Function, KeyPath, ErrorCode)] {
                let refused = AggregateQuery(type: type("note"), aggregates: [Aggregate("x", function, path)])
                #expect(await Self.error(f, refused)?.code == code)
            }
        }
    }

    @Test func instantsInsideJSONFallIntoBuckets() async throws {
        try await withRecords { f in
            try await f.psql(
                """
                INSERT INTO note (_id, tags) VALUES ('1', '{"at": "2019-03-01T09:00:00Z"}'),
                    ('2', '{"at": {"$type": "date", "$date": "2019-03-01T10:30:00+02:00"}}'), ('3', '{"at": "2019-03-01T09:00:00z"}'),
                    ('4', '{"at": "2019-03-02T00:00:00.000001Z"}'), ('5', '{"at": "2019-03-01"}'), ('6', NULL)
                """
            )
            var at = path("tags.at")
            at.jsonType = .datetime
            func instant(_ text: String) throws -> RecordValue { .datetime(try Timestamp(rfc3339: text)) }
            var query = AggregateQuery(
                type: type("note"),
                groupKeys: [GroupKey("day", at, in: TimeBucket(.day))],
                aggregates: [
                    Aggregate("least", .minimum, at), Aggregate("most", .maximum, at),
                    Aggregate("values", .countDistinct, at), Self.aggregate("n", .count),
                ]
            )
            let groups: [Group] = [
                [
                    "day": try instant("2019-03-01T00:00:00Z"), "least": try instant("2019-03-01T08:30:00Z"),
                    "most": try instant("2019-03-01T09:00:00Z"), "values": .integer(2), "n": .integer(3),
                ],
                [
                    "day": try instant("2019-03-02T00:00:00Z"), "least": try instant("2019-03-02T00:00:00.000001Z"),
                    "most": try instant("2019-03-02T00:00:00.000001Z"), "values": .integer(1), "n": .integer(1),
                ],
                ["values": .integer(0), "n": .integer(2)],
            ]
            #expect(try await Self.groups(f, query) == groups)
            query.having = .compare(.gt, "most", try instant("2019-03-01T09:00:00Z"))
            #expect(try await Self.groups(f, query) == [groups[1]])
            let sum = AggregateQuery(type: type("note"), aggregates: [Aggregate("x", .sum, at)])
            #expect(await Self.error(f, sum)?.code == .invalidArgument)
        }
    }

    /// The average of decimals is a double like every average: rounded, never a failure, and compared as what is sent.
    @Test func averagesOfValuesInsideJSONAreDoubles() async throws {
        try await withRecords { f in
            // No name of a path literal, so that the path is a bound value.
            let rows: [(numbers: [String], average: Double)] = [
                (["0.1"], 0.1), (["0.1", "0.2"], 0.15), (["1", "2", "2"], 5.0 / 3),
                (["9007199254740993"], 9_007_199_254_740_992),
                (["1.7976931348623157e308"], .greatestFiniteMagnitude), (["1.7976931348623158079e308"], .infinity),
                (["-1e399"], -.infinity), (["1e399", "-1e399"], 0),
                (["4.9406564584124654e-324"], .leastNonzeroMagnitude),
                (["2.4703282292062328e-324"], .leastNonzeroMagnitude), (["2.4703282292062327e-324"], 0),
                (["-1e-390"], 0),
                (["-0.0"], 0), ([], .nan),
            ]
            for name in ["price", "the price"] {
                var keyPath = path("tags.\(name)")
                keyPath.jsonType = .number
                for (numbers, average) in rows {
                    let values = (numbers + ["\"x\""]).enumerated().map { #"('\#($0)', '{"\#(name)": \#($1)}')"# }
                    try await f.psql(
                        "DELETE FROM note; INSERT INTO note (_id, tags) VALUES \(values.joined(separator: ", "))"
                    )
                    var query = AggregateQuery(
                        type: type("note"),
                        groupKeys: [Self.key("stars")],
                        aggregates: [Aggregate("avg", .average, keyPath)]
                    )
                    let expected: Group = average.isNaN ? [:] : ["avg": .number(average)]
                    #expect(try await Self.groups(f, query) == [expected], "\(numbers)")
                    guard average.isFinite else { continue }
                    query.having = .compare(.eq, "avg", .number(average))
                    query.sort = [SortKey(path("avg"), .descending)]
                    #expect(try await Self.groups(f, query).count == 1, "\(numbers)")
                }
            }
        }
    }
}
