import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import SkyrowPostgres
import SkyrowSystem

/// Runs a command, and turns a ``ToolError`` into a message on standard error and an exit code.
///
/// - Parameter failure: The exit code of a general failure, for commands in which 1 has another meaning.
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

/// Returns the environment for a PostgreSQL program that connects to a database. It has the password, which all users
/// of the machine could read in a command line, and lacks Skyrow's own settings, including keys.
func processEnvironment(connectingTo connection: String) throws(ToolError) -> [String: String] {
    do {
        return processEnvironment().filter { !$0.key.hasPrefix("SKYROW_") }
            .merging(try PostgresConfiguration.environment(ofConnection: connection)) { $1 }
    } catch {
        throw .configuration("The address of the database is not valid for PostgreSQL's programs.")
    }
}

/// Returns the logger of maintenance commands, which logs only failures.
func toolLogger() -> Logger {
    var logger = Logger(label: "skyrow") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    return logger
}
