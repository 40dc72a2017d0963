import ArgumentParser
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show the settings that hold, and where each comes from.",
        discussion: """
            It takes the flags of serve and reads the same environment and settings file, so it also says whether serve \
            would accept them. Secrets are not shown. With --application it shows what holds for that application: its \
            section of the settings file wins over its table in the database, and that over what the service has.
            """
    )

    @OptionGroup var options: EveryOption
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let report = SettingsReport(try await settings())
            print(output.isJSON ? report.json : report.text)
        }
    }

    private func settings() async throws(ToolError) -> Settings {
        let loader = options.loader
        let settings = try loader.load()
        let name = settings.application.name
        guard name != .default else { return settings }
        var stored: [String: String] = [:]
        try await withRegistry(settings, readsOnly: true) { registry throws(ToolError) in
            stored = try await failingAsTool { () async throws(SkyrowError) in
                try await registry.settings(of: try await registry.application(named: name).schema)
            }
        }
        return try loader.load(of: name, stored: stored)
    }
}
