import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow functions`
struct FunctionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions",
        abstract: "Show and call functions, expose and hide those of the database, and test function servers.",
        subcommands: [
            FunctionsListCommand.self, FunctionsCallCommand.self, FunctionsExposeCommand.self,
            FunctionsHideCommand.self, FunctionsTestCommand.self,
        ]
    )
}

/// `skyrow functions list`
struct FunctionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the functions that clients may call.",
        discussion: """
            A function server has the functions that it last registered, also if the settings no longer name it; the action \
            function:list has its state. A function of the database that cannot be called is left out; skyrow doctor names it, \
            and says why.
            """
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let functions = try await failingAsTool { try await application.store.sqlFunctions.all() }
                let servers = try await application.functionServers()
                let ofDatabase = functions.map { function in
                    row(function.description, signature: function.signature, result: function.resultText)
                }
                let ofServers = servers.flatMap { server in
                    server.registration.functions.map { row($0, of: server.name) }
                }
                let rows = (ofDatabase + ofServers).sorted { ($0[0], $0[2]) < ($1[0], $1[2]) }
                print(textTable([["NAME", "NEED", "SERVER", "FUNCTION", "RESULT", "EFFECT"]] + rows))
            }
        }
    }

    private func row(
        _ function: FunctionDescription,
        of server: String = "-",
        signature: String = "-",
        result: String = "-"
    ) -> [String] {
        [
            function.name.rawValue, function.need.text, server, signature, result,
            function.isReadOnly ? "reads" : "writes",
        ]
    }
}

/// `skyrow functions call`
struct FunctionsCallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Call a function of the database, and print its result as JSON.",
        discussion: """
            The call has the rights of the master key, and --as names the user for whom it is made, as _caller() returns it. A \
            function of a function server is called by the running service only, by the action function:call.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The name by which clients call it.")
    var name: String

    @Option(
        name: .customLong("args"),
        help: ArgumentHelp("The arguments: an object by name, or an array in their order.", valueName: "json")
    )
    var arguments: String?

    @Option(
        name: .customLong("as"),
        help: ArgumentHelp(
            "The account for which it is called, given by its id, username or mail address.",
            valueName: "name"
        )
    )
    var user: String?

    func invocation() throws(ToolError) -> FunctionInvocation {
        let document: JSONDocument
        do throws(JSONParseError) {
            document = try JSONDocument(Array((arguments ?? "null").utf8))
        } catch {
            throw .usage("--args is not valid JSON. \(error).")
        }
        do throws(SkyrowError) {
            let arguments = try document.withRoot { json throws(SkyrowError) in
                try FunctionInvocation.arguments(json)
            }
            return FunctionInvocation(try FunctionName(name), arguments: arguments)
        } catch {
            throw .usage(error.message)
        }
    }

    func run() async throws {
        try await reportingErrors {
            let invocation = try invocation()
            try await withApplication(options) { application throws(ToolError) in
                let servers = try await application.functionServers()
                if let server = servers.first(where: { $0.registration.has(invocation.name) }) {
                    throw .failure(
                        "\(invocation.name) is a function of the function server \(server.name), which only the running service "
                            + "calls: use the action function:call."
                    )
                }
                let functions = try await failingAsTool { try await application.store.sqlFunctions.all() }
                application.service.functions.replace(FunctionRegistry(servers: [], database: functions))
                var caller: UserID?
                if let user { caller = try await application.store.account(named: user).id }
                let result = try await application.run(Actions.functionCall, invocation, for: caller)
                let writer = JSONWriter()
                result.write(writer)
                print(String(decoding: writer.bytes, as: UTF8.self))
            }
        }
    }
}

/// `skyrow functions expose`
struct FunctionsExposeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "expose",
        abstract: "Let clients call a function of the database, or change who may.",
        discussion: """
            The function is in the schema of the application, and each of its parameters has a name. It runs with the rights \
            of the service's database role. Every running service knows it within a second.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(
        help: ArgumentHelp(
            "The function with the types of its parameters, or only its name, if there is one of that name.",
            valueName: "signature"
        )
    )
    var function: String

    @Option(help: "The name by which clients call it; by default that of the function.")
    var name: String?

    @Option(help: "What a caller needs.")
    var need = ExposedNeed.user

    @Option(
        name: .customLong("role"),
        help: ArgumentHelp("A role that may call it; may be repeated.", valueName: "role")
    )
    var roles: [String] = []

    @Option(help: ArgumentHelp("How long a call may take, from 1s to 10m.", valueName: "duration"))
    var timeout: String?

    func exposure() throws(ToolError) -> FunctionExposure {
        var limit: Duration?
        if let timeout {
            guard let duration = DurationText.duration(timeout), duration > .zero else {
                throw .usage("--timeout must be a duration from 1s to 10m, such as 30s.")
            }
            limit = duration
        }
        do throws(SkyrowError) {
            var exposed: FunctionName?
            if let name { exposed = try FunctionName(name) }
            return try Actions.functionExpose.parameters.checked(
                FunctionExposure(
                    function: function,
                    name: exposed,
                    need: need.stored,
                    roles: roles.map { RoleName($0) },
                    timeout: limit
                )
            )
        } catch {
            throw .usage(error.message)
        }
    }

    func run() async throws {
        try await reportingErrors {
            let exposure = try exposure()
            try await withApplication(options) { application throws(ToolError) in
                let name = try await application.run(Actions.functionExpose, exposure)
                print("Clients may call \(exposure.function) as \(name).")
            }
        }
    }
}

/// `skyrow functions hide`
struct FunctionsHideCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hide",
        abstract: "Let clients no longer call a function of the database."
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The name by which clients call it.")
    var name: String

    func run() async throws {
        try await reportingErrors {
            let hidden: FunctionName
            do throws(SkyrowError) { hidden = try FunctionName(name) } catch { throw ToolError.usage(error.message) }
            try await withApplication(options) { application throws(ToolError) in
                try await application.run(Actions.functionHide, hidden)
            }
        }
    }
}

/// What a caller of an exposed function needs.
enum ExposedNeed: String, ExpressibleByArgument, CaseIterable {
    case nothing
    case key
    case user
    case roles
    case administrator
    case master

    var stored: FunctionExposure.Need {
        switch self {
        case .nothing: .nothing
        case .key: .key
        case .user: .user
        case .roles: .roles
        case .administrator: .administrator
        case .master: .master
        }
    }
}

extension OperatedApplication {
    /// Returns what function servers last registered, sorted by their names, but for what another version has written.
    fileprivate func functionServers() async throws(ToolError) -> [(name: String, registration: FunctionRegistration)] {
        let stored = try await failingAsTool { try await store.functionServers.all() }
        return stored.sorted { $0.name < $1.name }.compactMap { server in
            FunctionRegistration(stored: server.registration).map { (name: server.name, registration: $0) }
        }
    }
}

extension FunctionRegistration {
    fileprivate func has(_ name: FunctionName) -> Bool { functions.contains { $0.name == name } }
}

extension FunctionNeed {
    fileprivate var text: String {
        switch self {
        case .nothing: "nothing"
        case .key: "key"
        case .user: "user"
        case .roles(let roles): roles.map(\.rawValue).joined(separator: " or ")
        case .administrator: "administrator"
        case .master: "master"
        }
    }
}

extension SQLFunction {
    fileprivate var resultText: String {
        switch result {
        case .value: resultType
        case .records(let type): "records of \(type)"
        case .values: "values"
        }
    }
}
