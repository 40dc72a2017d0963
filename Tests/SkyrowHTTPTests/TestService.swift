import Logging
import Metrics
import NIOSSL
import ServiceLifecycle
import SkyrowHTTP
import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowStore
import SkyrowTestSupport

@testable import SkyrowActions

/// The whole service behind a port of the loopback interface, on a database of its own.
struct TestService: Sendable {
    static let apiKey = "the-api-key"
    static let masterKey = "the-master-key"

    let server: TestServer
    let database: TemporaryDatabase
    let responder: ServiceResponder
    let counts: HTTPServerCounts
    /// What its clients trust, where it has a certificate.
    var tls: NIOSSLContext?

    var port: Int { server.port }
    /// Those that stay.
    var connections: LiveConnections { counts.live }

    /// Sends one JSON-RPC body on a connection of its own.
    func rpc(_ body: String, key: String? = apiKey, token: String? = nil) async throws -> RawResponse {
        try await send("/rpc", body, key: key, token: token)
    }

    /// Sends JSON-RPC bodies one after the other on one connection.
    func rpc(_ bodies: [String], key: String? = apiKey, token: String? = nil) async throws -> [RawResponse] {
        let headers = Self.headers(key: key, token: token)
        return try await withConnection(port: port, tls: tls) { connection in
            var responses: [RawResponse] = []
            for body in bodies {
                try await connection.post("/rpc", body, headers: headers)
                responses.append(try await connection.response())
            }
            return responses
        }
    }

    /// Sends one JSON-RPC call and hands back what came of it.
    func call(
        _ method: String,
        _ params: String,
        key: String? = apiKey,
        token: String? = nil
    ) async throws -> JSONValue {
        let response = try await rpc(
            #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(params)}"#,
            key: key,
            token: token
        )
        return try JSONValue(response.body)
    }

    /// Sends one body of the v1 envelope.
    func v1(_ path: String, _ body: String, key: String? = apiKey, token: String? = nil) async throws -> RawResponse {
        try await send(path, body, key: key, token: token)
    }

    /// Makes an account and returns its id and access token.
    func signUp(_ name: String) async throws -> (id: String, token: String) {
        let response = try await call(
            "auth:signup",
            #"{"auth_data":{"username":"\#(name)"},"password":"a long secret"}"#
        )
        let result = response["result"]
        guard let id = result["user_id"].string, let token = result["access_token"].string else {
            throw UnexpectedResponse(response: "\(response)")
        }
        return (id, token)
    }

    private func send(_ path: String, _ body: String, key: String?, token: String?) async throws -> RawResponse {
        let headers = Self.headers(key: key, token: token)
        return try await withConnection(port: port, tls: tls) { connection in
            try await connection.post(path, body, headers: headers)
            return try await connection.response()
        }
    }

    private static func headers(key: String?, token: String?) -> [(String, String)] {
        var headers: [(String, String)] = []
        if let key { headers.append(("X-Skygear-API-Key", key)) }
        if let token { headers.append(("X-Skygear-Access-Token", token)) }
        return headers
    }
}

struct UnexpectedResponse: Error {
    let response: String
}

private let migrated = DatabaseTemplate(key: "http") { url in
    try await withPostgresClient(url) { client in
        try await RecordStore(client: client, schema: SQLIdentifier("app"), mode: .development, logger: .silent)
            .prepare()
    }
}

/// Runs the service for the length of `body`.
func withService<Success: Sendable>(
    mode: SchemaMode = .development,
    endpoints: [String: any HTTPEndpoint] = [:],
    cors: CORSPolicy = .anyOrigin,
    proxies: TrustedProxies = .none,
    drain: Drain = Drain(),
    limits: HTTPLimits = HTTPLimits(),
    rateLimits: RateLimits = .none,
    reads: ReadLimits = ReadLimits(patience: testPatience),
    live: LiveConfiguration = LiveConfiguration(),
    sessionRotation: Duration? = nil,
    stepUp: Set<ActionName> = [],
    mail: MailConfiguration? = nil,
    verification: AddressVerification = .off,
    linkLogIn: Bool = false,
    providers: [ProviderConfiguration] = [],
    customTokenKeys: [CustomTokenKey] = [],
    loginKeyReaders: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders,
    files: FileConfiguration? = nil,
    functions: (runner: any FunctionRunner, registration: FunctionRegistration)? = nil,
    certificate: ServerCertificate? = nil,
    client tls: NIOSSLContext? = nil,
    logger: Logger = .silent,
    metrics: any MetricsFactory = NOOPMetricsHandler.instance,
    metricsPage: MetricsPage? = nil,
    tracing: RequestTracing? = nil,
    on cluster: TemporaryCluster? = nil,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    test: String = #function,
    _ body: (TestService) async throws -> Success
) async throws -> Success {
    try await withActions(
        mode: mode,
        rateLimits: rateLimits,
        reads: reads,
        live: live,
        sessionRotation: sessionRotation,
        stepUp: stepUp,
        mail: mail,
        verification: verification,
        linkLogIn: linkLogIn,
        providers: providers,
        customTokenKeys: customTokenKeys,
        loginKeyReaders: loginKeyReaders,
        files: files,
        functions: functions,
        logger: logger,
        metrics: metrics,
        on: cluster,
        configure: configure,
        test: test
    ) { actions, database in
        let clients = ClientIdentification(proxies: proxies)
        let limits = limits.waitingForBusyMachines
        let counts = HTTPServerCounts(limits: limits)
        let responder = ServiceResponder(
            applications: Applications(of: actions),
            endpoints: endpoints,
            cors: cors,
            clients: clients,
            strictTransport: .seconds(3600),
            drain: drain,
            limits: limits,
            connections: counts.live,
            logger: logger,
            metrics: metrics,
            metricsPage: metricsPage,
            tracing: tracing
        )
        return try await withServer(
            responder,
            limits: limits,
            certificate: certificate,
            clients: clients,
            counts: counts,
            logger: logger
        ) { server in
            try await body(
                TestService(server: server, database: database, responder: responder, counts: counts, tls: tls)
            )
        }
    }
}

/// Runs the actions of a service, without a server before them, for the length of `body`.
func withActions<Success: Sendable>(
    mode: SchemaMode = .development,
    rateLimits: RateLimits = .none,
    reads: ReadLimits = ReadLimits(patience: testPatience),
    live: LiveConfiguration = LiveConfiguration(),
    sessionRotation: Duration? = nil,
    stepUp: Set<ActionName> = [],
    mail: MailConfiguration? = nil,
    verification: AddressVerification = .off,
    linkLogIn: Bool = false,
    providers: [ProviderConfiguration] = [],
    customTokenKeys: [CustomTokenKey] = [],
    loginKeyReaders: [FieldName: FieldRule.Readers] = FieldRules.loginKeyReaders,
    files: FileConfiguration? = nil,
    functions: (runner: any FunctionRunner, registration: FunctionRegistration)? = nil,
    logger: Logger = .silent,
    metrics: any MetricsFactory = NOOPMetricsHandler.instance,
    on cluster: TemporaryCluster? = nil,
    configure: (inout PostgresConfiguration) -> Void = { _ in },
    test: String = #function,
    _ body: (ActionService, TemporaryDatabase) async throws -> Success
) async throws -> Success {
    try await withTemporaryDatabaseAndPsql(template: migrated, on: cluster, test: test) { database in
        try await withPostgresClient(database.url, configure: configure, logger: logger) { client in
            let store = RecordStore(
                client: client,
                schema: SQLIdentifier("app"),
                mode: mode,
                loginKeyReaders: loginKeyReaders,
                rulesPatience: testPatience,
                logger: logger
            )
            try await store.prepare()
            let actions = ActionService(
                store: store,
                configuration: ServiceConfiguration(
                    keys: GivenKeys(api: Secret(TestService.apiKey), master: Secret(TestService.masterKey)),
                    sessionRotation: sessionRotation,
                    stepUp: stepUp,
                    passwords: PasswordConfiguration(cost: ScryptCost(logN: 4, r: 8, p: 1), patience: testPatience),
                    mail: mail,
                    verification: verification,
                    admitsLinkLogIn: linkLogIn,
                    providers: providers,
                    customTokenKeys: customTokenKeys,
                    rateLimits: rateLimits,
                    reads: reads,
                    live: live,
                    files: files,
                    functions: functions.map { FunctionConfiguration(runner: $0.runner, servers: ["main"]) }
                ),
                logger: logger,
                metrics: metrics
            )
            if let functions { try await actions.register(functions.registration, of: "main") }
            let running = Task {
                await withDiscardingTaskGroup { group in
                    group.addTask { await store.run() }
                    group.addTask { try? await actions.run() }
                }
            }
            defer { running.cancel() }
            return try await body(actions, database)
        }
    }
}
