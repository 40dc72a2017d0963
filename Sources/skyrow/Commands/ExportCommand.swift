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
        abstract: "Write records as CSV, JSON or NDJSON, as they are at one moment.",
        discussion: """
            One type goes to standard output or a file; several, or all of them when none is named, go into a directory, a \
            file a type and export.json, which tells the types of the fields. All databases are exported, private ones \
            too, with owners, access lists and times. `skyrow import` takes such a directory or file back.

                skyrow export --output backup/
                skyrow export --type movie > movie.csv
                skyrow export --type movie --format ndjson | jq .title

            Files are readable by their owner alone. Passwords are not exported; `skyrow backup` keeps everything.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(name: .customLong("type"), help: ArgumentHelp("A record type; may be repeated.", valueName: "name"))
    var types: [String] = []

    @Option(help: ArgumentHelp("csv, json or ndjson; otherwise the file's name tells, or csv.", valueName: "format"))
    var format: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("A file, compressed if it ends with .gz, or a directory.", valueName: "path")
    )
    var output: String?

    @Flag(help: "Replace files that are there.")
    var overwrite = false

    @Flag(
        name: .customLong("for-spreadsheets"),
        help: "Put an apostrophe before texts of a CSV file that a spreadsheet takes for formulas."
    )
    var isForSpreadsheets = false

    @OptionGroup var summary: OutputOptions

    func run() async throws {
        try await reportingErrors {
            let settings = try ExportSettings(
                types: types,
                format: format,
                output: output,
                overwrites: overwrite,
                isForSpreadsheets: isForSpreadsheets,
                isDirectory: { isDirectory($0) }
            )
            let database = try await options.loader.loadForApplication()
            let printsJSON = summary.isJSON
            try await withClient(database) { client, schema, logger throws(ToolError) in
                let store = RecordStore(client: client, schema: schema, mode: .production, logger: logger)
                let run = ExportRun(
                    settings: settings,
                    time: ServiceClock.system.now(),
                    progress: Progress.maker
                )
                let summary = try await run(on: store)
                report(summary, settings, asJSON: printsJSON)
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
    }
}
