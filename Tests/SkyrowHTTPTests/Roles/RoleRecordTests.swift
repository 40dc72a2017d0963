import SkyrowJSON
import SkyrowModel
import SkyrowTestSupport
import Testing

/// Roles as the records of the type `_role`: who sees which, over both envelopes.
@Suite(.timeLimit(.minutes(60))) struct RoleRecordTests {
    /// What asks for records, and how.
    private struct Reader {
        let name: String
        var key: String? = TestService.apiKey
        var token: String?
        /// The roles that it sees, in the order of their names.
        let sees: [String]
    }

    private static let roles = ["Admin", "bobs", "crew", "hidden", "members", "open", "own"]

    private func master(_ service: TestService, _ method: String, _ params: String) async throws -> JSONValue {
        let result = try await service.call(method, params, key: TestService.masterKey)
        #expect(result["error"] == .null, "\(method) \(result)")
        return result["result"]
    }

    /// Makes roles with lists of every kind, and users who see some of them.
    private func readers(_ service: TestService) async throws -> [Reader] {
        let ann = try await service.signUp("ann")
        let bob = try await service.signUp("bob")
        let carl = try await service.signUp("carl")
        let dora = try await service.signUp("dora")
        let gone = try await service.signUp("gone")
        for (name, access) in [
            ("open", #"[{"public":true,"level":"read"}]"#), ("members", #"[{"users":true,"level":"delete"}]"#),
            ("bobs", #"[{"user_id":"\#(bob.id)","level":"update"}]"#), ("crew", #"[{"role":"crew","level":"read"}]"#),
            ("own", "[]"), ("hidden", "null"), ("~odd", #"[{"public":true,"level":"read"}]"#),
        ] {
            _ = try await master(service, "role:save", #"{"name":"\#(name)","access":\#(access)}"#)
        }
        // No list is for administrators alone, and not for the owner either.
        try await service.database.psql(
            "UPDATE app_internal._role SET owner = '\(ann.id)' WHERE name IN ('own', 'hidden')"
        )
        _ = try await master(service, "role:add", #"{"role":"crew","users":["\#(carl.id)"]}"#)
        _ = try await master(service, "role:assign", #"{"roles":["Admin"],"users":["\#(dora.id)"]}"#)
        _ = try await master(service, "auth:disable:set", #"{"auth_id":"\#(gone.id)","disabled":true}"#)
        return [
            Reader(name: "key", sees: ["open"]),
            Reader(name: "owner", token: ann.token, sees: ["members", "open", "own"]),
            Reader(name: "named user", token: bob.token, sees: ["bobs", "members", "open"]),
            Reader(name: "user of the role", token: carl.token, sees: ["crew", "members", "open"]),
            Reader(name: "administrator", token: dora.token, sees: Self.roles),
            Reader(name: "disabled", token: gone.token, sees: ["open"]),
            Reader(name: "master", key: TestService.masterKey, sees: Self.roles),
        ]
    }

    @Test func aRoleIsSeenByThoseOfItsList() async throws {
        try await withService { service in
            let all = Self.roles.map { "\"_role/\($0)\"" }.joined(separator: ",")
            for reader in try await readers(service) {
                func rpc(_ method: String, _ params: String) async throws -> JSONValue {
                    let answer = try await service.call(method, params, key: reader.key, token: reader.token)
                    #expect(answer["error"] == .null, "\(reader.name) \(answer)")
                    return answer["result"]
                }
                func v1(_ action: String, _ members: String) async throws -> JSONValue {
                    let body = #"{"action":"\#(action)",\#(members)}"#
                    let answer = try await service.v1("/", body, key: reader.key, token: reader.token)
                    return try JSONValue(answer.body)
                }
                let found = try await rpc("record:query", #"{"record_type":"_role","count":true}"#)
                #expect(found["records"].elements.compactMap { $0["name"].string } == reader.sees, "\(reader.name)")
                #expect(found["info"]["count"].integer == reader.sees.count, "\(reader.name)")
                let old = try await v1("record:query", #""record_type":"_role","count":true"#)
                #expect(old["result"].elements.compactMap { $0["_id"].string } == reader.sees.map { "_role/\($0)" })
                #expect(old["info"]["count"].integer == reader.sees.count, "\(old)")

                // One by one and all at once, by both forms of an id.
                for fetched in [
                    try await rpc("record:fetch", #"{"ids":[\#(all)]}"#),
                    try await v1("record:fetch", #""ids":[\#(all)]"#)["result"],
                ] {
                    for (name, outcome) in zip(Self.roles, fetched.elements) {
                        if reader.sees.contains(name) {
                            #expect(outcome["name"].string == name, "\(reader.name) \(outcome)")
                        } else {
                            #expect(outcome["code"].integer == 110, "\(reader.name) \(outcome)")
                        }
                    }
                    #expect(fetched.elements.count == Self.roles.count)
                }
                for name in ["own", "hidden", "never"] {
                    let one = try await rpc(
                        "record:fetch",
                        #"{"records":[{"_recordType":"_role","_recordID":"\#(name)"}]}"#
                    )[0]
                    #expect((one["name"].string == name) == reader.sees.contains(name), "\(reader.name) \(one)")
                    // What is hidden is as what there is not.
                    if one["name"].string != name { #expect(one["message"].string == "The record does not exist.") }
                }
                // The calls about roles say the same of all whose names are ids.
                guard reader.token != nil, reader.name != "disabled" else { continue }
                let listed = try await rpc("role:list", "{}")["roles"].elements.compactMap { $0["name"].string }
                #expect(listed.filter { $0 != "~odd" } == reader.sees, "\(reader.name)")
            }
        }
    }

    @Test func aRoleHasTheMembersOfARecord() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            _ = try await master(
                service,
                "role:save",
                #"{"name":"a/b é","access":[{"user_id":"\#(ann.id)","level":"read"}],"by_default":true}"#
            )
            try await service.database.psql("UPDATE app_internal._role SET owner = '\(ann.id)' WHERE by_default")
            let saved = try await service.call("role:list", "{}", token: ann.token)["result"]["roles"][0]
            let role = try await service.call("record:fetch", #"{"ids":["_role/a/b é"]}"#, token: ann.token)["result"][
                0
            ]
            #expect(role["_id"].string == "_role/a/b é" && role["name"].string == "a/b é", "\(role)")
            #expect(role["_access"] == saved["access"] && role["_ownerID"].string == ann.id)
            #expect(role["by_default"] == .boolean(true) && role["is_admin"] == .boolean(false))
            #expect(role["_created_at"] == saved["created_at"] && role["_updated_at"] == saved["updated_at"])
            #expect(role["_revision"] == saved["revision"])
            // A role without a list has none, for those who see it.
            let admin = try await service.call(
                "record:fetch",
                #"{"ids":["_role/Admin"]}"#,
                key: TestService.masterKey
            )["result"][0]
            #expect(admin["_access"] == .null && admin["is_admin"] == .boolean(true) && admin["_ownerID"] == .null)
        }
    }

    /// What is asked, and the names of the roles that are found.
    private static let questions: [(String, [String])] = [
        (#""predicate":["eq",{"$type":"keypath","$val":"name"},"b"]"#, ["b"]),
        (#""predicate":["eq",{"$type":"keypath","$val":"_id"},"b"]"#, ["b"]),
        (#""predicate":["starts_with",{"$type":"keypath","$val":"name"},"a"]"#, ["a"]),
        (#""predicate":["gt",{"$type":"keypath","$val":"name"},"a"]"#, ["b", "é"]),
        (#""predicate":["in",{"$type":"keypath","$val":"name"},["B","é","Admin"]]"#, ["B", "é"]),
        (#""predicate":["eq",{"$type":"keypath","$val":"by_default"},true]"#, ["é"]),
        (#""predicate":["eq",{"$type":"keypath","$val":"is_admin"},true]"#, []),
        (#""predicate":["eq",{"$type":"keypath","$val":"_owner_id"},"<ann>"]"#, ["b"]),
        (#""sort":[[{"$type":"keypath","$val":"name"},"desc"]]"#, ["é", "b", "a", "B"]),
        (
            #""sort":[[{"$type":"keypath","$val":"by_default"},"desc"],[{"$type":"keypath","$val":"name"},"asc"]]"#,
            ["é", "B", "a", "b"]
        ),
        (#""limit":2,"offset":1"#, ["a", "b"]),
        // What leads on from a role leads to what the caller sees.
        (
            #""predicate":["in_query",{"$type":"keypath","$val":"_owner_id"},{"record_type":"user","key":"_id"}]"#,
            ["b"]
        ),
    ]

    @Test func rolesAreAskedForAsRecordsAre() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            for name in ["B", "a", "b", "é"] {
                let access = #"[{"users":true,"level":"read"}]"#
                _ = try await master(
                    service,
                    "role:save",
                    #"{"name":"\#(name)","access":\#(access),"by_default":\#(name == "é")}"#
                )
            }
            try await service.database.psql("UPDATE app_internal._role SET owner = '\(ann.id)' WHERE name = 'b'")
            for (question, expected) in Self.questions {
                let asked = #"{"record_type":"_role",\#(question.replacing("<ann>", with: ann.id))}"#
                let found = try await service.call("record:query", asked, token: ann.token)
                let names = found["result"]["records"].elements.compactMap { $0["name"].string }
                #expect(names == expected, "\(question) \(found)")
            }
        }
    }

    /// The users and roles in a role, by its relations: those that the caller sees, of roles that it sees.
    @Test func queriesAskForTheMembersOfRoles() async throws {
        try await withService { service in
            var ids: [String: String] = [:]
            var tokens: [String: String] = [:]
            for name in ["ann", "bob", "carl"] {
                let user = try await service.signUp(name)
                (ids[name], tokens[name]) = (user.id, user.token)
            }
            for (name, access) in [
                ("staff", #"[{"users":true,"level":"read"}]"#), ("crew", #"[{"users":true,"level":"read"}]"#),
                ("secret", #"[{"user_id":"\#(ids["ann"] ?? "")","level":"read"}]"#),
            ] {
                _ = try await master(service, "role:save", #"{"name":"\#(name)","access":\#(access)}"#)
            }
            func add(_ role: String, _ members: String) async throws {
                _ = try await master(service, "role:add", #"{"role":"\#(role)",\#(members)}"#)
            }
            try await add(
                "staff",
                #""users":["\#(ids["ann"] ?? "")","\#(ids["bob"] ?? "")"],"roles":["crew","secret"]"#
            )
            try await add("secret", #""users":["\#(ids["carl"] ?? "")"]"#)
            // Of users who are hidden nothing is said.
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"user/\#(ids["bob"] ?? "")","_access":[]}]}"#,
                token: tokens["bob"]
            )
            func ref(_ id: String) -> String { #"{"$type":"ref","$id":"\#(id)"}"# }
            func path(_ name: String) -> String { #"{"$type":"keypath","$val":"\#(name)"}"# }
            let notes = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"x"}]}"#,
                token: tokens["ann"]
            )
            #expect(notes["error"] == .null)
            let rows: [(caller: String, type: String, predicate: String, found: [String])] = [
                ("ann", "user", #"["related_to",\#(ref("_role/staff")),"users"]"#, ["ann"]),
                ("bob", "user", #"["related_to",\#(ref("_role/staff")),"users"]"#, ["ann", "bob"]),
                ("ann", "user", #"["related_to",\#(ref("_role/secret")),"users"]"#, ["carl"]),
                ("bob", "user", #"["related_to",\#(ref("_role/secret")),"users"]"#, []),
                ("bob", "user", #"["related_to",\#(ref("_role/none")),"users"]"#, []),
                ("bob", "user", #"["not",["related_to",\#(ref("_role/secret")),"users"]]"#, ["ann", "bob", "carl"]),
                ("ann", "_role", #"["related_to",\#(ref("_role/staff")),"roles"]"#, ["crew", "secret"]),
                ("bob", "_role", #"["related_to",\#(ref("_role/staff")),"roles"]"#, ["crew"]),
                ("ann", "_role", #"["contains",\#(path("users")),\#(ref("user/" + (ids["carl"] ?? "")))]"#, ["secret"]),
                ("bob", "_role", #"["contains",\#(path("users")),\#(ref("user/" + (ids["carl"] ?? "")))]"#, []),
                ("ann", "_role", #"["contains",\#(path("users")),\#(ref("user/" + (ids["bob"] ?? "")))]"#, []),
                ("bob", "_role", #"["eq",["func","size",\#(path("users"))],2]"#, ["staff"]),
                (
                    "bob", "note",
                    #"["in_query",\#(path("_owner_id")),{"record_type":"user","key":"_id","predicate":["related_to",\#(ref("_role/staff")),"users"]}]"#,
                    ["1"]
                ),
            ]
            let names = Dictionary(uniqueKeysWithValues: ids.map { ($1, $0) })
            for row in rows {
                let answer = try await service.call(
                    "record:query",
                    #"{"record_type":"\#(row.type)","predicate":\#(row.predicate)}"#,
                    token: tokens[row.caller]
                )
                #expect(answer["error"] == .null, "\(row) \(answer)")
                let found = answer["result"]["records"].elements.compactMap { record in
                    record["_id"].string.map { id in
                        let name = String(id.split(separator: "/", maxSplits: 1)[1])
                        return names[name] ?? name
                    }
                }
                #expect(found.sorted() == row.found, "\(row) \(answer)")
            }
            for (predicate, code) in [
                (#"["related_to",\#(ref("_role/staff")),"roles"]"#, 108),
                (#"["related_to",\#(ref("_role/staff")),"name"]"#, 108),
                (#"["related_to",\#(ref("_role/staff")),"none"]"#, 120),
                (#"["eq",\#(path("username")),\#(ref("_role/staff"))]"#, 108),
            ] {
                let answer = try await service.call(
                    "record:query",
                    #"{"record_type":"user","predicate":\#(predicate)}"#,
                    token: tokens["ann"]
                )
                #expect(answer["error"]["code"].integer == code, "\(predicate) \(answer)")
            }
            // What follows changes hears of none of this, and a key takes the scope for roles.
            for (method, name) in [("changes:fetch", ""), ("live:watch", #""subscription":"s","#)] {
                let answer = try await service.call(
                    method,
                    #"{\#(name)"record_type":"user","predicate":["related_to",\#(ref("_role/staff")),"users"]}"#,
                    token: tokens["ann"]
                )
                #expect(answer["error"] != .null, "\(method) \(answer)")
            }
            let key = try await master(service, "key:create", #"{"name":"k","scopes":["type:user"]}"#)["key"].string
            let scoped = try await service.call(
                "record:query",
                #"{"record_type":"user","predicate":["related_to",\#(ref("_role/staff")),"users"]}"#,
                key: key,
                token: tokens["ann"]
            )
            #expect(scoped["error"]["data"]["info"]["scope"].string == "action:role:list", "\(scoped)")
        }
    }

    @Test func pagesOfRolesFollowEachOther() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let names = (10..<17).map { "r\($0)" }
            for name in names {
                // Every second one is hidden.
                let access = name.hasSuffix("1") || name.hasSuffix("3") ? "null" : #"[{"users":true,"level":"read"}]"#
                _ = try await master(service, "role:save", #"{"name":"\#(name)","access":\#(access)}"#)
            }
            var found: [String] = []
            var after = ""
            for _ in 0..<5 {
                let page = try await service.call(
                    "record:query",
                    #"{"record_type":"_role","limit":2,"select":["name"]\#(after)}"#,
                    token: ann.token
                )["result"]
                for record in page["records"].elements {
                    found.append(record["name"].string ?? "?")
                    #expect(record["is_admin"] == .null)
                }
                guard page["info"]["has_more"] == .boolean(true), let cursor = page["info"]["cursor"].string else {
                    break
                }
                after = #","after":"\#(cursor)""#
            }
            #expect(found == ["r10", "r12", "r14", "r15", "r16"])
        }
    }

    @Test func rolesAreFetchedWithOtherRecordsAndByManyAtOnce() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            for (name, access) in [
                ("anns", #"[{"user_id":"\#(ann.id)","level":"read"}]"#),
                ("bobs", #"[{"user_id":"\#(bob.id)","level":"read"}]"#),
            ] {
                _ = try await master(service, "role:save", #"{"name":"\#(name)","access":\#(access)}"#)
            }
            let ids = #"{"ids":["_role/anns","user/\#(ann.id)","_role/bobs","_role/anns"]}"#
            let mixed = try await service.call("record:fetch", ids, token: ann.token)["result"]
            #expect(mixed[0]["name"].string == "anns" && mixed[1]["username"].string == "ann", "\(mixed)")
            #expect(mixed[2]["code"].integer == 110 && mixed[3]["name"].string == "anns", "\(mixed)")
            // Fetches that wait together are one statement, which judges each for the one who asked.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for place in 0..<40 {
                    let (token, sees) = place % 2 == 0 ? (ann.token, "anns") : (bob.token, "bobs")
                    group.addTask {
                        for name in ["anns", "bobs"] {
                            let one = try await service.call(
                                "record:fetch",
                                #"{"ids":["_role/\#(name)"]}"#,
                                token: token
                            )
                            #expect((one["result"][0]["name"].string == name) == (name == sees), "\(one)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            // A name finds its row by the primary key.
            try await service.database.psql(
                "INSERT INTO app_internal._role (name) SELECT 'r' || number FROM generate_series(1, 3000) AS number; ANALYZE app_internal._role"
            )
            let plan = try await master(
                service,
                "record:query",
                #"{"record_type":"_role","predicate":["eq",{"$type":"keypath","$val":"_id"},"r7"],"explain":true}"#
            )
            #expect("\(plan)".contains("_role_pkey"), "\(plan)")
        }
    }

    @Test func administratorsSeeAllRolesAsLongAsTheyAreOnes() async throws {
        try await withService { service in
            let bob = try await service.signUp("bob")
            _ = try await master(service, "role:save", #"{"name":"chief","access":[{"role":"chief","level":"read"}]}"#)
            _ = try await master(service, "role:add", #"{"role":"chief","users":["\#(bob.id)"]}"#)
            // The roles of the user are the same all the time.
            for (admins, expected) in [
                (["Admin"], ["chief"]), (["chief"], ["Admin", "chief"]), (["Admin"], ["chief"]),
            ] {
                _ = try await master(service, "role:admin", #"{"roles":["\#(admins[0])"]}"#)
                let found = try await service.call("record:query", #"{"record_type":"_role"}"#, token: bob.token)
                #expect(found["result"]["records"].elements.compactMap { $0["name"].string } == expected, "\(found)")
            }
        }
    }

    @Test func rolesAreInThePublicDatabase() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            _ = try await master(service, "role:save", #"{"name":"open","access":[{"public":true,"level":"read"}]}"#)
            for (database, key, token, code, count) in [
                ("_public", TestService.apiKey, ann.token, nil, 1), ("_private", TestService.apiKey, ann.token, nil, 0),
                (ann.id, TestService.apiKey, ann.token, nil, 0), (ann.id, TestService.apiKey, bob.token, 102, nil),
                ("_private", TestService.apiKey, nil, 101, nil), ("_union", TestService.apiKey, ann.token, 101, nil),
                ("_union", TestService.masterKey, nil, nil, 2), (ann.id, TestService.masterKey, nil, nil, 0),
            ] as [(String, String, String?, Int?, Int?)] {
                let query = #"{"record_type":"_role","database_id":"\#(database)"}"#
                let found = try await service.call("record:query", query, key: key, token: token)
                #expect(found["error"]["code"].integer == code, "\(database) \(found)")
                #expect(found["result"]["records"].elements.count == count ?? 0, "\(database) \(found)")
                let ids = #"{"ids":["_role/open"],"database_id":"\#(database)"}"#
                let fetched = try await service.call("record:fetch", ids, key: key, token: token)
                #expect(fetched["error"]["code"].integer == code, "\(database) \(fetched)")
                if let count {
                    #expect((fetched["result"][0]["name"].string == "open") == (count > 0), "\(database) \(fetched)")
                }
            }
        }
    }

    /// The scope of `role:list` is the one of roles, whichever action reads them.
    @Test func aKeyReadsRolesAsFarAsItsScopesGo() async throws {
        try await withService { service in
            _ = try await master(service, "role:save", #"{"name":"open","access":[{"public":true,"level":"read"}]}"#)
            for (kind, scopes, missing, count) in [
                ("client", [], nil, 1), ("client", ["read"], "action:role:list", 0),
                ("client", ["type:note"], "action:role:list", 0), ("client", ["action:role:list"], "read", 0),
                ("client", ["read", "action:role:list"], nil, 1), ("server", [], "action:role:list", 0),
                ("server", ["write"], "action:role:list", 0), ("server", ["read", "action:role:list"], nil, 2),
            ] as [(String, [String], String?, Int)] {
                let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
                let made = try await master(
                    service,
                    "key:create",
                    #"{"name":"k","kind":"\#(kind)","scopes":[\#(list)]}"#
                )
                let key = try #require(made["key"].string)
                let found = try await service.call("record:query", #"{"record_type":"_role"}"#, key: key)
                let fetched = try await service.call("record:fetch", #"{"ids":["_role/open"]}"#, key: key)
                for answer in [found, fetched] {
                    #expect(answer["error"]["data"]["info"]["scope"].string == missing, "\(kind) \(scopes) \(answer)")
                    #expect(answer["error"]["code"].integer == (missing == nil ? nil : 102), "\(answer)")
                }
                #expect(found["result"]["records"].elements.count == count, "\(kind) \(scopes) \(found)")
                #expect((fetched["result"][0]["name"].string == "open") == (count > 0), "\(fetched)")
            }
        }
    }
}
