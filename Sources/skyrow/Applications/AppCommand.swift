import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app`
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Create, show, change and delete the applications of a service.",
        discussion: """
            A service has the application app, which uses the service's keys and settings, and any number of others in separate \
            PostgreSQL schemas. A running service applies changes immediately. Other commands work on an application with \
            --application.
            """,
        subcommands: [
            AppCreateCommand.self, AppListCommand.self, AppShowCommand.self, AppDeleteCommand.self,
            AppDisableCommand.self, AppEnableCommand.self, AppKeyCommand.self, AppHostCommand.self, AppSetCommand.self,
            AppUnsetCommand.self,
        ]
    )
}

/// `skyrow app create`
struct AppCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create an application with its schema and its keys, which are shown only once.",
        discussion: "Its schema is frozen unless --development lets clients create types and fields."
    )

    @OptionGroup var options: RegistryOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The name: lower-case letters, digits and underscores.")
    var name: String

    @Option(
        name: .customLong("in-schema"),
        help: ArgumentHelp("The PostgreSQL schema; by default the name of the application.", valueName: "name")
    )
    var schema: String?

    @Flag(help: "Use a schema that already contains records, such as a restored one.")
    var existing = false

    @Option(
        name: .customLong("host-name"),
        help: ArgumentHelp("A host name of the application for requests; may be repeated.", valueName: "name")
    )
    var hosts: [String] = []

    @Flag(name: .customLong("development"), help: "Create types and fields when they are first saved.")
    var isDevelopment = false

    func run() async throws {
        try await reportingErrors {
            let name = try applicationName(name)
            let hosts = try hosts.map { text throws(ToolError) in try hostName(text) }
            let schema = try identifier(schema ?? name.rawValue)
            let keys = ApplicationKey.Kind.allCases.map { NewApplicationKey.random($0) }
            let mode = RecordSettings().isDevelopment.row.name
            try await changingApplications(options) { registry throws(SkyrowError) in
                try await registry.create(
                    name,
                    schema: schema,
                    adoptsSchema: existing,
                    keys: keys.map(\.key),
                    hosts: hosts,
                    // The service's mode setting applies to another application.
                    settings: [mode: "\(isDevelopment)"]
                )
            }
            show(name, schema, keys)
        }
    }

    private func identifier(_ text: String) throws(ToolError) -> SQLIdentifier {
        guard let text = DatabaseSettings().schema.read(text) as? String, let schema = try? SQLIdentifier(text) else {
            throw .usage("--in-schema must be \(DatabaseSettings().schema.row.expectation).")
        }
        return schema
    }

    private func show(
        _ name: ApplicationName,
        _ schema: SQLIdentifier,
        _ keys: [(text: String, key: NewApplicationKey)]
    ) {
        if output.isJSON {
            return print(
                jsonObject { writer in
                    writer.member("name", name.rawValue)
                    writer.member("schema", schema.name)
                    for (text, key) in keys { writer.member(named: "\(key.kind.rawValue)_key", text) }
                }
            )
        }
        print("The application \(name) is in the schema \(schema.name). Its keys are shown only once:")
        print(textTable(keys.map { ["  \($0.key.kind.rawValue) key", $0.text] }))
    }
}

/// `skyrow app delete`
struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an application with its keys and host names.",
        discussion: """
            Its schema is kept, and `skyrow app create --existing` makes it an application again. --drop-schema deletes it \
            with all of its records and accounts, one table at a time: repeat the command if it is interrupted.
            """
    )

    @OptionGroup var application: ChangedApplication

    @Flag(name: .customLong("drop-schema"), help: "Also delete its records and accounts.")
    var dropsSchema = false

    @Flag(help: "Do not ask for confirmation.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            if !yes {
                let name = try applicationName(application.name)
                let question =
                    dropsSchema
                    ? "Delete the application \(name) and all of its records and accounts?"
                    : "Delete the application \(name) and its keys?"
                try Confirmation.require(question)
            }
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.delete(name, dropsSchema: dropsSchema)
            }
        }
    }
}

/// `skyrow app disable`
struct AppDisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Refuse the keys and host names of an application, until it is enabled again."
    )

    @OptionGroup var application: ChangedApplication

    func run() async throws {
        try await reportingErrors {
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.setDisabled(true, name)
            }
        }
    }
}

/// `skyrow app enable`
struct AppEnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "enable", abstract: "Enable a disabled application.")

    @OptionGroup var application: ChangedApplication

    func run() async throws {
        try await reportingErrors {
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.setDisabled(false, name)
            }
        }
    }
}
