import Glibc
import Logging
import ServiceLifecycle
import SkyrowSystem
import Synchronization

/// A PostgreSQL server on a private socket that runs as long as the service.
///
/// It starts before all services that need it, restarts after a crash, and stops last. If the service is killed, the
/// kernel sends the server a fast shutdown signal (``ServerAccount/commandPrefix``).
final class EmbeddedPostgres: Service, Sendable {
    private struct State {
        var server: ChildProcess
        var isStopping = false
    }

    let address: DatabaseAddress
    private let cluster: EmbeddedCluster
    /// Keeps ``address`` valid if it names the directory by descriptor.
    private let folder: FileDescriptor
    private let lock: DataDirectoryLock
    private let logger: Logger
    private let state: Mutex<State>

    /// Makes the cluster if necessary, starts the server, and returns when the server accepts connections.
    ///
    /// Throws ``ToolError`` with the operator's remedy.
    ///
    /// - Parameter toolPort: The port on 127.0.0.1 for tools with a password; nil for none.
    init(
        in directory: DataDirectory,
        lock: DataDirectoryLock,
        toolPort: Int? = nil,
        logger: Logger
    ) async throws(ToolError) {
        cluster = try EmbeddedCluster(directory: directory, toolPort: toolPort)
        cluster.rotateLog()
        let server = try await Self.startServer(of: cluster, logger: logger)
        folder = try FileDescriptor(opening: directory.cluster, O_RDONLY | O_DIRECTORY)
        address = DatabaseAddress(
            cluster: directory.cluster,
            folder: folder.number,
            port: toolPort ?? DatabaseAddress.defaultPort
        )
        self.lock = lock
        self.logger = logger
        state = Mutex(State(server: server))
    }

    /// Supervises the server. Returns after a graceful shutdown or cancellation has stopped it.
    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.superviseServer() }
            group.addTask { await self.insistOnStopping() }
            await group.next()
            group.cancelAll()
        }
    }

    /// Stops the server outside of a service group.
    func stop() async {
        beginStopping()
        await insist()
    }

    // MARK: - Supervision

    private func superviseServer() async {
        await withTaskCancellationOrGracefulShutdownHandler {
            while true {
                let server = state.withLock { $0.server }
                let status = await server.exit
                if state.withLock({ $0.isStopping }) { return }
                logger.error(
                    "PostgreSQL stopped unexpectedly and is being restarted",
                    metadata: ["status": "\(status)"]
                )
                await restartServer()
            }
        } onCancelOrGracefulShutdown: {
            self.beginStopping()
        }
    }

    private func restartServer() async {
        var pause = Duration.milliseconds(100)
        while !state.withLock({ $0.isStopping }) {
            do throws(ToolError) {
                let server = try await Self.startServer(of: cluster, logger: logger)
                let isStopping = state.withLock { state in
                    state.server = server
                    return state.isStopping
                }
                if isStopping { server.send(signal: SIGINT) }
                return
            } catch {
                logger.error("PostgreSQL could not be started", metadata: ["reason": "\(error)"])
            }
            await cancelWhenGracefulShutdown { [pause] in try? await ServiceTimer.sleep(for: pause) }
            pause = min(pause * 2, .seconds(5))
        }
    }

    /// Requests PostgreSQL's fast shutdown, which rolls back open transactions and writes all committed data.
    private func beginStopping() {
        let server = state.withLock { state in
            state.isStopping = true
            return state.server
        }
        server.send(signal: SIGINT)
    }

    /// The signals after a fast shutdown: an immediate shutdown, after which the next start recovers from the
    /// write-ahead log; then SIGKILL, the only signal that ends a stopped process.
    private static let escalation: [(after: Duration, signal: Int32)] = [
        (.seconds(20), SIGQUIT), (.seconds(5), SIGKILL),
    ]

    /// Waits for the shutdown to begin, then enforces it.
    private func insistOnStopping() async {
        try? await gracefulShutdown()
        await insist()
    }

    private func insist() async {
        let server = state.withLock { $0.server }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = await server.exit }
            group.addTask {
                for step in Self.escalation {
                    try? await ServiceTimer.sleep(for: step.after)
                    if Task.isCancelled { return }
                    server.send(signal: step.signal)
                }
                _ = await server.exit
            }
            await group.next()
            group.cancelAll()
            _ = await server.exit
        }
    }

    // MARK: - Starting

    /// Performs the necessary steps until a server accepts connections.
    private static func startServer(of cluster: EmbeddedCluster, logger: Logger) async throws(ToolError) -> ChildProcess
    {
        while true {
            switch try cluster.nextStep() {
            case .initialize(let version):
                logger.info("Creating a PostgreSQL cluster", metadata: ["path": "\(cluster.directory.cluster)"])
                try await cluster.initialize(majorVersion: version)
            case .stopServer(let process):
                logger.notice("Stopping the PostgreSQL of an earlier service", metadata: ["pid": "\(process)"])
                await end([process], escalating: [(.zero, SIGINT), (.seconds(15), SIGQUIT), (.seconds(20), SIGKILL)])
            case .awaitProcesses(let processes):
                await end(
                    processes,
                    escalating: [(.seconds(5), SIGTERM), (.seconds(8), SIGQUIT), (.seconds(10), SIGKILL)]
                )
            case .removeServerRecord:
                let sockets = (contentsOfDirectory(cluster.directory.cluster) ?? []).filter {
                    $0.hasPrefix(".s.PGSQL.") && $0.hasSuffix(".lock")
                }
                for name in ["postmaster.pid"] + sockets {
                    let path = "\(cluster.directory.cluster)/\(name)"
                    guard unlink(path) == 0 || errno == ENOENT else { throw .system("Cannot remove \(path)") }
                }
            case .separateRoles(let version):
                logger.notice(
                    "Creating a separate role for the service",
                    metadata: ["path": "\(cluster.directory.cluster)"]
                )
                try await cluster.separateRoles(majorVersion: version)
            case .start(let version):
                return try await start(majorVersion: version, of: cluster)
            }
        }
    }

    private static func start(majorVersion: Int, of cluster: EmbeddedCluster) async throws(ToolError) -> ChildProcess {
        let logLength = cluster.logLength
        let server = try await cluster.startServer(majorVersion: majorVersion)
        // Crash recovery may take long, so there is no timeout while the server runs.
        while !cluster.directory.serverIsReady(server.processID) {
            if let status = server.exitIfEnded {
                throw .failure("PostgreSQL did not start (\(status)). \(cluster.logExcerpt(from: logLength))")
            }
            do {
                try await ServiceTimer.sleep(for: .milliseconds(3))
            } catch {
                server.send(signal: SIGINT)
                throw .failure("The start of PostgreSQL was interrupted.")
            }
        }
        return server
    }

    /// Waits until these processes, which are not our children, have ended, and escalates the signals over time.
    private static func end(_ processes: Set<Int32>, escalating signals: [(after: Duration, signal: Int32)]) async {
        let start = ContinuousClock.now
        var signals = signals[...]
        var left = processes
        while !left.isEmpty, !Task.isCancelled {
            if let next = signals.first, ContinuousClock.now - start >= next.after {
                for process in left { _ = kill(process, next.signal) }
                signals.removeFirst()
            }
            try? await ServiceTimer.sleep(for: .milliseconds(5))
            left = left.filter { kill($0, 0) == 0 && !isZombie($0) }
        }
    }

    private static func isZombie(_ process: Int32) -> Bool {
        // The format is "pid (comm) state …", where comm may contain any character (proc(5)).
        guard let status = contentsOfFile("/proc/\(process)/stat"), let end = status.lastIndex(of: ")") else {
            return true
        }
        return status[end...].dropFirst(2).first == "Z"
    }
}
