import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

/// What a request has that its action does not know: refused by name, but for Skygear's own actions in its envelope.
@Suite struct UnknownParameterTests {
    @Test func aMisspelledDryRunDeletesNothing() async throws {
        try await withService { service in
            let save = #"{"records":[{"_id":"note/1","title":"x"},{"_id":"note/2","title":"x"}]}"#
            _ = try await service.call("record:save", save, key: TestService.masterKey)
            let all = #""record_type":"note","predicate":["eq",{"$type":"keypath","$val":"title"},"x"],"at_most":10"#
            let refused = try await service.call(
                "record:delete",
                "{\(all),\"dryrun\":true}",
                key: TestService.masterKey
            )
            #expect(refused["error"]["code"].integer == 108)
            #expect(refused["error"]["data"]["info"]["arguments"].elements.map(\.string) == ["dryrun"])
            #expect(try await service.database.psql("SELECT count(*) FROM app.note") == "2")
            let tried = try await service.call("record:delete", "{\(all),\"dry_run\":true}", key: TestService.masterKey)
            #expect(tried["error"] == .null)
            #expect(try await service.database.psql("SELECT count(*) FROM app.note") == "2")
            let done = try await service.call("record:delete", "{\(all)}", key: TestService.masterKey)
            #expect(done["error"] == .null)
            #expect(try await service.database.psql("SELECT count(*) FROM app.note") == "0")
        }
    }

    /// A call over JSON-RPC, and the first name and the path of its refusal.
    static let nested: [(action: String, parameters: String, name: String, path: String?)] = [
        ("record:fetch", #"{"ids":["note/1"],"database":"_private"}"#, "database", nil),
        ("record:query", #"{"record_type":"note","filter":[]}"#, "filter", nil),
        ("record:query", #"{"record_type":"note","api_key":"x"}"#, "api_key", nil),
        (
            "record:query", #"{"record_type":"note","include":{"a":{"path":{"$val":"a"},"slect":["x"]}}}"#, "slect",
            "include.a"
        ),
        (
            "schema:create",
            #"{"record_types":{"a":{"fields":[{"name":"x","type":"string"},{"name":"y","typ":"string"}]}}}"#,
            "typ", "record_types.a.fields[1]"
        ),
        ("me", #"{"x":1}"#, "x", nil),
        ("connection:authenticate", #"{"token":"x"}"#, "token", nil),
        ("auth:default_access:set", #"{"default_access":[{"public":true,"lvl":"read"}]}"#, "lvl", "default_access[0]"),
    ]

    @Test func theRefusalNamesIt() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            for row in Self.nested {
                let answer = try await service.call(row.action, row.parameters, token: ann.token)
                let info = answer["error"]["data"]["info"]
                #expect(answer["error"]["code"].integer == 108, "\(answer)")
                #expect(info["arguments"].elements.first?.string == row.name, "\(answer)")
                #expect(info["path"].string == row.path, "\(answer)")
            }
        }
    }

    @Test func recordsAndPredicatesHaveMembersOfTheirOwn() async throws {
        try await withService { service in
            let save = #"{"records":[{"_id":"note/1","anything":{"at":{"all":1}}}],"_user_id":"u1"}"#
            let saved = try await service.call("record:save", save, key: TestService.masterKey)
            #expect(saved["error"] == .null)
            let include = #"{"record_type":"note","include":{"a":{"$type":"keypath","$val":"_owner"},"_owner":true}}"#
            let found = try await service.call("record:query", include, key: TestService.masterKey)
            #expect(found["error"] == .null, "\(found)")
        }
    }

    @Test func skygearsActionsIgnoreItInTheirEnvelope() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            func code(_ path: String, _ body: String) async throws -> Int? {
                try JSONValue(try await service.v1(path, body, token: ann.token).body)["error"]["code"].integer
            }
            let save = #"{"action":"record:save","api_key":"x","records":[{"_id":"note/1","title":"x"}],"extra":1}"#
            #expect(try await code("/record/save", save) == nil)
            // The JavaScript SDK sends it with every query of relations.
            let friends = #"{"name":"friend","direction":"mutual","limit":50,"page":0}"#
            #expect(try await code("/relation/query", friends) == nil)
            #expect(try await code("/relation/query", #"{"name":"friend","page":"no number"}"#) == nil)
            let answer = try await service.call("relation:query", friends, token: ann.token)
            #expect(answer["error"]["code"].integer == 108)
            // Ours are as strict there as over JSON-RPC.
            let update = #""record_type":"note","ids":["note/1"],"set":{"title":"y"},"at_most":1"#
            #expect(
                try await code("/record/update", #"{"action":"record:update","access_token":null,\#(update)}"#) == nil
            )
            #expect(try await code("/record/update", #"{"dryrun":true,\#(update)}"#) == 108)
        }
    }

    @Test func aPathOfNoActionIsAnError() async throws {
        try await withService { service in
            for (path, body, status) in [
                ("/recrod/save", #"{"records":[]}"#, 404), ("/recrod/save", "", 404), ("/x", "{}", 404),
                ("/", "{}", 200),
                ("/", "", 200), ("/recrod/save", #"{"action":"role:get","users":[]}"#, 200),
                ("/_status/healthz", "{}", 200),
            ] {
                let ann = try await service.signUp("ann\(Int.random(in: 0..<1_000_000_000))")
                let response = try await service.v1(path, body, token: ann.token)
                #expect(Int(response.status) == status, "\(path) \(body)")
                if status == 404 { #expect(try JSONValue(response.body)["error"]["code"].integer == 117) }
            }
        }
    }
}
