import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowStore

/// Each operator for each type of field, on a new record, on one without a value, and on stored values.
@Suite(.timeLimit(.minutes(60))) struct OperatorTableTests {
    enum Outcome: Sendable {
        /// nil for no value.
        case value(RecordValue?)
        case refused(ErrorCode)
    }

    struct Row: Sendable {
        let change: FieldOperator
        let field: String
        let new: Outcome
        let missing: Outcome
        let stored: [(value: RecordValue, outcome: Outcome)]
    }

    private static func row(
        _ change: FieldOperator,
        _ field: String,
        new: Outcome,
        missing: Outcome? = nil,
        _ stored: [(RecordValue, Outcome)]
    ) -> Row {
        Row(change: change, field: field, new: new, missing: missing ?? new, stored: stored.map { ($0.0, $0.1) })
    }

    private static func at(_ microseconds: Int64) -> RecordValue { .datetime(Timestamp(microseconds: microseconds)) }
    private static func array(_ text: String) -> Outcome { .value(jsonValue(text)) }

    static let numbers: [Row] = [
        row(
            .increment(by: 5),
            "stars",
            new: .value(5),
            [
                (2, .value(7)), (-5, .value(0)), (.integer(.max - 5), .value(.integer(.max))),
                (.integer(.max - 4), .refused(.invalidArgument)),
            ]
        ),
        row(.increment(by: -1), "stars", new: .value(-1), [(.integer(.min), .refused(.invalidArgument))]),
        row(.increment(by: 2.0), "stars", new: .value(2), [(1, .value(3))]),
        row(.increment(by: 0.5), "score", new: .value(0.5), [(1.25, .value(1.75)), (1e308, .value(1e308))]),
        row(
            .increment(by: 1e308),
            "score",
            new: .value(1e308),
            [
                (1e308, .refused(.invalidArgument)), (-1e308, .value(0.0)),
            ]
        ),
        row(.increment(by: 3), "score", new: .value(3.0), [(0.5, .value(3.5))]),
        row(.increment(by: -0.0), "score", new: .value(-0.0), [(-0.0, .value(-0.0)), (0.0, .value(0.0))]),
        row(
            .multiply(by: -3),
            "stars",
            new: .value(0),
            [
                (4, .value(-12)), (.integer(.max), .refused(.invalidArgument)),
            ]
        ),
        row(
            .multiply(by: 1e-200),
            "score",
            new: .value(0.0),
            [
                (2.0, .value(2e-200)), (1e-200, .refused(.invalidArgument)), (0.0, .value(0.0)), (-0.0, .value(-0.0)),
            ]
        ),
        row(.min(3), "stars", new: .value(3), [(2, .value(2)), (4, .value(3)), (3, .value(3))]),
        row(.max(3), "stars", new: .value(3), [(2, .value(3)), (4, .value(4))]),
        row(
            .min(0.0),
            "score",
            new: .value(0.0),
            [(-0.0, .value(-0.0)), (.number(.leastNonzeroMagnitude), .value(0.0))]
        ),
        row(
            .max(0.0),
            "score",
            new: .value(0.0),
            [(-0.0, .value(-0.0)), (.number(-.leastNonzeroMagnitude), .value(0.0))]
        ),
        row(.min("b"), "title", new: .value("b"), [("a", .value("a")), ("c", .value("b")), ("B", .value("B"))]),
        row(
            .max("\u{E000}"),
            "title",
            new: .value("\u{E000}"),
            [
                ("\u{10FFFF}", .value("\u{10FFFF}")), ("z", .value("\u{E000}")),
            ]
        ),
        row(
            .min(at(0)),
            "due",
            new: .value(at(0)),
            [
                (at(-1), .value(at(-1))), (at(1), .value(at(0))),
                (.datetime(.negativeInfinity), .value(.datetime(.negativeInfinity))),
            ]
        ),
        row(
            .max(at(0)),
            "due",
            new: .value(at(0)),
            [(at(-1), .value(at(0))), (.datetime(.infinity), .value(.datetime(.infinity)))]
        ),
    ]

    /// The field `serial` must have a value.
    static let anything: [Row] = RecordsFixture.everyValue.sorted { $0.key < $1.key }.filter {
        $0.key != "serial"
    }.flatMap { name, value in
        [
            row(.unset, name, new: .value(nil), [(value, .value(nil))]),
            row(.setOnInsert(value), name, new: .value(value), missing: .value(nil), [(value, .value(value))]),
            row(
                .all(.unset, .setOnInsert(value)),
                name,
                new: .value(value),
                missing: .value(nil),
                [(value, .value(nil))]
            ),
        ]
    }

    private static let notAnArray: [(RecordValue, Outcome)] = [
        (jsonValue("{}"), .refused(.invalidArgument)), (jsonValue(#"{"0":1}"#), .refused(.invalidArgument)),
    ]
    private static let notAnObject: [(RecordValue, Outcome)] = [
        (jsonValue("[]"), .refused(.invalidArgument)), (jsonValue(#"[{"a":1}]"#), .refused(.invalidArgument)),
    ]

    static let arrays: [Row] = [
        row(
            .push(#"["a",["b"]]"#),
            "tags",
            new: array(#"["a",["b"]]"#),
            [
                (jsonValue("[]"), array(#"["a",["b"]]"#)), (jsonValue(#"["a"]"#), array(#"["a","a",["b"]]"#)),
            ] + notAnArray
        ),
        row(.push("[]"), "tags", new: array("[]"), [(jsonValue("[1]"), array("[1]"))] + notAnArray),
        row(
            .push("[1,2]", at: .first),
            "tags",
            new: array("[1,2]"),
            [(jsonValue("[3]"), array("[1,2,3]"))] + notAnArray
        ),
        row(
            .addToSet(#"["b","b",1.0,null,{"x":1,"y":[]}]"#),
            "tags",
            new: array(#"["b",1,null,{"x":1,"y":[]}]"#),
            [
                (jsonValue(#"["a","a",1]"#), array(#"["a","a",1,"b",null,{"x":1,"y":[]}]"#)),
                (jsonValue(#"[{"y":[],"x":1.00},[1]]"#), array(#"[{"x":1,"y":[]},[1],"b",1,null]"#)),
                (jsonValue(#"["b",null,1e0,{"x":1,"y":[]}]"#), array(#"["b",null,1,{"x":1,"y":[]}]"#)),
            ] + notAnArray
        ),
        row(
            .pull(#"["a",1,[1]]"#),
            "tags",
            new: array("[]"),
            [
                (jsonValue(#"["a","b","a",1.0,[1],[1,1],{"a":1}]"#), array(#"["b",[1,1],{"a":1}]"#)),
                (jsonValue("[]"), array("[]")),
            ] + notAnArray
        ),
        row(
            .pull(where: .compare(.eq, "$.a.b", .integer(1))),
            "tags",
            new: array("[]"),
            [
                (
                    jsonValue(#"[{"a":{"b":1.0}},{"a":{"b":2}},{"a":1},null,[1],{"a":{"b":[1]}}]"#),
                    array(#"[{"a":{"b":2}},{"a":1},null,[1]]"#)
                )
            ] + notAnArray
        ),
        row(
            .pull(
                where: .or([
                    .compare(.eq, "$", .null), .compare(.gte, "$", .integer(2)), .compare(.exists, "x", .boolean(true)),
                ])
            ),
            "tags",
            new: array("[]"),
            [(jsonValue(#"[null,1,2,"2",{"x":0},{"x":null},[3]]"#), array(#"[1,"2",{"x":null},[3]]"#))] + notAnArray
        ),
        row(.pull("[]"), "tags", new: array("[]"), [(jsonValue("[1]"), array("[1]"))] + notAnArray),
        row(
            .popFirst,
            "tags",
            new: array("[]"),
            [
                (jsonValue("[1,2]"), array("[2]")), (jsonValue("[]"), array("[]")),
            ] + notAnArray
        ),
        row(
            .popLast,
            "tags",
            new: array("[]"),
            [
                (jsonValue("[1,2]"), array("[1]")), (jsonValue("[]"), array("[]")),
            ] + notAnArray
        ),
        row(
            .setElement(1, #"{"x":null}"#),
            "tags",
            new: .refused(.invalidArgument),
            [
                (jsonValue("[1,2,3]"), array(#"[1,{"x":null},3]"#)), (jsonValue("[1]"), .refused(.invalidArgument)),
                (jsonValue("[]"), .refused(.invalidArgument)),
            ] + notAnArray
        ),
        row(
            .setElement(.max, "1"),
            "tags",
            new: .refused(.invalidArgument),
            [(jsonValue("[1]"), .refused(.invalidArgument))]
        ),
    ]

    static let objects: [Row] = [
        row(
            .setMember("a", "[1]"),
            "tags",
            new: array(#"{"a":[1]}"#),
            [
                (jsonValue("{}"), array(#"{"a":[1]}"#)), (jsonValue(#"{"a":0,"b":1}"#), array(#"{"a":[1],"b":1}"#)),
            ] + notAnObject
        ),
        row(
            .setMember("a.0.c", "null"),
            "tags",
            new: array(#"{"a":{"0":{"c":null}}}"#),
            [
                (jsonValue(#"{"a":{"b":1}}"#), array(#"{"a":{"b":1,"0":{"c":null}}}"#)),
                (jsonValue(#"{"a":null}"#), array(#"{"a":{"0":{"c":null}}}"#)),
                (jsonValue(#"{"a":[{"c":1}]}"#), .refused(.invalidArgument)),
                (jsonValue(#"{"a":{"0":7}}"#), .refused(.invalidArgument)),
            ] + notAnObject
        ),
        row(
            .setMember("n", .increment, "0.1"),
            "tags",
            new: array(#"{"n":0.1}"#),
            [
                (jsonValue(#"{"n":0.2}"#), array(#"{"n":0.3}"#)), (jsonValue(#"{"n":null}"#), array(#"{"n":0.1}"#)),
                (jsonValue(#"{"n":"1"}"#), .refused(.invalidArgument)),
                (jsonValue(#"{"n":[1]}"#), .refused(.invalidArgument)),
                (jsonValue(#"{"n":9223372036854775807}"#), array(#"{"n":9223372036854775807.1}"#)),
            ] + notAnObject
        ),
        row(
            .setMember("s.n", .multiply, "1e200"),
            "tags",
            new: array(#"{"s":{"n":0}}"#),
            [
                (jsonValue(#"{"s":{"n":3}}"#), array(#"{"s":{"n":3e200}}"#)),
                (jsonValue(#"{"s":{"n":1e250}}"#), .refused(.invalidArgument)),
                (jsonValue(#"{"s":[]}"#), .refused(.invalidArgument)),
            ]
        ),
        row(
            .setMember("n", .minimum, "2"),
            "tags",
            new: array(#"{"n":2}"#),
            [
                (jsonValue(#"{"n":1.5}"#), array(#"{"n":1.5}"#)), (jsonValue(#"{"n":3}"#), array(#"{"n":2}"#)),
            ]
        ),
        row(
            .setMember("n", .maximum, "2"),
            "tags",
            new: array(#"{"n":2}"#),
            [
                (jsonValue(#"{"n":1.5}"#), array(#"{"n":2}"#)), (jsonValue(#"{"n":30}"#), array(#"{"n":30}"#)),
            ]
        ),
        row(
            .unsetMember("a.b"),
            "tags",
            new: array("{}"),
            [
                (jsonValue(#"{"a":{"b":1,"c":2}}"#), array(#"{"a":{"c":2}}"#)),
                (jsonValue(#"{"a":{}}"#), array(#"{"a":{}}"#)),
                (jsonValue(#"{"a":null}"#), array(#"{"a":null}"#)), (jsonValue(#"{"b":1}"#), array(#"{"b":1}"#)),
                (jsonValue(#"{"a":[{"b":1}]}"#), .refused(.invalidArgument)),
            ] + notAnObject
        ),
    ]

    static let several: [Row] = [
        row(
            .all(.increment(by: 1), .multiply(by: 10), .max(25)),
            "stars",
            new: .value(25),
            [
                (2, .value(30)), (.integer(.max), .refused(.invalidArgument)),
            ]
        ),
        row(.all(.unset, .increment(by: 7)), "stars", new: .value(7), [(2, .value(7))]),
        row(
            .all(.setOnInsert(100), .increment(by: 1)),
            "stars",
            new: .value(101),
            missing: .value(1),
            [(2, .value(3))]
        ),
        row(
            .all(.pull(#"["a"]"#), .push(#"["a"]"#), .popFirst),
            "tags",
            new: array("[]"),
            [
                (jsonValue(#"["a","b"]"#), array(#"["a"]"#)), (jsonValue("{}"), .refused(.invalidArgument)),
            ]
        ),
        row(.all(.push("[1]"), .setElement(0, "2")), "tags", new: array("[2]"), [(jsonValue("[5]"), array("[2,1]"))]),
        row(
            .all(.setElement(0, "2"), .push("[1]")),
            "tags",
            new: .refused(.invalidArgument),
            [
                (jsonValue("[5]"), array("[2,1]"))
            ]
        ),
        row(
            .all(.unset, .setMember("a.b", "1"), .setMember("a.n", .increment, "1"), .unsetMember("a.b")),
            "tags",
            new: array(#"{"a":{"n":1}}"#),
            [(jsonValue("[5]"), array(#"{"a":{"n":1}}"#))]
        ),
        row(.all(.min("b"), .max("aa")), "title", new: .value("b"), [("a", .value("aa")), ("c", .value("b"))]),
    ]

    @Test(arguments: [numbers, anything, arrays, objects, several])
    func eachOperatorMakesWhatTheTableSays(_ rows: [Row]) async throws {
        try await withRecords { f in
            try await f.save("category/home")
            for (number, row) in rows.enumerated() {
                func check(_ id: String, _ expected: Outcome, _ what: String) async throws {
                    let outcome = try await f.outcomes([draft(id, applying: [row.field: row.change])])[0]
                    let label = "\(row.change.kind) on \(row.field), \(what)"
                    switch expected {
                    case .refused(let code):
                        #expect(outcome.error?.code == code, "\(label)")
                        #expect(outcome.error?.info["arguments"] == .list([.string(row.field)]), "\(label)")
                        #expect(outcome.error?.path?.hasPrefix("records[0].\(row.field)") == true, "\(label)")
                    case .value(let value):
                        let found = try #require(
                            outcome.error == nil ? try outcome.record : nil,
                            "\(label): \(outcome)"
                        )
                        .fields[field(row.field)]
                        #expect(
                            (found ?? .null).isIdentical(to: value ?? .null),
                            "\(label): \(String(describing: found))"
                        )
                    }
                }
                try await check("note/\(number)-new", row.new, "new")
                try await f.save("note/\(number)-missing")
                try await check("note/\(number)-missing", row.missing, "missing")
                for (place, stored) in row.stored.enumerated() {
                    let id = "note/\(number)-\(place)"
                    try await f.save(id, [row.field: stored.value])
                    try await check(id, stored.outcome, "\(stored.value)")
                }
            }
        }
    }

    /// Which operators a type takes beside those that all take.
    static let families: [(type: String, names: Set<String>)] = [
        ("title", ["min", "max"]), ("due", ["min", "max"]), ("stars", ["inc", "mul", "min", "max"]),
        ("score", ["inc", "mul", "min", "max"]), ("done", []), ("data", []), ("category", []), ("serial", []),
        ("tags", ["push", "add_to_set", "pull", "pop", "set_at", "set_path", "unset_path"]),
    ]

    @Test func whatDoesNotFitTheTypeIsRefusedBeforeAnythingRuns() async throws {
        let operands: [String: [FieldOperator]] = [
            "inc": [.increment(by: 1)], "mul": [.multiply(by: 1)], "push": [.push("[1]")],
            "add_to_set": [.addToSet("[1]")],
            "pull": [.pull("[1]")], "pop": [.popLast], "set_at": [.setElement(0, "1")],
            "set_path": [.setMember("a", "1"), .setMember("a", .increment, "1")], "unset_path": [.unsetMember("a")],
            "min": [.min(1)], "max": [.max(1)],
        ]
        try await withRecords { f in
            for (name, fitting) in Self.families {
                for (kind, changes) in operands where !fitting.contains(kind) {
                    for change in changes {
                        let outcomes = try await f.outcomes([
                            draft("note/other", ["title": "x"]), draft("note/1", applying: [name: change]),
                            draft("note/1", applying: [name: .all(.unset, change)]),
                        ])
                        #expect(outcomes[0].error == nil)
                        #expect(outcomes[1].error?.code == .invalidArgument, "\(kind) on \(name)")
                        #expect(outcomes[1].error?.path == "records[1].\(name)")
                        #expect(outcomes[2].error?.path == "records[2].\(name).$val[1]")
                        #expect(outcomes[2].error?.info["arguments"] == .list([.string(name)]))
                    }
                }
            }
            #expect(try await f.fetch("note/1") == nil)
            // An operand of another type than the field's.
            for (name, change) in [("title", FieldOperator.min(1)), ("due", .max("x")), ("stars", .min("x"))] {
                let error = try await f.outcomes([draft("note/1", applying: [name: change])])[0].error
                #expect(error?.code == .invalidArgument && error?.path == "records[0].\(name)")
            }
            // A column that can be read only.
            let error = try await f.outcomes([draft("note/1", applying: ["price": .unset])])[0].error
            #expect(error?.code == .incompatibleSchema)
        }
    }
}
