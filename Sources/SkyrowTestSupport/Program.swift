import Foundation
import SkyrowSystem

/// Programs that tests run beside themselves.
///
/// Not `Foundation.Process`: on Linux that notices the end of a program by the end of a socket which the program's own
/// children inherit, so it would wait for as long as a server that the program started.
enum Program {
    /// Runs a program to its end; returns what it wrote to its standard output.
    ///
    /// - Throws: ``TemporaryClusterError`` with the program's error output when it fails, `ToolError` when it cannot be started, or
    ///   ``WaitTimedOut`` when it does not end; then it is killed.
    @discardableResult
    static func run(
        _ program: String,
        _ arguments: [String],
        input: String = "",
        within limit: Duration = patience
    ) async throws -> String {
        // Files, not pipes: a server that inherits a pipe would keep it open, and a full pipe would block the program.
        let files = try (
            input: FileDescriptor.temporary(), output: FileDescriptor.temporary(), errors: FileDescriptor.temporary()
        )
        try files.input.write(input.utf8)
        lseek(files.input.number, 0, SEEK_SET)
        let words = [program] + arguments
        let process = try await ChildProcess.launch(command(words, [files.input, files.output, files.errors]))
        let line = words.joined(separator: " ")
        let exit = try await waiting(for: "the end of \(line)", within: limit) {
            kill(-process.processID, SIGKILL)
        } _: {
            await process.exit
        }
        guard exit == .exited(0) else {
            throw TemporaryClusterError(
                description: "\(line) ended with \(exit):\n\(files.output.text + files.errors.text)"
            )
        }
        return files.output.text
    }

    /// Starts a program that ``end(_:with:)`` ends.
    static func start(_ words: [String], _ descriptors: [FileDescriptor]) throws -> pid_t {
        try command(words, descriptors).spawn()
    }

    /// Sends a signal to a program and waits for its end.
    static func end(_ process: pid_t, with signal: Int32 = SIGKILL) {
        kill(process, signal)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    }

    /// It leads a session, and so a process group in which its children are: neither an interrupt typed at the terminal nor the end
    /// of a run reaches it.
    private static func command(_ words: [String], _ descriptors: [FileDescriptor]) -> Command {
        let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "10"]
        var command = Command(words, environment: environment, descriptors: descriptors)
        command.leavesSession = true
        return command
    }
}
