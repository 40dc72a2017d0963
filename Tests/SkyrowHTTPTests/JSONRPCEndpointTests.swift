import SkyrowModel
import Testing

@testable import SkyrowHTTP

@Suite struct JSONRPCEndpointTests {
    /// The examples of the specification's section 7 and its further rules; what a response's error says is left out.
    @Test func theSpecificationIsKeptToTheLetter() async throws {
        let rows: [(body: String, response: String)] = [
            // Calls
            (#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#, "1 result"),
            (#"{"jsonrpc":"2.0","id":"1","method":"foobar"}"#, #""1" error -32601"#),
            (#"{"jsonrpc":"2.0","method":"record:fetch","params":[42,23],"id":1}"#, "1 error -32602"),
            // The id is kept as it was written.
            (#"{"jsonrpc":"2.0","id":1.50,"method":"rpc.discover"}"#, "1.50 result"),
            (#"{"jsonrpc":"2.0","id":"aé\u0041","method":"rpc.discover"}"#, #""aé\u0041" result"#),
            (
                #"{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"foobar"}"#,
                "123456789012345678901234567890 error -32601"
            ),
            (#"{"jsonrpc":"2.0","id":null,"method":"foobar"}"#, "null error -32601"),
            // Invalid JSON
            (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, "null error -32700"),
            ("", "null error -32700"),
            (#"[{"jsonrpc":"2.0","method":"rpc.discover","id":"1"},{"jsonrpc":"2.0","method""#, "null error -32700"),
            // Invalid requests
            (#"{"jsonrpc":"2.0","method":1,"params":"bar"}"#, "null error -32600"),
            (#"{"jsonrpc":"2.0","id":7,"method":"rpc.discover","params":"bar"}"#, "7 error -32600"),
            (#"{"jsonrpc":"1.0","id":7,"method":"rpc.discover"}"#, "7 error -32600"),
            (#"{"id":7,"method":"rpc.discover"}"#, "7 error -32600"),
            (#"{"jsonrpc":"2.0","id":{},"method":"rpc.discover"}"#, "null error -32600"),
            (#"{"jsonrpc":"2.0","id":7}"#, "7 error -32600"),
            ("7", "null error -32600"),
            // Batches
            ("[]", "null error -32600"),
            ("[1]", "[null error -32600]"),
            ("[1,2,3]", "[null error -32600, null error -32600, null error -32600]"),
            (
                #"""
                [{"jsonrpc":"2.0","method":"rpc.discover","id":"1"},{"jsonrpc":"2.0","method":"rpc.discover"},
                 {"jsonrpc":"2.0","method":"record:fetch","params":[42,23],"id":"2"},{"foo":"boo"},
                 {"jsonrpc":"2.0","method":"foo.get","params":{"name":"myself"},"id":"5"},
                 {"jsonrpc":"2.0","method":"rpc.discover","id":"9"}]
                """#,
                #"["1" result, "2" error -32602, null error -32600, "5" error -32601, "9" result]"#
            ),
            // Notifications
            (#"{"jsonrpc":"2.0","method":"rpc.discover"}"#, "nothing"),
            (#"{"jsonrpc":"2.0","method":"foobar"}"#, "nothing"),
            (#"{"jsonrpc":"2.0","method":"record:fetch","params":[1,2]}"#, "nothing"),
            (#"[{"jsonrpc":"2.0","method":"rpc.discover"},{"jsonrpc":"2.0","method":"foobar"}]"#, "nothing"),
        ]
        try await withService { service in
            for row in rows {
                let response = try await service.rpc(row.body)
                #expect(response.status == (row.response == "nothing" ? 204 : 200), "\(row.body)")
                #expect(try outline(response.body) == row.response, "\(row.body)")
            }
        }
    }

    @Test func aBatchHasALimit() async throws {
        try await withService { service in
            func batch(_ count: Int) async throws -> JSONValue {
                let calls = (0..<count).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"foobar"}"# }
                return try JSONValue(try await service.rpc("[\(calls.joined(separator: ","))]").body)
            }
            let most = try await batch(JSONRPCSession.batchLimit)
            #expect(most.elements.map { $0["id"].integer } == Array(0..<JSONRPCSession.batchLimit))
            let tooMany = try await batch(JSONRPCSession.batchLimit + 1)
            #expect(tooMany["error"]["code"].integer == -32600)
            #expect(tooMany["id"] == .null)
        }
    }

    @Test func errorsCarryTheirNameAndInfo() async throws {
        try await withService { service in
            let missing = try await service.call("record:fetch", "{}")
            #expect(missing["error"]["code"].integer == 108)
            #expect(missing["error"]["message"].string?.isEmpty == false)
            #expect(missing["error"]["data"]["name"].string == "InvalidArgument")
            #expect(missing["error"]["data"]["info"]["arguments"][0].string == "ids")
            let noKey = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, key: nil)
            #expect(noKey["error"]["code"].integer == 101)
            let wrongKey = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, key: "wrong")
            #expect(wrongKey["error"]["code"].integer == 103)
            let wrongToken = try await service.call("record:fetch", #"{"ids":["note/1"]}"#, token: "wrong")
            #expect(wrongToken["error"]["code"].integer == 104)
        }
    }

    @Test func whoMayNotCallLearnsNothingOfHisParameters() async throws {
        try await withService { service in
            let response = try await service.call("record:save", #"{"records":7}"#, key: nil)
            #expect(response["error"]["code"].integer == 101)
        }
    }

    @Test func recordsAreSavedFetchedQueriedAndDeleted() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"Milk","stars":9007199254740993}]}"#,
                token: ann.token
            )
            #expect(saved["result"][0]["_ownerID"].string == ann.id)
            let fetched = try await service.rpc(
                #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1","note/2"]}}"#
            )
            #expect(fetched.body.contains(#""stars":9007199254740993"#))
            #expect(try JSONValue(fetched.body)["result"][1]["code"].integer == 110)
            let found = try await service.call("record:query", #"{"record_type":"note","count":true}"#)
            #expect(found["result"]["records"][0]["_id"].string == "note/1")
            #expect(found["result"]["info"]["count"].integer == 1)
            let deleted = try await service.call("record:delete", #"{"ids":["note/1"]}"#, token: ann.token)
            #expect(deleted["result"][0]["_id"].string == "note/1")
        }
    }

    @Test func aNotificationHasItsEffect() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let response = try await service.rpc(
                #"{"jsonrpc":"2.0","method":"record:save","params":{"records":[{"_id":"note/1"}]}}"#,
                token: ann.token
            )
            #expect(response.status == 204)
            #expect(response.body.isEmpty)
            let fetched = try await service.call("record:fetch", #"{"ids":["note/1"]}"#)
            #expect(fetched["result"][0]["_id"].string == "note/1")
        }
    }

    @Test func callsOfABatchAreIndependent() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let calls = (0..<50).map {
                #"{"jsonrpc":"2.0","id":\#($0),"method":"record:save","params":{"records":[{"_id":"note/\#($0)"}]}}"#
            }
            let bad = #"{"jsonrpc":"2.0","id":"bad","method":"record:save","params":{"records":7}}"#
            let body = "[" + (calls + [bad]).joined(separator: ",") + "]"
            let response = try JSONValue(try await service.rpc(body, token: ann.token).body)
            #expect(response.elements.count == 51)
            for (index, element) in response.elements.prefix(50).enumerated() {
                #expect(element["id"].integer == index)
                #expect(element["result"][0]["_id"].string == "note/\(index)")
            }
            #expect(response[50]["error"]["code"].integer == 107)
        }
    }

    @Test func theMasterKeyActsAsAUserNamedInTheParameters() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let saved = try await service.call(
                "record:save",
                #"{"_user_id":"\#(ann.id)","records":[{"_id":"note/1"}]}"#,
                key: TestService.masterKey
            )
            #expect(saved["result"][0]["_ownerID"].string == ann.id)
            let asAnyone = try await service.call(
                "record:save",
                #"{"_user_id":"\#(ann.id)","records":[{"_id":"note/2"}]}"#
            )
            #expect(asAnyone["error"]["code"].integer == 101)
        }
    }

    @Test func bearerTokensLogIn() async throws {
        try await withService { service in
            let ann = try await service.signUp("ann")
            let response = try await withConnection(port: service.port) { connection in
                try await connection.post(
                    "/rpc",
                    #"{"jsonrpc":"2.0","id":1,"method":"me"}"#,
                    headers: [("Authorization", "Bearer \(ann.token)")]
                )
                return try JSONValue(try await connection.response().body)
            }
            #expect(response["result"]["user_id"].string == ann.id)
        }
    }

    @Test(arguments: ["HEAD", "PUT", "DELETE"])
    func onlyPOSTCalls(method: String) async throws {
        try await withService { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get("/rpc", method: method)
                let response = try await connection.response(toHead: method == "HEAD")
                #expect(response.status == 405)
                #expect(response["allow"] == "GET, POST, OPTIONS")
            }
        }
    }
}

/// A response as `id result`, `id error code`, a list of these, or `nothing`; the id as it was written.
private func outline(_ body: String) throws -> String {
    if body.isEmpty { return "nothing" }
    let response = try JSONValue(body)
    // Ids come in order and right behind the version, so they can be picked out of the text.
    let ids = body.matches(of: /"jsonrpc":"2\.0","id":([^,]*),/).map { String($0.1) }
    let calls: [JSONValue] = if case .array(let elements) = response { elements } else { [response] }
    guard ids.count == calls.count else { throw UnexpectedResponse(response: body) }
    let texts = zip(ids, calls).map { id, call in
        if call.members["result"] != nil, call.members["error"] == nil { return "\(id) result" }
        return "\(id) error \(call["error"]["code"].integer ?? 0)"
    }
    if case .array = response { return "[\(texts.joined(separator: ", "))]" }
    return texts[0]
}
