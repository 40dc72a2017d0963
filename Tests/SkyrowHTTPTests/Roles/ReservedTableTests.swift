import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

/// The reserved tables are no records on any exit, and neither are roles but on those of ``RoleRecordTests``.
@Suite(.timeLimit(.minutes(60))) struct ReservedTableTests {
    /// A call that names a type or a record of it, `TABLE`.
    private struct Exit {
        let method: String
        let parameters: String
        /// Whether an answer has an outcome for each record, in which the refusal is.
        var isPerRecord = false

        init(_ method: String, _ parameters: String, isPerRecord: Bool = false) {
            self.method = method
            self.parameters = parameters
            self.isPerRecord = isPerRecord
        }
    }

    private static func path(_ text: String) -> String { #"{"$type":"keypath","$val":"\#(text)"}"# }
    private static let ref = #"{"$type":"ref","$id":"TABLE/Admin"}"#
    private static let newRef = #"{"$type":"ref","$recordType":"TABLE","$recordID":"Admin"}"#

    /// Those that read records of a type that is named, which roles may be.
    private static let reading = [
        Exit("record:query", #"{"record_type":"TABLE"}"#),
        Exit("record:query", #"{"record_type":"TABLE","limit":0,"count":true}"#),
        Exit("record:query", #"{"record_type":"TABLE","count":"estimate","explain":"analyze"}"#),
        Exit("record:fetch", #"{"ids":["TABLE/Admin"]}"#),
        Exit("record:fetch", #"{"records":[{"_recordType":"TABLE","_recordID":"Admin"}]}"#),
        Exit("record:fetch", #"{"records":[{"_id":"TABLE/Admin"}]}"#),
    ]

    private static let others = [
        Exit("record:aggregate", #"{"record_type":"TABLE","aggregates":{"n":["count"]}}"#),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["in_query",\#(path("title")),{"record_type":"TABLE","key":"name"}]}"#
        ),
        Exit(
            "record:query",
            #"{"record_type":"note","predicate":["not_in_query",\#(path("_owner")),{"record_type":"TABLE","key":"name"}]}"#
        ),
        Exit("record:query", #"{"record_type":"note","predicate":["related_to",\#(ref),"members"]}"#),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("TABLE")),"x"]}"#),
        Exit("record:query", #"{"record_type":"note","predicate":["eq",\#(path("parent.TABLE.name")),"x"]}"#),
        Exit("record:query", #"{"record_type":"note","sort":[[\#(path("TABLE.name")),"asc"]]}"#),
        Exit("record:query", #"{"record_type":"note","include":{"x":\#(path("TABLE"))}}"#),
        Exit("record:query", #"{"record_type":"note","include":{"x":{"path":\#(path("parent.TABLE")),"limit":1}}}"#),
        Exit("record:query", #"{"record_type":"note","select":["title"],"include":{"TABLE":true}}"#),
        Exit(
            "record:aggregate",
            #"{"record_type":"note","group_by":{"x":\#(path("TABLE.name"))},"aggregates":{"n":["count"]}}"#
        ),
        Exit("record:save", #"{"records":[{"_id":"TABLE/Admin","name":"x"}]}"#, isPerRecord: true),
        Exit("record:save", #"{"records":[{"_id":"TABLE/Admin","name":"x"}],"atomic":true}"#),
        Exit(
            "record:save",
            #"{"records":[{"_recordType":"TABLE","_recordID":"Admin","name":"x"}]}"#,
            isPerRecord: true
        ),
        Exit("record:save", #"{"records":[{"_id":"TABLE/new","_if_revision":"new"}]}"#, isPerRecord: true),
        Exit("record:save", #"{"records":[{"_id":"note/n2","to":\#(ref)}]}"#, isPerRecord: true),
        Exit("record:save", #"{"records":[{"_id":"note/n2","to":\#(newRef)}]}"#, isPerRecord: true),
        Exit(
            "record:save",
            #"{"records":[{"_id":"note/n2","to":{"$type":"relation","$to":"TABLE"}}]}"#,
            isPerRecord: true
        ),
        Exit("record:save", #"{"records":[{"_id":"note/n2","_parent":\#(ref)}]}"#, isPerRecord: true),
        Exit("record:update", #"{"record_type":"TABLE","set":{"name":"x"},"ids":["TABLE/Admin"],"at_most":1}"#),
        Exit(
            "record:update",
            #"{"record_type":"TABLE","set":{"name":"x"},"predicate":["eq",\#(path("name")),"Admin"],"at_most":9}"#
        ),
        Exit("record:delete", #"{"ids":["TABLE/Admin"]}"#),
        Exit("record:delete", #"{"records":[{"_recordType":"TABLE","_recordID":"Admin"}]}"#),
        Exit("record:delete", #"{"record_type":"TABLE","predicate":["eq",\#(path("name")),"Admin"],"at_most":9}"#),
        Exit("record:transfer", #"{"ids":["TABLE/Admin"],"to":"x"}"#),
        Exit("changes:fetch", #"{"record_type":"TABLE"}"#),
        Exit("changes:compare", #"{"record_type":"TABLE"}"#),
        Exit("live:subscribe", #"{"subscription":"s","record_type":"TABLE"}"#),
        Exit("live:watch", #"{"subscription":"s","record_type":"TABLE"}"#),
        Exit("live:watch", #"{"subscription":"s","record_type":"TABLE","aggregates":{"n":["count"]}}"#),
        Exit("schema:create", #"{"record_types":{"TABLE":{"fields":[{"name":"x","type":"string"}]}}}"#),
        Exit("schema:create", #"{"record_types":{"memo":{"fields":[{"name":"x","type":"ref(TABLE)"}]}}}"#),
        Exit("schema:create", #"{"record_types":{"memo":{"fields":[{"name":"x","type":"relation(TABLE)"}]}}}"#),
        Exit("schema:create", #"{"record_types":{"memo":{"fields":[{"name":"x","type":"array(ref(TABLE))"}]}}}"#),
        Exit("schema:rename", #"{"record_type":"TABLE","item_name":"name","new_name":"x"}"#),
        Exit("schema:delete", #"{"record_type":"TABLE","item_name":"name"}"#),
        Exit("schema:index:create", #"{"record_type":"TABLE","fields":["name"]}"#),
        Exit("schema:index:list", #"{"record_type":"TABLE"}"#),
        Exit("schema:access", #"{"type":"TABLE","create_roles":[]}"#),
        Exit("schema:access:set", #"{"record_type":"TABLE","rules":{"read":{"allow":[{"public":true}]}}}"#),
        Exit("schema:access:get", #"{"record_type":"TABLE"}"#),
        Exit("schema:default_access", #"{"type":"TABLE","default_access":[]}"#),
        Exit("key:create", #"{"name":"k","scopes":["type:TABLE"]}"#),
    ]

    /// Every table of the service that is no record type, as it is in the database.
    private func tables(_ service: TestService) async throws -> [String] {
        let names = try await service.database.psql(
            """
            SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
            WHERE relnamespace IN ('app'::regnamespace, 'app_internal'::regnamespace)
                AND relkind IN ('r', 'p', 'v', 'm') AND starts_with(relname, '_')
            """
        ).split(separator: " ").map(String.init)
        #expect(names.count > 20 && Set(names).isSuperset(of: ["_session", "_role", "_sessions"]), "\(names)")
        return names
    }

    /// What becomes of each call, all of them in one batch. The master key passes every other rule.
    private func answers(_ service: TestService, _ exits: [Exit], about table: String) async throws -> [JSONValue] {
        let calls = exits.enumerated().map { place, exit in
            let parameters = exit.parameters.replacing("TABLE", with: table)
            return #"{"jsonrpc":"2.0","id":\#(place),"method":"\#(exit.method)","params":\#(parameters)}"#
        }
        let response = try await service.rpc("[\(calls.joined(separator: ","))]", key: TestService.masterKey)
        let answers = try JSONValue(response.body).elements
        #expect(answers.count == exits.count, "\(table)")
        return answers.sorted { ($0["id"].integer ?? 0) < ($1["id"].integer ?? 0) }
    }

    private func expectRefusalOfSkygear(_ service: TestService, _ exit: Exit, about table: String) async throws {
        let parameters = exit.parameters.replacing("TABLE", with: table)
        let body = #"{"action":"\#(exit.method)",\#(parameters.dropFirst())"#
        let answer = try JSONValue(try await service.v1("/", body, key: TestService.masterKey).body)
        // Inclusions that lead nowhere are passed over there.
        if exit.parameters.contains("include"), let record = answer["result"].elements.first {
            #expect(record["_transient"].members.values.allSatisfy { $0 == .null }, "\(parameters) \(answer)")
            return
        }
        let code = exit.isPerRecord ? answer["result"][0]["code"] : answer["error"]["code"]
        #expect(code.integer != nil, "\(exit.method) \(parameters) \(answer)")
    }

    private func digest(_ service: TestService) async throws -> String {
        try await service.database.psql(
            """
            SELECT md5(concat((SELECT string_agg(t::text, '' ORDER BY t::text) FROM app_internal._role AS t),
                (SELECT string_agg(table_name || column_name, '' ORDER BY 1, table_name, column_name)
                    FROM information_schema.columns WHERE table_schema IN ('app', 'app_internal')),
                (SELECT count(*) FROM app_internal._key), (SELECT string_agg(t::text, '') FROM app_internal._class_rule AS t),
                (SELECT string_agg(t::text, '') FROM app.note AS t)))
            """
        )
    }

    @Test func reservedTablesAreReachedByNoExit() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/n1","title":"x"},{"_id":"note/n2","parent":{"$type":"ref","$id":"note/n1"}}]}"#,
                token: ann.token
            )
            #expect(saved["result"][1]["_id"].string == "note/n2", "\(saved)")
            let before = try await digest(service)
            for table in try await tables(service) {
                // Roles are read; what they are read by is another suite's.
                let exits = Self.others + (table == "_role" ? [] : Self.reading)
                for (exit, answer) in zip(exits, try await answers(service, exits, about: table)) {
                    let found = exit.isPerRecord ? answer["result"][0]["code"] : answer["error"]["code"]
                    let code = found.integer ?? 0
                    #expect(
                        [108, 110, 111, 120].contains(code),
                        "\(table) \(exit.method) \(exit.parameters) \(answer)"
                    )
                }
                // The names of types are read by the same code in both envelopes.
                guard ["_role", "_session"].contains(table) else { continue }
                for exit in exits { try await expectRefusalOfSkygear(service, exit, about: table) }
            }
            #expect(try await digest(service) == before)
            let types = try await service.call("schema:fetch", "{}", key: TestService.masterKey)
            #expect(types["result"]["record_types"].members.keys.sorted() == ["note", "user"])
        }
    }

    /// The calls that name roles as records to be written, followed or computed with.
    private static var aboutRoles: [Exit] {
        others.filter { exit in
            let isNamed = ["\"TABLE\"", "\"TABLE/"].contains { exit.parameters.contains($0) }
            let leads = ["\"ref\"", "\"keypath\",\"$val\":\"TABLE", "include", "relation", "\"atomic\""]
            return isNamed && exit.method != "schema:create" && !leads.contains { exit.parameters.contains($0) }
        }
    }

    @Test func whatRolesAreNotForNamesTheActionsOnRoles() async throws {
        let methods = Set(Self.aboutRoles.map(\.method))
        #expect(
            methods.isSuperset(of: [
                "record:save", "record:update", "record:delete", "record:transfer", "record:aggregate", "changes:fetch",
                "changes:compare", "live:subscribe", "live:watch", "schema:access:set",
            ])
        )
        try await withService { service in
            let ann = try await service.signUp("ann")
            func expectAdvice(_ error: JSONValue, _ call: String) {
                #expect(error["code"].integer == 111, "\(call) \(error)")
                let message = error["message"].string ?? ""
                for name in ["role:save", "role:delete", "role:add", "role:remove"] {
                    #expect(message.contains(name), "\(call) \(error)")
                }
            }
            for exit in Self.aboutRoles {
                let parameters = exit.parameters.replacing("TABLE", with: "_role")
                for (key, token) in [(TestService.masterKey, nil), (TestService.apiKey, ann.token)]
                    as [(String, String?)]
                {
                    let answer = try await service.call(exit.method, parameters, key: key, token: token)
                    let error = exit.isPerRecord ? answer["result"][0] : answer["error"]
                    // Rules and schemas are not hers in any case.
                    if error["code"].integer == 102, token != nil { continue }
                    expectAdvice(error, "\(exit.method) \(parameters)")
                }
            }
            let atomic = try await service.call(
                "record:save",
                #"{"records":[{"_id":"_role/Admin","name":"x"}],"atomic":true}"#,
                token: ann.token
            )
            expectAdvice(atomic["error"]["data"]["info"]["errors"][0], "\(atomic)")
        }
    }
}
