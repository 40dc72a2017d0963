import SkyrowModel
import SkyrowStore
import Testing

@Suite struct SkygearEndpointTests {
    /// A browser asks for a page; whatever else comes to `/` is a client of v1.
    @Test func aPageIsForBrowsersAlone() async throws {
        try await withService { service in
            for (method, path, accept, isPage) in [
                ("GET", "/", "text/html,*/*;q=0.8", true), ("HEAD", "/", "text/html", true),
                ("GET", "/", "*/*", false), ("GET", "/", "application/json", false), ("POST", "/", "text/html", false),
                ("GET", "/_status/healthz", "text/html", false),
            ] {
                try await withConnection(port: service.port) { connection in
                    try await connection.get(path, method: method, headers: [("accept", accept)])
                    let response = try await connection.response(toHead: method == "HEAD")
                    #expect(response.status == 200, "\(method) \(path) \(accept)")
                    #expect(
                        (response["content-type"] == "text/html; charset=utf-8") == isPage,
                        "\(method) \(path) \(accept)"
                    )
                    if isPage {
                        #expect(response["vary"]?.contains("accept") == true)
                        #expect(response["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
                    }
                }
            }
        }
    }

    @Test func whoWritesAFieldAsATextLearnsTheFormOfAKeyPath() async throws {
        try await withService { service in
            let made = try await service.call(
                "schema:create",
                #"{"record_types":{"memo":{"fields":[{"name":"content","type":"string"}]}}}"#,
                key: TestService.masterKey
            )
            #expect(made["error"]["message"].string == nil)
            let found = try await service.call(
                "record:query",
                #"{"record_type":"memo","predicate":["eq","content","Hello"]}"#
            )
            #expect(found["error"]["message"].string?.contains(#"{"$type": "keypath", "$val": "content"}"#) == true)
        }
    }

    @Test(arguments: [
        ("record:sav", "; the nearest is record:save"), ("recrod:save", "; the nearest is record:save"),
        ("no such thing at all", ""), (String(repeating: "x", count: 10_000), ""),
    ])
    func aMisspelledActionIsAnsweredWithTheNearest(name: String, words: String) async throws {
        try await withService { service in
            let key = TestService.apiKey
            let v1 = try await service.v1("/", #"{"action":"\#(name)","api_key":"\#(key)"}"#)
            #expect(v1.body.contains("The action does not exist\(words)."))
            let rpc = try await service.call(name, "{}")
            #expect(
                rpc["error"]["message"].string
                    == "The method does not exist\(words); rpc.discover lists the methods."
            )
        }
    }

    /// skygear.md 1.1 to 1.4; a status, and a code where there is an error.
    @Test func pathsBodiesAndStatusesAreThoseOfSkygear() async throws {
        let key = #""api_key":"\#(TestService.apiKey)""#
        let master = #""api_key":"\#(TestService.masterKey)""#
        let rows: [(method: String, path: String, body: String, status: Int, code: Int?)] = [
            // Home
            ("GET", "/", "", 200, nil),
            ("HEAD", "/", "", 200, nil),
            ("POST", "/", "{}", 200, nil),
            ("GET", "/any/thing", "", 404, 117),
            ("GET", "/_status/healthz", "", 200, nil),
            ("POST", "/", #"{"action":"_status:healthz"}"#, 200, nil),
            // The path comes before the body, and the method does not matter.
            ("POST", "/record/fetch", "{\(key)}", 400, 108),
            ("PUT", "/record/fetch", "{\(key)}", 400, 108),
            ("POST", "/record:fetch", "{\(key)}", 400, 108),
            ("POST", "/record/fetch", #"{"action":"me",\#(key)}"#, 400, 108),
            ("POST", "/", #"{"action":"record:fetch",\#(key)}"#, 400, 108),
            ("POST", "/sso/config", #"{"action":"record:fetch",\#(key)}"#, 400, 108),
            ("POST", "/record/fetch?x=y", "{\(key)}", 400, 108),
            // What is not there
            ("POST", "/", #"{"action":"sso/config"}"#, 404, 117),
            ("POST", "/", #"{"action":""}"#, 404, 117),
            ("GET", "/files/a.png", "", 404, 117),
            ("GET", "/pubsub", "", 404, 117),
            ("GET", "/_/pubsub?api_key=k", "", 404, 117),
            // Unreadable
            ("POST", "/record/fetch", "{", 400, 107),
            ("POST", "/", "not json", 400, 107),
            ("POST", "/", "[]", 400, 107),
            ("POST", "/", #"{"action":7}"#, 400, 107),
            // Credentials
            ("POST", "/record/fetch", #"{"ids":["note/1"]}"#, 401, 101),
            ("POST", "/record/fetch", #"{"ids":["note/1"],"api_key":"wrong"}"#, 401, 103),
            ("POST", "/record/fetch", #"{"ids":["note/1"],"api_key":7}"#, 400, 107),
            ("POST", "/record/fetch", #"{"ids":["note/1"],"access_token":"wrong",\#(key)}"#, 401, 104),
            ("POST", "/record/fetch", #"{"ids":["note/1"],"access_token":null,\#(key)}"#, 200, nil),
            ("POST", "/me", "{\(key)}", 401, 101),
            ("POST", "/auth/login", #"{"auth_data":{"username":"x"},"password":"y",\#(key)}"#, 401, 105),
            // Other statuses
            ("POST", "/record/query", #"{"record_type":"note","database_id":"_union",\#(key)}"#, 401, 101),
            ("POST", "/record/query", #"{"record_type":"note","database_id":"somebody",\#(key)}"#, 403, 102),
            ("POST", "/record/save", #"{"records":[{"_id":"a/1"}],"database_id":"_union",\#(master)}"#, 501, 111),
            ("POST", "/schema/fetch", "{\(master)}", 200, nil),
        ]
        try await withService { service in
            for row in rows {
                try await withConnection(port: service.port) { connection in
                    try await connection.send(
                        "\(row.method) \(row.path) HTTP/1.1\r\nhost: x\r\ncontent-length: \(row.body.utf8.count)\r\n\r\n\(row.body)"
                    )
                    let response = try await connection.response(toHead: row.method == "HEAD")
                    #expect(response.status == row.status, "\(row)")
                    guard row.method != "HEAD" else { return }
                    let body = try JSONValue(response.body)
                    #expect(body["error"]["code"].integer == row.code, "\(row)")
                    if row.code == nil { #expect(body.members["result"] != nil, "\(row)") }
                }
            }
        }
    }

    @Test func theHeaderWinsOverTheBody() async throws {
        try await withService { service in
            for (header, member, status) in [
                (nil, TestService.apiKey, 200), ("wrong", TestService.apiKey, 401), (TestService.apiKey, "wrong", 200),
            ] as [(String?, String, Int)] {
                let body = #"{"ids":["note/1"],"api_key":"\#(member)"}"#
                let response = try await service.v1("/record/fetch", body, key: header)
                #expect(response.status == status)
            }
        }
    }

    @Test func whoIsNoAdministratorGetsTheStatusOfSkygearsOwnCheck() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let body = #"{"roles":["editor"],"users":["\#(ann.id)"]}"#
            let refused = try await service.v1("/role/assign", body, token: ann.token)
            #expect(refused.status == 401)
            #expect(try JSONValue(refused.body)["error"]["code"].integer == 102)
            let granted = try await service.v1("/role/assign", body, key: TestService.masterKey)
            #expect(granted.status == 200)
            #expect(granted.body == #"{"result":"OK"}"#)
        }
    }

    @Test func outsideDevelopmentTheSchemaIsForTheMasterKey() async throws {
        try await withService(mode: .production) { service in
            let refused = try await service.v1("/schema/fetch", "{}")
            #expect(refused.status == 403)
            #expect(try JSONValue(refused.body)["error"]["code"].integer == 102)
            #expect(try await service.v1("/schema/fetch", "{}", key: TestService.masterKey).status == 200)
        }
    }

    @Test func aFailedAtomicSaveNamesEachRecord() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            _ = try await service.v1("/record/save", #"{"records":[{"_id":"note/1"}]}"#, token: ann.token)
            let failed = try await service.v1(
                "/record/save",
                #"{"atomic":true,"records":[{"_id":"note/2"},{"_id":"note/1","a":1}]}"#,
                token: bob.token
            )
            #expect(failed.status == 409)
            let body = try JSONValue(failed.body)
            #expect(body["error"]["code"].integer == 115)
            #expect(body["error"]["info"]["note/1"]["code"].integer == 102)
            let fetched = try await service.call("record:fetch", #"{"ids":["note/2"]}"#)
            #expect(fetched["result"][0]["code"].integer == 110)
        }
    }
}
