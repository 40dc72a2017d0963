import SkyrowActions
import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What a key for the type `note` reaches: its records, and by no way those of the type `secret`.
@Suite(.timeLimit(.minutes(60))) struct KeyScopeTests {
    private static let master = TestService.masterKey

    /// A call, and the scope that a key for `note` alone lacks for it; nil where it may be made.
    struct Exit: Sendable, CustomTestStringConvertible {
        let method: String
        let parameters: String
        let missing: String?

        init(_ method: String, _ parameters: String, lacks missing: String? = nil) {
            self.method = method
            self.parameters = parameters
            self.missing = missing
        }

        var testDescription: String { "\(method) \(parameters)" }
    }

    private static let read = "type:secret:read"
    private static func path(_ text: String) -> String { #"{"$type":"keypath","$val":"\#(text)"}"# }
    private static let ref = #"{"$type":"ref","$id":"secret/s1"}"#

    static let exits: [Exit] = [
        // Reads by type and id.
        Exit("record:query", #"{"record_type":"note"}"#),
        Exit("record:query", #"{"record_type":"secret"}"#, lacks: read),
        Exit("record:query", #"{"record_type":"none"}"#, lacks: "type:none:read"),
        Exit("record:query", #"{"record_type":"user"}"#, lacks: "type:user:read"),
        Exit("record:query", #"{"record_type":"secret","limit":0,"count":true}"#, lacks: read),
        Exit("record:fetch", #"{"ids":["note/n1"]}"#),
        Exit("record:fetch", #"{"ids":["secret/s1"]}"#, lacks: read),
        Exit("record:fetch", #"{"ids":["note/n1","secret/none"]}"#, lacks: read),
        Exit("record:aggregate", #"{"record_type":"note","aggregates":{"n":["count"]}}"#),
        Exit("record:aggregate", #"{"record_type":"secret","aggregates":{"n":["count"]}}"#, lacks: read),
        // Key paths.
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("title")),"x"]}"#),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("hidden.word")),"x"]}"#, lacks: read),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["not",["eq",\#(path("hidden.word")),"x"]]}"#,
            lacks: read
        ),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("hidden._owner")),"x"]}"#, lacks: read),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["eq",\#(path("parent.hidden.word")),"x"]}"#,
            lacks: read
        ),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("parent.title")),"x"]}"#),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("many.word")),"x"]}"#, lacks: read),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["any",\#(path("many")),["eq",\#(path("$.word")),"x"]]}"#,
            lacks: read
        ),
        Exit("record:query", #"{"record_type":"note","sort":[[\#(path("title")),"asc"]]}"#),
        Exit("record:query", #"{"record_type":"note","sort":[[\#(path("hidden.word")),"asc"]]}"#, lacks: read),
        Exit(
            "record:aggregate",
            #"{"record_type":"note","group_by":{"w":\#(path("hidden.word"))},"aggregates":{"n":["count"]}}"#,
            lacks: read
        ),
        Exit(
            "record:aggregate",
            #"{"record_type":"note","aggregates":{"m":["max",\#(path("hidden.word"))]}}"#,
            lacks: read
        ),
        // Inclusions.
        Exit("record:query", #"{"record_type":"note","include":{"p":\#(path("parent"))}}"#),
        Exit("record:query", #"{"record_type":"note","include":{"h":\#(path("hidden"))}}"#, lacks: read),
        Exit("record:query", #"{"record_type":"note","include":{"h":\#(path("parent.hidden"))}}"#, lacks: read),
        Exit("record:query", #"{"record_type":"note","include":{"h":\#(path("many"))}}"#, lacks: read),
        Exit("record:query", #"{"record_type":"note","include":{"*":true}}"#, lacks: read),
        // Queries inside of predicates, relations.
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["in_query",\#(path("parent")),{"record_type":"note"}]}"#
        ),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["in_query",\#(path("hidden")),{"record_type":"secret"}]}"#,
            lacks: read
        ),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["not_in_query",\#(path("title")),{"record_type":"secret","key":"word"}]}"#,
            lacks: read
        ),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["in_query",\#(path("parent")),{"record_type":"note","predicate":["eq",\#(path("hidden.word")),"x"]}]}"#,
            lacks: read
        ),
        Exit("record:query", #"{"record_type":"note","predicate":["related_to",\#(ref),"notes"]}"#, lacks: read),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["func","userRelation",\#(path("_owner")),{"$type":"relation","$name":"_friend","$direction":"mutual"}]}"#,
            lacks: "type:user:read"
        ),
        // What a comparison with an id says is in the record itself.
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("hidden")),\#(ref)]}"#),
        // Writes.
        Exit("record:save", #"{"records":[{"_id":"note/n9","title":"x"}]}"#),
        Exit("record:save", #"{"records":[{"_id":"secret/s9","word":"x"}]}"#, lacks: "type:secret"),
        Exit(
            "record:save",
            #"{"records":[{"_id":"note/n9","title":"x"},{"_id":"secret/s9","word":"x"}]}"#,
            lacks: "type:secret"
        ),
        Exit("record:save", #"{"records":[{"_id":"fresh/1","word":"x"}]}"#, lacks: "type:fresh"),
        Exit("record:save", #"{"records":[{"_id":"note/n9","hidden":\#(ref)}]}"#, lacks: read),
        Exit(
            "record:save",
            #"{"records":[{"_id":"note/n9","hidden":{"$type":"ref","$id":"secret/none"}}]}"#,
            lacks: read
        ),
        Exit("record:save", #"{"records":[{"_id":"note/n9","hidden":null}]}"#),
        Exit("record:save", #"{"records":[{"_id":"note/n9","many":[\#(ref)]}]}"#, lacks: read),
        Exit("record:save", #"{"records":[{"_id":"note/n9","many":{"$op":"push","$val":[\#(ref)]}}]}"#, lacks: read),
        Exit("record:save", #"{"records":[{"_id":"note/n9","fresh":\#(ref)}]}"#, lacks: read),
        Exit("record:save", #"{"records":[{"_id":"note/n9","parent":{"$type":"ref","$id":"note/n1"}}]}"#),
        Exit("record:save", #"{"records":[{"_id":"note/n9","title":"x"}],"idempotency_key":"k1"}"#),
        Exit(
            "record:save",
            #"{"records":[{"_id":"secret/s9","word":"x"}],"idempotency_key":"k2"}"#,
            lacks: "type:secret"
        ),
        Exit("record:update", #"{"record_type":"note","set":{"title":"y"},"ids":["note/n9"],"at_most":1}"#),
        Exit(
            "record:update",
            #"{"record_type":"note","set":{"hidden":\#(ref)},"ids":["note/n9"],"at_most":1}"#,
            lacks: read
        ),
        Exit(
            "record:update",
            #"{"record_type":"secret","set":{"word":"y"},"ids":["secret/s1"],"at_most":1}"#,
            lacks: "type:secret"
        ),
        Exit(
            "record:update",
            #"{"record_type":"note","set":{"title":"y"},"predicate":["eq",\#(path("hidden.word")),"x"],"at_most":9}"#,
            lacks: read
        ),
        Exit("record:delete", #"{"ids":["note/none"]}"#, lacks: "type:remark"),
        Exit("record:delete", #"{"ids":["secret/s1"]}"#, lacks: "type:secret"),
        Exit(
            "record:delete",
            #"{"record_type":"note","predicate":["eq",\#(path("title")),"no"],"at_most":1}"#,
            lacks: "type:remark"
        ),
        Exit("record:transfer", #"{"ids":["note/n1"],"to":"none"}"#, lacks: "type:user:read"),
        // Accounts and the operator's affairs.
        Exit("me", "{}", lacks: "type:user:read"),
        Exit("relation:query", #"{"name":"friend"}"#, lacks: "type:user:read"),
        Exit("role:list", "{}", lacks: "action:role:list"),
        Exit("auth:login", #"{"auth_data":{"username":"ann"},"password":"x"}"#, lacks: "signup"),
        Exit("schema:fetch", "{}", lacks: "action:schema:fetch"),
        Exit("key:list", "{}", lacks: "action:key:list"),
    ]

    private static let types = """
        {"record_types":{
          "secret":{"fields":[{"name":"word","type":"string"},{"name":"notes","type":"relation(note)"}]},
          "note":{"fields":[{"name":"title","type":"string"},{"name":"hidden","type":"ref(secret)"},
            {"name":"many","type":"array(ref(secret))"},{"name":"parent","type":"ref(note)"}]},
          "remark":{"fields":[{"name":"note","type":"ref(note)","on_delete":"cascade"}]}}}
        """

    private func make(_ service: TestService, _ parameters: String) async throws -> (id: String, key: String) {
        let made = try await service.call("key:create", parameters, key: Self.master)
        return (try #require(made["result"]["id"].string), try #require(made["result"]["key"].string))
    }

    private func prepare(_ service: TestService) async throws -> String {
        let made = try await service.call("schema:create", Self.types, key: Self.master)
        #expect(made["error"] == .null)
        let ann = try await service.signUp("ann")
        let saved = try await service.call(
            "record:save",
            """
            {"records":[{"_id":"secret/s1","word":"x"},
              {"_id":"note/n1","title":"x","hidden":\(Self.ref),"many":[\(Self.ref)]}],"atomic":true}
            """,
            token: ann.token
        )
        #expect(saved["error"] == .null)
        return ann.token
    }

    /// With the key of a client and a token of the owner of all records, and with a server's key; without the scope everything of
    /// it is refused, and with an API key or the master key nothing is.
    @Test func noExitLeadsToAnotherType() async throws {
        try await withService { service in
            let token = try await prepare(service)
            let client = try await make(service, #"{"name":"c","scopes":["type:note"]}"#).key
            let server = try await make(service, #"{"name":"s","kind":"server","scopes":["type:note"]}"#).key
            for exit in Self.exits {
                for (key, token) in [(client, token), (server, nil)] as [(String, String?)] {
                    let answer = try await service.call(exit.method, exit.parameters, key: key, token: token)
                    let scope = answer["error"]["data"]["info"]["scope"].string
                    #expect(scope == exit.missing, "\(exit) \(answer)")
                    if exit.missing == nil {
                        #expect(answer["error"] == .null, "\(exit) \(answer)")
                    } else {
                        #expect(answer["error"]["code"].integer == 102, "\(exit)")
                    }
                }
            }
            // The same calls are understood, or they would prove nothing.
            for exit in Self.exits where exit.method.hasPrefix("record:") && exit.missing != nil {
                let answer = try await service.call(exit.method, exit.parameters, token: token)
                #expect(answer["error"]["data"]["info"]["scope"] == .null)
                let code = answer["error"]["code"].integer
                #expect(code == nil || code == 102 || code == 110, "\(exit) \(answer)")
            }
        }
    }

    @Test func aRefusedRequestChangesNothing() async throws {
        try await withService { service in
            let token = try await prepare(service)
            let key = try await make(service, #"{"name":"c","scopes":["type:note"]}"#).key
            let digest = """
                SELECT md5(concat((SELECT string_agg(t::text, '' ORDER BY t::text) FROM app.note AS t),
                    (SELECT string_agg(t::text, '' ORDER BY t::text) FROM app.secret AS t),
                    (SELECT string_agg(table_name, '' ORDER BY table_name) FROM information_schema.tables)))
                """
            let before = try await service.database.psql(digest)
            for exit in Self.exits where exit.missing != nil {
                _ = try await service.call(exit.method, exit.parameters, key: key, token: token)
            }
            #expect(try await service.database.psql(digest) == before)
        }
    }

    /// What is stored under an idempotency key is shown to the key that it was asked with.
    @Test func aResultIsNotReplayedToANarrowerKey() async throws {
        try await withService { service in
            let token = try await prepare(service)
            let wide = try await make(service, #"{"name":"w","scopes":["type:note","type:secret"]}"#).key
            let narrow = try await make(service, #"{"name":"n","scopes":["type:note","type:secret:read"]}"#).key
            let call = #"{"records":[{"_id":"secret/s2","word":"x"}],"idempotency_key":"once"}"#
            let first = try await service.call("record:save", call, key: wide, token: token)
            #expect(first["error"] == .null)
            let again = try await service.call("record:save", call, key: wide, token: token)
            #expect(again["result"] == first["result"])
            let other = try await service.call("record:save", call, key: narrow, token: token)
            #expect(other["error"]["code"].integer == 102)
        }
    }

    /// The rules of records pass a server's key within its scopes, in production too; what a client's key reads, its user reads.
    @Test func aServersKeyPassesTheRulesOfRecords() async throws {
        try await withService(mode: .production) { service in
            let token = try await prepare(service)
            let hide = #"{"records":[{"_id":"note/n1","_access":[]}]}"#
            let hidden = try await service.call("record:save", hide, token: token)
            #expect(hidden["error"] == .null)
            let server = try await make(service, #"{"name":"s","kind":"server"}"#).key
            let client = try await make(service, #"{"name":"c"}"#).key
            for (key, title) in [(server, "x"), (client, nil)] as [(String, String?)] {
                let found = try await service.call("record:fetch", #"{"ids":["note/n1"]}"#, key: key)
                #expect(found["result"][0]["title"].string == title)
            }
            let profiles = try await service.call("record:query", #"{"record_type":"user"}"#, key: server)
            #expect(profiles["error"]["data"]["info"]["scope"].string == "type:user:read")
            let explained = try await service.call(
                "record:query",
                #"{"record_type":"note","explain":true}"#,
                key: server
            )
            #expect(explained["error"]["code"].integer == 102)
            let acting = try await service.call(
                "record:save",
                #"{"_user_id":"\#("ann")","records":[{"_id":"note/n7","title":"x"}]}"#,
                key: server
            )
            #expect(acting["result"][0]["_ownerID"] == .null)
        }
    }

    /// Which keys open the private databases of others, by every action that names a database.
    @Test func onlyTheScopeForThemOpensPrivateDatabases() async throws {
        try await withService { service in
            let token = try await prepare(service)
            let ann = try #require(try await service.call("me", "{}", token: token)["result"]["user_id"].string)
            let own = try await service.call(
                "record:save",
                #"{"database_id":"_private","records":[{"_id":"note/p1","title":"mine"}]}"#,
                token: token
            )
            #expect(own["error"] == .null)
            let calls: [(method: String, parameters: String, writes: Bool)] = [
                ("record:query", #""record_type":"note""#, false), ("record:fetch", #""ids":["note/p1"]"#, false),
                ("record:aggregate", #""record_type":"note","aggregates":{"n":["count"]}"#, false),
                ("changes:fetch", #""record_type":"note""#, false),
                ("changes:compare", #""record_type":"note""#, false),
                ("record:save", #""records":[{"_id":"note/p1","title":"mine"}]"#, true),
                ("record:update", #""record_type":"note","set":{"title":"mine"},"ids":["note/p1"],"at_most":1"#, true),
                ("record:delete", #""ids":["note/none"]"#, true),
            ]
            let keys: [(scopes: String, opens: Bool, writes: Bool)] = [
                ("", false, true), (#""read""#, false, false), (#""write""#, false, true),
                (#""type:note""#, false, true),
                (#""type:note:read""#, false, false), (#""read_private""#, true, false),
                (#""read_private","write""#, true, true), (#""read_private","type:note:read""#, true, false),
            ]
            for key in keys {
                let text = try await make(service, "{\"name\":\"s\",\"kind\":\"server\",\"scopes\":[\(key.scopes)]}")
                    .key
                for call in calls {
                    // Nothing but queries is of all databases.
                    let hasUnion = call.method.hasPrefix("record:") && !call.writes
                    for database in [ann, "_union"].prefix(hasUnion ? 2 : 1) {
                        let answer = try await service.call(
                            call.method,
                            "{\"database_id\":\"\(database)\",\(call.parameters)}",
                            key: text
                        )
                        let scope = answer["error"]["data"]["info"]["scope"].string
                        let isWithin = key.writes || !call.writes
                        if key.opens, isWithin {
                            #expect(answer["error"] == .null, "\(key) \(call.method) \(database): \(answer)")
                        } else if isWithin {
                            #expect(scope == "read_private", "\(key) \(call.method) \(database): \(answer)")
                        } else {
                            #expect(answer["error"]["code"].integer == 102, "\(key) \(call.method): \(answer)")
                        }
                    }
                }
            }
            // The key of a client opens the database of the user who is logged in, and no other one.
            let client = try await make(service, #"{"name":"c","scopes":["read"]}"#).key
            for (database, code) in [("_private", nil), (ann, nil), ("another", 102), ("_union", 101)]
                as [(String, Int?)]
            {
                let answer = try await service.call(
                    "record:query",
                    "{\"record_type\":\"note\",\"database_id\":\"\(database)\"}",
                    key: client,
                    token: token
                )
                #expect(answer["error"]["code"].integer == code, "\(database): \(answer)")
            }
        }
    }

    @Test func keysCountInBothEnvelopesAndByTheirNetworks() async throws {
        let proxies = TrustedProxies(ClientIdentification.loopback)
        try await withService(proxies: proxies) { service in
            let key = try await make(service, #"{"name":"c","scopes":["read"],"networks":["192.0.2.0/24"]}"#).key
            let body = #"{"action":"record:query","record_type":"note","api_key":"\#(key)"}"#
            for (address, code) in [("192.0.2.7", nil), ("198.51.100.7", 103), ("127.0.0.1", 103)] as [(String, Int?)] {
                let response = try await withConnection(port: service.port) { connection in
                    try await connection.post("/", body, headers: [("X-Forwarded-For", address)])
                    return try await connection.response()
                }
                #expect(try JSONValue(response.body)["error"]["code"].integer == code)
            }
            let kept =
                "SELECT string_agg(host(address), ' ' ORDER BY address) FROM app_internal._audit WHERE event = 'key'"
            try await waiting(until: "the refused use is kept, once in a minute or two") {
                try await service.database.psql(kept).hasSuffix("198.51.100.7")
            }
        }
    }

    @Test func whatIsNoKeyIsRefused() async throws {
        try await withService { service in
            for (parameters, code) in [
                ("{}", 108), (#"{"name":""}"#, 108), (#"{"name":"a\u0000"}"#, 108),
                (#"{"name":"x","kind":"master"}"#, 108),
                (#"{"name":"x","scopes":["all"]}"#, 108), (#"{"name":"x","scopes":["action:key:create"]}"#, 108),
                (#"{"name":"x","networks":["10.0.0.1/8"]}"#, 108), (#"{"name":"x","networks":["here"]}"#, 108),
                (#"{"name":"x","expires_at":"2001-01-01T00:00:00Z"}"#, 108),
                (#"{"name":"x","expires_at":"soon"}"#, 108),
                (#"{"name":7}"#, 107),
            ] {
                let answer = try await service.call("key:create", parameters, key: Self.master)
                #expect([code, 108].contains(answer["error"]["code"].integer), "\(parameters)")
                let long = (0...100).map { "\"type:t\($0)\"" }.joined(separator: ",")
                let tooMany = try await service.call(
                    "key:create",
                    #"{"name":"x","scopes":[\#(long)]}"#,
                    key: Self.master
                )
                #expect(tooMany["error"]["code"].integer == 108)
                #expect(
                    try await service.database.psql("SELECT count(*) FROM app_internal._key") == "0",
                    "\(parameters)"
                )
            }
        }
    }
}
