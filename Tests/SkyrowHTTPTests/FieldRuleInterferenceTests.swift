import SkyrowModel
import SkyrowTestSupport
import Testing

/// What a caller does not see of a record makes no difference to any response that it gets.
///
/// Each request is sent while ann's records have one set of values after the other in fields that rules hide. The master key has to be
/// sent something else for one of them, or the request asks nothing.
@Suite(.timeLimit(.minutes(60))) struct FieldRuleInterferenceTests {
    private static let types: [(name: String, type: String)] = [
        ("text", "string"), ("n", "integer"), ("x", "number"), ("flag", "boolean"), ("due", "datetime"),
        ("tags", "json"), ("labels", "array(string)"), ("next", "ref(film)"), ("list", "array(ref(film))"),
        ("crew", "relation(film)"), ("place", "location"), ("words", "string"),
    ]

    /// What the fields of ann's first film have, as columns of `film` and as the members of its relations.
    private static let states: [(columns: [String: String], crew: String?)] = [
        (
            [
                "text": "'alpha beta'", "n": "5", "x": "0.5", "flag": "true", "due": "'2020-01-01T00:00:00Z'",
                "tags": "'{\"a\": 1}'", "labels": "'{red}'", "next": "'2'", "list": "'{2}'", "place": "'POINT(1 1)'",
                "words": "'a star that shines'",
            ],
            "2"
        ),
        (
            [
                "text": "'gamma'", "n": "9", "x": "1.5", "flag": "false", "due": "'2021-06-01T00:00:00Z'",
                "tags": "'{\"a\": 2, \"b\": 3}'", "labels": "'{green,blue}'", "next": "'3'", "list": "'{3,1}'",
                "place": "'POINT(50 50)'", "words": "'stars and stars'",
            ],
            "3"
        ),
        (Dictionary(uniqueKeysWithValues: types.filter { $0.name != "crew" }.map { ($0.name, "NULL") }), nil),
    ]

    private static func path(_ name: String) -> String { "{\"$type\":\"keypath\",\"$val\":\"\(name)\"}" }
    private static let place = #"{"$type":"geo","$lng":1,"$lat":1}"#
    private static let second = #"{"$type":"ref","$id":"film/2"}"#

    /// Predicates about the fields with a prefix, each by the name of the field.
    private static func predicates(_ prefix: String) -> [String] {
        func p(_ name: String) -> String { path(prefix + name) }
        let text = p("text")
        return [
            "[\"eq\",\(text),\"alpha beta\"]", "[\"neq\",\(text),\"gamma\"]", "[\"gt\",\(text),\"b\"]",
            "[\"like\",\(text),\"alpha%\"]", "[\"ilike\",\(text),\"%ALPHA%\"]", "[\"regex\",\(text),\"a.p\"]",
            "[\"match\",\(text),\"alpha\"]", "[\"starts_with\",\(text),\"al\"]", "[\"ends_with\",\(text),\"ta\"]",
            "[\"in\",\(text),[\"gamma\"]]", "[\"nin\",\(text),[\"gamma\"]]", "[\"contains\",\(text),\"eta\"]",
            "[\"exists\",\(text),true]", "[\"exists\",\(text),false]", "[\"eq\",\(text),null]",
            "[\"neq\",\(text),null]",
            "[\"eq\",[\"func\",\"fold\",\(text)],\"ALPHA BETA\"]", "[\"none\",[\"eq\",\(text),\"gamma\"]]",
            "[\"not\",[\"eq\",\(text),\"gamma\"]]", "[\"lt\",\(text),\(path("title"))]",
            "[\"between\",\(text),\"a\",\"b\"]",
            "[\"match\",\(p("words")),\"shining\"]",
            "[\"gt\",\(p("n")),6]", "[\"between\",\(p("n")),1,6]", "[\"eq\",\(p("n")),\(path("rank"))]",
            "[\"lte\",\(p("x")),0.5]", "[\"eq\",\(p("flag")),true]",
            "[\"lt\",\(p("due")),{\"$type\":\"date\",\"$date\":\"2021-01-01T00:00:00Z\"}]",
            "[\"eq\",\(p("tags.a")),1]", "[\"exists\",\(p("tags.b")),true]", "[\"exists\",\(p("tags")),true]",
            "[\"gt\",{\"$type\":\"keypath\",\"$val\":\"\(prefix)tags.a\",\"$as\":\"number\"},1]",
            "[\"contains\",\(p("labels")),\"red\"]", "[\"contains_any\",\(p("labels")),[\"red\",\"x\"]]",
            "[\"contained_by\",\(p("labels")),[\"red\",\"x\"]]", "[\"eq\",[\"func\",\"size\",\(p("labels"))],1]",
            "[\"any\",\(p("labels")),[\"eq\",\(path("$")),\"red\"]]",
            "[\"all\",\(p("labels")),[\"eq\",\(path("$")),\"red\"]]",
            "[\"eq\",\(p("next")),\(second)]", "[\"eq\",\(p("next.title")),\"two\"]", "[\"gt\",\(p("next.rank")),2]",
            "[\"in_query\",\(p("next")),{\"record_type\":\"film\",\"predicate\":[\"eq\",\(path("title")),\"two\"]}]",
            "[\"not_in_query\",\(p("next")),{\"record_type\":\"film\",\"predicate\":[\"eq\",\(path("title")),\"two\"]}]",
            "[\"eq\",\(p("list.title")),\"two\"]", "[\"any\",\(p("list")),[\"eq\",\(path("title")),\"two\"]]",
            "[\"all\",\(p("list")),[\"eq\",\(path("title")),\"two\"]]", "[\"contains\",\(p("list")),\(second)]",
            "[\"eq\",[\"func\",\"size\",\(p("list"))],1]",
            "[\"in_query\",\(p("list")),{\"record_type\":\"film\",\"predicate\":[\"eq\",\(path("title")),\"two\"]}]",
            "[\"eq\",\(p("crew")),\(second)]", "[\"contains_all\",\(p("crew")),[\(second)]]",
            "[\"exists\",\(p("crew")),true]", "[\"eq\",[\"func\",\"size\",\(p("crew"))],1]",
            "[\"any\",\(p("crew")),[\"eq\",\(path("title")),\"two\"]]",
            "[\"all\",\(p("crew")),[\"eq\",\(path("title")),\"two\"]]", "[\"eq\",\(p("crew.title")),\"two\"]",
            "[\"related_to\",{\"$type\":\"ref\",\"$id\":\"film/1\"},\"\(prefix)crew\"]",
            "[\"near\",\(p("place")),\(place),1000]",
            "[\"within_box\",\(p("place")),{\"$type\":\"geo\",\"$lng\":0,\"$lat\":0},{\"$type\":\"geo\",\"$lng\":9,\"$lat\":9}]",
            "[\"lt\",[\"func\",\"distance\",\(p("place")),\(place)],1000]",
            // By way of another record that refers to it, and inside of a query.
            "[\"eq\",\(path("open.\(prefix)text")),\"alpha beta\"]", "[\"gt\",\(path("open.\(prefix)next.rank")),2]",
            "[\"any\",\(path("deck")),[\"eq\",\(text),\"alpha beta\"]]", "[\"eq\",\(path("deck.\(prefix)n")),5]",
            "[\"in_query\",\(path("open")),{\"record_type\":\"film\",\"predicate\":[\"eq\",\(text),\"alpha beta\"]}]",
            "[\"in_query\",\(path("echo")),{\"record_type\":\"film\",\"key\":\"\(prefix)text\"}]",
            "[\"in_query\",\(path("open")),{\"record_type\":\"film\",\"predicate\":[\"exists\",\(p("n")),true],\"sort\":[[\(p("n")),\"asc\"]],\"limit\":1}]",
        ]
    }

    /// Requests that ask about the fields with a prefix; those of hidden fields are refused.
    private static func questions(_ prefix: String) -> [(method: String, parameters: String)] {
        func p(_ name: String) -> String { path(prefix + name) }
        let title = "\"sort\":[[\(path("title")),\"asc\"]]"
        var questions: [(String, String)] = predicates(prefix).map {
            ("record:query", "{\"record_type\":\"film\",\"count\":true,\"predicate\":\($0),\(title)}")
        }
        questions += predicates(prefix).prefix(3).flatMap { predicate in
            [
                (
                    "record:query",
                    "{\"record_type\":\"film\",\"count\":\"estimate\",\"limit\":0,\"predicate\":\(predicate)}"
                ),
                (
                    "record:aggregate",
                    "{\"record_type\":\"film\",\"predicate\":\(predicate),\"aggregates\":{\"n\":[\"count\"]}}"
                ),
                (
                    "record:update",
                    "{\"record_type\":\"film\",\"predicate\":\(predicate),\"at_most\":9,\"dry_run\":true,\"set\":{\"rank\":1}}"
                ),
                (
                    "record:delete",
                    "{\"record_type\":\"film\",\"predicate\":\(predicate),\"at_most\":9,\"dry_run\":true}"
                ),
            ]
        }
        let keys =
            ["text", "n", "x", "flag", "due"].map { p($0) } + [
                path("open.\(prefix)n"), "[\"func\",\"distance\",\(p("place")),\(place)]",
                "[\"func\",\"collate\",\(p("text")),\"en\"]", "[\"func\",\"size\",\(p("labels"))]",
                "{\"$type\":\"keypath\",\"$val\":\"\(prefix)tags.a\",\"$as\":\"number\"}",
            ]
        for key in keys {
            for direction in ["asc", "desc"] {
                // Only the last page ends without a cursor, which has the values of the keys.
                questions.append(
                    (
                        "record:query",
                        "{\"record_type\":\"film\",\"limit\":2,\"sort\":[[\(key),\"\(direction)\"],[\(path("title")),\"asc\"]]}"
                    )
                )
            }
        }
        questions.append(
            (
                "record:query",
                """
                {"record_type":"film","predicate":["or",["match",\(p("words")),"star"],["exists",\(path("title")),true]],
                 "sort":[[["func","rank",\(p("words"))],"desc"],[\(path("title")),"asc"]],
                 "include":{"rank":["func","rank",\(p("words"))]}}
                """
            )
        )
        for included in ["next", "list", "crew"] {
            for form in ["nested", "table"] {
                for more in ["", ",\"count\":true,\"limit\":1"] where included != "next" || more.isEmpty {
                    questions.append(
                        (
                            "record:query",
                            "{\"record_type\":\"film\",\(title),\"include_form\":\"\(form)\",\"include\":{\"i\":{\"path\":\(p(included))\(more)}}}"
                        )
                    )
                }
            }
        }
        for included in [
            "{\"path\":\(path("open.\(prefix)next"))}", "{\"path\":\(path("deck.\(prefix)crew"))}",
            "[\"func\",\"distance\",\(p("place")),\(place)]",
        ] {
            questions.append(("record:query", "{\"record_type\":\"film\",\(title),\"include\":{\"i\":\(included)}}"))
        }
        for key in ["text", "n", "x", "flag", "due"].map({ p($0) }) + [path("open.\(prefix)text")] {
            questions.append(
                (
                    "record:aggregate",
                    "{\"record_type\":\"film\",\"group_by\":{\"k\":\(key)},\"aggregates\":{\"n\":[\"count\"]}}"
                )
            )
        }
        for aggregate in ["count", "count_distinct", "sum", "avg", "min", "max"] {
            questions.append(
                (
                    "record:aggregate",
                    """
                    {"record_type":"film","aggregates":{"a":["\(aggregate)",\(p("n"))]},
                     "having":["gte",\(path("a")),0]}
                    """
                )
            )
        }
        questions.append(
            (
                "record:aggregate",
                """
                {"record_type":"film","group_by":{"k":{"bucket":"year","of":\(p("due"))}},"aggregates":{"n":["count"]}}
                """
            )
        )
        for name in ["text", "next", "labels"] {
            questions.append(
                ("record:query", "{\"record_type\":\"film\",\"select\":[\"\(prefix)\(name)\",\"title\"],\(title)}")
            )
        }
        return questions
    }

    /// Requests that bring whole records, with what the caller sees of them.
    private static let reads: [(method: String, parameters: String)] = {
        let title = "\"sort\":[[\(path("title")),\"asc\"]]"
        return [
            ("record:fetch", #"{"ids":["film/1"]}"#), ("record:fetch", #"{"ids":["film/1","film/2","film/3"]}"#),
            ("record:query", "{\"record_type\":\"film\",\(title)}"),
            ("record:query", "{\"record_type\":\"film\",\(title),\"omit\":[\"title\"]}"),
            ("record:query", "{\"record_type\":\"film\",\(title),\"include\":{\"*\":true}}"),
            (
                "record:query",
                "{\"record_type\":\"film\",\(title),\"include\":{\"open\":true},\"include_form\":\"table\"}"
            ),
            (
                "record:query",
                "{\"record_type\":\"film\",\(title),\"include\":{\"deck\":{\"path\":\(path("deck")),\"count\":true}}}"
            ),
            // What is refused shows the record that is there.
            ("record:save", #"{"records":[{"_id":"film/1","_if_revision":1,"rank":7}]}"#),
            ("record:save", #"{"records":[{"_id":"film/1","_if_revision":"new","rank":7}]}"#),
        ]
    }()

    /// Saves of fields that the caller may neither see nor change, all of them refused.
    private static func saves(_ prefix: String) -> [String] {
        [
            "\"text\":\"alpha beta\"", "\"text\":\"gamma\"", "\"text\":null", "\"n\":5", "\"n\":9", "\"x\":0.5",
            "\"flag\":true", "\"tags\":{\"a\":1}", "\"labels\":[\"red\"]", "\"next\":\(second)", "\"place\":\(place)",
            "\"n\":{\"$op\":\"inc\",\"$val\":1}", "\"labels\":{\"$op\":\"push\",\"$val\":[\"x\"]}",
            "\"text\":{\"$op\":\"unset\"}", "\"list\":[\(second)]",
            "\"crew\":{\"$op\":\"relate\",\"$val\":[\(second)]}",
            "\"n\":{\"$op\":\"min\",\"$val\":7}", "\"n\":{\"$op\":\"set_on_insert\",\"$val\":7}",
        ].map { "\"\(prefix)\($0.dropFirst())" }
    }

    @Test func whatIsHiddenMakesNoDifference() async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            let (_, bob) = try await service.signUp("bob")
            try await Self.fill(service, ann: ann, bob: bob)
            let callers: [(name: String, key: String, token: String?)] = [
                ("bob", TestService.apiKey, bob), ("none", TestService.apiKey, nil), ("ann", TestService.apiKey, ann),
                ("master", TestService.masterKey, nil),
            ]
            var responses: [String: [[String]]] = [:]
            let requests = ["h_", "o_"].map { Self.questions($0) } + [Self.reads]
            for state in Self.states {
                try await Self.set(state, service)
                for caller in callers {
                    let calls = requests.joined().filter { $0.method != "record:save" || caller.name == "bob" }.map {
                        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\($0.method)\",\"params\":\($0.parameters)}"
                    }
                    let bodies = try await service.rpc(calls, key: caller.key, token: caller.token).map(\.body)
                    responses[caller.name, default: []].append(bodies)
                }
                let fields = ["h_", "o_"].flatMap { Self.saves($0) }
                for field in fields {
                    let record = "{\"_id\":\"film/1\",\"rank\":8,\(field)}"
                    let saved = try await service.call("record:save", "{\"records\":[\(record)]}", token: bob)
                    let name = String(field.dropFirst().prefix { $0 != "\"" })
                    #expect(saved["result"][0]["code"].integer == 123, "\(field) \(saved)")
                    #expect(saved["result"][0]["info"]["arguments"].elements.compactMap(\.string) == [name])
                    // What is not seen is missing, so the condition never holds.
                    let conditional = "{\"_id\":\"film/1\",\"_if\":[\"exists\",\(Self.path(name)),true],\"rank\":8}"
                    let asked = try await service.call("record:save", "{\"records\":[\(conditional)]}", token: bob)
                    let code = asked["result"][0]["code"].integer
                    // Nor does it ask about other records, members among them.
                    let seen = name == "o_crew" ? 108 : Self.conflict
                    #expect(code == (name.hasPrefix("h_") ? 124 : seen), "\(conditional) \(asked)")
                    for isDryRun in [true, false] {
                        let change = """
                            {"record_type":"film","ids":["film/1"],"dry_run":\(isDryRun),"set":{\(field)}}
                            """
                        let changed = try await service.call("record:update", change, token: bob)
                        let kept = changed["result"]["no_permission"].elements.compactMap(\.string)
                        #expect(kept == ["film/1"], "\(change) \(changed)")
                    }
                }
            }
            for (place, request) in requests.joined().enumerated() {
                func of(_ caller: String) -> [String] {
                    // The last ones were sent by one caller alone.
                    responses[caller]?.compactMap { place < $0.count ? $0[place] : nil } ?? []
                }
                let asked = "\(request.method) \(request.parameters)"
                for caller in ["bob", "none"] {
                    let found = Set(of(caller))
                    #expect(found.count <= 1, "\(caller): \(asked) \(found)")
                }
                let isHidden = place < requests[0].count
                let isOwned = !isHidden && place < requests[0].count + requests[1].count
                guard isHidden || isOwned else { continue }
                for (caller, isRefused) in [("bob", isHidden), ("none", true), ("ann", isHidden), ("master", false)] {
                    // Who is not logged in changes nothing.
                    let isChange = request.method == "record:update" || request.method == "record:delete"
                    let expected = isRefused ? caller == "none" && isChange ? 101 : 124 : nil
                    for response in Set(of(caller)) {
                        let code = try JSONValue(response)["error"]["code"].integer
                        #expect(code == expected, "\(caller): \(asked) \(response)")
                    }
                }
                // Of three records an estimate says nothing that can be foreseen.
                if asked.contains("estimate") { continue }
                for caller in isHidden ? ["master"] : ["master", "ann"] {
                    let found = Set(of(caller))
                    #expect(found.count > 1, "It asks nothing: \(caller) \(asked)")
                }
            }
        }
    }

    private static let conflict = ErrorCode.conflict.rawValue

    private static func fill(_ service: TestService, ann: String, bob: String) async throws {
        let open =
            #"{"name":"title","type":"string"},{"name":"rank","type":"integer"},{"name":"open","type":"ref(film)"},"#
            + #"{"name":"deck","type":"array(ref(film))"},{"name":"echo","type":"string"}"#
        let hidden = ["h_", "o_"].flatMap { prefix in
            types.map { name, type in
                let words = name == "words" ? #","text":{"language":"english","stored":true}"# : ""
                return "{\"name\":\"\(prefix)\(name)\",\"type\":\"\(type)\"\(words)}"
            }
        }
        let made = try await service.call(
            "schema:create",
            "{\"record_types\":{\"film\":{\"fields\":[\(open),\(hidden.joined(separator: ","))]}}}",
            key: TestService.masterKey
        )
        #expect(made["error"] == .null, "\(made)")
        let list = #""_access":[{"public":true,"level":"read"},{"users":true,"level":"write"}]"#
        for (token, records) in [
            (
                ann,
                #"{"_id":"film/1","title":"one","rank":5,\#(list)},{"_id":"film/2","title":"two","rank":3,"echo":"alpha beta",\#(list)}"#
            ),
            (
                bob,
                """
                {"_id":"film/3","title":"three","rank":1,"open":{"$type":"ref","$id":"film/1"},
                 "deck":[{"$type":"ref","$id":"film/1"},{"$type":"ref","$id":"film/2"}],\(list)}
                """
            ),
        ] {
            let saved = try await service.call("record:save", "{\"records\":[\(records)]}", token: token)
            #expect(saved["result"].elements.allSatisfy { $0["_type"].string == "record" }, "\(saved)")
        }
        let rules = types.flatMap { type in
            [
                "\"h_\(type.name)\":{\"read\":[{\"role\":\"staff\"}],\"update\":[{\"role\":\"staff\"}]}",
                "\"o_\(type.name)\":{\"read\":[{\"owner\":true}],\"update\":[{\"owner\":true}]}",
            ]
        }
        let set = try await service.call(
            "schema:access:set",
            "{\"record_type\":\"film\",\"fields\":{\(rules.joined(separator: ","))}}",
            key: TestService.masterKey
        )
        #expect(set["error"] == .null, "\(set)")
    }

    /// Gives the fields of the first film other values, without a trace in its metadata.
    private static func set(_ state: (columns: [String: String], crew: String?), _ service: TestService) async throws {
        let values = ["h_", "o_"].flatMap { prefix in state.columns.map { "\(prefix)\($0) = \($1)" } }
        let members = ["h_", "o_"].map { prefix in
            "DELETE FROM \"film.\(prefix)crew\";"
                + (state.crew.map { "INSERT INTO \"film.\(prefix)crew\" (_from, _to) VALUES ('1', '\($0)');" } ?? "")
        }
        _ = try await service.database.psql(
            """
            SET search_path = app, app_internal; SET session_replication_role = replica;
            UPDATE film SET h_n = 7, o_n = 7 WHERE _id = '2';
            UPDATE film SET \(values.joined(separator: ", ")) WHERE _id = '1';
            \(members.joined(separator: " "))
            ANALYZE film
            """
        )
    }
}
