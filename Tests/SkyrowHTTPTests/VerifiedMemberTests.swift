import SkyrowModel
import SkyrowTestSupport
import Testing

/// `_verified` of profiles on every way on which a field leaves, is asked about or is written: for those who see it beside those who do not.
@Suite(.timeLimit(.minutes(60))) struct VerifiedMemberTests {
    /// Three users: ann's address is verified, bob's is not, and carl has none.
    private struct People {
        let service: TestService
        let ids: [String]
        let tokens: [String]

        init(_ service: TestService) async throws {
            self.service = service
            var (ids, tokens): ([String], [String]) = ([], [])
            for name in ["ann", "bob", "carl"] {
                let (id, token) = try await service.signUp(name)
                ids.append(id)
                tokens.append(token)
            }
            try await service.database.psql(
                """
                UPDATE app."user" SET email = username || '@example.org' WHERE username <> 'carl';
                UPDATE app_internal._user SET verified_email = 'ann@example.org' WHERE id = '\(ids[0])';
                UPDATE app."user" SET _verified = false WHERE username = 'bob'
                """
            )
            (self.ids, self.tokens) = (ids, tokens)
        }

        func call(_ method: String, _ params: String, _ caller: Int?, master: Bool = false) async throws -> JSONValue {
            try await service.call(
                method,
                params,
                key: master ? TestService.masterKey : TestService.apiKey,
                token: caller.map { tokens[$0] }
            )
        }

        func query(_ rest: String, _ caller: Int?, master: Bool = false) async throws -> JSONValue {
            try await call("record:query", "{\"record_type\":\"user\"\(rest)}", caller, master: master)
        }

        /// The names of the users among the records of a result.
        func names(_ response: JSONValue) -> [String] {
            response["result"]["records"].elements.map { record in
                let place = ids.firstIndex { record["_id"].string == "user/\($0)" }
                return place.map { ["ann", "bob", "carl"][$0] } ?? "?"
            }
        }
    }

    private static let key = #"{"$type":"keypath","$val":"_verified"}"#
    private static let behind = #"{"$type":"keypath","$val":"about._verified"}"#
    private static let about = #"{"$type":"keypath","$val":"about"}"#

    /// What each caller learns where it sees the member of some: `ann`, `bob`, nobody who is logged in, and the master key.
    private static let callers: [(caller: Int?, isMaster: Bool)] = [(0, false), (1, false), (nil, false), (nil, true)]

    /// Asks on each way, and expects what follows from whose `_verified` a caller sees; nil for a caller who sees none.
    private func expect(_ people: People, _ caller: Int?, _ isMaster: Bool, sees seen: Set<String>?) async throws {
        let values: [(name: String, value: Bool?)] = [("ann", true), ("bob", false), ("carl", nil)]
        func visible(_ name: String) -> Bool? {
            seen?.contains(name) == true ? values.first { $0.name == name }?.value : nil
        }
        let comment = "\(caller.map { "\($0)" } ?? "-") \(isMaster) \(String(describing: seen))"
        let all = try await people.query("", caller, master: isMaster)
        #expect(all["result"]["records"].elements.count == 3)
        for (name, record) in zip(people.names(all), all["result"]["records"].elements) {
            #expect(record.members["_verified"] == visible(name).map { .boolean($0) }, "\(comment) \(record)")
        }
        let fetched = try await people.call(
            "record:fetch",
            "{\"ids\":[\"user/\(people.ids[0])\"]}",
            caller,
            master: isMaster
        )
        #expect(fetched["result"][0].members["_verified"] == visible("ann").map { .boolean($0) }, "\(comment)")
        let old = try await people.service.v1(
            "/",
            "{\"action\":\"record:fetch\",\"ids\":[\"user/\(people.ids[0])\"]}",
            key: isMaster ? TestService.masterKey : TestService.apiKey,
            token: caller.map { people.tokens[$0] }
        )
        #expect(
            try JSONValue(old.body)["result"][0].members["_verified"] == visible("ann").map { .boolean($0) },
            "\(comment)"
        )

        func names(_ holds: (Bool?) -> Bool) -> Set<String> {
            Set(values.map(\.name).filter { holds(visible($0)) })
        }
        let questions: [(String, Set<String>)] = [
            ("[\"eq\",\(Self.key),true]", names { $0 == true }), ("[\"eq\",\(Self.key),false]", names { $0 == false }),
            ("[\"eq\",\(Self.key),null]", names { $0 == nil }), ("[\"exists\",\(Self.key),true]", names { $0 != nil }),
            ("[\"not\",[\"eq\",\(Self.key),true]]", names { $0 == false }),
            ("[\"in\",\(Self.key),[true,false]]", names { $0 != nil }),
        ]
        for (predicate, expected) in questions {
            let found = try await people.query(",\"predicate\":\(predicate),\"count\":true", caller, master: isMaster)
            #expect((found["error"]["code"].integer == 124) == (seen == nil), "\(comment) \(predicate) \(found)")
            guard seen != nil else { continue }
            // PostgreSQL does not say that a value which is not there is another one.
            let isNegation = predicate.hasPrefix("[\"not\"")
            if !isNegation { #expect(Set(people.names(found)) == expected, "\(comment) \(predicate)") }
            #expect(found["result"]["info"]["count"].integer == people.names(found).count)
            let linked = try await people.call(
                "record:query",
                "{\"record_type\":\"note\",\"predicate\":\(predicate.replacing(Self.key, with: Self.behind))}",
                caller,
                master: isMaster
            )
            #expect(
                Set(linked["result"]["records"].elements.compactMap { $0["title"].string }) == Set(people.names(found)),
                "\(comment) \(predicate) \(linked)"
            )
        }
        for rest in [
            ",\"sort\":[[\(Self.key),\"desc\"]]", ",\"desired_keys\":[\"_verified\"]", ",\"omit\":[\"_verified\"]",
        ] {
            let response = try await people.query(rest, caller, master: isMaster)
            #expect((response["error"]["code"].integer == 124) == (seen == nil), "\(comment) \(rest) \(response)")
            guard seen != nil else { continue }
            let records = response["result"]["records"].elements
            #expect(records.count == 3)
            for (name, record) in zip(people.names(response), records) {
                let isSent = !rest.contains("omit")
                #expect(
                    record.members["_verified"] == (isSent ? visible(name).map { .boolean($0) } : nil),
                    "\(rest) \(record)"
                )
                if rest.contains("desired") { #expect(record.members["username"] == nil) }
            }
            if rest.contains("sort") {
                let order = people.names(response).map { visible($0) }
                let known = order.compactMap { $0 }
                #expect(known == known.sorted { $0 && !$1 }, "\(comment) \(order)")
            }
        }
        let grouped = try await people.call(
            "record:aggregate",
            "{\"record_type\":\"user\",\"group_by\":{\"v\":\(Self.key)},\"aggregates\":{\"n\":[\"count\"]}}",
            caller,
            master: isMaster
        )
        #expect((grouped["error"]["code"].integer == 124) == (seen == nil), "\(comment) \(grouped)")
        if seen != nil {
            let proved = grouped["result"]["groups"].elements.first { $0["v"] == .boolean(true) }
            #expect(proved?["n"].integer == (visible("ann") == true ? 1 : nil), "\(comment) \(grouped)")
        }
        let included = try await people.call(
            "record:query",
            "{\"record_type\":\"note\",\"include\":{\"who\":\(Self.about)}}",
            caller,
            master: isMaster
        )
        #expect(included["result"]["records"].elements.count == 3)
        for record in included["result"]["records"].elements {
            let name = record["title"].string ?? ""
            let found = record["_transient"]["who"].members["_verified"]
            #expect(found == visible(name).map { .boolean($0) }, "\(comment) \(record)")
        }
        // The feed has it as the records have, and takes the same questions.
        for predicate in ["", ",\"predicate\":[\"eq\",\(Self.key),true]"] {
            let feed = try await people.call(
                "changes:fetch",
                "{\"record_type\":\"user\"\(predicate)}",
                caller,
                master: isMaster
            )
            let isRefused = seen == nil && !predicate.isEmpty
            #expect((feed["error"]["code"].integer == 124) == isRefused, "\(comment) \(feed)")
            if !predicate.isEmpty, seen != nil {
                #expect(feed["result"]["changed"].elements.count == (visible("ann") == true ? 1 : 0), "\(comment)")
            }
            for record in feed["result"]["changed"].elements {
                let place = people.ids.firstIndex { record["_id"].string == "user/\($0)" } ?? 0
                #expect(record.members["_verified"] == visible(values[place].name).map { .boolean($0) }, "\(comment)")
            }
        }
    }

    private func withNotes(_ people: People) async throws {
        let made = try await people.call(
            "schema:create",
            #"{"record_types":{"note":{"fields":[{"name":"title","type":"string"},{"name":"about","type":"ref(user)"}]}}}"#,
            nil,
            master: true
        )
        #expect(made["error"] == .null, "\(made)")
        let notes = zip(["ann", "bob", "carl"], people.ids).map {
            #"{"_id":"note/\#($0)","title":"\#($0)","about":{"$type":"ref","$id":"user/\#($1)"}}"#
        }
        let saved = try await people.call(
            "record:save",
            "{\"records\":[\(notes.joined(separator: ","))]}",
            nil,
            master: true
        )
        #expect(saved["result"].elements.allSatisfy { $0["_type"].string == "record" }, "\(saved)")
    }

    @Test func itsOwnerAndTheMasterKeySeeItAndNoOneElse() async throws {
        try await withService { service in
            let people = try await People(service)
            try await withNotes(people)
            for (row, seen) in zip(Self.callers, [["ann"], ["bob"], nil, ["ann", "bob", "carl"]] as [Set<String>?]) {
                try await expect(people, row.caller, row.isMaster, sees: seen)
            }
        }
    }

    @Test func aSettingOpensItAndRulesNarrowThat() async throws {
        let readers = FieldRules.loginKeyReaders.merging([.verified: .users]) { $1 }
        try await withService(loginKeyReaders: readers) { service in
            let people = try await People(service)
            try await withNotes(people)
            let all: Set = ["ann", "bob", "carl"]
            let rules: [(String, [Set<String>?])] = [
                ("null", [all, all, nil, all]), ("{\"read\":[{\"owner\":true}]}", [["ann"], ["bob"], nil, all]),
                ("{\"read\":[{\"public\":true}]}", [all, all, nil, all]),
                ("{\"read\":[{\"user_id\":\"\(people.ids[0])\"}]}", [all, nil, nil, all]),
                ("{\"read\":[]}", [nil, nil, nil, all]),
            ]
            for (rule, seen) in rules {
                let set = try await people.call(
                    "schema:access:set",
                    "{\"record_type\":\"user\",\"fields\":{\"_verified\":\(rule)}}",
                    nil,
                    master: true
                )
                #expect(set["error"] == .null, "\(set)")
                for (row, seen) in zip(Self.callers, seen) {
                    try await expect(people, row.caller, row.isMaster, sees: seen)
                }
            }
        }
    }

    /// A rule of every field is about what applications keep in profiles.
    @Test func aRuleOfEveryFieldLeavesItAlone() async throws {
        try await withService { service in
            let people = try await People(service)
            let set = try await people.call(
                "schema:access:set",
                #"{"record_type":"user","fields":{"*":{"read":[]}}}"#,
                nil,
                master: true
            )
            #expect(set["error"] == .null, "\(set)")
            let own = try await people.query("", 0)["result"]["records"].elements.first {
                $0["_id"].string == "user/\(people.ids[0])"
            }
            #expect(
                own?["_verified"] == .boolean(true) && own?.members["username"] == nil,
                "\(String(describing: own))"
            )
        }
    }

    /// Clients send whole profiles back, and no client says what is verified.
    @Test func noOneWritesIt() async throws {
        try await withService { service in
            let people = try await People(service)
            let own = ["true", "false", "null"]
            for (place, id) in people.ids.enumerated() {
                for (caller, isMaster) in [(place, false), (nil, true)] as [(Int?, Bool)] {
                    for value in ["true", "false", "null"] {
                        let saved = try await people.call(
                            "record:save",
                            "{\"records\":[{\"_id\":\"user/\(id)\",\"city\":\"x\",\"_groups\":[\"golf\"],\"_verified\":\(value)}]}",
                            caller,
                            master: isMaster
                        )["result"][0]
                        let isSame = value == own[place]
                        #expect(saved["code"].integer == (isSame ? nil : 123), "\(place) \(isMaster) \(value) \(saved)")
                        if !isSame {
                            #expect(saved["info"]["arguments"].elements.compactMap(\.string) == ["_verified"])
                        }
                    }
                    let updated = try await people.call(
                        "record:update",
                        "{\"record_type\":\"user\",\"set\":{\"_verified\":true},\"ids\":[\"user/\(id)\"]}",
                        caller,
                        master: isMaster
                    )
                    #expect(updated["error"]["code"].integer == 108, "\(updated)")
                    // As Skygear's clients know it, what begins with an underscore is the service's.
                    let old = try await service.v1(
                        "/",
                        "{\"action\":\"record:save\",\"records\":[{\"_id\":\"user/\(id)\",\"city\":\"y\",\"_verified\":true}]}",
                        key: isMaster ? TestService.masterKey : TestService.apiKey,
                        token: caller.map { people.tokens[$0] }
                    )
                    #expect(try JSONValue(old.body)["result"][0]["city"].string == "y", "\(old.body)")
                }
            }
            let states = try await service.database.psql(
                #"SELECT string_agg(coalesce(_verified::text, '-'), ' ' ORDER BY username) FROM app."user""#
            )
            #expect(states == "true false -")
            // Who may change another's profile learns nothing of it by a guess.
            let rule = #"{"record_type":"user","rules":{"update":{"allow":[{"users":true}],"mode":"override"}}}"#
            #expect(try await people.call("schema:access:set", rule, nil, master: true)["error"] == .null)
            for value in ["true", "false", "null"] {
                let guess = try await people.call(
                    "record:save",
                    "{\"records\":[{\"_id\":\"user/\(people.ids[0])\",\"_verified\":\(value)}]}",
                    1
                )["result"][0]
                #expect(guess["code"].integer == 123, "\(value) \(guess)")
            }
        }
    }

    @Test func noOtherFieldHasItsName() async throws {
        try await withService { service in
            let people = try await People(service)
            for type in ["note", "user"] {
                for kind in ["boolean", "string"] {
                    let made = try await people.call(
                        "schema:create",
                        #"{"record_types":{"\#(type)":{"fields":[{"name":"_verified","type":"\#(kind)"}]}}}"#,
                        nil,
                        master: true
                    )
                    #expect(made["error"]["code"].integer == 108, "\(made)")
                }
            }
            _ = try await people.call("record:save", #"{"records":[{"_id":"note/1","title":"a","_verified":true}]}"#, 0)
            #expect(
                try await people.call("record:fetch", #"{"ids":["note/1"]}"#, 0)["result"][0].members["_verified"]
                    == nil
            )
            for (method, rest) in [
                ("schema:rename", #""record_type":"note","item_name":"title","new_name":"_verified""#),
                ("schema:rename", #""record_type":"user","item_name":"_verified","new_name":"proved""#),
                ("schema:delete", #""record_type":"user","item_name":"_verified""#),
            ] {
                let response = try await people.call(method, "{\(rest)}", nil, master: true)
                #expect(response["error"]["code"].integer == 108, "\(method) \(response)")
            }
            let schema = try await people.call("schema:fetch", "{}", nil, master: true)["result"]["record_types"][
                "user"
            ]
            #expect(!schema["fields"].elements.contains { $0["name"].string == "_verified" }, "\(schema)")
            #expect(schema["fields"].elements.contains { $0["name"].string == "email" })
        }
    }
}
