import ArgumentParser
import SkyrowModel
import SkyrowPostgres
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// Calls `body` with the application registry of the settings' database.
func withRegistry(
    _ settings: Settings,
    readsOnly: Bool = false,
    _ body: (ApplicationRegistry) async throws(ToolError) -> Void
) async throws(ToolError) {
    try await withClient(settings, readsOnly: readsOnly) { client, schema, logger throws(ToolError) in
        try await body(ApplicationRegistry(client: client, defaultSchema: schema, logger: logger))
    }
}

extension SettingsLoader {
    /// Returns a command's settings, with the schema of the application that `--application` names.
    ///
    /// Throws ``ToolError`` for the first invalid setting, and for an unknown application.
    func loadForApplication() async throws(ToolError) -> Settings {
        let settings = try load()
        let name = settings.application.name
        guard name != .default else { return settings }
        var schema = ""
        try await withRegistry(settings, readsOnly: true) { registry throws(ToolError) in
            schema = try await failingAsTool { try await registry.application(named: name).schema.name }
        }
        var loader = self
        loader.flags[DatabaseSettings().schema.row.name] = schema
        return try loader.load()
    }
}

/// Runs a change of the registry for a command.
func changingApplications(
    _ options: RegistryOptions,
    _ body: (ApplicationRegistry) async throws(SkyrowError) -> Void
) async throws(ToolError) {
    try await withRegistry(try options.loader.load()) { registry throws(ToolError) in
        try await failingAsTool { try await body(registry) }
    }
}

/// The application that a command changes.
struct ChangedApplication: ParsableArguments {
    @OptionGroup var options: RegistryOptions

    @Argument(help: "The name of the application.")
    var name: String

    func change(
        _ body: (ApplicationRegistry, ApplicationName) async throws(SkyrowError) -> Void
    ) async throws(ToolError) {
        let name = try applicationName(name)
        try await changingApplications(options) { registry throws(SkyrowError) in try await body(registry, name) }
    }
}

/// Parses an application name on the command line.
func applicationName(_ text: String) throws(ToolError) -> ApplicationName {
    do {
        return try ApplicationName(text)
    } catch {
        throw .usage(error.message)
    }
}

func hostName(_ text: String) throws(ToolError) -> HostName {
    do {
        return try HostName(text)
    } catch {
        throw .usage("\(text): \(error.message)")
    }
}
