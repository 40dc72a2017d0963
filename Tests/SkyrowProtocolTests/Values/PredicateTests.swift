import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowProtocol

/// `{"$type":"keypath","$val":"…"}`
private func path(_ name: String) -> String { "{\"$type\":\"keypath\",\"$val\":\"\(name)\"}" }

private func json(_ text: String) -> RecordValue { .json(JSONText(validated: Array(text.utf8))) }

private func typedPath(_ name: String, _ type: JSONValueType) -> FieldPath {
    var path = keyPath(name)
    path.jsonType = type
    return path
}

@Suite struct PredicateTests {
    static let readable: [(String, RecordPredicate)] = [
        ("[\"eq\",\(path("title")),\"Milk\"]", .comparison(.eq, .keyPath(keyPath("title")), .value(.string("Milk")))),
        ("[\"eq\",\"Milk\",\(path("title"))]", .comparison(.eq, .value(.string("Milk")), .keyPath(keyPath("title")))),
        ("[\"eq\",\(path("a")),null]", .comparison(.eq, .keyPath(keyPath("a")), .value(.null))),
        ("[\"neq\",\(path("a.b")),true]", .comparison(.neq, .keyPath(keyPath("a.b")), .value(.boolean(true)))),
        (
            "[\"gt\",\(path("n")),9007199254740993]",
            .comparison(.gt, .keyPath(keyPath("n")), .value(.integer(9_007_199_254_740_993)))
        ),
        ("[\"lte\",\(path("n")),1.5]", .comparison(.lte, .keyPath(keyPath("n")), .value(.number(1.5)))),
        (
            "[\"gte\",\(path("d")),{\"$type\":\"date\",\"$date\":\"2000-01-01T00:00:00Z\"}]",
            .comparison(.gte, .keyPath(keyPath("d")), .value(.datetime(Timestamp(microseconds: 0))))
        ),
        (
            "[\"eq\",\(path("c")),{\"$type\":\"ref\",\"$id\":\"c/9\"}]",
            .comparison(.eq, .keyPath(keyPath("c")), .value(.reference(recordID("c/9"))))
        ),
        ("[\"ilike\",\(path("t")),\"%x_\"]", .comparison(.ilike, .keyPath(keyPath("t")), .value(.string("%x_")))),
        (
            "[\"in\",\(path("n")),[1,\"a\",null]]",
            .comparison(.in, .keyPath(keyPath("n")), .list([.integer(1), .string("a"), .null]))
        ),
        ("[\"in\",\(path("n")),[]]", .comparison(.in, .keyPath(keyPath("n")), .list([]))),
        ("[\"in\",\"tag\",\(path("tags"))]", .comparison(.in, .value(.string("tag")), .keyPath(keyPath("tags")))),
        ("[\"and\"]", .and([])), ("[\"or\"]", .or([])),
        ("[\"and\",[\"eq\",\(path("a")),1]]", .and([.comparison(.eq, .keyPath(keyPath("a")), .value(.integer(1)))])),
        (
            "[\"or\",[\"eq\",\(path("a")),1],[\"not\",[\"lt\",\(path("b")),2]]]",
            .or([
                .comparison(.eq, .keyPath(keyPath("a")), .value(.integer(1))),
                .not(.comparison(.lt, .keyPath(keyPath("b")), .value(.integer(2)))),
            ])
        ),
        ("[\"none\",[\"eq\",\(path("a")),1]]", .none([.comparison(.eq, .keyPath(keyPath("a")), .value(.integer(1)))])),
        ("[\"between\",\(path("a")),1,\"b\"]", .between(.keyPath(keyPath("a")), .integer(1), .string("b"))),
        ("[\"exists\",\(path("a")),false]", .comparison(.exists, .keyPath(keyPath("a")), .value(.boolean(false)))),
        (
            "[\"starts_with\",\(path("a")),\"b\"]",
            .comparison(.startsWith, .keyPath(keyPath("a")), .value(.string("b")))
        ),
        (
            "[\"contains_any\",\(path("a")),[1,[2]]]",
            .comparison(.containsAny, .keyPath(keyPath("a")), .list([.integer(1), json("[2]")]))
        ),
        ("[\"eq\",\(path("a")),[1]]", .comparison(.eq, .keyPath(keyPath("a")), .value(json("[1]")))),
        ("[\"eq\",\(path("a")),{\"x\":1}]", .comparison(.eq, .keyPath(keyPath("a")), .value(json("{\"x\":1}")))),
        (
            "[\"eq\",\(path("a")),{\"$type\":\"json\",\"$val\":[\"func\"]}]",
            .comparison(.eq, .keyPath(keyPath("a")), .value(json("[\"func\"]")))
        ),
        (
            "[\"lt\",[\"func\",\"size\",\(path("a"))],2]",
            .comparison(.lt, .function(.size, keyPath("a")), .value(.integer(2)))
        ),
        (
            "[\"eq\",{\"$type\":\"keypath\",\"$val\":\"a.b\",\"$as\":\"number\"},2]",
            .comparison(.eq, .keyPath(typedPath("a.b", .number)), .value(.integer(2)))
        ),
        (
            "[\"lt\",{\"$type\":\"keypath\",\"$val\":\"a.b\",\"$as\":\"datetime\"},\"2019-03-01T09:00:00Z\"]",
            .comparison(.lt, .keyPath(typedPath("a.b", .datetime)), .value(.string("2019-03-01T09:00:00Z")))
        ),
        (
            "[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"predicate\":[\"eq\",\(path("c")),1],\"key\":\"d.e\"}]",
            .found(
                .keyPath(keyPath("a")),
                by: Subquery(
                    type: typeName("b"),
                    predicate: .comparison(.eq, .keyPath(keyPath("c")), .value(.integer(1))),
                    key: keyPath("d.e")
                ),
                isNegated: false
            )
        ),
        (
            "[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"sort\":[[\(path("c")),\"desc\",\"nulls_last\"]],\"limit\":3}]",
            .found(
                .keyPath(keyPath("a")),
                by: Subquery(type: typeName("b"), sort: [SortKey(keyPath("c"), .descending, .last)], limit: 3),
                isNegated: false
            )
        ),
        (
            "[\"related_to\",{\"$type\":\"ref\",\"$id\":\"post/1\"},\"likes\"]",
            .related(to: id("post/1"), keyPath("likes"))
        ),
        (
            "[\"func\",\"userRelation\",\(path("_owner_id")),{\"$type\":\"relation\",\"$name\":\"_follow\",\"$direction\":\"inward\"}]",
            .userRelation(keyPath("_owner_id"), .follow, .inward)
        ),
        (
            "[\"func\",\"userRelation\",\(path("a.b")),{\"$type\":\"relation\",\"$name\":\"friend\"}]",
            .userRelation(keyPath("a.b"), .friend, .mutual)
        ),
        (
            "[\"not_in_query\",\(path("a")),{\"record_type\":\"b\"}]",
            .found(.keyPath(keyPath("a")), by: Subquery(type: typeName("b")), isNegated: true)
        ),
        ("[\"regex\",\(path("a")),\"^b\"]", .regex(.keyPath(keyPath("a")), "^b", ignoresCase: false)),
        (
            "[\"regex\",[\"func\",\"fold\",\(path("a"))],\"b\\\\d\",\"i\"]",
            .regex(.function(.fold, keyPath("a")), "b\\d", ignoresCase: true)
        ),
        ("[\"match\",\(path("a")),\"b -c*\"]", .match(.keyPath(keyPath("a")), "b -c*")),
        (
            "[\"any\",\(path("a")),[\"all\",\(path("$.b")),[\"gt\",\(path("$")),1]]]",
            .elements(
                keyPath("a"),
                .any,
                .elements(keyPath("$.b"), .all, .comparison(.gt, .keyPath(keyPath("$")), .value(.integer(1))))
            )
        ),
        // As in Skygear, any object with a string $val is a key path.
        ("[\"eq\",{\"$val\":\"a\"},1]", .comparison(.eq, .keyPath(keyPath("a")), .value(.integer(1)))),
    ]

    @Test(arguments: readable)
    func grammarIsRead(text: String, predicate: RecordPredicate) throws {
        #expect(try readJSON(text) { try RecordPredicate($0) } == predicate)
    }

    @Test(arguments: readable)
    func predicatesAreReadAsTheyWereWritten(text: String, predicate: RecordPredicate) throws {
        #expect(try readJSON(writtenJSON { $0.predicate(predicate) }) { try RecordPredicate($0) } == predicate)
    }

    @Test(
        arguments: [
            ("[\"func\",\"userRelation\",\(path("a")),{\"$type\":\"relation\",\"$name\":\"_enemy\"}]", .notSupported),
            (
                "[\"func\",\"userRelation\",\(path("a")),{\"$type\":\"relation\",\"$name\":\"_friend\",\"$direction\":\"up\"}]",
                .invalidArgument
            ),
            ("[\"func\",\"userRelation\",\(path("a")),{\"$name\":\"_friend\"}]", .invalidArgument),
            ("[\"func\",\"userRelation\",\(path("a"))]", .invalidArgument),
            ("[\"func\",\"userRelation\",1,{\"$type\":\"relation\",\"$name\":\"_friend\"}]", .invalidArgument),
            ("[\"func\",\"userDiscover\",{\"usernames\":[\"a\"]}]", .invalidArgument),
            ("[]", .invalidArgument), ("{}", .invalidArgument), ("1", .invalidArgument), ("[1]", .invalidArgument),
            ("[\"not\"]", .invalidArgument), ("[\"not\",[\"eq\",1,2],[\"eq\",1,2]]", .invalidArgument),
            ("[\"and\",1]", .invalidArgument),
            ("[\"eq\",1]", .invalidArgument), ("[\"eq\",1,2,3]", .invalidArgument), ("[\"is\",1,2]", .invalidArgument),
            ("[\"near\",1,2]", .invalidArgument), ("[\"EQ\",1,2]", .invalidArgument),
            ("[\"regex\",\(path("a")),1]", .invalidArgument),
            ("[\"regex\",\(path("a")),\"b\",\"m\"]", .invalidArgument),
            ("[\"match\",\(path("a")),[\"b\"]]", .invalidArgument),
            ("[\"none\"]", .invalidArgument), ("[\"between\",\(path("a")),1]", .invalidArgument),
            ("[\"between\",\(path("a")),1,2,3]", .invalidArgument), ("[\"exists\",\(path("a"))]", .invalidArgument),
            ("[\"eq\",\(path("a")),{\"$type\":\"json\"}]", .invalidArgument),
            ("[\"eq\",{\"$type\":\"keypath\",\"$val\":\"a\",\"$as\":\"money\"},1]", .recordQueryInvalid),
            ("[\"eq\",[\"func\",\"fold\"],1]", .invalidArgument),
            ("[\"eq\",[\"func\",\"fold\",1],1]", .invalidArgument),
            ("[\"eq\",[\"func\",\"fold\",\(path("a")),1],1]", .invalidArgument),
            ("[\"eq\",[\"func\"],1]", .notSupported),
            ("[\"in\",\(path("a")),1]", .invalidArgument), ("[\"in\",1,\(path("a"))]", .invalidArgument),
            ("[\"in\",\(path("a")),\(path("b"))]", .invalidArgument), ("[\"in\",[1],\(path("a"))]", .invalidArgument),
            ("[\"func\",\"userRelation\",\(path("_owner")),{}]", .invalidArgument),
            ("[\"lt\",[\"func\",\"median\",\(path("p"))],1]", .notSupported),
            ("[\"eq\",\(path("p")),{\"$type\":\"geojson\",\"$val\":1}]", .invalidArgument),
            ("[\"eq\",\(path("p")),{\"$type\":\"seq\"}]", .invalidArgument),
            ("[\"eq\",\(path("p")),{\"$type\":\"unknown\"}]", .invalidArgument),
            ("[\"eq\",\(path("p")),{\"$type\":\"what\"}]", .invalidArgument),
            ("[\"eq\",\(path("p")),1e400]", .invalidArgument),
            ("[\"eq\",\(path("p")),99999999999999999999]", .invalidArgument),
            ("[\"eq\",\(path("p")),\"\\u0000\"]", .invalidArgument),
            ("[\"eq\",{\"$type\":\"keypath\"},1]", .recordQueryInvalid),
            ("[\"eq\",\(path("")),1]", .recordQueryInvalid),
            ("[\"eq\",\(path("a..b")),1]", .recordQueryInvalid), ("[\"eq\",\(path(".")),1]", .recordQueryInvalid),
        ] as [(String, ErrorCode)]
    )
    func whatIsOutsideOfTheGrammarIsRefused(text: String, code: ErrorCode) throws {
        #expect(try refusal(text) { try RecordPredicate($0) }?.code == code)
    }

    @Test(
        arguments: [
            ("[]", "predicate"), ("{}", "predicate"), ("[1]", "predicate[0]"), ("[\"none\"]", "predicate"),
            ("[\"and\",1]", "predicate[1]"), ("[\"is\",1,2]", "predicate[0]"), ("[\"eq\",1]", "predicate"),
            ("[\"not\",[\"or\",[\"eq\",1,2],[\"is\",1,2]]]", "predicate[1][2][0]"),
            ("[\"not\",[\"not\",1],2]", "predicate"),
            ("[\"any\",\"a\",[\"eq\",\(path("$")),1]]", "predicate[1]"), ("[\"all\",\(path("a"))]", "predicate"),
            ("[\"any\",\(path("a")),[\"not\",[\"is\",1,2]]]", "predicate[2][1][0]"),
            ("[\"all\",[\"func\",\"size\",\(path("a"))],[\"eq\",\(path("$")),1]]", "predicate[1]"),
            ("[\"related_to\",\"post/1\",\"likes\"]", "predicate[1]"),
            ("[\"related_to\",{\"$type\":\"ref\",\"$id\":\"post/1\"},7]", "predicate[2]"),
            ("[\"in_query\",\(path("a")),[]]", "predicate[2]"), ("[\"in_query\",\(path("a"))]", "predicate"),
            ("[\"in_query\",\(path("a")),{}]", "predicate[2].record_type"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"_b\"}]", "predicate[2].record_type"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"limit\":0}]", "predicate[2].limit"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"limit\":10001}]", "predicate[2].limit"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"offset\":1}]", "predicate[2].offset"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"sort\":[1]}]", "predicate[2].sort[0]"),
            ("[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"key\":1}]", "predicate[2].key"),
            (
                "[\"in_query\",\(path("a")),{\"record_type\":\"b\",\"predicate\":[\"not\",[\"is\",1,2]]}]",
                "predicate[2].predicate[1][0]"
            ),
            ("[\"between\",\(path("a")),1,1e400]", "predicate[3]"), ("[\"eq\",[1e400],\(path("a"))]", "predicate[1]"),
            ("[\"contains_all\",\(path("a")),[1,1e400]]", "predicate[2][1]"),
            ("[\"eq\",[\"func\",\"fold\",\(path("a..b"))],1]", "predicate[1][2]"),
            ("[\"in\",\(path("a")),1]", "predicate[2]"),
            ("[\"in\",1,\(path("a"))]", "predicate[1]"), ("[\"in\",\(path("a")),\(path("b"))]", "predicate[2]"),
            ("[\"func\",\"userRelation\",\(path("_owner")),{}]", "predicate[3]"),
            ("[\"lt\",[\"func\",\"median\",\(path("p"))],1]", "predicate[1][1]"),
            ("[\"and\",[\"eq\",\(path("p")),1e400]]", "predicate[1][2]"),
            ("[\"eq\",\(path("a..b")),1]", "predicate[1]"), ("[\"eq\",1,\(path("a..b"))]", "predicate[2]"),
        ]
    )
    func theFaultyElementIsNamed(text: String, path: String) throws {
        #expect(try refusal(text) { try RecordPredicate($0) }?.path == path)
    }

    @Test func theValuesOfOneInAreBounded() throws {
        func members(_ count: Int) -> String {
            "[\"in\",\(path("n")),[" + Array(repeating: "1", count: count).joined(separator: ",") + "]]"
        }
        _ = try readJSON(members(10_000)) { try RecordPredicate($0) }
        let error = try refusal(members(10_001)) { try RecordPredicate($0) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.message.contains("10000") == true)
        #expect(try refusal(members(1_000_000)) { try RecordPredicate($0) }?.arguments == ["predicate"])
    }

    @Test func theConditionsOfOnePredicateAreBounded() throws {
        func conditions(_ count: Int) -> String {
            "[\"and\"," + Array(repeating: "[\"eq\",1,2]", count: count - 1).joined(separator: ",") + "]"
        }
        _ = try readJSON(conditions(1_000)) { try RecordPredicate($0) }
        #expect(try refusal(conditions(1_001)) { try RecordPredicate($0) }?.code == .invalidArgument)
    }
}
