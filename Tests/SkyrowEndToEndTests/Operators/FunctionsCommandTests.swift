import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowSystem
@testable import skyrow

/// Functions from a terminal.
@Suite struct FunctionsCommandTests {
    private static let functions = """
        CREATE FUNCTION plus(a integer, b integer DEFAULT 1) RETURNS integer LANGUAGE sql STABLE AS 'SELECT a + b';
        CREATE FUNCTION who() RETURNS text LANGUAGE sql AS 'SELECT _caller()';
        """

    /// What a function server `main` has registered.
    private static let registration = """
        INSERT INTO app_internal._function_server (name, digest, registration)
        VALUES ('main', sha256('x'), '{"protocol": "skyrow/1", "dialect": "skyrow",
            "op": [{"name": "hello", "user_required": true, "read_only": true}, {"name": "plus"}]}');
        """

    @Test func functionsAreExposedListedCalledAndHidden() async throws {
        try await withService { service in
            let place = ["--data-directory", service.directory]
            func run(_ words: String...) async throws -> String {
                let run = try await Tool.run(words: [Tool.path, "functions"] + words + place)
                #expect(run.status == .exited(0), "\(words): \(run.errors)")
                return run.output.split(separator: "\n").joined(separator: "\n")
            }
            func failure(_ words: String...) async throws -> String {
                let run = try await Tool.run(words: [Tool.path, "functions"] + words + place)
                #expect(run.status != .exited(0), "\(words): \(run.output)")
                return run.errors
            }
            func list() async throws -> [[String]] {
                try await run("list").split(separator: "\n").map { line in
                    line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
                }
            }
            _ = try await service.psql(Self.functions)
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let ann = try await client.signUp(["username": "ann"], password: "correct horse")
            _ = try await run("expose", "plus", "--need", "nothing")
            _ = try await run("expose", "who")
            let header = ["NAME", "NEED", "SERVER", "FUNCTION", "RESULT", "EFFECT"]
            let plus = ["plus", "nothing", "-", "plus(integer,integer)", "integer", "reads"]
            let who = ["who", "user", "-", "who()", "text", "writes"]
            var listed = try await list()
            #expect(listed == [header, plus, who])

            let calls: [(words: [String], result: String)] = [
                (["plus", "--args", #"{"a": 2}"#], "3"), (["plus", "--args", "[2, 3]"], "5"),
                (["who", "--as", "ann"], "\"\(ann.userID)\""),
                (["who", "--as", ann.userID.rawValue], "\"\(ann.userID)\""),
            ]
            for (words, expected) in calls {
                let run = try await Tool.run(words: [Tool.path, "functions", "call"] + words + place)
                #expect(run.status == .exited(0) && run.output == expected, "\(words): \(run.errors)")
            }
            let refusals: [(words: [String], reason: String)] = [
                (["who"], "Log in first"), (["who", "--as", "ghost"], "The account 'ghost' does not exist"),
                (["plus"], "needs the argument"), (["plus", "--args", #"{"a": "x"}"#], "must be a whole number"),
                (["plus", "--args", "{"], "--args is not valid JSON"),
                (["plus", "--args", "2"], "an object or an array"),
                (["gone"], "does not exist"), (["1"], "name"),
            ]
            for (words, reason) in refusals {
                let run = try await Tool.run(words: [Tool.path, "functions", "call"] + words + place)
                #expect(run.status != .exited(0), "\(words): \(run.output)")
                #expect(run.errors.contains(reason), "\(words): \(run.errors)")
            }

            _ = try await service.psql(Self.registration)
            listed = try await list()
            #expect(
                listed == [
                    header, ["hello", "user", "main", "-", "-", "reads"], plus,
                    ["plus", "nothing", "main", "-", "-", "writes"], who,
                ]
            )
            // The service asks the server first, too.
            for name in ["hello", "plus"] {
                let reason = try await failure("call", name)
                #expect(reason.contains("the function server main") && reason.contains("function:call"))
            }

            _ = try await run("hide", "who")
            let hidden = try await failure("call", "who", "--as", "ann")
            #expect(hidden.contains("does not exist"))
            let events = try await service.psql(
                "SELECT event, actor FROM app_internal._audit WHERE event LIKE 'function.%' ORDER BY id"
            )
            #expect(events == "function.expose|operator\nfunction.expose|operator\nfunction.hide|operator")
        }
    }
}
