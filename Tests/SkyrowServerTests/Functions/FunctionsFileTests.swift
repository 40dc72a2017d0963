import Glibc
import SkyrowRemote
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// `functions.json`, and directories without it.
@Suite struct FunctionsFileTests {
    private static let directory = "/srv/functions"

    private static func plans(_ json: String) throws(ToolError) -> [FunctionServerPlan] {
        try FunctionsFile(path: "functions.json", json: Array(json.utf8), in: directory, memory: 512 << 20).plans
    }

    @Test func theExampleOfTheManualIsRead() throws {
        let plans = try Self.plans(
            """
            {"servers": {"main": {"command": ["py-skygear", "--http", "--http-addr", "{address}", "app"], "watch": ["*.py"],
                                  "timeout": "10s", "concurrency": 16, "memory": "256MB", "environment": {"LOCALE": "de"},
                                  "override": ["user:save"]},
                         "mail": {"url": "http+unix://%2Frun%2Fmail.sock/", "timeout": "2s"},
                         "plain": {"command": ["./server"]}}}
            """
        )
        #expect(plans.map(\.name) == ["main", "mail", "plain"])
        var program = FunctionProgram(
            ["py-skygear", "--http", "--http-addr", "{address}", "app"],
            in: Self.directory,
            watch: ["*.py"],
            memory: 256 << 20
        )
        program.environment = ["LOCALE": "de"]
        var main = FunctionServerPlan("main", at: .program(program))
        main.timeout = .seconds(10)
        main.concurrency = 16
        main.overrides = ["user:save"]
        #expect(plans[0] == main)
        let address = try #require(FunctionAddress("http+unix://%2Frun%2Fmail.sock/"))
        var mail = FunctionServerPlan("mail", at: .address(address))
        mail.timeout = .seconds(2)
        #expect(plans[1] == mail)
        // What a server does not say follows from the settings.
        let plain = FunctionProgram(["./server"], in: Self.directory, memory: 512 << 20)
        #expect(plans[2] == FunctionServerPlan("plain", at: .program(plain)))
    }

    @Test(arguments: [
        ("", "not valid JSON"), ("[]", "The file in functions.json must be an object"),
        ("{}", "at least one server"), (#"{"servers": {}}"#, "at least one server"),
        (#"{"servers": []}"#, "'servers' in functions.json must be an object"),
        (#"{"server": {}}"#, "unknown member 'server'"),
        (#"{"servers": {"Main": {"url": "http://a"}}}"#, "'Main' in functions.json is no name"),
        (#"{"servers": {"main": 1}}"#, "'main' in functions.json must be an object"),
        (#"{"servers": {"main": {}}}"#, "either 'command' or 'url'"),
        (#"{"servers": {"main": {"url": "http://a", "command": ["b"]}}}"#, "either 'command' or 'url'"),
        (#"{"servers": {"main": {"url": "http://a"}, "main": {"url": "http://b"}}}"#, "the member 'main' twice"),
        (
            #"{"servers": {"main": {"url": "http://a", "port": 1}}}"#,
            "'main' in functions.json has the unknown member 'port'"
        ),
        (#"{"servers": {"main": {"url": "ftp://a"}}}"#, "'main.url'"),
        (#"{"servers": {"main": {"url": "http://a", "watch": ["*"]}}}"#, "'watch', which requires 'command'"),
        (#"{"servers": {"main": {"url": "http://a", "memory": "off"}}}"#, "'memory', which requires 'command'"),
        (#"{"servers": {"main": {"url": "http://a", "environment": {}}}}"#, "'environment', which requires 'command'"),
        (#"{"servers": {"main": {"command": "a"}}}"#, "'main.command'"),
        (#"{"servers": {"main": {"command": []}}}"#, "'main.command'"),
        (#"{"servers": {"main": {"command": [""]}}}"#, "'main.command'"),
        (#"{"servers": {"main": {"command": ["a", 1]}}}"#, "'main.command'"),
        (#"{"servers": {"main": {"command": ["a", "b\u0000c"]}}}"#, "'main.command'"),
        (#"{"servers": {"main": {"command": ["a"], "watch": ["/etc/*"]}}}"#, "'main.watch'"),
        (#"{"servers": {"main": {"command": ["a"], "watch": ["../*"]}}}"#, "'main.watch'"),
        (#"{"servers": {"main": {"command": ["a"], "watch": [""]}}}"#, "'main.watch'"),
        (#"{"servers": {"main": {"command": ["a"], "timeout": 10}}}"#, "'main.timeout'"),
        (#"{"servers": {"main": {"command": ["a"], "timeout": "1ms"}}}"#, "'main.timeout'"),
        (#"{"servers": {"main": {"command": ["a"], "concurrency": 0}}}"#, "'main.concurrency'"),
        (#"{"servers": {"main": {"command": ["a"], "concurrency": 1025}}}"#, "'main.concurrency'"),
        (#"{"servers": {"main": {"command": ["a"], "concurrency": "4"}}}"#, "'main.concurrency'"),
        (#"{"servers": {"main": {"command": ["a"], "memory": "1MB"}}}"#, "'main.memory'"),
        (#"{"servers": {"main": {"command": ["a"], "memory": 512}}}"#, "'main.memory'"),
        (#"{"servers": {"main": {"command": ["a"], "environment": {"A": 1}}}}"#, "'main.environment'"),
        (#"{"servers": {"main": {"command": ["a"], "environment": {"A=B": "1"}}}}"#, "'main.environment'"),
        (#"{"servers": {"main": {"command": ["a"], "environment": {"1A": "1"}}}}"#, "'main.environment'"),
        (#"{"servers": {"main": {"command": ["a"], "override": "b"}}}"#, "'main.override'"),
    ])
    func otherFilesAreRefused(_ json: String, _ reason: String) {
        let error = #expect(throws: ToolError.self) { try Self.plans(json) }
        #expect(error?.status == .configuration)
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    }

    @Test func programsFollowFromTheFilesOfADirectory() {
        func words(_ names: [String]) -> [[String]] {
            FunctionDirectory.plans(of: names, in: Self.directory, memory: nil, node: "/data/skyrow-functions.mjs").map
            { plan in
                guard case .program(let program) = plan.place else { return [] }
                return [plan.name] + program.watch + program.command
            }
        }
        let python = ["python", "*.py", "py-skygear", "--http", "--http-addr", "{address}"]
        let node = ["javascript", "*.mjs", "node"]
        #expect(words([]).isEmpty)
        #expect(words(["README.md", ".hidden.py", "-x.mjs", "a.js"]).isEmpty)
        #expect(words(["b.py", "a.py", "a.txt"]) == [python + ["a.py", "b.py"]])
        #expect(words(["a.mjs"]) == [node + ["/data/skyrow-functions.mjs", "{address}", "a.mjs"]])
        #expect(words(["a.mjs", "skyrow-functions.mjs"]) == [node + ["skyrow-functions.mjs", "{address}", "a.mjs"]])
        #expect(words(["skyrow-functions.mjs"]).isEmpty)
        #expect(words(["a.py", "b.mjs"]).map(\.first) == ["python", "javascript"])
    }

    @Test func aDirectoryIsRead() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path
        func plans() throws(ToolError) -> [FunctionServerPlan] {
            try FunctionDirectory.plans(in: path, memory: nil, node: "node.mjs")
        }
        let empty = #expect(throws: ToolError.self) { try plans() }
        #expect(empty?.description.contains("neither functions.json nor files") == true)
        try FileDescriptor(opening: "\(path)/a.py", O_WRONLY | O_CREAT).write("".utf8)
        #expect(try plans().map(\.name) == ["python"])
        try FileDescriptor(opening: "\(path)/functions.json", O_WRONLY | O_CREAT)
            .write(#"{"servers": {"main": {"command": ["./a.py"]}}}"#.utf8)
        #expect(try plans().map(\.name) == ["main"])
        let missing = #expect(throws: ToolError.self) {
            try FunctionDirectory.plans(in: "\(path)/x", memory: nil, node: "node.mjs")
        }
        #expect(missing?.description.contains("does not exist") == true)
    }

    @Test(
        arguments: [
            ("16MB", 16 << 20), ("512MB", 512 << 20), ("1GB", 1 << 30), ("20480KB", 20 << 20), ("1024GB", 1 << 40),
            ("15MB", nil), ("1025GB", nil), ("512", nil), ("MB", nil), ("-1GB", nil), ("0GB", nil), ("1 GB", nil),
            ("9223372036GB", nil), ("off", nil), ("", nil),
        ] as [(String, Int?)]
    )
    func amountsOfMemoryAreRead(_ text: String, _ bytes: Int?) {
        #expect(MemoryText.bytes(text) == bytes)
    }
}
