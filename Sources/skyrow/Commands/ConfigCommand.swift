import ArgumentParser
import SkyrowServer

/// `skyrow config`
struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show the settings that hold, and where each comes from.",
        discussion: """
            It takes the flags of serve and reads the same environment and settings file, so it also tells whether serve \
            would accept them. Secrets are not shown.
            """
    )

    @OptionGroup var options: ServiceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let report = SettingsReport(try options.loader.load())
            print(output.isJSON ? report.json : report.text)
        }
    }
}
