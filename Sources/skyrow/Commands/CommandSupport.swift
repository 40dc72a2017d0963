import Glibc
import Logging
import SkyrowMaintenance
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import SkyrowSystem

/// Runs a database operation, and turns its error into a ``ToolError`` with PostgreSQL's message for the operator.
func failingAsTool<Success>(_ body: () async throws -> Success) async throws(ToolError) -> Success {
    do {
        return try await body()
    } catch {
        throw ToolError(databaseFailure: error)
    }
}

/// Throws ``ToolError`` if the reserved tables are missing or have another version. A read-only command does not migrate them.
func requireMigrated(_ client: PostgresClient, _ schema: SQLIdentifier, logger: Logger) async throws(ToolError) {
    let migration = MigrationRun(client: client, schema: schema, logger: logger)
    for step in try await failingAsTool({ try await migration.pendingSteps() }) {
        switch step {
        case .install, .migrate:
            throw .failure("The schema \(schema.name) is not up to date with this skyrow: run 'skyrow migrate' first.")
        case .rebaseRevisions, .moveRevisions, .installEventTriggers:
            break
        }
    }
}

/// A confirmation on the terminal.
enum Confirmation {
    /// Asks, and throws ``ToolError`` if the user declines or there is no terminal.
    static func require(_ question: String) throws(ToolError) {
        guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else {
            throw .usage("Nothing was changed: confirmation needs a terminal. Add --yes.")
        }
        let prompt = Array("\(printable(question)) [y/N] ".utf8)
        _ = write(STDERR_FILENO, prompt, prompt.count)
        let answer = readLine(strippingNewline: true)?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else { throw .failure("Nothing was changed.") }
    }
}

/// `1 change`, `2 changes`
func counted(_ count: Int, _ noun: String) -> String {
    "\(decimal(count)) \(noun)\(count == 1 ? "" : "s")"
}
