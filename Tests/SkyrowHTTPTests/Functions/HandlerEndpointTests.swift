import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Testing

@testable import SkyrowHTTP

@Suite(.timeLimit(.minutes(60))) struct HandlerEndpointTests {
    private static func registration(_ handlers: [HandlerDescription]) throws -> FunctionRegistration {
        var registration = FunctionRegistration(dialect: .skygear)
        registration.functions = [FunctionDescription(try FunctionName("hello"))]
        registration.handlers = handlers
        return registration
    }

    private static let handlers = [
        HandlerDescription(path: "/web/hello", name: "web:hello", methods: ["GET", "PUT"]),
        HandlerDescription(path: "/web/", name: "web:", methods: ["POST"]),
        // Neither takes the place of what is there.
        HandlerDescription(path: "/hello", name: "hello", methods: ["GET", "POST"]),
        HandlerDescription(path: "/me", name: "me", methods: ["GET", "POST"]),
        HandlerDescription(path: "/healthz", name: "healthz", methods: ["GET", "POST"]),
    ]

    private static func runner(_ fields: [(name: String, value: String)] = [], status: Int = 200) -> ScriptedFunctions {
        ScriptedFunctions { call in
            guard case .handler(let request) = call.content else { return .value(JSONText(validated: Array("1".utf8))) }
            let body = request.body.isEmpty ? Array("hello".utf8) : request.body
            return .handler(HandlerResponse(status: status, fields: fields, body: body))
        }
    }

    private func send(
        _ method: String,
        _ path: String,
        _ body: String = "",
        fields: String = "",
        to service: TestService
    ) async throws -> RawResponse {
        try await withConnection(port: service.port) { connection in
            let length = "content-length: \(body.utf8.count)\r\n"
            try await connection.send("\(method) \(path) HTTP/1.1\r\nhost: x\r\n\(fields)\(length)\r\n\(body)")
            return try await connection.response(toHead: method == "HEAD")
        }
    }

    @Test func pathsAndMethodsFindTheirHandlers() async throws {
        let rows: [(method: String, path: String, status: Int, made: String?)] = [
            ("GET", "/web/hello", 200, "GET /web/hello"),
            ("GET", "/web/hello?q=1", 200, "GET /web/hello"),
            ("HEAD", "/web/hello", 200, "GET /web/hello"),
            ("PUT", "/web/hello", 200, "PUT /web/hello"),
            ("POST", "/web/other", 200, "POST /web/other"),
            ("POST", "/web/", 200, "POST /web/"),
            // The longest match has the path, whatever its methods.
            ("POST", "/web/hello", 405, nil),
            ("GET", "/web/other", 405, nil),
            // No handler
            ("POST", "/web", 404, nil),
            ("GET", "/other", 404, nil),
            ("GET", "/", 200, nil),
            // Routes, actions and functions come first.
            ("POST", "/hello", 200, "hello -"),
            ("POST", "/me", 401, nil),
            ("GET", "/healthz", 200, nil),
        ]
        let runner = Self.runner()
        try await withService(functions: (runner, try Self.registration(Self.handlers))) { service in
            for row in rows {
                let response = try await send(row.method, row.path, to: service)
                #expect(response.status == row.status, "\(row)")
                let made = runner.take().map(\.summary)
                #expect(made == [row.made].compactMap(\.self), "\(row)")
                if response.status == 405 { #expect(response["allow"]?.contains("OPTIONS") == true) }
            }
        }
    }

    @Test func aHandlerGetsTheRequestAndItsCaller() async throws {
        let runner = Self.runner()
        try await withService(functions: (runner, try Self.registration(Self.handlers))) { service in
            let ann = try await service.signUp("ann")
            let response = try await send(
                "POST",
                "/web/a%20b?q=1&access_token=\(ann.token)",
                "not json",
                fields: "content-type: text/plain\r\nconnection: keep-alive, x-mine\r\nx-mine: 1\r\nx-yours: 2\r\n",
                to: service
            )
            #expect(response.status == 200 && response.body == "not json")
            let call = try #require(runner.take().first)
            #expect(call.context.userID == UserID(ann.id))
            guard case .handler(let request) = call.content else {
                Issue.record("\(call.content)")
                return
            }
            #expect(request.name == "web:" && request.path == "/web/a%20b")
            #expect(request.query == "q=1&access_token=\(ann.token)")
            let names = request.fields.map(\.name)
            #expect(names.contains("Content-Type") && names.contains("X-Yours"))
            #expect(!names.contains("X-Mine") && !names.contains("Connection"))
            // What the head has counts.
            let wrong = try await send("POST", "/web/x?api_key=wrong", to: service)
            #expect(wrong.status == 401 && runner.take().isEmpty)
        }
    }

    @Test func aResponseKeepsItsFieldsButThoseOfTheService() async throws {
        let fields = [
            ("Content-Type", "text/html"), ("X-Mine", "1"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"),
            ("Connection", "close, x-hop"), ("X-Hop", "1"), ("Transfer-Encoding", "chunked"),
            ("Content-Length", "9999"),
            ("Access-Control-Allow-Origin", "https://evil.example"), ("Cache-Control", "max-age=60"), ("X Bad", "1"),
        ].map { (name: $0.0, value: $0.1) }
        let runner = Self.runner(fields, status: 201)
        try await withService(functions: (runner, try Self.registration(Self.handlers))) { service in
            let response = try await send("GET", "/web/hello", fields: "origin: https://page.example\r\n", to: service)
            #expect(response.status == 201 && response.body == "hello")
            #expect(response["content-type"] == "text/html" && response["cache-control"] == "max-age=60")
            #expect(response["x-content-type-options"] == "nosniff" && response["x-mine"] == "1")
            #expect(response["content-length"] == "5" && response["transfer-encoding"] == nil)
            let names = response.fields.map(\.0)
            #expect(names.count { $0 == "set-cookie" } == 2 && !names.contains("x-hop") && !names.contains("x bad"))
            #expect(response.fields.contains { $0.1 == "https://evil.example" } == false)
        }
    }

    @Test(arguments: [100, 199, 600]) func anImpossibleStatusIsAnError(status: Int) async throws {
        try await withService(functions: (Self.runner(status: status), try Self.registration(Self.handlers))) {
            service in
            let response = try await send("GET", "/web/hello", to: service)
            #expect(response.status == 500)
            let code = try JSONValue(response.body)["error"]["code"].integer
            #expect(code == 10_000)
        }
    }
}
