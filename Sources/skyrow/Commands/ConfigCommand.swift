import ArgumentParser
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show the effective settings, and where each comes from.",
        discussion: """
            It takes the flags of serve and reads the same environment and settings file, so it also checks whether serve \
            would accept them. Secrets are not shown. With --application it shows the settings of that application: its \
            section of the settings file overrides its table in the database, which overrides the service's settings.
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
            stored = try await failingAsTool {
                try await registry.settings(of: try await registry.application(named: name).schema)
            }
        }
        return try loader.load(of: name, stored: stored)
    }
}
