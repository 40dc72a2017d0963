import SkyrowTestSupport
import Testing

/// The name of a key as a subject, where the oracle of access does not look: in both envelopes, of profiles, roles and default lists, and
/// what is said of it to others.
@Suite(.timeLimit(.minutes(60))) struct KeySubjectTests {
    /// Keys by their names.
    private func keys(_ service: TestService, _ names: String...) async throws -> [String] {
        var texts: [String] = []
        for name in names {
            let made = try await service.call("key:create", "{\"name\":\"\(name)\"}", key: TestService.masterKey)
            texts.append(try #require(made["result"]["key"].string, "\(made)"))
        }
        return texts
    }

    private func set(_ service: TestService, _ parameters: String) async throws {
        let done = try await service.call("schema:access:set", parameters, key: TestService.masterKey)
        #expect(done["error"] == .null, "\(done)")
    }

    @Test func bothEnvelopesTakeAListThatNamesAKey() async throws {
        try await withService { service in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            let keys = try await keys(service, "tablet", "phone")
            let list = #"[{"key":"tablet","level":"update"}]"#
            let expected = try JSONValue(list)
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"a","_access":\#(list)}]}"#,
                token: ann.token
            )
            #expect(saved["result"][0]["_access"] == expected, "\(saved)")
            for (key, isOpen) in [(keys[0], true), (keys[1], false), (TestService.apiKey, false)] {
                for token in [nil, bob.token] {
                    let fetched = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, key: key, token: token)
                    #expect((fetched["result"][0]["title"].string == "a") == isOpen)
                    // Whose list names someone is for the owner to know.
                    if isOpen { #expect(fetched["result"][0]["_access"].elements.isEmpty) }
                    let old = try await service.v1(
                        "/",
                        #"{"action":"record:query","record_type":"note"}"#,
                        key: key,
                        token: token
                    )
                    #expect(try JSONValue(old.body)["result"].elements.count == (isOpen ? 1 : 0), "\(old.body)")
                }
                let changed = try await service.call(
                    "record:save",
                    #"{"records":[{"_id":"note/1","title":"a"}]}"#,
                    key: key,
                    token: bob.token
                )
                #expect((changed["result"][0]["code"].integer == nil) == isOpen, "\(changed)")
                let deleted = try await service.call(
                    "record:delete",
                    #"{"ids":["note/1"]}"#,
                    key: key,
                    token: bob.token
                )
                #expect(deleted["result"][0]["code"].integer == (isOpen ? 102 : 110), "\(deleted)")
            }
            let old = try await service.v1("/", #"{"action":"record:fetch","ids":["note/1"]}"#, token: ann.token)
            #expect(try JSONValue(old.body)["result"][0]["_access"] == expected, "\(old.body)")
        }
    }

    /// A key makes no one else of a user: it opens no private database.
    @Test func aKeyOpensNoPrivateDatabase() async throws {
        try await withService { service in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            let key = try await keys(service, "tablet")[0]
            let list = #"[{"key":"tablet","level":"write"}]"#
            _ = try await service.call(
                "record:save",
                #"{"database_id":"_private","records":[{"_id":"note/1","_access":\#(list)}]}"#,
                token: ann.token
            )
            let query = #"{"record_type":"note","database_id":"\#(ann.id)"}"#
            #expect(
                try await service.call("record:query", query, key: key, token: bob.token)["error"]["code"].integer
                    == 102
            )
            let own = try await service.call("record:query", query, key: key, token: ann.token)
            #expect(own["result"]["records"].elements.count == 1)
        }
    }

    @Test func whoSignsUpIsJudgedByTheKeyToo() async throws {
        try await withService { service in
            let keys = try await keys(service, "kiosk", "phone")
            let made = try await service.call(
                "schema:create",
                #"{"record_types":{"user":{"fields":[{"name":"desk","type":"string"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(made["error"] == .null, "\(made)")
            try await set(
                service,
                #"{"record_type":"user","fields":{"desk":{"create":[{"key":"kiosk"}],"read":[{"key":"kiosk"}]}}}"#
            )
            for (number, row) in [(keys[0], true), (keys[1], false), (TestService.apiKey, false)].enumerated() {
                let made = try await service.call(
                    "auth:signup",
                    #"{"auth_data":{"username":"u\#(number)"},"password":"a long secret","profile":{"desk":"3"}}"#,
                    key: row.0
                )
                #expect(made["error"]["code"].integer == (row.1 ? nil : 123), "\(made)")
            }
            let ids = try await service.database.psql(#"SELECT string_agg(_id, ' ') FROM app."user" WHERE desk = '3'"#)
            for (key, isSeen) in [(keys[0], true), (keys[1], false), (TestService.apiKey, false)] {
                let fetched = try await service.call("record:fetch", "{\"ids\":[\"user/\(ids)\"]}", key: key)
                #expect((fetched["result"][0]["desk"].string == "3") == isSeen, "\(fetched)")
                let asked = try await service.call(
                    "record:query",
                    #"{"record_type":"user","predicate":["eq",{"$type":"keypath","$val":"desk"},"3"]}"#,
                    key: key
                )
                #expect(asked["error"]["code"].integer == (isSeen ? nil : 124), "\(asked)")
            }
        }
    }

    @Test func aRoleAndADefaultListNameAKey() async throws {
        try await withService { service in
            let (ann, bob) = (try await service.signUp("ann"), try await service.signUp("bob"))
            let keys = try await keys(service, "tablet", "phone")
            let made = try await service.call(
                "role:save",
                #"{"name":"crew","access":[{"key":"tablet","level":"update"}]}"#,
                key: TestService.masterKey
            )
            #expect(made["error"] == .null, "\(made)")
            for (key, isOpen) in [(keys[1], false), (keys[0], true)] {
                let added = try await service.call(
                    "role:add",
                    #"{"role":"crew","users":["\#(ann.id)"]}"#,
                    key: key,
                    token: bob.token
                )
                #expect(added["error"]["code"].integer == (isOpen ? nil : 110), "\(added)")
                let roles = try await service.call(
                    "record:query",
                    #"{"record_type":"_role"}"#,
                    key: key,
                    token: bob.token
                )
                #expect(roles["result"]["records"].elements.count == (isOpen ? 1 : 0), "\(roles)")
            }
            _ = try await service.call("record:save", #"{"records":[{"_id":"memo/0"}]}"#, token: ann.token)
            try await set(service, #"{"record_type":"memo","default_access":[{"key":"tablet","level":"read"}]}"#)
            _ = try await service.call("record:save", #"{"records":[{"_id":"memo/1"}]}"#, token: ann.token)
            for (key, isOpen) in [(keys[0], true), (keys[1], false)] {
                let fetched = try await service.call("record:fetch", #"{"ids":["memo/1"]}"#, key: key)
                #expect((fetched["result"][0]["code"].integer == nil) == isOpen, "\(fetched)")
            }
        }
    }

    /// What one key had of a save, no other key gets of its repetition.
    @Test func aRepeatedSaveIsOfItsKey() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let keys = try await keys(service, "tablet", "phone")
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"a","pin":"7"}]}"#,
                token: ann.token
            )
            try await set(service, #"{"record_type":"note","fields":{"pin":{"read":[{"key":"tablet"}]}}}"#)
            let save = #"{"records":[{"_id":"note/1","title":"b"}],"idempotency_key":"k"}"#
            for (key, isSeen) in [(keys[0], true), (keys[1], false), (TestService.apiKey, false), (keys[0], true)] {
                let saved = try await service.call("record:save", save, key: key, token: ann.token)
                #expect(saved["result"][0]["title"].string == "b")
                #expect((saved["result"][0]["pin"].string == "7") == isSeen, "\(saved)")
            }
        }
    }
}
