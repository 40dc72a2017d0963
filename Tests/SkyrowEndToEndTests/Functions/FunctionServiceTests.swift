import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service that starts, replaces and ends function servers.
@Suite struct FunctionServiceTests {
    /// A function server that writes its process id to `processes` at each start.
    private static let program = """
        import json, os, sys
        from http.server import BaseHTTPRequestHandler, HTTPServer


        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                lists = {name: [] for name in ["op", "hook", "handler", "timer", "event", "provider"]}
                body = json.dumps({"result": lists if call["name"] == "init" else None}).encode()
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass


        with open("processes", "a") as file:
            file.write(f"{os.getpid()} ")
        host, port = sys.argv[1].split(":")
        HTTPServer((host, int(port)), Handler).serve_forever()
        """

    @Test func functionServersLiveAsLongAsTheService() async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/functions"
        try makeDirectory(directory)
        let description = #"{"servers": {"main": {"command": ["python3", "server.py", "{address}"]}}}"#
        for (name, text) in [("server.py", Self.program), ("functions.json", description)] {
            try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8)
        }
        func processes() -> [pid_t] {
            let text = (try? String(contentsOfFile: "\(directory)/processes", encoding: .utf8)) ?? ""
            return text.split(separator: " ").compactMap { pid_t($0) }
        }
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: ["--development", "--function-reload", "off", "--functions", directory],
            logLevel: "notice"
        )
        _ = try await service.complaints.line("a line about the server") { $0.contains("A function server is ready") }
        #expect(try await service.status("readyz") == 200)
        service.process.send(signal: SIGHUP)
        _ = try await service.complaints.line("a line about its successor") {
            $0.contains("A function server was replaced")
        }
        let started = processes()
        #expect(started.count == 2)
        #expect(await service.terminate() == .exited(0))
        for process in started { #expect(kill(process, 0) == -1 && errno == ESRCH) }
    }

    @Test func aDirectoryWithoutFunctionsIsAnErrorOfTheSettings() async throws {
        let folder = try TemporaryDirectory()
        let result = try await Tool.run(
            "serve",
            "--data-directory",
            folder.path + "/data",
            "--port",
            "0",
            "--functions",
            folder.path
        )
        #expect(result.status == .exited(78))
        #expect(result.errors.contains("neither functions.json nor files *.py or *.mjs"))
    }
}
