import ArgumentParser
import SkyrowActions
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow app`
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app",
        abstract: "Make, show, change and delete the applications of a service.",
        discussion: """
            A service has the application app, whose keys and settings are the service's own, and any number of others in \
            PostgreSQL schemas of their own. A running service takes changes at once. Other commands work on an application \
            with --application.
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
        abstract: "Make an application with its schema and its keys, which are shown this once.",
        discussion: "Its schema is frozen unless --development lets clients make types and fields."
    )

    @OptionGroup var options: RegistryOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "Its name: lower-case letters, digits and underscores.")
    var name: String

    @Option(
        name: .customLong("in-schema"),
        help: ArgumentHelp("The PostgreSQL schema; by default its name.", valueName: "name")
    )
    var schema: String?

    @Flag(help: "Take a schema that holds records already, such as one that was restored.")
    var existing = false

    @Option(
        name: .customLong("host-name"),
        help: ArgumentHelp("A host name by which requests find it; may be repeated.", valueName: "name")
    )
    var hosts: [String] = []

    @Flag(name: .customLong("development"), help: "Let types and fields appear when they are first saved.")
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
                    for (text, key) in keys { writer.member("\(key.kind.rawValue)_key", text) }
                }
            )
        }
        print("The application \(name) is in the schema \(schema.name). Its keys are shown this once:")
        print(textTable(keys.map { ["  \($0.key.kind.rawValue) key", $0.text] }))
    }
}

/// `skyrow app delete`
struct AppDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete an application with its keys and host names.",
        discussion: """
            Its schema stays, and `skyrow app create --existing` makes an application of it again; --drop-schema deletes it \
            with all of its records and accounts, table after table: a deletion that is interrupted is to be repeated.
            """
    )

    @OptionGroup var application: ChangedApplication

    @Flag(name: .customLong("drop-schema"), help: "Delete its records and accounts, too.")
    var dropsSchema = false

    @Flag(help: "Do not ask.")
    var yes = false

    func run() async throws {
        try await reportingErrors {
            if !yes {
                let name = try applicationName(application.name)
                let question =
                    dropsSchema
                    ? "Delete the application \(name) with all of its records and accounts?"
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
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Serve an application again that was disabled."
    )

    @OptionGroup var application: ChangedApplication

    func run() async throws {
        try await reportingErrors {
            try await application.change { registry, name throws(SkyrowError) in
                try await registry.setDisabled(false, name)
            }
        }
    }
}
