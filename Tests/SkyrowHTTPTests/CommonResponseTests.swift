import Foundation
import Logging
import SkyrowHTTP
import SkyrowTestSupport
import Synchronization
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What every response has, from either endpoint.
@Suite struct CommonResponseTests {
    @Test func requestIDsComeBack() async throws {
        try await withService { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get("/healthz", headers: [("X-Request-Id", "my-id_1")])
                #expect(try await connection.response()["x-skygear-request-id"] == "my-id_1")
                try await connection.get("/healthz", headers: [("X-Request-Id", "not an id")])
                let made = try #require(try await connection.response()["x-skygear-request-id"])
                #expect(UUID(uuidString: made) != nil)
                try await connection.get("/nothing")
                #expect(try await connection.response()["x-skygear-request-id"] != made)
            }
        }
    }

    @Test func preflightsNeedNoKey() async throws {
        let sdkHeaders = "content-type, x-skygear-api-key, x-skygear-access-token, x-skygear-sdk-version"
        try await withService { service in
            for path in ["/rpc", "/record/save", "/", "/healthz"] {
                try await withConnection(port: service.port) { connection in
                    try await connection.get(
                        path,
                        method: "OPTIONS",
                        headers: [
                            ("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST"),
                            ("Access-Control-Request-Headers", sdkHeaders),
                        ]
                    )
                    let response = try await connection.response()
                    #expect(response.status == 204)
                    #expect(response["access-control-allow-origin"] == "*")
                    #expect(response["access-control-allow-methods"]?.contains("POST") == true)
                    #expect(response["access-control-allow-headers"] == sdkHeaders)
                    #expect(response["access-control-allow-credentials"] == nil)
                }
            }
        }
    }

    @Test func onlyConfiguredOriginsAreAllowed() async throws {
        try await withService(cors: .origins(["https://app.example"])) { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get("/healthz", headers: [("Origin", "https://app.example")])
                let allowed = try await connection.response()
                #expect(allowed["access-control-allow-origin"] == "https://app.example")
                #expect(allowed["access-control-allow-credentials"] == "true")
                #expect(allowed["vary"] == "origin")
                try await connection.get("/rpc", method: "OPTIONS", headers: [("Origin", "https://evil.example")])
                let refused = try await connection.response()
                #expect(refused["access-control-allow-origin"] == nil)
                #expect(refused["access-control-allow-methods"] == nil)
            }
        }
    }

    /// A page sees why its request was refused, also where its origin was not read.
    @Test(
        arguments: [
            (CORSPolicy.anyOrigin, "*"), (.origins(["https://app.example"]), "https://app.example"),
            (.origins(["https://app.example", "https://b.example"]), nil), (.off, nil),
        ] as [(CORSPolicy, String?)]
    )
    func refusedHeadsHaveTheFieldsOfCORS(_ row: (cors: CORSPolicy, origin: String?)) async throws {
        try await withService(cors: row.cors) { service in
            try await withConnection(port: service.port) { connection in
                try await connection.send("GET / HTTP/1.1\r\nx: \(String(repeating: "x", count: 100_000))\r\n\r\n")
                let response = try await connection.response()
                #expect(response.status == 431)
                #expect(response["access-control-allow-origin"] == row.origin)
                #expect(
                    response["access-control-expose-headers"]?.contains("X-Skygear-Request-Id")
                        == (row.origin == nil ? nil : true)
                )
            }
        }
    }

    @Test func compressedBodiesAndTunnelsAreRefused() async throws {
        try await withService { service in
            for (path, isRPC) in [("/rpc", true), ("/record/save", false)] {
                try await withConnection(port: service.port) { connection in
                    try await connection.post(
                        path,
                        "{}",
                        headers: [("Origin", "https://app.example"), ("content-encoding", "gzip")]
                    )
                    let response = try await connection.response()
                    #expect(response.status == 415)
                    #expect(response["accept-encoding"] == "identity")
                    #expect(response["access-control-allow-origin"] == "*")
                    let error = try JSONValue(response.body)["error"]
                    #expect(error["code"].integer == 111)
                    #expect((error["data"] == .null) == !isRPC)
                }
            }
            try await withConnection(port: service.port) { connection in
                try await connection.send("CONNECT example.org:443 HTTP/1.1\r\nhost: example.org:443\r\n\r\n")
                let response = try await connection.response()
                #expect(response.status == 405)
                #expect(response["allow"]?.contains("POST") == true)
            }
        }
    }

    @Test func aRefusedBodyIsAnsweredInTheWordsOfItsEndpoint() async throws {
        try await withService(limits: HTTPLimits(body: 1000)) { service in
            for (path, isRPC) in [("/rpc", true), ("/record/save", false)] {
                try await withConnection(port: service.port) { connection in
                    try await connection.post(
                        path,
                        String(repeating: " ", count: 1001),
                        headers: [("Origin", "https://app.example")]
                    )
                    let response = try await connection.response()
                    #expect(response.status == 413)
                    #expect(response["access-control-allow-origin"] == "*")
                    let error = try JSONValue(response.body)["error"]
                    #expect(error["code"].integer == 132)
                    #expect((isRPC ? error["data"]["name"] : error["name"]).string == "PayloadTooLarge")
                }
            }
        }
    }

    @Test func aForeignClientIsServed() async throws {
        try await withService { service in
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(service.port)/rpc")))
            request.httpMethod = "POST"
            request.httpBody = Data(
                #"{"jsonrpc":"2.0","id":1,"method":"record:fetch","params":{"ids":["note/1"]}}"#.utf8
            )
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.setValue(TestService.apiKey, forHTTPHeaderField: "X-Skygear-API-Key")
            for _ in 0..<3 {
                let (data, head) = try await URLSession.shared.data(for: request)
                #expect((head as? HTTPURLResponse)?.statusCode == 200)
                let body = try JSONValue(String(decoding: data, as: UTF8.self))
                #expect(body["result"][0]["code"].integer == 110)
            }
        }
    }

    @Test func theLogHasOneLineARequestAndNoSecret() async throws {
        let lines = LogLines()
        let token = try await withService(logger: lines.logger) { service in
            let ann = try await service.signUp("ann")
            lines.removeAll()
            _ = try await service.call(
                "record:save",
                #"{"records":[{"_id":"note/1","t":"private text"}]}"#,
                token: ann.token
            )
            _ = try await service.call("record:fetch", "{}", token: ann.token)
            _ = try await service.v1("/secret/path", #"{"action":"unknown"}"#)
            return ann.token
        }
        let requests = lines.all.filter { $0.hasPrefix("Request") }
        #expect(requests.count == 3)
        #expect(requests.first?.contains("action=record:save") == true)
        #expect(requests.first?.contains("outcome=OK") == true)
        #expect(requests.first?.contains("microseconds=") == true)
        #expect(requests.first?.contains("request_id=") == true)
        #expect(requests.dropFirst().first?.contains("outcome=InvalidArgument") == true)
        #expect(requests.last?.contains("outcome=UndefinedOperation") == true)
        for secret in [token, TestService.apiKey, "private text", "secret/path", "a long secret"] {
            #expect(!lines.all.contains { $0.contains(secret) }, "\(secret)")
        }
    }

    @Test func anUnexpectedErrorLeadsToItsLogLineAndTellsNothingElse() async throws {
        let lines = LogLines()
        try await withService(logger: lines.logger) { service in
            try await service.database.psql(
                """
                CREATE FUNCTION app.fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$BEGIN RAISE EXCEPTION 'a text of the database' USING ERRCODE = 'XX001'; END$$;
                CREATE TRIGGER fail BEFORE INSERT ON app_internal._user FOR EACH ROW EXECUTE FUNCTION app.fail();
                """
            )
            for path in ["/rpc", "/auth/signup"] {
                lines.removeAll()
                let response = try await service.v1(path, #"{"jsonrpc":"2.0","id":1,"method":"auth:signup"}"#)
                let id = try #require(response["x-skygear-request-id"])
                let error = try JSONValue(response.body)["error"]
                #expect(error["code"].integer == 10000)
                let info = path == "/rpc" ? error["data"]["info"] : error["info"]
                #expect(info == .object(["request_id": .string(id)]))
                #expect(!response.body.contains("a text of the database"))
                let own = lines.all.filter { $0.contains("request_id=\(id)") }
                #expect(own.contains { $0.hasPrefix("Request ") && $0.contains("outcome=UnexpectedError") })
                #expect(own.contains { $0.contains("XX001") }, "\(lines.all)")
            }
        }
    }
}

/// Log lines as a test reads them: message, then metadata sorted by name.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func removeAll() {
        lines.withLock { $0 = [] }
    }

    var logger: Logger { Logger(label: "tests") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
        let lines: LogLines
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider? = RequestTrace.metadataProvider
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let own = (metadataProvider?.get() ?? [:]).merging(event.metadata ?? [:]) { _, own in own }
            let fields = own.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            lines.lines.withLock { $0.append("\(event.message) \(fields.joined(separator: " "))") }
        }
    }
}
