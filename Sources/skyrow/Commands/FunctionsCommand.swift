import ArgumentParser
import SkyrowActions
import SkyrowModel
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow functions`
struct FunctionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "functions",
        abstract: "Show, expose and hide functions of the database, and test function servers.",
        subcommands: [
            FunctionsListCommand.self, FunctionsExposeCommand.self, FunctionsHideCommand.self,
            FunctionsTestCommand.self,
        ]
    )
}

/// `skyrow functions list`
struct FunctionsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the functions of the database that clients may call.",
        discussion: "One that cannot be called is left out; skyrow doctor names it, and says why."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, readsOnly: true) { application throws(ToolError) in
                let functions = try await failingAsTool { try await application.store.sqlFunctions.all() }
                let rows = functions.map { function in
                    [
                        function.name.rawValue, function.need.text, function.signature, function.resultText,
                        function.isReadOnly ? "reads" : "writes",
                    ]
                }
                print(textTable([["NAME", "NEED", "FUNCTION", "RESULT", "EFFECT"]] + rows))
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
