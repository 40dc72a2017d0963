import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import SkyrowConcurrency
import SkyrowHTTP
import SkyrowTestSupport

/// A server on a free port of the loopback interface.
struct TestServer: Sendable {
    let port: Int
    private let shutdown: @Sendable () async -> Void

    fileprivate init(port: Int, shutdown: @escaping @Sendable () async -> Void) {
        self.port = port
        self.shutdown = shutdown
    }

    /// Asks the server to shut down gracefully.
    func shutDown() async {
        await shutdown()
    }
}

extension HTTPLimits {
    /// The limits with long deadlines of clients, unless a test has set them: on a busy machine a client of a test is slow, too.
    var waitingForBusyMachines: HTTPLimits {
        var limits = self
        let usual = HTTPLimits()
        let deadlines: [WritableKeyPath<HTTPLimits, TimeAmount>] = [
            \.handshake, \.firstHead, \.idle, \.bodyTime, \.bodyWindow, \.response, \.writeStall,
            \.live.authentication, \.live.silence, \.live.lagging,
        ]
        for deadline in deadlines where limits[keyPath: deadline] == usual[keyPath: deadline] {
            limits[keyPath: deadline] = .minutes(20)
        }
        return limits
    }
}

/// Runs a server for the length of `body`, then shuts it down and waits for it to end.
func withServer<Success: Sendable>(
    _ responder: any HTTPResponder,
    limits: HTTPLimits = HTTPLimits(),
    certificate: ServerCertificate? = nil,
    clients: ClientIdentification = ClientIdentification(),
    counts: HTTPServerCounts? = nil,
    logger: Logger = .silent,
    _ body: (TestServer) async throws -> Success
) async throws -> Success {
    let limits = limits.waitingForBusyMachines
    let listening = Gate<Result<Int, any Error>>("the server to listen")
    let server = HTTPServer(
        host: "127.0.0.1",
        port: 0,
        limits: limits,
        certificate: certificate,
        responder: responder,
        clients: clients,
        counts: counts,
        logger: logger,
        onRunning: { listening.open(.success($0)) }
    )
    let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
    let serving = Task {
        do {
            try await group.run()
        } catch {
            listening.open(.failure(error))
            throw error
        }
    }
    func end() async throws {
        await group.triggerGracefulShutdown()
        try await waiting(for: "the server to end") {
            serving.cancel()
        } _: {
            try await serving.value
        }
    }
    do {
        let port = try await listening.value().get()
        // A server that is cancelled closes its connections, which ends what a test waits for.
        let success = try await waiting(for: "a test's work with a server", within: .seconds(1200)) {
            serving.cancel()
        } _: {
            try await body(TestServer(port: port) { await group.triggerGracefulShutdown() })
        }
        try await end()
        return success
    } catch {
        try? await end()
        throw error
    }
}

/// A value that tests wait for, once or many times, from anywhere.
final class Gate<Value: Sendable>: Sendable {
    private let what: String
    private let opening = Deferred<Value>()

    /// - Parameter what: what opens it, for the message of a wait in vain.
    init(_ what: String) {
        self.what = what
    }

    func open(_ value: Value) {
        opening.settle(value)
    }

    /// Waits until the gate is open; does not mind cancellation.
    func value() async throws -> Value {
        try await waiting(for: what, hearsCancellation: false) { await self.opening.value() }
    }
}

extension Gate<Void> {
    func open() { open(()) }
}
