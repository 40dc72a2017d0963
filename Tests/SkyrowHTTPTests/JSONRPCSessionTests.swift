import NIOCore
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import Testing

@testable import SkyrowHTTP

/// JSON-RPC from message to message, without HTTP.
@Suite struct JSONRPCSessionTests {
    private func withSession(
        key: String? = TestService.apiKey,
        test: String = #function,
        _ body: (JSONRPCSession) async throws -> Void
    ) async throws {
        try await withActions(test: test) { actions, _ in
            let sender = Sender(credentials: Credentials(key: key), client: .none)
            try await body(JSONRPCSession(runner: ActionRunner(service: actions), sender: sender))
        }
    }

    private func handle(_ text: String, in session: JSONRPCSession) async -> JSONRPCSession.Reply {
        var ids = RequestIDGenerator()
        let account = ResponseAccount(limit: 1 << 20, memory: ResponseMemory(limit: 1 << 24))
        let context = RequestContext(id: ids.next(), account: account)
        return await session.handle(ByteBuffer(string: text), context: context)
    }

    private func json(_ reply: JSONRPCSession.Reply) throws -> JSONValue {
        try JSONValue(String(buffer: try #require(reply.message)))
    }

    @Test func aMessageGetsOneMessageAtMost() async throws {
        try await withSession { session in
            let call = await handle(#"{"jsonrpc":"2.0","id":7,"method":"rpc.discover"}"#, in: session)
            let result = try json(call)
            #expect(result["id"].integer == 7)
            #expect(result["result"]["openrpc"].string != nil)
            #expect(call.subject == .discover && call.error == nil && call.calls == nil)

            let notification = await handle(#"{"jsonrpc":"2.0","method":"rpc.discover"}"#, in: session)
            #expect(notification.message == nil)
            #expect(notification.subject == .discover)

            let noJSON = await handle("{", in: session)
            let error = try json(noJSON)["error"]
            #expect(error["code"].integer == -32700)
            #expect(noJSON.subject == .unknown)

            let batch = await handle(
                #"""
                [{"jsonrpc":"2.0","id":1,"method":"nothing"},
                {"jsonrpc":"2.0","id":2,"method":"record:fetch","params":{}}]
                """#,
                in: session
            )
            let results = try json(batch).elements
            #expect(results.map { $0["id"].integer } == [1, 2])
            #expect(batch.subject == .batch && batch.calls == 2 && batch.error != nil)

            let notifications = await handle(#"[{"jsonrpc":"2.0","method":"nothing"}]"#, in: session)
            #expect(notifications.message == nil && notifications.calls == 1)
        }
    }

    @Test func theCallerBelongsToTheSession() async throws {
        try await withSession(key: TestService.masterKey) { session in
            let saved = await handle(
                #"{"jsonrpc":"2.0","id":1,"method":"record:save","params":{"records":[{"_id":"note/1","n":1}]}}"#,
                in: session
            )
            #expect(try json(saved)["result"][0]["_id"].string == "note/1")
            #expect(saved.subject == .action("record:save"))
            // Messages do not wait for each other.
            let fetches = try await withThrowingTaskGroup(of: Int?.self) { group in
                for id in 0..<20 {
                    group.addTask {
                        let fetched = await handle(
                            #"{"jsonrpc":"2.0","id":\#(id),"method":"record:fetch","params":{"ids":["note/1"]}}"#,
                            in: session
                        )
                        #expect(try json(fetched)["result"][0]["n"].integer == 1)
                        return try json(fetched)["id"].integer
                    }
                }
                return try await group.reduce(into: Set<Int>()) { ids, id in if let id { ids.insert(id) } }
            }
            #expect(fetches.count == 20)
        }
        try await withSession(key: nil, test: "theCallerBelongsToTheSession, without a key") { session in
            let refused = await handle(
                #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#,
                in: session
            )
            let error = try json(refused)["error"]
            #expect(error["code"].integer == ErrorCode.notAuthenticated.rawValue)
        }
    }
}
