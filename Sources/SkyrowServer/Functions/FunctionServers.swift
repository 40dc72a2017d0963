import CoreMetrics
import Glibc
import Logging
import ServiceLifecycle
import SkyrowActions
import SkyrowConcurrency
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowRemote
import SkyrowSystem
import Synchronization

/// The function servers of the default application: calls them, and keeps them running and registered.
///
/// ```swift
/// let functions = FunctionServers(plans, surroundings, settings)
/// try await functions.call(call, deadline: nil)  // while run(register:links:) runs
/// ```
final class FunctionServers: FunctionRunner {
    /// What the function servers get from the service.
    struct Surroundings: Sendable {
        var environment: FunctionEnvironment
        /// The environment of the service.
        var variables: [String: String]
        var masterKey: String
        var metrics: any MetricsFactory
        var logger: Logger
    }

    /// A structure, since a `Mutex` of a closure wraps it in one more closure with each access.
    private struct Links {
        let make: @Sendable () -> (any AssetLinks)?
    }

    private let servers: [FunctionServer]
    private let supervisors: [FunctionSupervisor]
    private let watchesFiles: Bool
    private let stopping = Deferred<Void>()
    private let links = Mutex<Links?>(nil)

    init(_ plans: [FunctionServerPlan], _ surroundings: Surroundings, _ settings: Settings) {
        let functions = settings.functions
        let options = FunctionServer.Options(
            timeout: functions.timeout,
            hookTimeout: functions.hookTimeout,
            concurrency: functions.concurrency,
            queue: functions.queue,
            isDevelopment: settings.records.isDevelopment,
            schema: surroundings.environment.schema,
            configuration: Self.configuration(settings, schema: surroundings.environment.schema)
        )
        let metrics = FunctionMetrics(surroundings.metrics)
        let maximumResponse = functions.maximumAnswer
        var servers: [FunctionServer] = []
        var supervisors: [FunctionSupervisor] = []
        for plan in plans {
            let secret = WebhookSigner.secret(ofServer: plan.name, masterKey: surroundings.masterKey)
            let signer = WebhookSigner(secret: secret)
            @Sendable func client(_ address: FunctionAddress) -> FunctionServerClient {
                FunctionServerClient(to: address, signer: signer, maximumResponse: maximumResponse)
            }
            let connection: FunctionConnection? =
                if case .address(let address) = plan.place { FunctionConnection(client(address)) } else { nil }
            let server = FunctionServer(
                plan,
                options,
                at: connection,
                metrics: metrics,
                logger: surroundings.logger
            )
            servers.append(server)
            guard case .program(let program) = plan.place else { continue }
            supervisors.append(
                FunctionSupervisor(
                    server,
                    program,
                    drain: plan.timeout ?? functions.timeout,
                    environment: { address in
                        surroundings.environment.variables(
                            address: address,
                            secret: secret,
                            service: surroundings.variables,
                            own: program.environment
                        )
                    },
                    client: client
                )
            )
        }
        self.servers = servers
        self.supervisors = supervisors
        watchesFiles = settings.watchesFunctions
    }

    /// The function servers of the application, for its actions.
    var configuration: FunctionConfiguration {
        FunctionConfiguration(runner: self, servers: servers.map(\.plan.name))
    }

    /// The servers with their states, in the order of the settings.
    var states: [(server: String, state: FunctionServerState)] {
        servers.map { ($0.plan.name, $0.current) }
    }

    func call(
        _ call: FunctionCall,
        deadline: ContinuousClock.Instant?
    ) async throws(SkyrowError) -> FunctionAnswer {
        guard let server = servers.first(where: { $0.plan.name == call.server }) else {
            // An earlier start may have had it.
            throw SkyrowError(.pluginUnavailable, "This service has no such function server.")
        }
        return try await server.answer(call, deadline: deadline, links: links.withLock { $0 }?.make())
    }

    /// Replaces the servers that the service has started; the text says why.
    func reload(_ reason: String) {
        for supervisor in supervisors { supervisor.reload(reason) }
    }

    /// Has ``run(register:links:)`` end the servers and return.
    func stop() {
        stopping.settle()
    }

    /// Starts the servers and follows them until ``stop()``.
    ///
    /// - Parameters:
    ///   - register: Stores what a server has registered; throws what is wrong with it.
    ///   - links: Makes the addresses of files.
    func run(
        register: @escaping FunctionServer.Register,
        links: @escaping @Sendable () -> (any AssetLinks)?
    ) async {
        self.links.withLock { $0 = Links(make: links) }
        // Not in the group, since their processes end after everything else is cancelled.
        let supervising = supervisors.map { supervisor in Task { await supervisor.run(register) } }
        await withTaskGroup(of: Void.self) { group in
            for server in servers { group.addTask { await server.follow(register) } }
            if watchesFiles {
                for supervisor in supervisors { group.addTask { await supervisor.watch() } }
            }
            if supervisors.contains(where: \.hasMemoryBound) { group.addTask { await self.checkMemory() } }
            group.addTask { await self.announceReadiness() }
            group.addTask { await self.warn() }
            await stopping.value()
            group.cancelAll()
        }
        for supervisor in supervisors { supervisor.stop() }
        for task in supervising { await task.value }
    }

    /// Says each minute which servers are away.
    private func warn() async {
        while (try? await ServiceTimer.sleep(for: .seconds(60))) != nil {
            for server in servers { server.warn() }
        }
    }

    private func checkMemory() async {
        while (try? await ServiceTimer.sleep(for: .seconds(2))) != nil {
            let bytes = await FileThreads.reading.look { ProcessGroups.residentBytes() }
            for supervisor in supervisors { supervisor.check(bytes) }
        }
    }

    /// Sends the events after all servers were ready, one server after another.
    private func announceReadiness() async {
        for server in servers {
            await server.hasBeenReady.value(ifCancelled: ())
            if Task.isCancelled { return }
        }
        for server in servers { await server.announceReadiness() }
    }

    /// Returns the parameter of the events at the start, which has no keys: it goes to other machines, too.
    private static func configuration(_ settings: Settings, schema: String) -> JSONText {
        let writer = JSONWriter()
        writer.beginObject()
        writer.beginObject("config")
        writer.beginObject("app")
        writer.member("name", schema)
        writer.member("dev_mode", settings.records.isDevelopment)
        writer.endObject()
        writer.beginObject("http")
        writer.member("host", "\(settings.listening.host):\(settings.listening.port)")
        writer.endObject()
        writer.endObject()
        writer.endObject()
        return writer.jsonText
    }
}

/// Runs the function servers from the moment when the service accepts requests, which they may send.
struct FunctionService: Service {
    let servers: FunctionServers
    let applications: Applications
    /// Settled when the service accepts requests.
    let isServing: Deferred<Bool>

    func run() async throws {
        guard await cancelWhenGracefulShutdown({ await isServing.value(ifCancelled: false) }) else {
            try? await gracefulShutdown()
            return
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            await servers.run { server, registration throws(SkyrowError) in
                guard let actions = applications.default else { return }
                try await actions.register(registration, of: server)
            } links: {
                applications.default?.links
            }
        } onCancelOrGracefulShutdown: {
            servers.stop()
        }
    }
}
