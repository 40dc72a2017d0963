import Glibc

/// A failure that ends a command: one sentence for the terminal, and the exit code.
struct ToolError: Error, Hashable, CustomStringConvertible {
    var description: String
    var exitCode: Int32

    /// A wrong option or setting; exits with 64 (`EX_USAGE`).
    static func usage(_ sentence: String) -> ToolError {
        ToolError(description: sentence, exitCode: 64)
    }

    /// Anything else; exits with 1.
    static func failure(_ sentence: String) -> ToolError {
        ToolError(description: sentence, exitCode: 1)
    }

    /// A failed call of the C library, told by `errno`: "Cannot open data/keys: Permission denied."
    static func system(_ attempt: String) -> ToolError {
        failure("\(attempt): \(String(cString: strerror(errno))).")
    }
}
