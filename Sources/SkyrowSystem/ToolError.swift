import Glibc

/// The exit status of a command; the numbers above 1 are those of sysexits.h.
package enum ExitStatus: Int32, CaseIterable, Sendable {
    case success = 0
    case failure = 1
    case usage = 64
    case unavailable = 69
    case configuration = 78

    /// The meaning of the number, for the manual.
    package var meaning: String {
        switch self {
        case .success: "The command succeeded."
        case .failure: "The command failed; the message on standard error says why."
        case .usage: "The command line is invalid."
        case .unavailable: "PostgreSQL cannot be reached."
        case .configuration: "A setting in the environment or the settings file is invalid or unknown."
        }
    }

    /// Returns every status of a command, `["skyrow", "migrate"]`, with its meaning; two commands have different statuses.
    package static func meanings(of command: [String]) -> [(status: Int32, meaning: String)] {
        let common = allCases.filter { $0 != .success && $0 != .failure }.map { ($0.rawValue, $0.meaning) }
        return switch command {
        case ["skyrow", "schema", "diff"]:
            [
                (0, "The file and the database match."), (1, "They differ, or the database has drifted."),
                (2, "They could not be compared; the message on standard error says why."),
            ] + common
        case ["skyrow", "doctor"]:
            [
                (0, "There are no findings, or only hints."), (1, "There are warnings, but no errors."),
                (2, "There are errors, such as a database that cannot be reached."),
            ] + common.filter { $0.0 != unavailable.rawValue }
        default:
            allCases.map { ($0.rawValue, $0.meaning) }
        }
    }
}

/// A failure that ends a command: one sentence for the terminal, and the exit status.
package struct ToolError: Error, Hashable, CustomStringConvertible {
    package var description: String
    package var status: ExitStatus

    /// A wrong command line.
    package static func usage(_ sentence: String) -> ToolError {
        ToolError(description: sentence, status: .usage)
    }

    /// A wrong setting that is not on the command line.
    package static func configuration(_ sentence: String) -> ToolError {
        ToolError(description: sentence, status: .configuration)
    }

    /// A database that cannot be reached.
    package static func unavailable(_ sentence: String) -> ToolError {
        ToolError(description: sentence, status: .unavailable)
    }

    /// Any other failure.
    package static func failure(_ sentence: String) -> ToolError {
        ToolError(description: sentence, status: .failure)
    }

    /// A failed call of the C library, described by `errno`: "Cannot open data/keys: Permission denied."
    package static func system(_ attempt: String) -> ToolError {
        failure("\(attempt): \(String(cString: strerror(errno))).")
    }
}
