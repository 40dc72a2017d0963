import SkyrowTestSupport
import Testing

/// The member `fields` of `schema:access:set` and what it does to calls, in both envelopes.
@Suite(.timeLimit(.minutes(60))) struct FieldRuleActionTests {
    private static let rules = """
        {"record_type":"movie","fields":{"director":{"read":[{"owner":true},{"role":"staff"}],"update":[{"role":"staff"}]},
         "score":{"create":[],"update":[]}}}
        """

    /// Ann's movie, which every user may write, with the rules; the tokens of ann, of bob and of sue, who is of the staff.
    private func withMovie(
        _ body: @escaping @Sendable (TestService, _ ann: String, _ bob: String, _ sue: String) async throws -> Void
    ) async throws {
        try await withService { service in
            let (_, ann) = try await service.signUp("ann")
            let (_, bob) = try await service.signUp("bob")
            let (id, sue) = try await service.signUp("sue")
            _ = try await service.call(
                "role:assign",
                #"{"users":["\#(id)"],"roles":["staff"]}"#,
                key: TestService.masterKey
            )
            let saved = try await service.call(
                "record:save",
                #"""
                {"records":[{"_id":"movie/1","director":"Varda","score":7,"title":"x",
                 "_access":[{"public":true,"level":"read"},{"users":true,"level":"write"}]}]}
                """#,
                token: ann
            )
            #expect(saved["result"][0]["score"].integer == 7, "\(saved)")
            let set = try await service.call("schema:access:set", Self.rules, key: TestService.masterKey)
            let fields = try JSONValue(
                #"""
                {"director":{"read":[{"owner":true},{"role":"staff"}],"update":[{"role":"staff"}]},
                 "score":{"create":[],"update":[]}}
                """#
            )
            #expect(set["result"]["fields"] == fields, "\(set)")
            try await body(service, ann, bob, sue)
        }
    }

    @Test func aFieldIsSentToThoseWhomItsRuleAllowsIt() async throws {
        try await withMovie { service, ann, bob, sue in
            for (token, isSeen) in [(ann, true), (bob, false), (sue, true), (nil, false)] as [(String?, Bool)] {
                let director = isSeen ? "Varda" : nil
                let fetched = try await service.call("record:fetch", #"{"ids":["movie/1"]}"#, token: token)
                #expect(fetched["result"][0]["director"].string == director)
                #expect(fetched["result"][0]["title"].string == "x")
                let found = try await service.call("record:query", #"{"record_type":"movie"}"#, token: token)
                #expect(found["result"]["records"][0]["director"].string == director)
                let access = token.map { #","access_token":"\#($0)""# } ?? ""
                let v1 = try await service.v1(
                    "/",
                    #"{"action":"record:query","record_type":"movie"\#(access)}"#,
                    key: TestService.apiKey
                )
                #expect(try JSONValue(v1.body)["result"][0]["director"].string == director)
                // Who is logged in owns none of the records, and finds none by the field.
                let asked = try await service.call(
                    "record:query",
                    """
                    {"record_type":"movie","predicate":["eq",{"$type":"keypath","$val":"director"},"Varda"]}
                    """,
                    token: token
                )
                if token == nil {
                    #expect(asked["error"]["code"].integer == 124)
                    #expect(asked["error"]["data"]["info"]["arguments"][0].string == "director")
                } else {
                    #expect(asked["result"]["records"].elements.count == (isSeen ? 1 : 0), "\(asked)")
                }
            }
            // A role that is taken away is one that no longer counts.
            let users = try await service.call("record:query", #"{"record_type":"user"}"#, token: sue)
            let id = users["result"]["records"].elements.first { $0["username"].string == "sue" }?["_id"].string ?? ""
            let revoked = try await service.call(
                "role:revoke",
                #"{"users":["\#(id.dropFirst("user/".count))"],"roles":["staff"]}"#,
                key: TestService.masterKey
            )
            #expect(revoked["error"] == .null, "\(revoked)")
            let fetched = try await service.call("record:fetch", #"{"ids":["movie/1"]}"#, token: sue)
            #expect(fetched["result"][0]["director"] == .null)
        }
    }

    @Test func aRefusedWriteNamesTheFields() async throws {
        try await withMovie { service, ann, bob, sue in
            func save(_ record: String, _ token: String) async throws -> JSONValue {
                try await service.call("record:save", "{\"records\":[\(record)]}", token: token)["result"][0]
            }
            for (token, record, names) in [
                (ann, #"{"_id":"movie/1","director":"Akerman","title":"y"}"#, ["director"]),
                (ann, #"{"_id":"movie/1","director":"Varda","title":"y"}"#, []),
                (bob, #"{"_id":"movie/1","director":"Varda"}"#, ["director"]),
                (sue, #"{"_id":"movie/1","director":"Akerman","score":8}"#, ["score"]),
                (sue, #"{"_id":"movie/1","director":"Akerman","score":7}"#, []),
                (sue, #"{"_id":"movie/2","director":"Akerman","score":8}"#, ["score"]),
                (bob, #"{"_id":"movie/2","director":"Akerman"}"#, []),
            ] as [(String, String, [String])] {
                let saved = try await save(record, token)
                #expect(saved["code"].integer == (names.isEmpty ? nil : 123), "\(record) \(saved)")
                #expect(saved["info"]["arguments"].elements.compactMap(\.string) == names)
            }
            // What was given to a field that is hidden from its owner's readers is seen by the owner.
            let made = try await service.call("record:fetch", #"{"ids":["movie/2"]}"#, token: bob)
            #expect(made["result"][0]["director"].string == "Akerman")
            // What is not understood changes nothing.
            let refused = try await service.call(
                "schema:access:set",
                #"{"record_type":"movie","fields":{"score":{"update":[{"relation":"friend"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(refused["error"]["data"]["info"]["path"].string == "fields.score.update[0]")
            let taken = try await service.call(
                "schema:access:set",
                #"{"record_type":"movie","fields":{"score":null,"director":{"read":null,"update":null}}}"#,
                key: TestService.masterKey
            )
            #expect(taken["result"]["rules"] != .null && taken["result"]["fields"] == .null)
            let free = try await save(#"{"_id":"movie/1","score":9}"#, bob)
            #expect(free["score"].integer == 9 && free["director"].string == "Akerman")
        }
    }
}
