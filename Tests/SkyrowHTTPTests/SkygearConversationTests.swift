import SkyrowModel
import Testing

/// What the v1 JavaScript SDK says to a server, in the order in which it says it (skygear.md 12.1), with what it needs to
/// hear (12.2).
@Suite struct SkygearConversationTests {
    @Test func theSDKsConversationGoesThrough() async throws {
        try await withService { service in
            func post(_ path: String, _ body: String, token: String? = nil) async throws -> (Int, JSONValue) {
                // The SDK repeats action, key and token in the body.
                let action = path.dropFirst().replacing("/", with: ":")
                let tokenText = token.map { "\"\($0)\"" } ?? "null"
                let common = #""access_token":\#(tokenText),"action":"\#(action)","api_key":"\#(TestService.apiKey)""#
                let response = try await service.v1(path, "{\(common)\(body.isEmpty ? "" : ",")\(body)}", token: token)
                #expect(response["content-type"] == "application/json")
                return (response.status, try JSONValue(response.body))
            }

            let (signUpStatus, signUp) = try await post(
                "/auth/signup",
                #""auth_data":{"username":"ann"},"password":"pw of ann","profile":{"age":3}"#
            )
            #expect(signUpStatus == 200)
            let user = try #require(signUp["result"]["user_id"].string)
            #expect(signUp["result"]["profile"]["_id"].string == "user/\(user)")
            #expect(signUp["result"]["profile"]["age"].integer == 3)
            let token = try #require(signUp["result"]["access_token"].string)

            let (saveStatus, saved) = try await post(
                "/record/save",
                #"""
                "database_id":"_public","records":[
                    {"_id":"category/c1","_access":null,"name":"Home"},
                    {"_id":"note/1","_access":null,"title":"t","cat":{"$id":"category/c1","$type":"ref"}},
                    {"_id":"nonsense"}]
                """#,
                token: token
            )
            #expect(saveStatus == 200)
            #expect(saved["result"].elements.count == 3)
            #expect(saved["result"][1]["_id"].string == "note/1")
            #expect(saved["result"][1]["_type"].string == "record")
            #expect(saved["result"][1]["_ownerID"].string == user)
            #expect(saved["result"][1]["title"].string == "t")
            #expect(saved["result"][1]["cat"]["$id"].string == "category/c1")
            #expect(saved["result"][2]["_type"].string == "error")
            #expect(saved["result"][2]["code"].integer == 108)

            let (queryStatus, found) = try await post(
                "/record/query",
                #"""
                "database_id":"_public","record_type":"note","limit":50,"sort":[],
                "include":{"cat":{"$type":"keypath","$val":"cat"}},"count":true,
                "predicate":["eq",{"$type":"keypath","$val":"title"},"t"]
                """#,
                token: token
            )
            #expect(queryStatus == 200)
            #expect(found["result"].elements.count == 1)
            #expect(found["info"]["count"].integer == 1)
            #expect(found["result"][0]["_transient"]["cat"]["name"].string == "Home")

            let (_, hidden) = try await post(
                "/record/delete",
                #""database_id":"_private","ids":["note/1"]"#,
                token: token
            )
            #expect(hidden["result"][0]["code"].integer == 110)

            let (deleteStatus, deleted) = try await post("/record/delete", #""ids":["note/1"]"#, token: token)
            #expect(deleteStatus == 200)
            #expect(deleted["result"][0] == .object(["_id": .string("note/1"), "_type": .string("record")]))

            let (unknownStatus, unknown) = try await post("/hello", #""args":{"a":1}"#, token: token)
            #expect(unknownStatus == 404)
            #expect(unknown["error"]["code"].integer == 117)
            #expect(unknown["error"]["name"].string == "UndefinedOperation")

            let (logOutStatus, loggedOut) = try await post("/auth/logout", "", token: token)
            #expect(logOutStatus == 200)
            #expect(loggedOut["result"]["status"].string == "OK")

            let (staleStatus, stale) = try await post("/me", "", token: token)
            #expect(staleStatus == 401)
            #expect(stale["error"]["code"].integer == 104)
        }
    }
}
