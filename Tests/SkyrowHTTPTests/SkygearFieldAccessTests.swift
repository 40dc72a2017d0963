import SkyrowStore
import SkyrowTestSupport
import Testing

/// `schema:field_access:get` and `schema:field_access:update` as Skygear's clients send them, and what they do to calls.
@Suite(.timeLimit(.minutes(60))) struct SkygearFieldAccessTests {
    /// A rule as it is sent; `flags` has a letter for what is allowed: w, r, c, d.
    private static func rule(_ type: String, _ field: String, _ role: String, _ flags: String) -> String {
        let members = [("writable", "w"), ("readable", "r"), ("comparable", "c"), ("discoverable", "d")].map {
            "\"\($0)\":\(flags.contains($1))"
        }
        return """
            {"record_type":"\(type)","record_field":"\(field)","user_role":"\(role)",\(members.joined(separator: ","))}
            """
    }

    private static func list(_ rules: [String]) throws -> JSONValue {
        try JSONValue("{\"access\":[\(rules.joined(separator: ","))]}")
    }

    private static func update(_ service: TestService, _ rules: [String]) async throws -> JSONValue {
        try await service.call(
            "schema:field_access:update",
            "{\"access\":[\(rules.joined(separator: ","))]}",
            key: TestService.masterKey
        )
    }

    private static func stored(_ service: TestService) async throws -> String {
        try await service.database.psql(
            """
            SELECT coalesce(string_agg(concat_ws(' ', type, field, action, allow), E'\\n' ORDER BY type, field, action), '')
            FROM app_internal._field_rule
            """
        )
    }

    @Test func bothEnvelopesCarryTheRules() async throws {
        try await withService { service in
            // Rules that Skygear's form does not say are not its.
            _ = try await service.call(
                "schema:access:set",
                #"{"record_type":"film","fields":{"plot":{"read":[{"group":"golf"}]}}}"#,
                key: TestService.masterKey
            )
            let none = try await service.call("schema:field_access:get", "{}", key: TestService.masterKey)
            #expect(try none["result"] == Self.list([]), "\(none)")
            let rules = [
                Self.rule("film", "title", "_owner", "wrcd"), Self.rule("film", "title", "_user_id:u1", "r"),
                Self.rule("film", "title", "_field:crew", "w"), Self.rule("film", "title", "_role:guest", ""),
                Self.rule("film", "title", "_any_user", "rc"), Self.rule("film", "*", "_any_user", "wrcd"),
                Self.rule("*", "title", "_public", "d"), Self.rule("*", "*", "_public", "wrcd"),
            ]
            // In whatever order they are sent, they are sent back in that in which they are looked at.
            let body = "{\"access\":[\(rules.reversed().joined(separator: ","))]}"
            let sent = try await service.v1("/schema/field_access/update", body, key: TestService.masterKey)
            #expect(try JSONValue(sent.body)["result"] == Self.list(rules), "\(sent.body)")
            let v1 = try await service.v1("/", #"{"action":"schema:field_access:get"}"#, key: TestService.masterKey)
            #expect(try JSONValue(v1.body)["result"] == Self.list(rules))
            let got = try await service.call("schema:field_access:get", "{}", key: TestService.masterKey)
            #expect(try got["result"] == Self.list(rules))
            #expect(
                try await Self.stored(service).split(separator: "\n").filter { $0.hasPrefix("film title") } == [
                    "film title compare {owner,!user:u1,!field:crew,!role:guest,users}",
                    "film title create {owner,!user:u1,!role:guest,!users}",
                    "film title discover {owner,!user:u1,!field:crew,!role:guest,!users}",
                    "film title read {owner,user:u1,!field:crew,!role:guest,users}",
                    "film title update {owner,!user:u1,field:crew,!role:guest,!users}",
                ]
            )
            // The rules of the type have those of every field of it.
            let access = try await service.call(
                "schema:access:get",
                #"{"record_type":"film"}"#,
                key: TestService.masterKey
            )["result"]["fields"]
            #expect(try access["*"]["read"] == JSONValue(#"[{"users":true}]"#), "\(access)")
            #expect(try access["plot"] == JSONValue(#"{"read":[{"group":"golf"}]}"#))
            // What is sent replaces all that is Skygear's, and nothing else.
            let fewer = try await Self.update(service, [rules[5]])
            #expect(try fewer["result"] == Self.list([rules[5]]))
            let less = try await Self.update(service, [])
            #expect(try less["result"] == Self.list([]))
            #expect(try await Self.stored(service) == "film plot read {group:golf}")
            let audited = try await service.database.psql(
                """
                SELECT string_agg(concat_ws(' ', event, outcome, actor, data -> 'fields' -> 'film.*' -> 'read'), ', ' ORDER BY id)
                FROM app_internal._audit WHERE data ? 'fields'
                """
            )
            #expect(audited == #"rule ok master ["users"], rule ok master ["users"], rule ok master"#)
        }
    }

    /// Questions about the title of the one film, and the flags of which one has to be there, and all.
    private static let questions: [(any: String, all: String, parameters: String)] = [
        ("c", "", #""predicate":["like",{"$type":"keypath","$val":"title"},"Pla%"]"#),
        ("cd", "", #""predicate":["eq",{"$type":"keypath","$val":"title"},"Playtime"]"#),
        ("cd", "", #""predicate":["in",{"$type":"keypath","$val":"title"},["Playtime","x"]],"count":true"#),
        // The order sends what it is made of.
        ("c", "r", #""sort":[[{"$type":"keypath","$val":"title"},"asc"]]"#),
        ("r", "", #""desired_keys":["title"]"#),
    ]

    /// Each flag with and without, in each group that may have the rule.
    @Test(arguments: [("film", "title"), ("film", "*"), ("*", "title"), ("*", "*")])
    func eachFlagGrantsAndItsAbsenceRefuses(_ type: String, _ field: String) async throws {
        try await withService { service in
            let (id, ann) = try await service.signUp("ann")
            let (_, bob) = try await service.signUp("bob")
            _ = try await service.call(
                "role:assign",
                #"{"users":["\#(id)"],"roles":["staff"]}"#,
                key: TestService.masterKey
            )
            let made = try await service.call(
                "record:save",
                #"""
                {"records":[{"_id":"film/1","title":"Playtime",
                 "_access":[{"public":true,"level":"read"},{"users":true,"level":"write"}]}]}
                """#,
                token: ann
            )
            #expect(made["result"][0]["title"].string == "Playtime", "\(made)")
            for flags in ["wrcd", "r", "rc", "rd", "rw", "c", "d", "", "w"] {
                // The first rule is of ann, and the second of bob, who is denied what it does not allow.
                let set = try await Self.update(
                    service,
                    [Self.rule(type, field, "_role:staff", "wrcd"), Self.rule(type, field, "_any_user", flags)]
                )
                #expect(set["error"] == .null, "\(set)")
                for (token, flags) in [(ann, "wrcd"), (bob, flags)] {
                    let place = "\(type).\(field) \(flags)"
                    let fetched = try await service.call("record:fetch", #"{"ids":["film/1"]}"#, token: token)
                    #expect((fetched["result"][0]["title"] != .null) == flags.contains("r"), "\(place) \(fetched)")
                    for id in ["1", "new"] {
                        let record = "{\"_id\":\"film/\(id)\",\"title\":\"Trafic\"}"
                        let saved = try await service.call("record:save", "{\"records\":[\(record)]}", token: token)
                        #expect(
                            saved["result"][0]["code"].integer == (flags.contains("w") ? nil : 123),
                            "\(place) \(saved)"
                        )
                    }
                    _ = try await service.database.psql(
                        "UPDATE app.film SET title = 'Playtime'; DELETE FROM app.film WHERE _id <> '1'"
                    )
                    for question in Self.questions {
                        let asked = try await service.call(
                            "record:query",
                            "{\"record_type\":\"film\",\(question.parameters)}",
                            token: token
                        )
                        let isAllowed =
                            question.any.contains { flags.contains($0) }
                            && question.all.allSatisfy { flags.contains($0) }
                        guard isAllowed else {
                            #expect(asked["error"]["code"].integer == 124, "\(place) \(question) \(asked)")
                            continue
                        }
                        let records = asked["result"]["records"].elements
                        #expect(records.count == 1, "\(place) \(question) \(asked)")
                        #expect((records.first?["title"] != .null) == flags.contains("r"), "\(place) \(question)")
                    }
                }
            }
        }
    }

    @Test func theNearestGroupIsTheOnlyOne() async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"film/1","title":"x","year":1967},{"_id":"song/1","title":"y","year":1968}]}"#,
                token: ann
            )
            let hidden = Self.rule("*", "*", "_role:staff", "wrcd")
            let rows: [(rules: [String], seen: Set<String>)] = [
                ([], ["film title", "film year", "song title", "song year"]),
                ([hidden], []),
                ([hidden, Self.rule("*", "title", "_public", "r")], ["film title", "song title"]),
                ([hidden, Self.rule("film", "*", "_public", "r")], ["film title", "film year"]),
                (
                    [
                        hidden, Self.rule("film", "*", "_public", "r"), Self.rule("*", "title", "_public", ""),
                        Self.rule("film", "year", "_public", ""),
                    ], ["film title"]
                ),
                (
                    [Self.rule("song", "*", "_public", ""), Self.rule("song", "title", "_any_user", "r")],
                    ["film title", "film year", "song title"]
                ),
            ]
            for row in rows {
                let set = try await Self.update(service, row.rules)
                #expect(set["error"] == .null, "\(set)")
                let fetched = try await service.call("record:fetch", #"{"ids":["film/1","song/1"]}"#, token: ann)
                var seen: Set<String> = []
                for record in fetched["result"].elements {
                    let type = record["_id"].string?.prefix(4) ?? ""
                    for name in ["title", "year"] where record[name] != .null { seen.insert("\(type) \(name)") }
                    // What every record has is under no rule.
                    #expect(record["_created_at"] != .null && record["_ownerID"] != .null)
                }
                #expect(seen == row.seen, "\(row.rules)")
            }
            // A field and a type that are made while rules of all hold are no more open.
            _ = try await Self.update(service, [hidden])
            for (record, names) in [
                (#"{"_id":"film/2","length":90}"#, ["length"]), (#"{"_id":"poem/1","text":"x"}"#, ["text"]),
            ] {
                let saved = try await service.call("record:save", "{\"records\":[\(record)]}", token: ann)["result"][0]
                #expect(saved["code"].integer == 123, "\(saved)")
                #expect(saved["info"]["arguments"].elements.compactMap(\.string) == names)
            }
            _ = try await service.database.psql("ALTER TABLE app.film ADD plot text DEFAULT 'secret'")
            try await waiting(until: "the column is known") {
                let fetched = try await service.call("record:fetch", #"{"ids":["film/1"]}"#, key: TestService.masterKey)
                return fetched["result"][0]["plot"].string == "secret"
            }
            let fetched = try await service.call("record:fetch", #"{"ids":["film/1"]}"#, token: ann)
            #expect(fetched["result"][0]["plot"] == .null && fetched["result"][0]["_id"].string == "film/1")
        }
    }

    private static let whole = rule("film", "title", "_owner", "w")

    /// What is sent for `access`, and the place of what is wrong with it.
    private static let malformed: [(String, path: String)] = [
        ("{}", "access"), ("[7]", "access[0]"), ("[\(whole),[]]", "access[1]"),
        ("[\(rule("fi lm", "title", "_owner", "w"))]", "access[0].record_type"),
        ("[\(rule("_role", "title", "_owner", "w"))]", "access[0].record_type"),
        ("[\(rule("**", "title", "_owner", "w"))]", "access[0].record_type"),
        ("[\(rule("film", "_access", "_owner", "w"))]", "access[0].record_field"),
        ("[\(rule("film", "_parent", "_owner", "w"))]", "access[0].record_field"),
        ("[\(rule("film", "", "_owner", "w"))]", "access[0].record_field"),
        ("[\(whole),\(rule("film", "*", "owner", "w"))]", "access[1].user_role"),
        ("[\(rule("film", "*", "_role:", "w"))]", "access[0].user_role"),
        ("[\(rule("film", "*", "_field:_owner", "w"))]", "access[0].user_role"),
        // Of a type that there is, a field in which no one stands.
        ("[\(rule("film", "*", "_field:title2", "w"))]", "access[0].user_role"),
        ("[\(whole.replacing("\"writable\":true,", with: ""))]", "access[0]"),
        ("[\(whole.replacing("\"writable\":true", with: "\"writable\":1"))]", "access[0].writable"),
        ("[\(whole.replacing("{", with: "{\"level\":1,"))]", "access[0]"),
        ("[\(whole.replacing("\"film\"", with: "null"))]", "access[0].record_type"),
        ("[\(whole),\(whole)]", "access[1]"),
    ]

    @Test func whatIsNotUnderstoodChangesNothing() async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            _ = try await service.call("record:save", #"{"records":[{"_id":"film/1","title":"x"}]}"#, token: ann)
            _ = try await Self.update(service, [Self.rule("*", "*", "_any_user", "wrcd")])
            let before = try await Self.stored(service)
            for (access, path) in Self.malformed {
                let refused = try await service.call(
                    "schema:field_access:update",
                    "{\"access\":\(access)}",
                    key: TestService.masterKey
                )
                #expect(refused["error"]["code"].integer == 108, "\(access) \(refused)")
                #expect(refused["error"]["data"]["info"]["path"].string == path, "\(access) \(refused)")
                let v1 = try await service.v1(
                    "/schema/field_access/update",
                    "{\"access\":\(access)}",
                    key: TestService.masterKey
                )
                #expect(try JSONValue(v1.body)["error"]["code"].integer == 108)
            }
            let missing = try await service.call("schema:field_access:update", "{}", key: TestService.masterKey)
            #expect(missing["error"]["code"].integer == 108)
            #expect(try await Self.stored(service) == before)
        }
    }

    @Test func outsideOfDevelopmentTheyAreForTheMasterKey() async throws {
        try await withService(mode: .production) { service in
            let (_, ann) = try await service.signUp("ann")
            for (method, parameters) in [
                ("schema:field_access:get", "{}"), ("schema:field_access:update", #"{"access":[]}"#),
            ] {
                for (key, token, code) in [
                    (TestService.apiKey, nil, 102), (TestService.apiKey, ann, 102), (TestService.masterKey, nil, nil),
                    (nil, nil, 101), ("wrong", nil, 103),
                ] as [(String?, String?, Int?)] {
                    let response = try await service.call(method, parameters, key: key, token: token)
                    #expect(response["error"]["code"].integer == code, "\(method) \(response)")
                }
            }
        }
    }
}
