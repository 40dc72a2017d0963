import ArgumentParser
import SkyrowActions
import SkyrowMaintenance
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow files`
struct FilesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "files",
        abstract: "Compare the files of records with their rows, and delete files that no record refers to.",
        discussion: """
            The files are in the directory of the setting file-directory, or in a bucket. The variables or the settings file must \
            be those of the service, which may run meanwhile.
            """,
        subcommands: [FilesVerifyCommand.self, FilesCollectCommand.self]
    )
}

/// `skyrow files verify`
struct FilesVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare the rows of files with the files in the storage.",
        discussion: """
            It lists rows whose file is missing, orphaned files, which have no row, and files with another size or checksum than \
            their row. Files of the last ten minutes may belong to uploads that are not complete, and are not orphaned. A backup \
            made with --files has missing and damaged files.

            The exit status is 0 if no difference remains, and 1 if one does or if they could not be compared.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Also read every file, and compare its SHA-256 with its row.")
    var checksums = false

    @Flag(help: "Give each orphaned file a row without an owner, and with the media type of its extension.")
    var adopt = false

    @Flag(help: "Delete the orphaned files that are older than a day.")
    var remove = false

    func run() async throws {
        var isClean = true
        try await reportingErrors {
            guard !adopt || !remove else { throw ToolError.usage("--adopt and --remove exclude each other.") }
            let settings = try await options.loader.withFiles.loadForApplication()
            let storage = try await settings.openFiles()
            let verification = FileVerification(
                comparesContents: checksums,
                repair: adopt ? .adopt : remove ? .remove : .nothing,
                time: ServiceClock.system.now(),
                progress: Progress.maker
            )
            try await withClient(settings) { client, schema, logger throws(ToolError) in
                try await requireMigrated(client, schema, logger: logger)
                let store = RecordStore(client: client, schema: schema, mode: .production, logger: logger)
                let report = try await verification(storage, of: store)
                isClean = report.remaining == 0
                print(output.isJSON ? jsonObject { report.write(to: $0) } : report.text)
            }
        }
        if !isClean { throw ExitCode(ExitStatus.failure.rawValue) }
    }
}

/// `skyrow files collect`
struct FilesCollectCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collect",
        abstract: "Delete the files that no record refers to.",
        discussion: """
            The service does the same each night. A file is deleted if no record refers to it, and a collection at least the time \
            of the setting file-grace before found that, too. Files in JSON fields count.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: .customLong("dry-run"), help: "Show how many files would be deleted, and change nothing.")
    var isDryRun = false

    func run() async throws {
        try await reportingErrors {
            try await withApplication(options, usesFiles: true) { application throws(ToolError) in
                let collection = try await application.run(Actions.fileCollect, isDryRun)
                if output.isJSON { return print(json(Actions.fileCollect, collection)) }
                print("\(isDryRun ? "Would delete" : "Deleted") \(counted(collection.deleted, "file")).")
                guard collection.unreferenced > 0 else { return }
                print("Unreferenced for the first time, and kept: \(counted(collection.unreferenced, "file")).")
            }
        }
    }
}
