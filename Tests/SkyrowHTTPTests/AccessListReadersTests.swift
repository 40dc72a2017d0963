import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What of an access list comes with a record, on the ways to it that the oracle does not take.
@Suite(.timeLimit(.minutes(60))) struct AccessListReadersTests {
    private static let master = TestService.masterKey

    private struct World {
        let service: TestService
        let ann: (id: String, token: String)
        let bob: (id: String, token: String)
        /// Not logged in, bob, who may update, ann, who owns all records, and the master key.
        let callers: [(name: String, key: String, token: String?)]

        init(_ service: TestService) async throws {
            self.service = service
            ann = try await service.signUp("ann")
            bob = try await service.signUp("bob")
            callers = [
                ("key", TestService.apiKey, nil), ("bob", TestService.apiKey, bob.token),
                ("ann", TestService.apiKey, ann.token), ("master", TestService.masterKey, nil),
            ]
            let made = try await service.call(
                "schema:create",
                """
                {"record_types":{"tag":{"fields":[{"name":"name","type":"string"}]},
                  "note":{"fields":[{"name":"title","type":"string"},{"name":"tag","type":"ref(tag)"},
                    {"name":"tags","type":"array(ref(tag))"}]}}}
                """,
                key: AccessListReadersTests.master
            )
            #expect(made["error"] == .null, "\(made)")
            let list = """
                [{"public":true,"level":"read"},{"user_id":"\(bob.id)","level":"update"},{"role":"r","level":"read"},
                 {"relation":"friend","level":"read"}]
                """
            let saved = try await service.call(
                "record:save",
                """
                {"atomic":true,"records":[{"_id":"tag/1","name":"x","_access":\(list)},
                  {"_id":"note/1","title":"a","_access":\(list),"tag":{"$type":"ref","$id":"tag/1"},
                   "tags":[{"$type":"ref","$id":"tag/1"}]}]}
                """,
                token: ann.token
            )
            #expect(saved["error"] == .null, "\(saved)")
        }

        func set(_ readers: String) async throws {
            for type in ["note", "tag"] {
                let set = try await service.call(
                    "schema:access:set",
                    "{\"record_type\":\"\(type)\",\"list_read_by\":\(readers)}",
                    key: AccessListReadersTests.master
                )
                #expect(set["error"] == .null, "\(set)")
            }
        }
    }

    /// A value as a message has it.
    private static func text(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .boolean(let flag): "\(flag)"
        case .number(let number): "\(number)"
        case .string(let text): "\"\(text)\""
        case .array(let elements): "[" + elements.map(text).joined(separator: ",") + "]"
        case .object(let members): "{" + members.map { "\"\($0)\":\(text($1))" }.joined(separator: ",") + "}"
        }
    }

    /// How many entries each caller sees of a list with four.
    private static let rules: [(readers: String, entries: [Int])] = [
        ("null", [1, 1, 4, 4]), (#""owner""#, [1, 1, 4, 4]), (#""update""#, [1, 4, 4, 4]), (#""read""#, [4, 4, 4, 4]),
    ]

    /// A call, and where its result has lists.
    private static let exits: [(method: String, parameters: String, lists: @Sendable (JSONValue) -> [JSONValue])] = [
        ("record:fetch", #"{"ids":["note/1","tag/1"]}"#, { $0.elements.map { $0["_access"] } }),
        (
            "record:query", #"{"record_type":"note","desired_keys":["title"]}"#,
            { $0["records"].elements.map { $0["_access"] } }
        ),
        (
            "record:query",
            #"{"record_type":"note","include":{"t":{"$type":"keypath","$val":"tag"},"ts":{"$type":"keypath","$val":"tags"}}}"#,
            { result in
                result["records"].elements.flatMap { note in
                    [note["_access"], note["_transient"]["t"]["_access"]]
                        + note["_transient"]["ts"]["records"].elements.map { $0["_access"] }
                }
            }
        ),
        (
            "record:query",
            #"{"record_type":"note","include":{"t":{"$type":"keypath","$val":"tag"}},"include_form":"table"}"#,
            { $0["records"].elements.map { $0["_access"] } + [$0["included"]["tag/1"]["_access"]] }
        ),
        ("changes:fetch", #"{"record_type":"note"}"#, { $0["changed"].elements.map { $0["_access"] } }),
        (
            "record:query",
            #"{"record_type":"note","predicate":["eq",{"$type":"keypath","$val":"_access"},null]}"#,
            { result in result["records"].elements }
        ),
    ]

    @Test func everyExitShowsTheListToThoseWhoMaySeeIt() async throws {
        try await withService { service in
            let world = try await World(service)
            for rule in Self.rules {
                try await world.set(rule.readers)
                for (caller, count) in zip(world.callers, rule.entries) {
                    for (place, exit) in Self.exits.enumerated() {
                        let answer = try await service.call(
                            exit.method,
                            exit.parameters,
                            key: caller.key,
                            token: caller.token
                        )
                        let lists = exit.lists(answer["result"])
                        // The last one finds records without a list, of which there is none.
                        #expect(lists.isEmpty == (place == Self.exits.count - 1), "\(exit.method): \(answer)")
                        for list in lists {
                            #expect(list.elements.count == count, "\(rule.readers), \(caller.name), \(exit): \(list)")
                            #expect(list[0]["public"] == .boolean(true))
                        }
                    }
                }
            }
        }
    }

    /// The record beside a conflict, what a save returns, and the form of Skygear.
    @Test func whatIsWrittenComesBackAsItIsSeen() async throws {
        try await withService { service in
            let world = try await World(service)
            for rule in Self.rules {
                try await world.set(rule.readers)
                let callers = zip(world.callers, rule.entries).dropFirst()
                for (caller, count) in callers {
                    let conflict = try await service.call(
                        "record:save",
                        #"{"records":[{"_id":"note/1","_if_revision":1,"title":"b"}]}"#,
                        key: caller.key,
                        token: caller.token
                    )["result"][0]
                    #expect(
                        conflict["info"]["record"]["_access"].elements.count == count,
                        "\(rule) \(caller): \(conflict)"
                    )
                    let saved = try await service.call(
                        "record:save",
                        #"{"records":[{"_id":"note/1","title":"b"}]}"#,
                        key: caller.key,
                        token: caller.token
                    )["result"][0]
                    #expect(saved["_access"].elements.count == count, "\(rule) \(caller): \(saved)")
                    let body = """
                        {"action":"record:fetch","ids":["note/1"],"api_key":"\(caller.key)"\
                        \(caller.token.map { ",\"access_token\":\"\($0)\"" } ?? "")}
                        """
                    let fetched = try await withConnection(port: service.port) { connection in
                        try await connection.post("/", body)
                        return try JSONValue(try await connection.response().body)
                    }["result"][0]
                    #expect(fetched["_access"].elements.count == count, "\(rule) \(caller): \(fetched)")
                }
            }
        }
    }

    /// A client that fetches a record and saves it whole takes no entry away, whoever it is, alone and with others.
    @Test func aRecordThatIsSentBackKeepsItsList() async throws {
        try await withService { service in
            let world = try await World(service)
            for rule in Self.rules {
                try await world.set(rule.readers)
                for caller in world.callers.dropFirst() {
                    let fetched = try await service.call(
                        "record:fetch",
                        #"{"ids":["note/1","tag/1"]}"#,
                        key: caller.key,
                        token: caller.token
                    )["result"].elements
                    let drafts = fetched.map { record in
                        "{\"_id\":\(Self.text(record["_id"])),\"_access\":\(Self.text(record["_access"]))}"
                    }
                    for records in [[drafts[0]], drafts] {
                        let saved = try await service.call(
                            "record:save",
                            "{\"records\":[\(records.joined(separator: ","))]}",
                            key: caller.key,
                            token: caller.token
                        )["result"].elements
                        let kinds = saved.map { $0["_type"].string }
                        #expect(kinds == records.map { _ in "record" }, "\(caller): \(saved)")
                    }
                    let bulk = try await service.call(
                        "record:update",
                        """
                        {"record_type":"note","ids":["note/1"],"at_most":1,
                          "set":{"title":"c","_access":\(Self.text(fetched[0]["_access"]))}}
                        """,
                        key: caller.key,
                        token: caller.token
                    )
                    #expect(bulk["result"]["updated"].elements.count == 1, "\(caller): \(bulk)")
                    let count = "SELECT count(*) FROM app.note, jsonb_object_keys(_access) WHERE _id = '1'"
                    #expect(try await service.database.psql(count) == "4", "\(rule) \(caller)")
                }
            }
        }
    }

    /// Another list is refused where the caller does not see the stored one, also one that guesses all of it.
    @Test func aListThatIsNotSeenIsNotChanged() async throws {
        try await withService { service in
            let world = try await World(service)
            let before = try await service.database.psql("SELECT _access FROM app.note")
            let whole = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, token: world.ann.token)
            let lists = ["[]", #"[{"public":true,"level":"write"}]"#, Self.text(whole["result"][0]["_access"])]
            for (readers, isFree) in [("null", false), (#""owner""#, false), (#""update""#, false)] {
                try await world.set(readers)
                for list in lists where !(readers == #""update""# && list == lists[2]) {
                    let saved = try await service.call(
                        "record:save",
                        "{\"records\":[{\"_id\":\"note/1\",\"_access\":\(list)}]}",
                        token: world.bob.token
                    )["result"][0]
                    #expect((saved["code"].integer == 102) == !isFree, "\(readers) \(list): \(saved)")
                }
            }
            // Whoever may update a record changes its list where that is said, unless the list is for its owner's eyes.
            for (readers, code) in [(#""owner""#, 102), ("null", nil)] as [(String, Int?)] {
                _ = try await service.call(
                    "schema:access:set",
                    "{\"record_type\":\"note\",\"list_by\":\"update\",\"list_read_by\":\(readers)}",
                    key: Self.master
                )
                if code != nil { #expect(try await service.database.psql("SELECT _access FROM app.note") == before) }
                let saved = try await service.call(
                    "record:save",
                    #"{"records":[{"_id":"note/1","_access":[]}]}"#,
                    token: world.bob.token
                )["result"][0]
                #expect(saved["code"].integer == code, "\(readers): \(saved)")
            }
        }
    }

    @Test func theListsOfRolesAreSeenByThoseWhoChangeThem() async throws {
        try await withService { service in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            let saved = try await service.call(
                "role:save",
                """
                {"name":"staff","access":[{"user_id":"\(ann.id)","level":"read"},{"user_id":"\(bob.id)","level":"write"},
                  {"users":true,"level":"read"}]}
                """,
                key: Self.master
            )
            #expect(saved["error"] == .null, "\(saved)")
            _ = try await service.database.psql(
                "UPDATE app_internal._role SET owner = '\(ann.id)' WHERE name = 'staff'"
            )
            let admin = try await service.signUp("admin")
            _ = try await service.database.psql(
                """
                INSERT INTO app_internal._role (name, is_admin) VALUES ('root', true);
                INSERT INTO app_internal._user_role (user_id, role) VALUES ('\(admin.id)', 'root')
                """
            )
            let login = try await service.call(
                "auth:login",
                #"{"auth_data":{"username":"admin"},"password":"a long secret"}"#
            )
            let token = try #require(login["result"]["access_token"].string)
            for (token, key, count) in [
                (ann.token, TestService.apiKey, 3), (bob.token, TestService.apiKey, 1), (token, TestService.apiKey, 3),
                (nil, Self.master, 3),
            ] as [(String?, String, Int)] {
                let listed = try await service.call("role:list", "{}", key: key, token: token)["result"]
                let role = listed["roles"].elements.first { $0["name"].string == "staff" }
                #expect(role?["access"].elements.count == count, "\(listed)")
                let queried = try await service.call(
                    "record:query",
                    #"{"record_type":"_role","predicate":["eq",{"$type":"keypath","$val":"name"},"staff"]}"#,
                    key: key,
                    token: token
                )["result"]["records"][0]
                #expect(queried["_access"].elements.count == count, "\(queried)")
            }
        }
    }
}
