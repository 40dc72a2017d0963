import ArgumentParser
import Glibc
import SkyrowServer
import SkyrowSystem

/// `skyrow serve`
struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the service.",
        discussion: """
            Without --database-url it starts an embedded PostgreSQL with its files in the data directory. Each setting is a \
            flag, an environment variable and a key of the settings file; the flag overrides the variable, and the variable \
            overrides the file. Keys come from SKYROW_API_KEY and SKYROW_MASTER_KEY, or from files; without these they are \
            created at the first start and stored in the data directory.
            """
    )

    @OptionGroup var options: ServiceOptions

    func run() async throws {
        try await reportingErrors {
            let process = try ServiceProcess(options.loader, program: CommandLine.arguments[0])
            do {
                try await process.run { announcement in
                    print(announcement.text)
                    fflush(nil)
                }
            } catch {
                throw ToolError(serviceFailure: error, settings: process.settings)
            }
        }
    }
}
