import ArgumentParser
import SkyrowActions
import SkyrowJSON
import SkyrowMaintenance
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow restore`
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore an archive of `skyrow backup`, completely or not at all.",
        discussion: """
            The archive is checked before anything is written. It is restored into an empty database or PostgreSQL schema, or \
            replaces the existing one with --replace. No service may use it meanwhile. An archive of an older skyrow is \
            migrated. All sessions end, unless --keep-sessions is given. The files in the archive, or those of --files-from, are \
            written to the directory of the setting file-directory before the rows are replaced.

            An archive contains SQL, which runs with the rights of the role that restores it: in the embedded PostgreSQL those \
            of the service, which may read and change everything in its database, but cannot run commands or use files of \
            the machine. A role in --database-url that can is refused, unless --trust-archive confirms that the archive is \
            yours. Inspect an archive of another person with --dry-run first, which lists functions and triggers that \
            skyrow did not create.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The archive.")
    var file: String

    @Flag(help: "Replace the existing data, which is lost.")
    var replace = false

    @Flag(name: .customLong("dry-run"), help: "Check the archive and show its contents, without running its SQL.")
    var isDryRun = false

    @Flag(
        name: .customLong("trust-archive"),
        help: "Allow the SQL of the archive to run as a superuser in --database-url."
    )
    var trusts = false

    @Flag(
        name: .customLong("keep-sessions"),
        help: "Keep the access tokens in an archive with sessions valid; otherwise all users have to log in again."
    )
    var keepsSessions = false

    @Option(
        name: .customLong("files-from"),
        help: ArgumentHelp(
            "The directory to which `skyrow backup --files-to` copied the files of the archive.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var fileDirectory: String?

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try await options.loader.withFiles.loadForApplication()
            let archive = try BackupReader(opening: file)
            let run = try RestoreRun(
                archive,
                schema: settings.database.schema,
                replaces: replace,
                trusts: trusts,
                keepsSessions: keepsSessions,
                time: ServiceClock.system.now(),
                progress: Progress.maker
            )
            if fileDirectory != nil, archive.manifest.files != nil {
                throw ToolError.usage("\(archive.path) contains the files: leave out --files-from.")
            }
            if isDryRun { return report(archive, try await run.foreignCode()) }
            try await withDatabase(settings, use: .alone) { database throws(ToolError) in
                let files = try await files(of: archive, settings)
                let (summary, steps) = try await run(database.forBackup(), files: files)
                if output.isJSON { return print(summary.json) }
                for step in steps { print(step.summary) }
                print(
                    "\(decimal(summary.rows)) rows of \(decimal(summary.parts.count)) tables restored in "
                        + "\(summary.elapsed.inTenths)"
                )
                report(summary, archive)
            }
        }
    }

    /// Opens where the files are and go to; nil if there are none to restore.
    private func files(of archive: BackupReader, _ settings: Settings) async throws(ToolError) -> BackupFiles? {
        guard let fileDirectory else {
            guard archive.manifest.files != nil else { return nil }
            return BackupFiles(storage: try await settings.makeFiles())
        }
        guard isDirectory(fileDirectory) else { throw .failure("The directory \(fileDirectory) does not exist.") }
        return BackupFiles(
            storage: try await settings.makeFiles(),
            directory: try await settings.openFiles(in: fileDirectory)
        )
    }

    private func report(_ summary: RunSummary, _ archive: BackupReader) {
        guard let files = summary.files, let comparison = summary.fileReport else {
            // The archive does not say which of the rows are about stored files.
            guard archive.manifest.tables.contains(where: { $0.name == "_asset" && $0.rows > 0 }) else { return }
            return print("The archive has no files: 'skyrow files verify' lists those that are missing.")
        }
        print("Files restored: \(files.text).")
        files.reportFaults("could not be restored as their rows describe them.")
        print(comparison.text)
    }

    private func report(_ archive: BackupReader, _ code: [ArchiveCode]) {
        let manifest = archive.manifest
        if output.isJSON { return print(String(decoding: manifest.json.dropLast(), as: UTF8.self)) }
        print(
            "\(archive.path) is complete: created \(manifest.time.rfc3339) with skyrow \(manifest.program) and PostgreSQL "
                + "\(manifest.postgresVersion), schema version \(manifest.schemaVersion)"
                + (manifest.hasSessions ? ", with sessions." : ", without sessions.")
        )
        for table in manifest.tables { print("\(table.name)  \(decimal(table.rows))") }
        if let files = manifest.files { print("With \(counted(files.count, "file")), \(megabytes(files.bytes)).") }
        if !manifest.leftOut.isEmpty { print("Left out: \(manifest.leftOut.joined(separator: ", ")).") }
        print(
            code.isEmpty
                ? "All of its functions and triggers were created by skyrow."
                : "Functions and triggers that skyrow did not create:"
        )
        for code in code { print("\(code.kind.lowercased())  \(code.name)") }
        print("It was not restored. To test that PostgreSQL accepts it, restore it into another database.")
    }
}
