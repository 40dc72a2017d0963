import Glibc
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct FunctionSettingsTests {
    private func load(_ flags: [String: String], environment: [String: String] = [:]) throws -> Settings {
        try SettingsLoader(flags: flags, environment: environment).load()
    }

    @Test func withoutSettingsThereAreNoFunctionServers() throws {
        let settings = try load([:])
        #expect(try settings.functionServers(node: "").isEmpty)
        let functions = settings.functions
        #expect(functions.timeout == .seconds(10) && functions.hookTimeout == .seconds(5))
        #expect(functions.concurrency == 16 && functions.queue == 256)
        #expect(functions.memory == 512 << 20 && functions.maximumAnswer == 8_388_608)
        #expect(functions.database == .service && !settings.watchesFunctions)
    }

    @Test func serversAreInTheOrderOfTheSettings() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path
        try FileDescriptor(opening: "\(path)/a.py", O_WRONLY | O_CREAT).write("".utf8)
        let flags = [
            "function-servers": "mail=http+unix://%2Frun%2Fmail.sock/,main=https://fn.example",
            "functions": path,
        ]
        let names = try load(flags).functionServers(node: "").map(\.name)
        #expect(names == ["mail", "main", "python"])
        let twice = #expect(throws: ToolError.self) {
            try load(["function-servers": "python=http://a", "functions": path]).functionServers(node: "")
        }
        #expect(twice?.description.contains("the function server python is described twice") == true)
    }

    @Test(arguments: [
        ("auto", false, false), ("auto", true, true), ("on", false, true), ("off", true, false),
    ])
    func filesAreWatchedInDevelopmentModeUnlessSaidOtherwise(_ text: String, _ isDevelopment: Bool, _ watches: Bool)
        throws
    {
        let settings = try load(["function-reload": text, "development": "\(isDevelopment)"])
        #expect(settings.watchesFunctions == watches)
    }

    @Test(
        arguments: [
            ("service", .service), ("none", .nothing), ("postgresql://h/d", .url("postgresql://h/d")),
            ("postgres://h/d", .url("postgres://h/d")),
        ] as [(String, FunctionSettings.Database)]
    )
    func theDatabaseIsRead(_ text: String, _ database: FunctionSettings.Database) throws {
        #expect(try load(["function-database": text]).functions.database == database)
    }

    @Test(arguments: [
        (["function-servers": ""], "function-servers must be"),
        (["function-servers": "main"], "function-servers must be"),
        (["function-servers": "Main=http://a"], "function-servers must be"),
        (["function-servers": "main=ftp://a"], "function-servers must be"),
        (["function-servers": "main=http://a,main=http://b"], "function-servers must be"),
        (["functions": ""], "functions must be"), (["function-timeout": "1ms"], "function-timeout must be"),
        (["function-timeout": "2h"], "function-timeout must be"), (["hook-timeout": "0"], "hook-timeout must be"),
        (["function-concurrency": "0"], "function-concurrency must be"),
        (["function-concurrency": "1025"], "function-concurrency must be"),
        (["function-queue": "0"], "function-queue must be"), (["function-memory": "1MB"], "function-memory must be"),
        (["function-answer": "1"], "function-answer must be"), (["function-reload": "yes"], "function-reload must be"),
        (["function-database": "mysql://a"], "function-database must be"),
        (["function-database": "postgresql://a:secret@h/d"], "--function-database contains a password"),
    ])
    func otherValuesAreRefused(_ flags: [String: String], _ reason: String) {
        let error = #expect(throws: ToolError.self) { try load(flags) }
        #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("secret") != true)
    }

    @Test func memoryMayBeWithoutABound() throws {
        #expect(try load(["function-memory": "off"]).functions.memory == nil)
        let url = "postgresql://a:secret@h/d"
        let settings = try load([:], environment: ["SKYROW_FUNCTION_DATABASE": url])
        #expect(settings.functions.database == .url(url))
    }
}
