import SkyrowTestSupport
import Testing

/// Entries of access lists about relations of users, and rules about groups and registered users, at the door of the service.
@Suite(.timeLimit(.minutes(60))) struct RelationEntryTests {
    private func befriend(_ service: TestService, _ a: (id: String, token: String), _ b: (id: String, token: String))
        async throws
    {
        for (one, other) in [(a, b), (b, a)] {
            let added = try await service.call(
                "relation:add",
                #"{"name":"friend","targets":["\#(other.id)"]}"#,
                token: one.token
            )
            #expect(added["result"][0]["id"].string == other.id, "\(added)")
        }
    }

    private func titles(_ service: TestService, _ token: String?) async throws -> [String] {
        let found = try await service.call("record:query", #"{"record_type":"memo"}"#, token: token)
        return found["result"]["records"].elements.compactMap { $0["title"].string }.sorted()
    }

    @Test func friendsReadWhatAListOpensToThem() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            let carl = try await service.signUp("carl")
            try await befriend(service, ann, bob)
            let list = #"[{"relation":"friend","level":"update"}]"#
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"memo/1","title":"a","_access":\#(list)}]}"#,
                token: ann.token
            )
            #expect(try saved["result"][0]["_access"] == JSONValue(list))
            // The envelope of v1 says the same, beside what its clients put there.
            let v1 = try await service.v1(
                "/record/save",
                #"{"records":[{"_id":"memo/2","title":"b","_access":[{"relation":"friend","level":"read"},"#
                    + #"{"relation":"$direct","user_id":"\#(carl.id)","level":"read"}]}]}"#,
                token: ann.token
            )
            #expect(
                try JSONValue(v1.body)["result"][0]["_access"]
                    == JSONValue(#"[{"user_id":"\#(carl.id)","level":"read"},{"relation":"friend","level":"read"}]"#)
            )
            for (token, expected) in [
                (ann.token, ["a", "b"]), (bob.token, ["a", "b"]), (carl.token, ["b"]), (nil, []),
            ] as [(String?, [String])] {
                #expect(try await titles(service, token) == expected)
                let body = #"{"action":"record:query","record_type":"memo"}"#
                let found = try JSONValue(try await service.v1("/", body, token: token).body)["result"].elements
                #expect(found.compactMap { $0["title"].string }.sorted() == expected)
            }
            for (record, code) in [("memo/1", nil), ("memo/2", 102)] as [(String, Int?)] {
                let changed = try await service.call(
                    "record:save",
                    #"{"records":[{"_id":"\#(record)","due":1}]}"#,
                    token: bob.token
                )
                #expect(changed["result"][0]["code"].integer == code, "\(changed)")
            }
            // A friend is one of two.
            _ = try await service.call(
                "relation:remove",
                #"{"name":"friend","targets":["\#(ann.id)"]}"#,
                token: bob.token
            )
            #expect(try await titles(service, bob.token) == [])
        }
    }

    @Test func aDisabledFriendIsAsOneWhoIsNotLoggedIn() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            try await befriend(service, ann, bob)
            let records =
                #"{"_id":"memo/1","title":"friends","_access":[{"relation":"friend","level":"write"}]},"#
                + #"{"_id":"memo/2","title":"all"}"#
            _ = try await service.call("record:save", "{\"records\":[\(records)]}", token: ann.token)
            #expect(try await titles(service, bob.token) == ["all", "friends"])
            func disable(_ user: String, _ isDisabled: Bool) async throws {
                let done = try await service.call(
                    "auth:disable:set",
                    #"{"auth_id":"\#(user)","disabled":\#(isDisabled)}"#,
                    key: TestService.masterKey
                )
                #expect(done["error"] == .null, "\(done)")
            }
            // What the owner has opened stays open while the owner is disabled.
            try await disable(ann.id, true)
            #expect(try await titles(service, bob.token) == ["all", "friends"])
            try await disable(bob.id, true)
            let found = try await service.call("record:query", #"{"record_type":"memo"}"#, token: bob.token)
            let seen = found["result"]["records"].elements.compactMap { $0["title"].string }
            #expect(!seen.contains("friends"), "\(found)")
        }
    }

    @Test func rulesNameGroupsAndRegisteredUsers() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            let made = try await service.call("auth:signup", "{}")["result"]
            let anonymous = try #require(made["access_token"].string)
            func set(_ rules: String) async throws {
                let set = try await service.call(
                    "schema:access:set",
                    "{\"record_type\":\"memo\",\"rules\":\(rules)}",
                    key: TestService.masterKey
                )
                #expect(set["error"] == .null, "\(set)")
            }
            let added = try await service.call(
                "group:add",
                #"{"user_id":"\#(ann.id)","groups":["golf"]}"#,
                key: TestService.masterKey
            )
            #expect(added["error"] == .null, "\(added)")
            try await set(
                #"{"create":{"allow":[{"group":"golf"}]},"read":{"allow":[{"group":"golf"}],"mode":"override"}}"#
            )
            func save(_ token: String, _ id: String) async throws -> Int? {
                let body = #"{"records":[{"_id":"memo/\#(id)","title":"\#(id)"}]}"#
                return try await service.call("record:save", body, token: token)["result"][0]["code"].integer
            }
            #expect(try await save(bob.token, "1") == 102)
            #expect(try await save(ann.token, "1") == nil)
            for (token, expected) in [(ann.token, ["1"]), (bob.token, []), (nil, [])] as [(String?, [String])] {
                #expect(try await titles(service, token) == expected)
            }
            // The right goes with the group, at once.
            _ = try await service.call(
                "group:remove",
                #"{"user_id":"\#(ann.id)","groups":["golf"]}"#,
                key: TestService.masterKey
            )
            #expect(try await titles(service, ann.token) == [])

            try await set(
                #"{"create":{"allow":[{"registered":true}]},"read":{"allow":[{"registered":true}],"mode":"override"}}"#
            )
            #expect(try await save(anonymous, "2") == 102)
            #expect(try await save(bob.token, "2") == nil)
            for (token, expected) in [(bob.token, ["1", "2"]), (anonymous, []), (nil, [])] as [(String?, [String])] {
                #expect(try await titles(service, token) == expected)
            }
            // Sessions that are looked up anew say the same.
            let again = try await service.call(
                "auth:login",
                #"{"auth_data":{"username":"bob"},"password":"a long secret"}"#
            )["result"]["access_token"].string
            #expect(try await titles(service, again) == ["1", "2"])
            // Lists name registered users as well.
            try await set(#"{"create":null,"read":null}"#)
            let list = #"[{"registered":true,"level":"read"}]"#
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"memo/3","title":"3","_access":\#(list)}]}"#,
                token: ann.token
            )
            #expect(try saved["result"][0]["_access"] == JSONValue(list))
            for (token, isOpen) in [(bob.token, true), (anonymous, false), (nil, false)] as [(String?, Bool)] {
                #expect(try await titles(service, token).contains("3") == isOpen)
            }
            // Relations are a matter of records.
            for subject in [#"{"verified":"yes"}"#, #"{"relation":"friend"}"#] {
                let refused = try await service.call(
                    "schema:access:set",
                    "{\"record_type\":\"memo\",\"rules\":{\"read\":{\"allow\":[\(subject)]}}}",
                    key: TestService.masterKey
                )
                #expect(refused["error"]["code"].integer == 108)
                #expect(refused["error"]["data"]["info"]["path"].string == "rules.read.allow[0]")
            }
        }
    }
}
