import ArgumentParser
import Glibc
import SkyrowConcurrency
import SkyrowJSON
import SkyrowRemote
import SkyrowServer
import SkyrowSystem
import UnixSignals

/// `skyrow functions test`
struct FunctionsTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Run tests against a service with an empty database and the functions of a directory.",
        discussion: """
            It starts a service in development mode with an embedded PostgreSQL in a temporary directory, waits until the \
            function servers are ready, runs the command, and removes the directory. The exit status is that of the command.

              skyrow functions test functions -- pytest tests

            The command's environment has SKYROW_ENDPOINT, SKYROW_API_KEY and SKYROW_MASTER_KEY, the same as SKYGEAR_ENDPOINT, \
            API_KEY and MASTER_KEY, and SKYROW_DATA_DIRECTORY, so that skyrow psql in it opens this database. The service's log \
            goes to standard error. Settings are given as options; the environment and a settings file of another service have \
            no effect.
            """
    )

    @OptionGroup var options: ServiceOptions

    @Argument(
        help: "The directory of the functions; without it the service has those of the database.",
        completion: .directory
    )
    var directory: String?

    @Argument(parsing: .postTerminator, help: "The command and its arguments.")
    var command: [String] = []

    /// The settings that the command makes.
    private static let own = ["config", "data-directory", "database-url", "functions", "host", "port"]

    func run() async throws {
        var status = ProcessExit.exited(0)
        try await reportingErrors {
            let flags = options.loader.flags
            if let name = Self.own.first(where: { flags[$0] != nil }) {
                throw ToolError.usage(
                    "--\(name) cannot be given: the command makes the service's directory and address."
                )
            }
            guard !command.isEmpty else {
                throw ToolError.usage("The command is missing: skyrow functions test <directory> -- pytest")
            }
            let functions = try directory.map { path throws(ToolError) in
                guard let resolved = resolvedPath(path), isDirectory(resolved) else {
                    throw .usage("\(path) is not a directory.")
                }
                return resolved
            }
            status = try await FunctionTest(functions: functions, command: command, flags: flags).run()
        }
        switch status {
        case .exited(0): break
        case .exited(let code): throw ExitCode(code)
        case .killed(let signal): throw ExitCode(128 + signal)
        }
    }
}

/// A command, and the service that it runs against.
private struct FunctionTest: Sendable {
    /// nil for a service without function servers.
    let functions: String?
    let command: [String]
    /// The service's settings by name.
    let flags: [String: String]

    private static let patience = Duration.seconds(60)

    func run() async throws(ToolError) -> ProcessExit {
        let directory = try Self.temporaryDirectory()
        let result: Result<ProcessExit, ToolError>
        do throws(ToolError) {
            result = .success(try await run(in: directory))
        } catch {
            result = .failure(error)
        }
        try removeTree(directory)
        return try result.get()
    }

    private func run(in directory: String) async throws(ToolError) -> ProcessExit {
        let announcement = try FileDescriptor.temporary()
        let service = try await ChildProcess.launch(serviceCommand(in: directory, output: announcement))
        let started = Deferred<ChildProcess>()
        let signals = Task {
            for await signal in await UnixSignalsSequence(trapping: .sigint, .sigterm) {
                guard let child = started.settled else {
                    service.send(signal: SIGTERM)
                    continue
                }
                // The terminal has sent an interrupt to the command, too.
                if signal == .sigterm { child.send(signal: SIGTERM) }
            }
        }
        let result: Result<ProcessExit, ToolError>
        do throws(ToolError) {
            let endpoint = try await endpoint(of: service, announcement)
            let environment = try commandEnvironment(directory, endpoint: endpoint)
            try await awaitServers(of: service, endpoint: endpoint, masterKey: environment["MASTER_KEY"] ?? "")
            let child = try await ChildProcess.launch(
                Command(command, environment: environment, descriptors: try Self.terminal())
            )
            started.settle(child)
            result = .success(await child.exit)
        } catch {
            result = .failure(error)
        }
        signals.cancel()
        service.send(signal: SIGTERM)
        _ = await service.exit(within: { try await ServiceTimer.sleep(for: Self.patience) })
        return try result.get()
    }

    private func serviceCommand(in directory: String, output: FileDescriptor) throws(ToolError) -> Command {
        let program = targetOfLink("/proc/self/exe") ?? CommandLine.arguments[0]
        var words = ["setpriv", "--pdeathsig", "TERM", program, "serve", "--host", "127.0.0.1", "--port", "0"]
        if let functions { words += ["--functions", functions] }
        let defaults = [
            "SKYROW_DEVELOPMENT": "true", "SKYROW_LOG_LEVEL": "warning", "SKYROW_RATE_LIMIT_CLIENT": "off",
        ]
        let environment = processEnvironment().filter { ["PATH", "HOME", "LANG", "TZ", "TMPDIR"].contains($0.key) }
            .merging(defaults) { $1 }.merging(variables(directory)) { $1 }
        let terminal = try Self.terminal()
        var command = Command(words, environment: environment, descriptors: [terminal[0], output, terminal[2]])
        command.leavesProcessGroup = true
        return command
    }

    /// The settings as variables, for the service and for `skyrow` in the command.
    private func variables(_ directory: String) -> [String: String] {
        var variables = ["SKYROW_DATA_DIRECTORY": "\(directory)/data"]
        for (name, value) in flags {
            variables["SKYROW_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })] = value
        }
        return variables
    }

    private func commandEnvironment(_ directory: String, endpoint: String) throws(ToolError) -> [String: String] {
        var environment = processEnvironment().filter { !$0.key.hasPrefix("SKYROW_") }
            .merging(variables(directory)) { $1 }
        let path = "\(directory)/data/keys"
        guard let keys = contentsOfFile(path) else { throw .system("Cannot read \(path)") }
        for line in keys.split(separator: "\n") {
            let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, parts[0].hasPrefix("SKYROW_") else { continue }
            environment[parts[0]] = parts[1]
            environment[String(parts[0].dropFirst("SKYROW_".count))] = parts[1]
        }
        environment["SKYROW_ENDPOINT"] = endpoint
        environment["SKYGEAR_ENDPOINT"] = endpoint
        return environment
    }

    /// Waits for the service's address, `http://127.0.0.1:3000`.
    private func endpoint(of service: ChildProcess, _ announcement: FileDescriptor) async throws(ToolError) -> String {
        try await waiting(for: "the service", service) { () -> String? in
            let text = announcement.text
            guard let end = text.firstIndex(of: "\n"), let space = text[..<end].lastIndex(of: " ") else { return nil }
            return String(text[text.index(after: space)..<end])
        }
    }

    /// Waits until every function server is ready; throws ``ToolError`` if one is refused.
    private func awaitServers(
        of service: ChildProcess,
        endpoint: String,
        masterKey: String
    ) async throws(ToolError) {
        guard functions != nil else { return }
        guard let address = WebAddress("\(endpoint)/rpc", allowsLoopback: true),
            let fetcher = try? WebFetcher(timeout: .seconds(5))
        else { throw .failure("The service cannot be reached at \(endpoint); libcurl is necessary.") }
        let request = WebRequest(
            address,
            fields: [("Content-Type", "application/json"), ("X-Skygear-API-Key", masterKey)],
            json: #"{"jsonrpc":"2.0","id":1,"method":"function:list"}"#
        )
        try await waiting(for: "the function servers", service) { () async throws(ToolError) -> Void? in
            guard let response = try? await fetcher.response(to: request) else { return nil }
            return try Self.areReady(response.bytes) ? () : nil
        }
    }

    /// Whether all servers of a response to `function:list` are ready; throws ``ToolError`` if one is refused.
    private static func areReady(_ response: [UInt8]) throws(ToolError) -> Bool {
        guard let document = try? JSONDocument(response) else { return false }
        let states = document.withRoot { root in
            root["result"]?["servers"]?.elements.map {
                ($0["name"]?.string ?? "", $0["state"]?.string ?? "", $0["reason"]?.string ?? "")
            }
        }
        guard let states else {
            throw .failure(
                "The service did not list its function servers: \(String(decoding: response, as: UTF8.self))"
            )
        }
        for case (let name, "refused", let reason) in states {
            throw .failure("The function server \(name) is refused: \(reason)")
        }
        return states.allSatisfy { $0.1 == "ready" }
    }

    /// Looks every 50 ms until there is a value; throws ``ToolError`` if the service ends, or after a minute.
    private func waiting<Value>(
        for what: String,
        _ service: ChildProcess,
        _ look: () async throws(ToolError) -> Value?
    ) async throws(ToolError) -> Value {
        let limit = ContinuousClock.now + Self.patience
        while true {
            if let value = try await look() { return value }
            if let exit = service.exitIfEnded { throw .failure("The service ended with \(exit).") }
            guard .now < limit else { throw .failure("Starting \(what) took more than a minute; the log says why.") }
            try? await ServiceTimer.sleep(for: .milliseconds(50))
        }
    }

    private static func terminal() throws(ToolError) -> [FileDescriptor] {
        try (0...2).map { number throws(ToolError) in
            let copy = fcntl(Int32(number), F_DUPFD_CLOEXEC, 3)
            guard copy >= 0 else { throw .system("Cannot copy a descriptor") }
            return FileDescriptor(owning: copy)
        }
    }

    private static func temporaryDirectory() throws(ToolError) -> String {
        let parent = processEnvironment()["TMPDIR"] ?? "/tmp"
        var template = Array("\(parent)/skyrow-functions-XXXXXX".utf8CString)
        // PostgreSQL has its own account when this process has root's.
        guard mkdtemp(&template) != nil, chmod(template, 0o755) == 0 else {
            throw .system("Cannot create a directory in \(parent)")
        }
        return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
