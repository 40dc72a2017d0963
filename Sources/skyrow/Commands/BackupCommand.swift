import ArgumentParser
import SkyrowActions
import SkyrowMaintenance
import SkyrowServer
import SkyrowSystem

/// `skyrow backup`
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write all data of the application to one archive, as of one moment.",
        discussion: """
            The archive contains every table with its rows, indexes and comments: records, accounts with hashed passwords, \
            roles, deletions. Only its owner can read it; do not give it to others. The service may run meanwhile. `skyrow \
            restore` restores it. Sessions, one-time codes, waiting mails, and tables that refer to them are left out, unless \
            --with-sessions includes them. The archive does not contain the API key and the master key.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The archive to write.")
    var file: String

    @Flag(help: "Include valid access tokens, so that users stay logged in after a restore.")
    var withSessions = false

    @Flag(help: "Replace an existing archive.")
    var overwrite = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let run = BackupRun(
                path: file,
                overwrites: overwrite,
                withSessions: withSessions,
                time: ServiceClock.system.now(),
                progress: Progress.maker
            )
            let settings = try await options.loader.loadForApplication()
            try await withDatabase(settings) { database throws(ToolError) in
                let summary = try await run(database.forBackup())
                if output.isJSON { return print(summary.json) }
                print(
                    "\(decimal(summary.rows)) rows of \(decimal(summary.parts.count)) tables backed up to \(run.path), "
                        + "\(megabytes(summary.bytes)), in \(summary.elapsed.inTenths)"
                )
                if !summary.leftOut.isEmpty {
                    print("Left out, with the sessions: \(summary.leftOut.joined(separator: ", ")).")
                }
            }
        }
    }
}
