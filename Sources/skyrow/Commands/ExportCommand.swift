import ArgumentParser
import Glibc
import SkyrowActions
import SkyrowMaintenance
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow export`
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write records as CSV, JSON or NDJSON, as of one moment.",
        discussion: """
            One type is written to standard output or a file. Several types, or all if none is named, are written into a \
            directory, with one file per type and export.json for the types of the fields. All databases are exported, including \
            private ones, with owners, access lists and timestamps. `skyrow import` imports such a directory or file.

                skyrow export --output backup/
                skyrow export --type movie > movie.csv
                skyrow export --type movie --format ndjson | jq .title

            With --files the files of records are copied into the folder `files` of the directory. Only the owner of the written \
            files can read them. Passwords are not exported; `skyrow backup` includes everything.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(name: .customLong("type"), help: ArgumentHelp("A record type; may be repeated.", valueName: "name"))
    var types: [String] = []

    @Option(
        help: ArgumentHelp("csv, json or ndjson; by default according to the file's name, or csv.", valueName: "format")
    )
    var format: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A file, compressed if its name ends with .gz, or a directory.", valueName: "path")
    )
    var output: String?

    @Flag(help: "Replace existing files.")
    var overwrite = false

    @Flag(
        name: .customLong("for-spreadsheets"),
        help: "Put an apostrophe before text in a CSV file that a spreadsheet would treat as a formula."
    )
    var isForSpreadsheets = false

    @Flag(name: .customLong("files"), help: "Also copy the files of records, into the folder `files` of the directory.")
    var withFiles = false

    @OptionGroup var summary: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try ExportSettings(
                types: types,
                format: format,
                output: output,
                overwrites: overwrite,
                isForSpreadsheets: isForSpreadsheets,
                withFiles: withFiles,
                isDirectory: { isDirectory($0) }
            )
            let database = try await options.loader.withFiles.loadForApplication()
            let files = withFiles ? try await database.openFiles() : nil
            try await withClient(database) { client, schema, logger throws(ToolError) in
                let store = RecordStore(client: client, schema: schema, mode: .production, logger: logger)
                let run = ExportRun(
                    settings: settings,
                    files: files,
                    time: ServiceClock.system.now(),
                    progress: Progress.maker
                )
                report(try await run(on: store), settings, asJSON: summary.isJSON)
            }
        }
    }
}

/// Reports the result, on standard error if the records went to standard output.
private func report(_ summary: RunSummary, _ settings: ExportSettings, asJSON: Bool) {
    let types = summary.parts.count == 1 ? summary.parts[0].name : "\(decimal(summary.parts.count)) types"
    let sentence =
        "\(decimal(summary.rows)) records of \(types) exported" + (summary.path.map { " to \($0)" } ?? "")
        + " in \(summary.elapsed.inTenths), \(summary.rate) a second"
    switch settings.destination {
    case .standardOutput:
        if asJSON { complain(summary.json) } else if isatty(STDERR_FILENO) == 1 { complain(sentence) }
    case .file, .directory:
        print(asJSON ? summary.json : sentence)
        guard !asJSON, let files = summary.files else { return }
        print("Files: \(files.text).")
        files.reportFaults("could not be exported as their rows describe them.")
    }
}
