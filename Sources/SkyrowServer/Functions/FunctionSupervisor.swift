import CoreMetrics
import Glibc
import Logging
import SkyrowConcurrency
import SkyrowHTTP
import SkyrowRemote
import SkyrowSystem
import Synchronization

/// Starts, replaces and ends the processes of a function server, as ``SupervisionState`` decides.
final class FunctionSupervisor: Sendable {
    /// A process, with what calls go to.
    private struct Child: Sendable {
        let process: ChildProcess
        let connection: FunctionConnection
    }

    private struct State {
        var events: [SupervisionState.Event] = []
        var children: [SupervisionState.Number: Child] = [:]
        var isStopping = false
    }

    let server: FunctionServer
    private let program: FunctionProgram
    private let drain: Duration
    /// Returns the environment of a process, which listens on an address.
    private let environment: @Sendable (String) -> [String: String]
    /// Returns the client of an address.
    private let client: @Sendable (FunctionAddress) -> FunctionServerClient
    private let state = Mutex(State())
    private let waits = WaitingTasks<OneKey>()

    /// - Parameter drain: How long a replaced process may finish its calls.
    init(
        _ server: FunctionServer,
        _ program: FunctionProgram,
        drain: Duration,
        environment: @escaping @Sendable (String) -> [String: String],
        client: @escaping @Sendable (FunctionAddress) -> FunctionServerClient
    ) {
        self.server = server
        self.program = program
        self.drain = drain
        self.environment = environment
        self.client = client
    }

    // MARK: Events

    /// Replaces the server; the text says why.
    func reload(_ reason: String) {
        report(.reload(reason))
    }

    /// Ends the server; ``run(_:)`` returns when its processes have ended.
    func stop() {
        let isFirst = state.withLock { !exchange(&$0.isStopping, with: true) }
        if isFirst { report(.stop) }
    }

    /// Compares the memory of its processes with their bound.
    func check(_ residentBytes: [pid_t: Int]) {
        guard let most = program.memory else { return }
        let children = state.withLock(\.children)
        for (number, child) in children where residentBytes[child.process.processID, default: 0] > most {
            report(.overMemory(number))
        }
    }

    /// Whether ``check(_:)`` compares anything.
    var hasMemoryBound: Bool { program.memory != nil }

    /// Looks at the watched files each second, until the task is cancelled, and replaces the server when they have changed.
    func watch() async {
        guard !program.watch.isEmpty else { return }
        var plan = ReloadPlan()
        while !Task.isCancelled {
            let (patterns, directory) = (program.watch, program.directory)
            let files = await FileThreads.reading.look { WatchedFiles(patterns, in: directory) }
            if plan.look(files) { reload("its files have changed") }
            try? await ServiceTimer.sleep(for: .seconds(1))
        }
    }

    private func report(_ event: SupervisionState.Event) {
        state.withLock { $0.events.append(event) }
        waits.wake()
    }

    // MARK: Orders

    /// Supervises the server until ``stop()``. The task must not be cancelled, since processes would remain.
    func run(_ register: @escaping FunctionServer.Register) async {
        var supervision = SupervisionState(drain: drain)
        report(.begin)
        while !supervision.isOver {
            var orders: [SupervisionState.Order] = []
            for event in state.withLock({ exchange(&$0.events, with: []) }) {
                orders += supervision.handle(event, at: .now)
            }
            orders += supervision.expire(at: .now)
            for order in orders { perform(order, register) }
            guard !supervision.isOver else { return }
            let time = supervision.nextTime ?? .now + .seconds(3600)
            await waits.wait(
                during: { try await ServiceTimer.sleep(until: time) },
                unless: { state.withLock { !$0.events.isEmpty } }
            )
        }
    }

    private func perform(_ order: SupervisionState.Order, _ register: @escaping FunctionServer.Register) {
        switch order {
        case .launch(let number):
            Task { await live(number, register) }
        case .use(let number):
            if let child = child(number) { server.use(child.connection) }
        case .retire(let number):
            guard let child = child(number) else { return }
            Task {
                await child.connection.retire()
                report(.drained(number))
            }
        case .terminate(let number): child(number)?.process.sendToGroup(signal: SIGTERM)
        case .kill(let number): child(number)?.process.sendToGroup(signal: SIGKILL)
        case .show(let new): server.show(new)
        case .report(let text): log(text)
        }
    }

    private func child(_ number: SupervisionState.Number) -> Child? {
        state.withLock { $0.children[number] }
    }

    private func log(_ report: SupervisionState.Report) {
        switch report {
        case .ended(let reason, let pause):
            server.figures.restarts.increment()
            server.logger.error(
                "A function server ended and is being restarted",
                metadata: ["status": .string(reason), "pause": .string(DurationText.text(pause))]
            )
        case .reloads(let reason):
            server.logger.notice("A function server is being replaced", metadata: ["reason": .string(reason)])
        case .reloaded: server.logger.notice("A function server was replaced")
        case .reloadFailed(let reason):
            server.logger.error(
                "A function server was not replaced; the old one stays",
                metadata: ["reason": .string(reason)]
            )
        }
    }

    // MARK: A process

    /// Starts a process, asks it for its registration, and waits for its end.
    private func live(_ number: SupervisionState.Number, _ register: @escaping FunctionServer.Register) async {
        let child: Child
        do throws(ToolError) {
            child = try await launch()
        } catch {
            return report(.ended(number, error.description))
        }
        state.withLock { $0.children[number] = child }
        report(.launched(number))
        let initialization = Task { await initialize(child.connection, number, register) }
        let exit = await child.process.exit
        initialization.cancel()
        state.withLock { $0.children[number] = nil }
        report(.ended(number, exit.description))
    }

    private func launch() async throws(ToolError) -> Child {
        // The port is free again until the server takes it; one that another process takes meanwhile ends the server, whose
        // restart gets another.
        let port: Int
        do {
            port = try BoundSocket(host: "127.0.0.1", port: 0).port ?? 0
        } catch {
            throw .failure("No port is free: \(error).")
        }
        let listening = "127.0.0.1:\(port)"
        guard let address = FunctionAddress("http://\(listening)") else { throw .failure("No port is free.") }
        let (reading, writing) = try FileDescriptor.pipe()
        let nothing = try FileDescriptor(opening: "/dev/null", O_RDONLY)
        var command = Command(
            Self.prefix(in: program.directory) + program.command.map { $0.replacing("{address}", with: listening) },
            environment: environment(listening),
            descriptors: [nothing, writing, writing]
        )
        command.leavesProcessGroup = true
        command.endsProcessGroup = true
        let process = try await ChildProcess.launch(command)
        follow(reading, of: process)
        return Child(process: process, connection: FunctionConnection(client(address)))
    }

    /// Returns the words that give a program its directory and its limits, and end it with the thread that started it.
    private static func prefix(in directory: String) -> [String] {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // A limit can be lowered only.
        let files = min(1024, limit.rlim_max)
        return [
            "env", "--chdir=\(directory)", "setpriv", "--pdeathsig", "TERM", "prlimit", "--nofile=\(files):\(files)",
            "--core=0:0",
        ]
    }

    /// Asks a process for its registration until it has answered, or the task is cancelled.
    private func initialize(
        _ connection: FunctionConnection,
        _ number: SupervisionState.Number,
        _ register: @escaping FunctionServer.Register
    ) async {
        var pause = Duration.milliseconds(20)
        while !Task.isCancelled {
            switch await server.initialize(connection, isNew: true, register) {
            case .ready: return report(.initialized(number))
            case .refused(let reason):
                report(.refused(number, reason))
                pause = FunctionServer.pause
            case .failed: break
            }
            try? await ServiceTimer.sleep(for: pause)
            pause = min(pause * 2, FunctionServer.pause)
        }
    }

    /// Passes the output of a process to the log, on a thread, which may wait for it.
    private func follow(_ output: FileDescriptor, of process: ChildProcess) {
        let logger = server.logger
        let failure = DetachedThread.start(stackSize: 1 << 20) {
            var log = FunctionLog()
            while true {
                var waiting = pollfd(fd: output.number, events: Int16(POLLIN), revents: 0)
                let count = poll(&waiting, 1, 1000)
                // What left the group of a process that has ended may keep the pipe open.
                if count == 0, process.exitIfEnded != nil { break }
                guard count > 0 else {
                    logger.record(log.take([], at: .now))
                    continue
                }
                guard let bytes = try? output.read(upTo: 65_536), !bytes.isEmpty else { break }
                logger.record(log.take(bytes, at: .now))
                // Output without end takes little processor time.
                if log.isFull { usleep(10_000) }
            }
            logger.record(log.end())
        }
        if failure != 0 { logger.error("The output of a function server is not read: the system starts no thread") }
    }
}

extension Logger {
    /// Writes the lines of a function server.
    fileprivate func record(_ lines: [FunctionLog.Line]) {
        for line in lines {
            log(
                level: line.level,
                "\(line.message)",
                metadata: line.requestID.map { ["request_id": .string($0)] }
            )
        }
    }
}
