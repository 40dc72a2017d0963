import CoreMetrics
import Foundation
import Logging
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowTestSupport
import Synchronization

@testable import SkyrowServer
@testable import SkyrowSystem

/// Function servers that the service has started in a directory of the test.
struct FunctionServersFixture: Sendable {
    let servers: FunctionServers
    let log: FunctionServerLog
    let registry: MetricRegistry
    let directory: String

    /// Calls a function of the server `main`, and returns its result as JSON.
    func call(
        _ name: String,
        within timeout: Duration? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async throws(SkyrowError) -> String {
        let content = FunctionCall.Content.function(try FunctionName(name), arguments: nil)
        let call = FunctionCall(content, of: "main", context: FunctionContext(requestID: "r-1"), timeout: timeout)
        guard case .value(let json) = try await servers.call(call, deadline: deadline) else { return "" }
        return String(decoding: json.utf8, as: UTF8.self)
    }

    /// The error of a call; nil for a success.
    func error(
        _ name: String,
        within timeout: Duration? = nil,
        deadline: ContinuousClock.Instant? = nil
    ) async -> SkyrowError? {
        do throws(SkyrowError) {
            _ = try await call(name, within: timeout, deadline: deadline)
            return nil
        } catch {
            return error
        }
    }

    /// The process id of the server.
    func processID() async throws -> pid_t {
        let text = try await call("pid")
        return pid_t(text) ?? 0
    }

    var state: FunctionServerState? { servers.states.first?.state }

    /// Waits until a function has a result.
    func reaches(_ name: String, _ result: String) async throws {
        try await waiting(until: "\(name) is \(result)") { (try? await call(name)) == result }
    }

    func write(_ name: String, _ text: String) throws {
        try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
    }

    /// A function server for tests; `version` is the result of its function of this name.
    static func program(version: Int) -> String {
        """
        import json, os, resource, sys, threading, time
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        kept = []
        registration = {
            "op": [{"name": name} for name in ["version", "pid", "environment", "limits", "directory", "slow", "hang", "crash",
                                               "grow", "shout", "say", "fail", "code", "large"]],
            "hook": [], "handler": [], "timer": [], "provider": [],
            "event": [{"name": name} for name in ["init", "before-config", "after-config", "before-plugins-ready",
                                                  "after-plugins-ready", "server-ready"]]}


        class Failure(Exception):
            pass


        def shout():
            while True:
                print("x" * 100, flush=True)


        def run(name):
            if name == "version":
                return \(version)
            if name == "pid":
                return os.getpid()
            if name == "environment":
                return sorted(os.environ)
            if name == "limits":
                return [resource.getrlimit(resource.RLIMIT_NOFILE)[0], resource.getrlimit(resource.RLIMIT_CORE)[0]]
            if name == "directory":
                return os.getcwd()
            if name == "slow":
                time.sleep(0.1)
                return \(version)
            if name == "hang":
                time.sleep(3600)
            if name == "crash":
                os._exit(3)
            if name == "grow":
                kept.append(b"x" * (300 << 20))
            if name == "shout":
                threading.Thread(target=shout, daemon=True).start()
            if name == "say":
                print(json.dumps({"level": "error", "message": "said", "request_id": "r-7"}), file=sys.stderr, flush=True)
            if name == "large":
                return "x" * 4096
            if name == "fail":
                raise Failure("a secret of the server")
            return None


        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                name = call["name"]
                if call["kind"] == "event":
                    with open("events", "a") as file:
                        file.write(f"{os.getpid()} {name}\\n")
                    answer = {"result": registration if name == "init" else None}
                elif name == "code":
                    answer = {"error": {"code": 20001, "message": "No more places.", "info": {"left": 0}}}
                else:
                    try:
                        answer = {"result": run(name)}
                    except Failure as failure:
                        answer = {"error": {"code": 10000, "message": str(failure), "info": {"trace": "line 1"}}}
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass


        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass


        host, port = sys.argv[1].split(":")
        Server((host, int(port)), Handler).serve_forever()
        """
    }
}

/// What a fixture's servers write to the log: message, then metadata sorted by name.
final class FunctionServerLog: Changing {
    let changes = ChangeSignal()
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func contains(_ words: String...) -> Bool {
        all.contains { line in words.allSatisfy(line.contains) }
    }

    var logger: Logger { Logger(label: "tests") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: FunctionServerLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            let text = fields.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            log.lines.withLock { lines in
                // A server that writes without end does not fill the memory of the test.
                if lines.count < 10_000 { lines.append("\(event.level) \(event.message) \(text)") }
            }
            log.changes.notify()
        }
    }
}

/// Runs `body` with a function server `main` that the service has started, and ends it.
///
/// - Parameters:
///   - flags: Settings besides the directory.
///   - options: Further members of the server in `functions.json`.
///   - program: The text of `server.py`.
///   - register: Called with the server's registrations.
func withFunctionServers(
    _ flags: [String: String] = [:],
    options: String = "",
    program: String = FunctionServersFixture.program(version: 1),
    register: @escaping FunctionServer.Register = { _, _ in },
    _ body: (FunctionServersFixture) async throws -> Void
) async throws {
    let folder = try TemporaryDirectory()
    let directory = folder.path + "/functions"
    try makeDirectory(directory)
    let log = FunctionServerLog()
    let registry = MetricRegistry()
    func write(_ name: String, _ text: String) throws {
        try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
    }
    try write("server.py", program)
    let command = #"["python3", "server.py", "{address}"]"#
    try write("functions.json", #"{"servers": {"main": {"command": \#(command), "watch": ["*.py"]\#(options)}}}"#)
    // A busy machine takes longer for a call.
    let usual = ["functions": directory, "function-timeout": "10m", "hook-timeout": "10m"]
    let settings = try SettingsLoader(flags: usual.merging(flags) { $1 }, environment: [:]).load()
    let surroundings = FunctionServers.Surroundings(
        environment: FunctionEnvironment(
            endpoint: "http://127.0.0.1:3000",
            apiKey: "api",
            masterKey: "master",
            schema: "app_shop",
            filePrefix: "http://127.0.0.1:3000/files",
            logLevel: .info
        ),
        variables: ["PATH": "/usr/local/bin:/usr/bin:/bin", "SECRET_OF_THE_SERVICE": "x"],
        masterKey: "master",
        metrics: registry,
        logger: log.logger
    )
    let servers = FunctionServers(try settings.functionServers(node: ""), surroundings, settings)
    let fixture = FunctionServersFixture(servers: servers, log: log, registry: registry, directory: directory)
    try await withRunning {
        await withTaskCancellationHandler {
            await servers.run(register: register, links: { nil })
        } onCancel: {
            servers.stop()
        }
    } while: {
        try await body(fixture)
    }
}
