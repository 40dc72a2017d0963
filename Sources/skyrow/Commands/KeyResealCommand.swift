import ArgumentParser
import SkyrowJSON
import SkyrowMaintenance
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow key reseal`
struct KeyResealCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reseal",
        abstract: "Seal the secrets of users with the first key of secrets-key.",
        discussion: """
            Tokens of providers and secrets of second factors that are sealed with another key are sealed again, in batches. \
            Repeat the command to resume an interrupted run. Keep the old key in the file until the command has finished. The \
            exit status is 1 if there are values that no key can open; these are not changed.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The number of rows that one statement changes.", valueName: "rows"))
    var batch = 500

    func run() async throws {
        var unreadable = 0
        try await reportingErrors {
            guard (1...10_000).contains(batch) else { throw ToolError.usage("--batch must be from 1 to 10000.") }
            var loader = options.loader
            loader.groups += [KeySettings.self]
            let settings = try await loader.loadForApplication()
            let keys = try settings.keys.sealingKeys()
            try await withClient(settings) { client, schema, logger throws(ToolError) in
                try await requireMigrated(client, schema, logger: logger)
                let store = RecordStore(
                    client: client,
                    schema: schema,
                    mode: .production,
                    sealingKeys: keys,
                    logger: logger
                )
                var all: [(SealedColumn, ResealingCounts)] = []
                for column in SealedColumn.allCases {
                    let counts = try await failingAsTool { try await store.reseal(column, batch: batch) }
                    all.append((column, counts))
                    unreadable += counts.unreadable
                }
                print(output.isJSON ? json(all) : text(all))
            }
        }
        if unreadable > 0 { throw ExitCode(ExitStatus.failure.rawValue) }
    }

    private func text(_ all: [(SealedColumn, ResealingCounts)]) -> String {
        textTable(
            [["COLUMN", "RESEALED", "UNREADABLE"]]
                + all.map { [$0.rawValue, decimal($1.resealed), decimal($1.unreadable)] }
        )
    }

    private func json(_ all: [(SealedColumn, ResealingCounts)]) -> String {
        jsonObject { writer in
            for (column, counts) in all {
                writer.key(column.rawValue)
                writer.beginObject()
                writer.member("resealed", counts.resealed)
                writer.member("unreadable", counts.unreadable)
                writer.endObject()
            }
        }
    }
}
