import SkyrowActions
import SkyrowHTTP
import SkyrowModel
import Testing

/// How clients meet the limits, through both endpoints.
@Suite struct RateLimitTests {
    static let hour = RateLimits(client: RateLimit(4, per: .seconds(3600)), login: RateLimit(1, per: .seconds(3600)))

    @Test func aCallTooManyIs131WithTheTimeToWait() async throws {
        try await withService(rateLimits: RateLimits(client: RateLimit(2, per: .seconds(3600)))) { service in
            let fetch = #"{"ids":["note/1"]}"#
            for _ in 0..<2 { #expect(try await service.call("record:fetch", fetch)["error"] == .null) }
            let refusal = try await service.call("record:fetch", fetch)["error"]
            #expect(refusal["code"].integer == 131)
            #expect(refusal["data"]["name"].string == "RateLimited")
            #expect((refusal["data"]["info"]["retry_after"].integer ?? 0) > 1700)

            let v1 = try await service.v1("/record/fetch", fetch)
            #expect(v1.status == 429)
            #expect((v1["retry-after"].flatMap { Int($0) } ?? 0) > 1700)
            #expect(try JSONValue(v1.body)["error"]["code"].integer == 131)

            // Health is not counted, and the master key is not limited.
            try await withConnection(port: service.port) { connection in
                try await connection.get("/healthz")
                #expect(try await connection.response().status == 200)
            }
            #expect(try await service.call("record:fetch", fetch, key: TestService.masterKey)["error"] == .null)
        }
    }

    @Test func everyCallOfABatchCounts() async throws {
        try await withService(rateLimits: Self.hour) { service in
            let call = #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#
            let response = try await service.rpc("[" + Array(repeating: call, count: 6).joined(separator: ",") + "]")
            let codes = try JSONValue(response.body).elements.map { $0["error"]["code"].integer }
            #expect(codes == [nil, nil, nil, nil, 131, 131])
        }
    }

    /// A request that fails, or asks for no action, and counts all the same.
    struct OtherRow: Sendable {
        var label: String
        var request: String

        init(_ label: String, _ head: String, _ body: String = "", key: String = TestService.apiKey, length: Int? = nil)
        {
            self.label = label
            let length = "content-length: \(length ?? body.utf8.count)\r\n\r\n"
            request = "\(head) HTTP/1.1\r\nhost: x\r\nx-skygear-api-key: \(key)\r\n\(length)\(body)"
        }
    }

    @Test(arguments: [
        OtherRow("a wrong key", "POST /rpc", #"{"jsonrpc":"2.0","id":1,"method":"me"}"#, key: "guess"),
        OtherRow("rpc.discover", "POST /rpc", #"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#),
        OtherRow("an unknown method", "POST /rpc", #"{"jsonrpc":"2.0","id":1,"method":"record:frob"}"#),
        OtherRow("no JSON", "POST /rpc", "{"),
        OtherRow("no call", "POST /rpc", "7"),
        OtherRow("no JSON in v1", "POST /record/fetch", "{"),
        OtherRow("a wrong key in v1", "POST /record/fetch", "{}", key: "guess"),
        OtherRow("no action", "POST /"),
        OtherRow("a path that is not served", "GET /files/x"),
        OtherRow("metrics with a wrong key", "GET /metrics", key: "guess"),
        OtherRow("a body that is too long", "POST /rpc", length: 100_000_000),
        OtherRow("a long body with a wrong key", "POST /rpc", key: "guess", length: 100_000),
    ])
    func whatFailsCountsToo(_ row: OtherRow) async throws {
        let page = MetricsPage(access: .keyHolders(nil)) { "" }
        let limits = RateLimits(client: RateLimit(2, per: .seconds(3600)))
        try await withService(rateLimits: limits, metricsPage: page) { service in
            let fetch = #"{"ids":["note/1"]}"#
            for _ in 0..<2 {
                #expect(try await service.call("record:fetch", fetch, key: TestService.masterKey)["error"] == .null)
                let status = try await withConnection(port: service.port) { connection in
                    try await connection.send(row.request)
                    return try await connection.response().status
                }
                #expect(status != 429, "\(row.label)")
            }
            let refusal = try await service.call("record:fetch", fetch)["error"]
            #expect(refusal["code"].integer == 131, "\(row.label)")
        }
    }

    @Test func discoveryAndWrongKeysAreRefusedWhenTheyAreTooMany() async throws {
        let page = MetricsPage(access: .keyHolders(nil)) { "" }
        let limits = RateLimits(client: RateLimit(1, per: .seconds(3600)))
        try await withService(rateLimits: limits, metricsPage: page) { service in
            #expect(try await service.call("rpc.discover", "{}")["error"] == .null)
            #expect(try await service.call("rpc.discover", "{}")["error"]["code"].integer == 131)
            // A guess is not even judged.
            #expect(try await service.call("me", "{}", key: "guess")["error"]["code"].integer == 131)
            #expect(try await service.call("rpc.discover", "{}", key: TestService.masterKey)["error"] == .null)
            try await withConnection(port: service.port) { connection in
                try await connection.get("/metrics", headers: [("Authorization", "Bearer guess")])
                #expect(try await connection.response().status == 429)
                try await connection.get("/metrics", headers: [("Authorization", "Bearer \(TestService.masterKey)")])
                #expect(try await connection.response().status == 200)
            }
        }
    }

    @Test func discoverySaysThatAnyCallMayBeRefused() async throws {
        try await withService { service in
            let methods = try await service.call("rpc.discover", "{}")["result"]["methods"].elements
            #expect(!methods.isEmpty)
            for method in methods {
                #expect(method["errors"].elements.contains { $0["code"].integer == 131 }, "\(method["name"])")
            }
        }
    }

    @Test func loginsHaveALimitOfTheirOwn() async throws {
        try await withService(rateLimits: Self.hour) { service in
            let attempt = #"{"auth_data":{"username":"ann"},"password":"guess"}"#
            #expect(try await service.call("auth:login", attempt)["error"]["code"].integer == 105)
            let second = try await service.call("auth:login", attempt)["error"]
            #expect(second["code"].integer == 131)
            #expect(second["message"].string?.hasPrefix("Too many login attempts") == true)
            #expect(try await service.call("record:fetch", #"{"ids":["note/1"]}"#)["error"] == .null)
        }
    }

    /// A refusal says what there is too much of.
    @Test func aRefusalNamesWhatIsLimited() async throws {
        try await withService(rateLimits: RateLimits(login: RateLimit(1, per: .seconds(3600)))) { service in
            _ = try await service.signUp("ann")
            for (method, parameters, what) in [
                ("auth:login", #"{"auth_data":{"username":"ann"},"password":"guess"}"#, "login attempts;"),
                ("auth:signup", #"{"auth_data":{"username":"ben"},"password":"a long secret"}"#, "sign-ups;"),
                ("auth:reset:confirm", #"{"code":"x","password":"a long secret"}"#, "attempts;"),
            ] {
                let refused = try await service.call(method, parameters)["error"]
                #expect(refused["code"].integer == 131)
                #expect(refused["message"].string?.hasPrefix("Too many \(what)") == true, "\(method)")
            }
        }
    }

    @Test func aUserIsCountedApartFromOthersOfTheSameAddress() async throws {
        try await withService(rateLimits: RateLimits(user: RateLimit(2, per: .seconds(3600)))) { service in
            let (_, ann) = try await service.signUp("ann")
            let (_, ben) = try await service.signUp("ben")
            var codes: [Int?] = []
            for _ in 0..<3 { codes.append(try await service.call("me", "{}", token: ann)["error"]["code"].integer) }
            #expect(codes == [nil, nil, 131])
            #expect(try await service.call("me", "{}", token: ben)["error"] == .null)
        }
    }

    @Test func behindATrustedProxyClientsAreToldApart() async throws {
        let proxies = TrustedProxies([try #require(AddressRange("127.0.0.0/8"))])
        let limits = RateLimits(client: RateLimit(1, per: .seconds(3600)))
        try await withService(proxies: proxies, rateLimits: limits) { service in
            var statuses: [Int] = []
            for client in [
                "192.0.2.1", "192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1", "2001:db8:0:100::1",
            ] {
                let response = try await withConnection(port: service.port) { connection in
                    let headers = [("X-Skygear-API-Key", TestService.apiKey), ("X-Forwarded-For", client)]
                    try await connection.post("/record/fetch", #"{"ids":["note/1"]}"#, headers: headers)
                    return try await connection.response()
                }
                statuses.append(response.status)
            }
            // One household has many networks of IPv6.
            #expect(statuses == [200, 429, 200, 200, 429, 200])
        }
    }
}
