import NIOHTTP2
import ServiceLifecycle
import SkyrowHTTP
import SkyrowTestSupport
import Testing

/// What a service says and does between the decision to shut down and the shutdown.
@Suite struct DrainTests {
    /// Runs a drain whose shutdown has begun and whose time has not passed, for the length of `body`.
    private func whileDraining(_ drain: Drain, _ body: () async throws -> Void) async throws {
        let running = try await shutDown(drain)
        try await waiting(until: "the drain has begun") { drain.hasBegun }
        defer { running.cancel() }
        try await body()
    }

    /// Runs a drain and begins its shutdown.
    private func shutDown(_ drain: Drain) async throws -> Task<Void, any Error> {
        let start = Start()
        let group = ServiceGroup(configuration: .init(services: [start, drain], logger: .silent))
        let running = Task { try await group.run() }
        try await start.hasBegun.value()
        await group.triggerGracefulShutdown()
        return running
    }

    /// Tells when its group runs.
    private struct Start: Service {
        let hasBegun = Gate<Void>("the services to run")

        func run() async throws {
            hasBegun.open()
            try await gracefulShutdown()
        }
    }

    @Test func aDrainingServiceAnswersIsNotReadyAndEndsItsConnections() async throws {
        let drain = Drain(time: .seconds(3600))
        try await withService(drain: drain) { service in
            try await withConnection(port: service.port) { connection in
                try await connection.get("/readyz")
                let ready = try await connection.response()
                #expect(ready.status == 200)
                #expect(ready["connection"] == nil)
                try await whileDraining(drain) {
                    try await connection.get("/healthz")
                    let healthy = try await connection.response()
                    #expect(healthy.status == 200)
                    #expect(healthy["connection"] == "close")
                    #expect(try await connection.isClosedByServer())
                }
            }
            try await withConnection(port: service.port) { connection in
                try await connection.get("/readyz")
                #expect(try await connection.response().status == 503)
            }
        }
    }

    @Test func overHTTP2TheConnectionGoesAwayWithItsRequestsAnswered() async throws {
        let drain = Drain(time: .seconds(3600))
        let certificate = try await TestCertificate()
        let client = try certificate.client(protocols: ["h2"])
        try await withService(drain: drain, certificate: certificate.server()) { service in
            try await withHTTP2(port: service.port, tls: client) { connection in
                try await connection.get("/readyz", on: 1)
                #expect(try await connection.response(on: 1).status == 200)
                try await whileDraining(drain) {
                    try await connection.get("/readyz", on: 3)
                    #expect(try await connection.response(on: 3).status == 503)
                    try await connection.waitForClose()
                    #expect(connection.goAways.last?.last == 3)
                    #expect(connection.goAways.last?.code == .noError)
                }
            }
        }
    }

    @Test func withoutTimeItEndsAtOnce() async throws {
        let drain = Drain()
        let ending = try await shutDown(drain)
        try await waiting(for: "the drain to end") { try await ending.value }
        #expect(drain.hasBegun)
    }
}
