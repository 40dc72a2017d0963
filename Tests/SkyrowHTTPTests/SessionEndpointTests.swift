import SkyrowActions
import SkyrowHTTP
import SkyrowModel
import SkyrowTestSupport
import Testing

/// What the endpoints say about sessions.
@Suite struct SessionEndpointTests {
    @Test func aSessionIsStoredWithTheClientOfItsRequest() async throws {
        try await withService(proxies: TrustedProxies([AddressRange("127.0.0.0/8")!])) { service in
            let body = #"""
                {"action":"auth:signup","auth_data":{"username":"ann"},"password":"a long secret","device_name":"desk"}
                """#
            let headers = [
                ("X-Skygear-API-Key", TestService.apiKey), ("User-Agent", "Notes/1"), ("X-Forwarded-For", "192.0.2.7"),
            ]
            let response = try await withConnection(port: service.port) { connection in
                try await connection.post("/", body, headers: headers)
                return try await connection.response()
            }
            let token = try #require(try JSONValue(response.body)["result"]["access_token"].string)
            let list = try await service.call("session:list", "{}", key: nil, token: token)["result"].elements
            #expect(list.count == 1)
            let session = try #require(list.first)
            #expect(session["address"].string == "192.0.2.7")
            #expect(session["user_agent"].string == "Notes/1")
            #expect(session["device_name"].string == "desk")
            #expect(session["current"] == .boolean(true))
        }
    }

    @Test func aTokenThatIsOldIsRenewedByAResponse() async throws {
        try await withService(sessionRotation: .seconds(3600)) { service in
            let (_, token) = try await service.signUp("ann")
            let fetch = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#
            let fresh = try await service.rpc(fetch, key: nil, token: token)
            #expect(fresh["x-skyrow-access-token"] == nil)
            _ = try await service.database.psql("UPDATE app_internal._session SET created_at = now() - interval '2 h'")
            // Whoever has the session in memory asks the database about it again within a second.
            _ = try await service.database.psql("SELECT app._notify('session', '/all')")
            var renewed: String?
            try await waiting(until: "a response brings another token") {
                renewed = try await service.rpc(fetch, key: nil, token: token)["x-skyrow-access-token"]
                return renewed != nil
            }
            let next = try #require(renewed)
            #expect(next != token)
            for token in [token, next] {
                let me = try await service.call("me", "{}", key: nil, token: token)["result"]
                #expect(me["access_token"].string == token)
            }
        }
    }
}
