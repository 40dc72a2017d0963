import ArgumentParser
import Logging
import SkyrowJSON
import SkyrowMaintenance
import SkyrowPostgres
import SkyrowProtocol
import SkyrowServer
import SkyrowStore
import SkyrowSystem

/// `skyrow migrate`
struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Migrate the database to this version; serve also does this when it starts."
    )

    @OptionGroup var options: DatabaseOptions

    @OptionGroup var output: OutputOptions

    @Flag(name: .customLong("dry-run"), help: "Show the pending steps, and change nothing.")
    var isDryRun = false

    func run() async throws {
        try await reportingErrors {
            let settings = try await options.loader.loadForApplication()
            try await withClient(settings) { client, schema, logger throws(ToolError) in
                let migration = MigrationRun(client: client, schema: schema, logger: logger)
                let steps = try await failingAsTool { try await isDryRun ? migration.pendingSteps() : migration() }
                // Every start of PostgreSQL requires this step, which involves no decision of the operator.
                let shown = steps.filter { $0 != .moveRevisions }
                print(report(shown, isDryRun: isDryRun, isJSON: output.isJSON))
            }
        }
    }
}

/// `{"dry_run":false,"steps":["created the reserved tables"]}`, or a line for each step.
private func report(_ steps: [Migrator.Step], isDryRun: Bool, isJSON: Bool) -> String {
    if isJSON {
        return jsonObject { writer in
            writer.member("dry_run", isDryRun)
            writer.member("steps", steps.map(\.summary))
        }
    }
    if steps.isEmpty { return "The database is up to date." }
    return steps.map { isDryRun ? "pending: \($0.summary)" : $0.summary }.joined(separator: "\n")
}
