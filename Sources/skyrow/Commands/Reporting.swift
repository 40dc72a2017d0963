import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import SkyrowPostgres
import SkyrowSystem

/// Runs a command's work and turns a ``ToolError`` into one sentence on standard error and an exit code.
///
/// - Parameter failure: what a plain failure exits with, where 1 means something else.
func reportingErrors(failure: Int32 = ExitStatus.failure.rawValue, _ work: () async throws -> Void) async throws {
    do {
        try await work()
    } catch let error as ToolError {
        complain("skyrow: \(error)")
        throw ExitCode(error.status == .failure ? failure : error.status.rawValue)
    }
}

/// Writes a line to standard error.
func complain(_ line: String) {
    let bytes = Array((printable(line) + "\n").utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}

func processEnvironment() -> [String: String] {
    ProcessInfo.processInfo.environment
}

/// The environment of one of PostgreSQL's programs that connects to a database by it, so that no password stands in a
/// command line, where all users of the computer could read it; without Skyrow's own settings, keys among them.
func processEnvironment(connectingTo connection: String) throws(ToolError) -> [String: String] {
    do {
        return processEnvironment().filter { !$0.key.hasPrefix("SKYROW_") }
            .merging(try PostgresConfiguration.environment(ofConnection: connection)) { $1 }
    } catch {
        throw .configuration("The database's address is none that PostgreSQL's programs understand.")
    }
}

/// The logger of the commands beside the service, which log only failures.
func toolLogger() -> Logger {
    var logger = Logger(label: "skyrow") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    return logger
}
