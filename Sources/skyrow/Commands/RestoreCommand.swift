import ArgumentParser
import SkyrowJSON
import SkyrowMaintenance
import SkyrowServer
import SkyrowStore
import SkyrowSystem
import SkyrowWire

/// `skyrow restore`
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put back what `skyrow backup` wrote, all of it or nothing.",
        discussion: """
            The archive is checked before anything is written. It goes into a database, or a PostgreSQL schema, where there \
            is nothing yet, or with --replace in the place of what is there. No service may run on it meanwhile. An archive \
            of an older skyrow is brought up to date. All sessions end, unless --keep-sessions says otherwise.

            An archive holds SQL, which runs with the rights of the role that restores: in the embedded PostgreSQL the \
            service's, which may read and change everything in its database, and can neither run commands nor use files of \
            the machine. A role of --database-url that could is refused, unless --trust-archive says that the archive is \
            yours. Look at the archive of somebody else with --dry-run first, which lists functions and triggers that \
            skyrow did not make.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Argument(help: "The archive.")
    var file: String

    @Flag(help: "Put it in the place of what is there, which is lost.")
    var replace = false

    @Flag(
        name: .customLong("dry-run"),
        help: "Check that the archive is whole, show what is in it, and run none of its SQL."
    )
    var isDryRun = false

    @Flag(
        name: .customLong("trust-archive"),
        help: "Let SQL of the archive run as a superuser, which --database-url names."
    )
    var trusts = false

    @Flag(
        name: .customLong("keep-sessions"),
        help: "Let the access tokens count that are in an archive with sessions; otherwise all users log in anew."
    )
    var keepsSessions = false

    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try await options.loader.loadForApplication()
            let archive = try BackupReader(opening: file)
            let run = try RestoreRun(
                archive,
                schema: settings.database.schema,
                replaces: replace,
                trusts: trusts,
                keepsSessions: keepsSessions,
                progress: Progress.maker
            )
            if isDryRun { return report(archive, try await run.foreignCode()) }
            let printsJSON = output.isJSON
            try await withDatabase(settings, use: .alone) { database throws(ToolError) in
                let (summary, steps) = try await run(database.forBackup())
                if printsJSON { return print(summary.json) }
                for step in steps { print(step.summary) }
                print(
                    "\(decimal(summary.rows)) rows of \(decimal(summary.parts.count)) tables restored in "
                        + "\(summary.elapsed.inTenths)"
                )
            }
        }
    }

    private func report(_ archive: BackupReader, _ code: [ArchiveCode]) {
        let manifest = archive.manifest
        if output.isJSON { return print(String(decoding: manifest.json.dropLast(), as: UTF8.self)) }
        print(
            "\(archive.path) is whole: taken \(manifest.time.rfc3339) with skyrow \(manifest.program) and PostgreSQL "
                + "\(manifest.postgresVersion), schema version \(manifest.schemaVersion)"
                + (manifest.hasSessions ? ", with sessions." : ", without sessions.")
        )
        for table in manifest.tables { print("\(table.name)  \(decimal(table.rows))") }
        if !manifest.leftOut.isEmpty { print("Left out: \(manifest.leftOut.joined(separator: ", ")).") }
        print(
            code.isEmpty
                ? "All of its functions and triggers are those of skyrow."
                : "Functions and triggers that skyrow did not make:"
        )
        for code in code { print("\(code.kind.lowercased())  \(code.name)") }
        print("It was not restored: whether PostgreSQL takes it shows a restore into another database.")
    }
}
