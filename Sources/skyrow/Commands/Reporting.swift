import ArgumentParser
import FoundationEssentials
import Glibc
import Logging

/// Runs a command's work and turns a ``ToolError`` into one sentence on standard error and an exit code.
func reportingErrors(_ work: () async throws -> Void) async throws {
    do {
        try await work()
    } catch let error as ToolError {
        complain("skyrow: \(error)")
        throw ExitCode(error.status.rawValue)
    }
}

/// Writes a line to standard error.
func complain(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDERR_FILENO, bytes, bytes.count)
}

func processEnvironment() -> [String: String] {
    ProcessInfo.processInfo.environment
}

/// The logger of the commands beside the service, which tell only what goes wrong.
func toolLogger() -> Logger {
    var logger = Logger(label: "skyrow") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = .warning
    return logger
}
