import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

@Suite(.timeLimit(.minutes(60))) struct FunctionEndpointTests {
    private static func registration(_ functions: [FunctionDescription]) -> FunctionRegistration {
        var registration = FunctionRegistration(dialect: .skyrow)
        registration.functions = functions
        return registration
    }

    private static func function(_ name: String, need: FunctionNeed = .nothing) throws -> FunctionDescription {
        FunctionDescription(try FunctionName(name), need: need)
    }

    private static var echo: ScriptedFunctions {
        ScriptedFunctions { call in
            guard case .function(_, let arguments) = call.content else { return .nothing }
            return .value(arguments ?? JSONText(validated: Array("null".utf8)))
        }
    }

    @Test func aFunctionIsAnActionInBothEnvelopes() async throws {
        let runner = Self.echo
        let functions = try ["hello", "hello:world", "a/b"].map { try Self.function($0) }
        try await withService(functions: (runner, Self.registration(functions))) { service in
            let rpc: [(method: String, params: String, made: String)] = [
                ("hello", #"{"n":1}"#, #"hello {"n":1}"#),
                ("hello", "{}", "hello -"),
                ("a/b", #"{"_user_id":null,"n":1}"#, #"a/b {"n":1}"#),
                ("function:call", #"{"name":"hello","args":[1,{"a":2}]}"#, #"hello [1,{"a":2}]"#),
                ("function:call", #"{"name":"hello","args":null}"#, "hello -"),
                ("function:call", #"{"name":"hello:world"}"#, "hello:world -"),
            ]
            for row in rpc {
                let response = try await service.call(row.method, row.params)
                #expect(response["error"] == .null, "\(row)")
                let made = runner.take().map(\.summary)
                #expect(made == [row.made])
            }
            let v1: [(path: String, body: String, made: String)] = [
                ("/hello", #"{"args":{"n":1}}"#, #"hello {"n":1}"#),
                ("/hello", #"{"args":[1]}"#, "hello [1]"),
                ("/hello", #"{"args":null,"n":1}"#, "hello -"),
                ("/hello", "", "hello -"),
                ("/hello/world", "{}", "hello:world -"),
                ("/a/b", "{}", "a/b -"),
                ("/", #"{"action":"hello:world","args":{}}"#, "hello:world {}"),
                ("/", #"{"action":"a/b"}"#, "a/b -"),
                ("/function/call", #"{"name":"hello","args":{"n":1}}"#, #"hello {"n":1}"#),
                // The path comes before the body.
                ("/hello", #"{"action":"a/b"}"#, "hello -"),
            ]
            for row in v1 {
                let response = try await service.v1(row.path, row.body)
                #expect(response.status == 200, "\(row)")
                let made = runner.take().map(\.summary)
                #expect(made == [row.made])
            }
            let unreadable = try await service.v1("/hello", #"{"args":"x"}"#)
            #expect(unreadable.status == 400 && runner.take().isEmpty)
        }
    }

    /// What `override` of functions.json admits: such a function is reached by `function:call` only.
    @Test func builtInActionsWin() async throws {
        let runner = Self.echo
        try await withService(functions: (runner, Self.registration([try Self.function("me")]))) { service in
            let rpc = try await service.call("me", "{}")
            #expect(rpc["error"]["code"].integer == 101)
            let v1 = try await service.v1("/me", "{}")
            #expect(v1.status == 401)
            #expect(runner.take().isEmpty)
            let document = try await service.call("rpc.discover", "{}")
            #expect(document["result"]["methods"].elements.count == ActionTable.all.count)
            let called = try await service.call("function:call", #"{"name":"me","args":[1]}"#)
            #expect(called["error"] == .null)
            let v1Called = try await service.v1("/function/call", #"{"name":"me","args":[2]}"#)
            #expect(v1Called.status == 200)
            let made = runner.take().map(\.summary)
            #expect(made == ["me [1]", "me [2]"])
        }
    }

    @Test func anUnknownNameGetsTheNearestFunction() async throws {
        try await withService(functions: (Self.echo, Self.registration([try Self.function("greeting")]))) { service in
            let rpc = try await service.call("greetin", "{}")
            #expect(rpc["error"]["message"].string?.contains("the nearest is greeting") == true)
            let v1 = try await service.v1("/greetin", "{}")
            #expect(v1.status == 404 && v1.body.contains("the nearest is greeting"))
            let named = try await service.call("function:call", #"{"name":"greetin"}"#)
            #expect(named["error"]["code"].integer == 110)
        }
    }

    @Test func discoveryListsFunctions() async throws {
        var greeting = try Self.function("greeting")
        greeting.summary = "Greets."
        try await withService(functions: (Self.echo, Self.registration([greeting]))) { service in
            let document = try await service.call("rpc.discover", "{}")
            let methods = document["result"]["methods"].elements
            #expect(methods.count == ActionTable.all.count + 1)
            #expect(methods.last?["name"].string == "greeting" && methods.last?["summary"].string == "Greets.")
            #expect(document["result"]["components"]["schemas"]["Record"] != .null)
        }
    }

    // MARK: Needs

    enum Column: String, CaseIterable, Sendable {
        case noKey, wrongKey, key, user, editor, administrator, disabled, endedSession, master
    }

    /// F-15: every need with every kind of caller, by every way to call.
    @Test func noFunctionRunsForACallerWhoMayNotCallIt() async throws {
        let rows: [(name: String, need: FunctionNeed, granted: Set<Column>)] = [
            ("nothing", .nothing, [.noKey, .key, .user, .editor, .administrator, .disabled, .master]),
            ("key", .key, [.key, .user, .editor, .administrator, .disabled, .master]),
            ("user", .user, [.user, .editor, .administrator]),
            ("roles", .roles(["editor"]), [.editor, .master]),
            ("administrator", .administrator, [.administrator, .master]),
            ("master", .master, [.master]),
        ]
        let runner = ScriptedFunctions { call in
            guard case .handler = call.content else { return .value(JSONText(validated: Array("1".utf8))) }
            return .handler(HandlerResponse(status: 200, fields: [], body: Array(#"{"result":1}"#.utf8)))
        }
        var registration = Self.registration(try rows.map { try Self.function("f-\($0.name)", need: $0.need) })
        registration.handlers = rows.map {
            HandlerDescription(path: "/web/\($0.name)", name: "web:\($0.name)", methods: ["POST"], need: $0.need)
        }
        try await withService(mode: .production, functions: (runner, registration)) { service in
            var tokens: [Column: String] = [:]
            for column in [Column.user, .editor, .administrator, .disabled, .endedSession] {
                let account = try await service.signUp(column.rawValue)
                tokens[column] = account.token
                let role = column == .editor ? "editor" : column == .administrator ? "Admin" : nil
                if let role {
                    let params = #"{"roles":["\#(role)"],"users":["\#(account.id)"]}"#
                    _ = try await service.call("role:assign", params, key: TestService.masterKey)
                }
                if column == .disabled {
                    let params = #"{"auth_id":"\#(account.id)","disabled":true}"#
                    _ = try await service.call("auth:disable:set", params, key: TestService.masterKey)
                }
                if column == .endedSession { _ = try await service.call("auth:logout", "{}", token: account.token) }
            }
            for row in rows {
                let name = "f-\(row.name)"
                for column in Column.allCases {
                    let key: String? =
                        switch column {
                        case .key: TestService.apiKey
                        case .wrongKey: "wrong"
                        case .master: TestService.masterKey
                        default: nil
                        }
                    let token = tokens[column]
                    let bodies = [
                        try await service.call(name, "{}", key: key, token: token),
                        try await service.call("function:call", #"{"name":"\#(name)"}"#, key: key, token: token),
                        try JSONValue(try await service.v1("/\(name)", "{}", key: key, token: token).body),
                        try JSONValue(
                            try await service.v1("/", #"{"action":"\#(name)"}"#, key: key, token: token).body
                        ),
                        try JSONValue(try await service.v1("/web/\(row.name)", "{}", key: key, token: token).body),
                    ]
                    let isGranted = row.granted.contains(column)
                    let calls = runner.take().count
                    #expect(calls == (isGranted ? bodies.count : 0), "\(row.name) \(column)")
                    for body in bodies {
                        let code = body["error"]["code"].integer
                        let isExpected = code.map { [101, 102, 103, 104, 127].contains($0) } ?? false
                        #expect(isGranted ? code == nil : isExpected, "\(row.name) \(column) \(body)")
                    }
                }
            }
        }
    }

    // MARK: Call tokens

    @Test func aFunctionCallsBackInTheNameOfItsCaller() async throws {
        let runner = Self.echo
        let functions = [try Self.function("hello", need: .user)]
        try await withService(functions: (runner, Self.registration(functions))) { service in
            let ann = try await service.signUp("ann")
            var token = ann.token
            // The fifth function may save, and calls no further one.
            for depth in 1...5 {
                let response = try await service.call("hello", "{}", key: nil, token: token)
                #expect(response["error"] == .null)
                let call = try #require(runner.take().first)
                #expect(call.context.userID == UserID(ann.id) && call.context.depth == depth)
                token = try #require(call.context.token)
            }
            let saved = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","title":"x"}]}"#,
                key: nil,
                token: token
            )
            #expect(saved["result"][0]["_ownerID"].string == ann.id || saved["result"][0]["_owner"].string == ann.id)
            let deeper = try await service.call("hello", "{}", key: nil, token: token)
            #expect(deeper["error"]["code"].integer == 108)
            #expect(deeper["error"]["message"].string?.contains("calls itself too deeply") == true)
            #expect(runner.take().isEmpty)
            let changed = String(token.dropLast()) + (token.hasSuffix("A") ? "Q" : "A")
            let refused = try await service.call("hello", "{}", key: nil, token: changed)
            #expect(refused["error"]["code"].integer == 104)
        }
    }
}
