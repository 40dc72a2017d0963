import NIOCore
import NIOHTTP1
import SkyrowActions
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowHTTP

/// Who gets to read `/metrics`.
@Suite struct MetricsPageTests {
    private static let metricsKey = "the-metrics-key"

    /// How a request to `/metrics` ends.
    struct Row: Sendable {
        let access: MetricsPage.Access
        var method = "GET"
        var headers: [(String, String)] = []
        let status: Int
        var error: String?

        static func key(_ headers: [(String, String)], _ status: Int, _ error: String? = nil) -> Row {
            Row(access: .keyHolders(Secret(metricsKey)), headers: headers, status: status, error: error)
        }
    }

    static let rows: [Row] = [
        .key([("Authorization", "Bearer \(metricsKey)")], 200),
        .key([("authorization", "bearer  \(metricsKey)")], 200),
        .key([("X-Skygear-API-Key", metricsKey)], 200),
        .key([("Authorization", "Bearer \(TestService.masterKey)")], 200),
        .key([("X-Skygear-API-Key", TestService.masterKey)], 200),
        .key([], 401, "NotAuthenticated"),
        .key([("Authorization", "Bearer ")], 401, "NotAuthenticated"),
        .key([("Authorization", "Basic \(metricsKey)")], 401, "NotAuthenticated"),
        // What every application has must not open them, nor a part of the key or more than it.
        .key([("Authorization", "Bearer \(TestService.apiKey)")], 401, "AccessKeyNotAccepted"),
        .key([("X-Skygear-API-Key", TestService.apiKey)], 401, "AccessKeyNotAccepted"),
        .key([("Authorization", "Bearer \(metricsKey.dropLast())")], 401, "AccessKeyNotAccepted"),
        .key([("Authorization", "Bearer \(metricsKey)x")], 401, "AccessKeyNotAccepted"),
        .key([("Authorization", "Bearer \(metricsKey.uppercased())")], 401, "AccessKeyNotAccepted"),
        Row(access: .keyHolders(nil), headers: [("Authorization", "Bearer \(TestService.masterKey)")], status: 200),
        Row(
            access: .keyHolders(nil),
            headers: [("Authorization", "Bearer \(metricsKey)")],
            status: 401,
            error: "AccessKeyNotAccepted"
        ),
        Row(access: .everybody, status: 200),
        Row(access: .everybody, headers: [("Authorization", "Bearer x")], status: 200),
        Row(access: .everybody, method: "POST", status: 405, error: "UndefinedOperation"),
        Row(access: .everybody, method: "HEAD", status: 200),
    ]

    @Test(arguments: rows)
    func theyAreForThoseWhoMayHaveThem(row: Row) async throws {
        let rendered = Atomic(0)
        let page = MetricsPage(access: row.access) {
            rendered.add(1, ordering: .relaxed)
            return "m 1\n"
        }
        let response = await Self.response(row.method, headers: row.headers, of: page)
        #expect(response.status.code == row.status)
        let body = String(buffer: response.bytes(for: .GET) ?? ByteBuffer())
        // Who may not read them must not make us reckon them either.
        #expect(rendered.load(ordering: .relaxed) == (row.status == 200 ? 1 : 0))
        if let error = row.error {
            #expect(try JSONValue(body)["error"]["name"].string == error)
            #expect(!body.contains("m 1"))
            let challenge = response.fields.first { $0.name == "www-authenticate" }?.value
            #expect(challenge == (row.status == 401 ? "Bearer" : nil))
        } else {
            #expect(body == "m 1\n")
            #expect(response.contentType == .prometheus)
        }
    }

    @Test func withoutAPageThereIsNoSuchPath() async {
        let master = [("Authorization", "Bearer \(TestService.masterKey)")]
        #expect(await Self.response("GET", headers: master, of: nil).status == .notFound)
    }

    @Test(
        arguments: [
            ("GET", "/metrics", 200, "m 1\n"), ("HEAD", "/metrics", 200, "m 1\n"), ("POST", "/metrics", 405, nil),
            ("GET", "/healthz", 200, #"{"status":"OK"}"#), ("GET", "/readyz", 503, #"{"status":"Unavailable"}"#),
            ("DELETE", "/healthz", 405, nil), ("POST", "/rpc", 404, nil), ("POST", "/record/save", 404, nil),
            ("POST", "/", 404, nil),
            ("GET", "/files/x", 404, nil),
        ] as [(String, String, UInt, String?)]
    )
    func anAddressOfItsOwnHasNothingElse(method: String, path: String, status: UInt, body: String?) async {
        let responder = MetricsResponder(
            page: MetricsPage(access: .everybody) { "m 1\n" },
            applications: Applications(of: Self.unconnectedService())
        )
        let response = await responder.respond(to: Self.request(method, path, headers: []))
        #expect(response.status.code == status)
        if let body { #expect(String(buffer: response.bytes(for: .GET) ?? ByteBuffer()) == body) }
    }

    @Test func anAddressOfItsOwnKeepsAKeyIfThereIsOne() async {
        let page = MetricsPage(access: .keyHolders(Secret(Self.metricsKey))) { "m 1\n" }
        let responder = MetricsResponder(page: page, applications: Applications(of: Self.unconnectedService()))
        let refused = await responder.respond(to: Self.request("GET", "/metrics", headers: []))
        #expect(refused.status == .unauthorized)
        let header = [("Authorization", "Bearer \(Self.metricsKey)")]
        #expect(await responder.respond(to: Self.request("GET", "/metrics", headers: header)).status == .ok)
    }

    @Test(
        arguments: [
            ("127.0.0.1", nil, 200), ("::1", nil, 200), (nil, nil, 200), ("192.0.2.7", nil, 401),
            // Who asks through a trusted proxy is not on the machine because the proxy is.
            ("127.0.0.2", "192.0.2.7", 401), ("127.0.0.2", "127.0.0.1", 200),
        ] as [(String?, String?, UInt)]
    )
    func anAddressOfItsOwnTakesTheMasterKeyFromWhereItCounts(
        peer: String?,
        forwarded: String?,
        status: UInt
    ) async throws {
        let proxy = try #require(AddressRange("127.0.0.2"))
        let responder = MetricsResponder(
            page: MetricsPage(access: .keyHolders(Secret(Self.metricsKey))) { "m 1\n" },
            applications: Applications(of: Self.unconnectedService()),
            clients: ClientIdentification(proxies: TrustedProxies([proxy], header: .forwardedFor))
        )
        for (key, expected) in [(TestService.masterKey, status), (Self.metricsKey, 200)] {
            var headers = [("Authorization", "Bearer \(key)")]
            if let forwarded { headers.append(("X-Forwarded-For", forwarded)) }
            var request = Self.request("GET", "/metrics", headers: headers)
            request.peer = Client(address: peer.flatMap { ClientAddress($0) }, isSecure: false)
            let response = await responder.respond(to: request)
            #expect(response.status.code == expected)
        }
    }

    @Test func anAddressOfItsOwnTellsItsOwnLimits() async throws {
        let responder = MetricsResponder(
            page: MetricsPage(access: .everybody) { "m 1\n" },
            applications: Applications(of: Self.unconnectedService())
        )
        try await withServer(responder, limits: MetricsResponder.limits) { server in
            try await withConnection(port: server.port) { connection in
                try await connection.post("/metrics", String(repeating: "x", count: 1025))
                let response = try await connection.response()
                #expect(response.status == 413)
                #expect(response.body.contains("1024"))
            }
        }
    }

    // MARK: - Without a socket

    private static func response(_ method: String, headers: [(String, String)], of page: MetricsPage?) async
        -> HTTPResponse
    {
        let responder = ServiceResponder(
            applications: Applications(of: unconnectedService()),
            logger: .silent,
            metricsPage: page
        )
        return await responder.respond(to: request(method, "/metrics", headers: headers))
    }

    private static func request(_ method: String, _ path: String, headers: [(String, String)]) -> HTTPRequest {
        var ids = RequestIDGenerator()
        let head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: method),
            uri: path,
            headers: HTTPHeaders(headers)
        )
        return HTTPRequest(
            head: head,
            body: .collected(ByteBuffer()),
            id: ids.next(),
            peer: Client(address: nil, isSecure: false)
        )
    }

    /// A service whose database is never there.
    private static func unconnectedService() -> ActionService {
        let configuration = PostgresConfiguration(connection: "postgresql:///x?host=/nowhere")
        let client = PostgresClient(configuration: configuration, logger: .silent)
        return ActionService(
            store: RecordStore(client: client, schema: "app", mode: .production, logger: .silent),
            configuration: ServiceConfiguration(
                keys: GivenKeys(api: Secret(TestService.apiKey), master: Secret(TestService.masterKey))
            ),
            logger: .silent
        )
    }
}
