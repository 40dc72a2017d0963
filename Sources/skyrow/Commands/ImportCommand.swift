import ArgumentParser
import Glibc
import SkyrowJSON
import SkyrowMaintenance
import SkyrowModel
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow import`
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import records from a CSV, JSON or NDJSON file, or from an export.",
        discussion: """
            The file may be compressed with gzip. Types are inferred from all values and shown before anything is written; \
            existing fields keep their types. The records are public and have no owner. Either all records are imported or none.

            An export of `skyrow export` keeps ids, databases, owners, access lists and timestamps: a directory always, a file \
            with a column _database only with --keep-owners. Without that flag a file with a column _database, _owner or _access \
            is refused, since it sets who may read and write the records. A directory also contains the types of all fields. \
            Accounts of imported users have no password.

            CSV: the first line names the fields; characters other than letters, digits and underscores become \
            underscores. A column _id contains the ids; other columns with a name that begins with an underscore are left out. \
            Nothing between two delimiters means no value, "" is empty text. Dates are ISO 8601, in UTC unless they have another \
            offset. A location is POINT(longitude latitude), a geometry is GeoJSON, a file is its name.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The file, or an exported directory.")
    var file: String

    @Option(help: ArgumentHelp("The record type to import to; it is created if it does not exist.", valueName: "name"))
    var type: String?

    @Option(help: ArgumentHelp("csv, json or ndjson; by default according to the file's name.", valueName: "format"))
    var format: String?

    @Option(
        name: .customLong("id-column"),
        help: ArgumentHelp("The column with the records' ids; without it they get new ids.", valueName: "name")
    )
    var idColumn: String?

    @Option(help: ArgumentHelp("The delimiter of the fields of a CSV file (default: ',').", valueName: "character"))
    var delimiter: String?

    @Option(
        name: .customLong("null"),
        help: ArgumentHelp(
            "A text in a CSV file that means 'no value', such as NA; may be repeated.",
            valueName: "text"
        )
    )
    var nullTexts: [String] = []

    @Flag(
        name: .customLong("keep-owners"),
        help: "Import databases, owners and access lists from a file that skyrow exported."
    )
    var keepsOwners = false

    @Flag(name: .customLong("continue-on-error"), help: "Skip records that cannot be imported, and import the others.")
    var continuesOnError = false

    @Flag(name: .customLong("dry-run"), help: "Show the table and the errors of the file, and write nothing.")
    var isDryRun = false

    func run() async throws {
        try await reportingErrors {
            if isDirectory(file) { return try await importDirectory() }
            guard let type else { throw ToolError.usage("Specify the record type to import to with --type.") }
            let settings = try ImportSettings(
                path: file,
                type: type,
                format: format,
                delimiter: delimiter,
                nullTexts: nullTexts,
                idColumn: idColumn,
                keepsOwners: keepsOwners
            )
            let run = ImportRun(
                settings: settings,
                continuesOnError: continuesOnError,
                isDryRun: isDryRun,
                progress: Progress.maker
            )
            let database = try await options.loader.loadForApplication()
            let survey = try await run.survey()
            try await withStore(database) { store throws(ToolError) in
                let result = try await run(survey, on: store) { show($0, of: settings, asJSON: output.isJSON) }
                print(output.isJSON ? result.json : result.sentence)
            }
        }
    }

    private func importDirectory() async throws(ToolError) {
        let others: [(flag: String, isGiven: Bool)] = [
            ("--format", format != nil), ("--id-column", idColumn != nil), ("--delimiter", delimiter != nil),
            ("--null", !nullTexts.isEmpty), ("--keep-owners", keepsOwners), ("--continue-on-error", continuesOnError),
        ]
        if let other = others.first(where: \.isGiven) {
            throw .usage("\(other.flag) is for a file, and \(file) is an exported directory.")
        }
        let run = try DirectoryImport(directory: file, type: type, isDryRun: isDryRun, progress: Progress.maker)
        let database = try await options.loader.loadForApplication()
        try await withStore(database) { store throws(ToolError) in
            let summary = try await run(on: store) { if !output.isJSON { show(run) } }
            print(output.isJSON ? summary.json : sentence(summary))
        }
    }

    private func withStore(
        _ settings: Settings,
        _ body: (RecordStore) async throws(ToolError) -> Void
    ) async throws(ToolError) {
        try await withClient(settings) { client, schema, logger throws(ToolError) in
            let store = RecordStore(client: client, schema: schema, mode: .development, logger: logger)
            try await failingAsTool { try await store.prepare() }
            try await body(store)
        }
    }
}

/// Shows an import's plan, and the first of its faults on standard error.
private func show(_ event: ImportRun.Event, of settings: ImportSettings, asJSON: Bool) {
    switch event {
    case .planned(let plan, let count):
        guard !asJSON else { return }
        let rows = plan.hasRows ? ", with owners, access lists and times" : ""
        print("\(settings.path) to \(settings.type), \(decimal(count)) records\(rows):")
        print(importTable(plan, recordCount: count))
        fflush(nil)
    case .faults(let faults):
        let shown = faults.prefix(20)
        for line in shown { complain(line) }
        if faults.count > shown.count { complain("… and \(decimal(faults.count - shown.count)) more") }
    }
}

/// Shows the contents of an exported directory.
private func show(_ run: DirectoryImport) {
    print("\(run.directory), exported \(run.manifest.time.rfc3339), \(decimal(run.recordCount)) records:")
    for entry in run.entries { print("\(entry.type)  \(decimal(entry.records))") }
    fflush(nil)
}

private func sentence(_ summary: RunSummary) -> String {
    guard !summary.isDryRun else { return "Nothing was imported, because of --dry-run." }
    return "\(decimal(summary.rows)) records imported in \(summary.elapsed.inTenths), \(summary.rate) a second"
}
