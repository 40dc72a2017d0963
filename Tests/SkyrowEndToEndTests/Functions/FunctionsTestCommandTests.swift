import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// `skyrow functions test`
@Suite struct FunctionsTestCommandTests {
    /// A function server: it registers `hello`, and greets.
    private static let server = """
        import http.server, json, sys

        class Server(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                call = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if call["kind"] == "event":
                    result = {"protocol": "skyrow/1", "op": [{"name": "hello"}]}
                else:
                    result = "Hello"
                body = json.dumps({"result": result}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        host, port = sys.argv[1].rsplit(":", 1)
        http.server.ThreadingHTTPServer((host, int(port)), Server).serve_forever()
        """

    /// Makes a directory of functions with the server in it, or with one that cannot be started.
    private static func fill(_ directory: String, program: String = "/usr/bin/python3") throws {
        let command = #"{"servers": {"main": {"command": ["\#(program)", "server.py", "{address}"]}}}"#
        try Data(command.utf8).write(to: URL(filePath: "\(directory)/functions.json"))
        try Data(server.utf8).write(to: URL(filePath: "\(directory)/server.py"))
    }

    private static let call = """
        curl --silent "$SKYROW_ENDPOINT/rpc" -H "X-Skygear-API-Key: $SKYROW_API_KEY" \
        -d '{"jsonrpc":"2.0","id":1,"method":"hello"}'
        """

    @Test func theCommandReachesTheFunctionsAndItsStatusIsTheResult() async throws {
        let functions = try TemporaryDirectory()
        let temporary = try TemporaryDirectory()
        try #require(chmod(temporary.path, 0o755) == 0)
        try Self.fill(functions.path)
        let same =
            #"[ "$SKYGEAR_ENDPOINT $API_KEY $MASTER_KEY" = "$SKYROW_ENDPOINT $SKYROW_API_KEY $SKYROW_MASTER_KEY" ]"#
        let result = try await Tool.run(
            words: [
                Tool.path, "functions", "test", functions.path, "--", "sh", "-c", "\(same) && \(Self.call); exit 3",
            ],
            environment: ["TMPDIR": temporary.path]
        )
        #expect(result.status == .exited(3), "\(result.errors)")
        #expect(result.output.contains(#""result":"Hello""#), "\(result.output) \(result.errors)")
        #expect(contentsOfDirectory(temporary.path) == [])
    }

    @Test func psqlInTheCommandOpensTheDatabase() async throws {
        let script = #""$0" psql -X -At -c "SELECT count(*) FROM \"user\"""#
        let result = try await Tool.run("functions", "test", "--", "sh", "-c", script, Tool.path)
        #expect(result.status == .exited(0), "\(result.errors)")
        #expect(result.output == "0")
    }

    @Test func settingsOfAnotherServiceHaveNoEffect() async throws {
        let result = try await Tool.run(
            "functions",
            "test",
            "--",
            "true",
            environment: ["SKYROW_DATABASE_URL": "postgresql://127.0.0.1:1/none", "SKYROW_CONFIG": "/nonexistent"]
        )
        #expect(result.status == .exited(0), "\(result.errors)")
    }

    @Test(arguments: [
        (["--database-url", "postgresql://db/a", "--", "true"], "--database-url cannot be given"),
        (["--port", "1", "--", "true"], "--port cannot be given"),
        ([], "The command is missing"),
        (["/nonexistent/functions", "--", "true"], "/nonexistent/functions is not a directory."),
    ])
    func whatCannotBeRunIsRefused(_ arguments: [String], _ complaint: String) async throws {
        let result = try await Tool.run(words: [Tool.path, "functions", "test"] + arguments)
        #expect(result.status == .exited(ExitStatus.usage.rawValue))
        #expect(result.errors.contains(complaint), "\(result.errors)")
    }

    @Test func aCommandThatCannotBeStartedFails() async throws {
        let temporary = try TemporaryDirectory()
        try #require(chmod(temporary.path, 0o755) == 0)
        let result = try await Tool.run(
            "functions",
            "test",
            "--",
            "/nonexistent/program",
            environment: ["TMPDIR": temporary.path]
        )
        #expect(result.status == .exited(1))
        #expect(result.errors.contains("Cannot start /nonexistent/program"), "\(result.errors)")
        #expect(contentsOfDirectory(temporary.path) == [])
    }
}
