import SkyrowTestSupport
import Testing

/// `schema:access:set` and what it does to calls, at the door of the service.
@Suite(.timeLimit(.minutes(10))) struct ClassAccessActionTests {
    @Test func onlyThoseWhomARuleAllowsItCreateAndRead() async throws {
        try await withService { service in
            let (id, ann) = try await service.signUp("ann")
            let (_, bob) = try await service.signUp("bob")
            _ = try await service.call(
                "role:assign",
                #"{"users":["\#(id)"],"roles":["writer"]}"#,
                key: TestService.masterKey
            )
            let set = try await service.call(
                "schema:access:set",
                """
                {"record_type":"memo","rules":{"create":{"allow":[{"role":"writer"}]},
                 "read":{"allow":[{"role":"writer"}],"mode":"override"}},"private":false}
                """,
                key: TestService.masterKey
            )
            #expect(set["error"] == .null, "\(set)")
            func save(_ token: String, _ database: String = "_public") async throws -> JSONValue {
                let body = #"{"database_id":"\#(database)","records":[{"_id":"memo/$1","title":"x"}]}"#
                return try await service.call("record:save", body, token: token)["result"][0]
            }
            #expect(try await save(ann)["title"].string == "x")
            #expect(try await save(bob)["code"].integer == 102)
            #expect(try await save(ann, "_private")["code"].integer == 102)
            for (token, count) in [(ann, 1), (bob, 0), (nil, 0)] as [(String?, Int)] {
                let found = try await service.call("record:query", #"{"record_type":"memo"}"#, token: token)
                #expect(found["result"]["records"].elements.count == count)
            }
            // In the envelope of v1 the roles of creation are another thing than the rest.
            let v1 = try await service.v1(
                "/",
                #"{"action":"schema:access","type":"memo","create_roles":[]}"#,
                key: TestService.masterKey
            )
            #expect(try JSONValue(v1.body)["result"] == JSONValue(#"{"type":"memo","create_roles":[]}"#))
            let rules = try await service.call(
                "schema:access:get",
                #"{"record_type":"memo"}"#,
                key: TestService.masterKey
            )["result"]["rules"]
            #expect(rules["create"] == (try JSONValue(#"{"allow":[{"users":true}]}"#)))
            #expect(rules["read"]["mode"].string == "override")
            #expect(try await save(bob)["title"].string == "x")
        }
    }
}
