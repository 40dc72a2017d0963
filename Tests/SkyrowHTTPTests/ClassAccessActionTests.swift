import SkyrowTestSupport
import Testing

/// `schema:access:set` and what it does to calls, at the door of the service.
@Suite(.timeLimit(.minutes(60))) struct ClassAccessActionTests {
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

    @Test func newRecordsBeginWithTheListsThatWereSet() async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            let v1 = try await service.v1(
                "/",
                #"{"action":"schema:default_access","type":"memo","default_access":[{"users":true,"level":"read"}]}"#,
                key: TestService.masterKey
            )
            #expect(
                try JSONValue(v1.body)["result"]
                    == JSONValue(#"{"type":"memo","default_access":[{"users":true,"level":"read"}]}"#)
            )
            func list(_ token: String) async throws -> JSONValue {
                let body = #"{"records":[{"_id":"memo/$1","title":"x"}]}"#
                return try await service.call("record:save", body, token: token)["result"][0]["_access"]
            }
            #expect(try await list(ann) == JSONValue(#"[{"users":true,"level":"read"}]"#))
            let set = try await service.call("auth:default_access:set", #"{"default_access":[]}"#, token: ann)
            #expect(try set["result"] == JSONValue(#"{"default_access":[]}"#))
            #expect(try await list(ann) == JSONValue("[]"))
            // It is a user's.
            let refused = try await service.call("auth:default_access:set", #"{"default_access":[]}"#)
            #expect(refused["error"]["code"].integer == 101)
            let ghost = try await service.call(
                "auth:default_access:set",
                #"{"default_access":[],"_user_id":"gone"}"#,
                key: TestService.masterKey
            )
            #expect([101, 110].contains(ghost["error"]["code"].integer))
        }
    }

    @Test func anOwnerGivesARecordAwayWhereTheTypeSaysSo() async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            let (bob, _) = try await service.signUp("bob")
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"memo/1","title":"x"}]}"#,
                token: ann
            )
            #expect(saved["error"] == .null)
            func transfer(token: String? = nil) async throws -> JSONValue {
                try await service.call("record:transfer", #"{"ids":["memo/1"],"to":"\#(bob)"}"#, token: token)
            }
            #expect(try await transfer()["error"]["code"].integer == 101)
            #expect(try await transfer(token: ann)["result"][0]["code"].integer == 102)
            _ = try await service.call(
                "schema:access:set",
                #"{"record_type":"memo","transfer_by":"owner"}"#,
                key: TestService.masterKey
            )
            #expect(try await transfer(token: ann)["result"][0]["_ownerID"].string == bob)
            #expect(try await transfer(token: ann)["result"][0]["code"].integer == 102)
        }
    }
}
