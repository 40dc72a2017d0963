import SkyrowJSON
import SkyrowTestSupport
import Testing

/// What the profile of a user has for the user alone: `_groups`, `_roles` and `_verified`.
@Suite(.timeLimit(.minutes(60))) struct OwnProfileTests {
    private static let members = ["_groups", "_roles"]

    private func names(_ list: JSONValue) -> [String] { list.elements.compactMap(\.string) }

    private func expectOwn(_ profile: JSONValue, verified: Bool?, _ groups: [String], _ roles: [String]) {
        #expect(profile.members["_verified"] == verified.map { .boolean($0) }, "\(profile)")
        #expect(names(profile["_groups"]) == groups && names(profile["_roles"]) == roles, "\(profile)")
        #expect(profile["_id"].string?.hasPrefix("user/") == true && profile["username"].string == "ann")
    }

    @Test func theUserSeesWhatTheAccountIsInEveryResultOfALogin() async throws {
        try await withService { service in
            let signUp = try await service.call(
                "auth:signup",
                #"{"auth_data":{"username":"ann","email":"ann@example.org"},"password":"a long secret"}"#
            )["result"]
            expectOwn(signUp["profile"], verified: nil, [], [])
            let id = try #require(signUp["user_id"].string)
            var token = try #require(signUp["access_token"].string)
            for (method, params) in [
                ("role:save", #"{"name":"staff"}"#), ("role:save", #"{"name":"crew"}"#),
                ("role:add", #"{"role":"staff","roles":["crew"]}"#),
                ("role:add", #"{"role":"crew","users":["\#(id)"]}"#),
                ("group:add", #"{"user_id":"\#(id)","groups":["golf","chess"]}"#),
            ] {
                let done = try await service.call(method, params, key: TestService.masterKey)
                #expect(done["error"] == .null, "\(method) \(done)")
            }
            let logIn = #"{"auth_data":{"username":"ann"},"password":"a long secret"}"#
            for isVerified in [nil, true] as [Bool?] {
                if isVerified == true {
                    try await service.database.psql("UPDATE app_internal._user SET verified_email = 'ann@example.org'")
                }
                let entered = try await service.call("auth:login", logIn)["result"]
                expectOwn(entered["profile"], verified: isVerified, ["chess", "golf"], ["crew", "staff"])
                // Old clients see what was given.
                #expect(names(entered["roles"]) == ["crew"])
                token = try #require(entered["access_token"].string)
                let me = try await service.call("me", "{}", token: token)["result"]
                expectOwn(me["profile"], verified: isVerified, ["chess", "golf"], ["crew", "staff"])
                let old = try await service.v1("/", #"{"action":"me"}"#, token: token)
                expectOwn(
                    try JSONValue(old.body)["result"]["profile"],
                    verified: isVerified,
                    ["chess", "golf"],
                    ["crew", "staff"]
                )
                let rotated = try await service.call("auth:rotate", "{}", token: token)["result"]
                expectOwn(rotated["profile"], verified: isVerified, ["chess", "golf"], ["crew", "staff"])
                token = try #require(rotated["access_token"].string)
            }
        }
    }

    @Test func noRecordAndNoOneElseHasThem() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let bob = try await service.signUp("bob")
            let befriended = try await service.call(
                "relation:add",
                #"{"name":"follow","targets":["\#(ann.id)"]}"#,
                token: bob.token
            )
            #expect(befriended["error"] == .null, "\(befriended)")
            for (key, token) in [
                (TestService.apiKey, ann.token), (TestService.apiKey, bob.token), (TestService.masterKey, nil),
            ] as [(String, String?)] {
                let fetched = try await service.call(
                    "record:fetch",
                    #"{"ids":["user/\#(ann.id)"]}"#,
                    key: key,
                    token: token
                )["result"][0]
                let found = try await service.call("record:query", #"{"record_type":"user"}"#, key: key, token: token)
                let related = try await service.call("relation:query", #"{"name":"follow"}"#, token: bob.token)[
                    "result"
                ]
                let records = [fetched] + found["result"]["records"].elements + related.elements.map { $0["data"] }
                #expect(records.count >= 3 && fetched["username"].string == "ann", "\(records)")
                for record in records {
                    for member in Self.members { #expect(record.members[member] == nil, "\(member) \(record)") }
                }
                for member in Self.members {
                    let asked = try await service.call(
                        "record:query",
                        #"{"record_type":"user","predicate":["eq",{"$type":"keypath","$val":"\#(member)"},true]}"#,
                        key: key,
                        token: token
                    )
                    #expect(asked["error"]["code"].integer == 120, "\(member) \(asked)")
                }
            }
        }
    }

    /// Clients send whole profiles back.
    @Test func aSavePassesOverThem() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"user/\#(ann.id)","city":"Basel","_groups":["golf"],"_roles":["Admin"]}]}"#,
                token: ann.token
            )
            #expect(saved["result"][0]["city"].string == "Basel", "\(saved)")
            let me = try await service.call("me", "{}", token: ann.token)["result"]
            expectOwn(me["profile"], verified: nil, [], [])
            #expect(me["profile"]["city"].string == "Basel")
        }
    }
}
