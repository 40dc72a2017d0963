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

            The files of records are left out, too, unless --files or --files-to is given. They are those of the moment of the \
            rows: deletions of files wait for the end of the backup.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The archive to write.")
    var file: String

    @Flag(help: "Include valid access tokens, so that users stay logged in after a restore.")
    var withSessions = false

    @Flag(name: .customLong("files"), help: "Include the files of records.")
    var withFiles = false

    @Option(
        name: .customLong("files-to"),
        help: ArgumentHelp(
            "Copy the files of records to this directory, as far as it lacks them, instead of into the archive.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var fileDirectory: String?

    @Flag(help: "Replace an existing archive.")
    var overwrite = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try await options.loader.withFiles.loadForApplication()
            let run = BackupRun(
                path: file,
                overwrites: overwrite,
                withSessions: withSessions,
                files: try await files(settings),
                time: ServiceClock.system.now(),
                progress: Progress.maker
            )
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
                if let files = summary.files {
                    print("Files \(fileDirectory.map { "copied to \($0)" } ?? "in the archive"): \(files.text).")
                } else if summary.filesLeftOut > 0 {
                    print("Left out: \(counted(summary.filesLeftOut, "file")) of records; --files includes them.")
                }
                summary.files?.reportFaults("could not be backed up as their rows describe them.")
            }
        }
    }

    private func files(_ settings: Settings) async throws(ToolError) -> BackupFiles? {
        guard let fileDirectory else { return withFiles ? BackupFiles(storage: try await settings.openFiles()) : nil }
        guard !withFiles else { throw .usage("--files and --files-to exclude each other.") }
        return BackupFiles(
            storage: try await settings.openFiles(),
            directory: try await settings.openFiles(in: fileDirectory)
        )
    }
}
