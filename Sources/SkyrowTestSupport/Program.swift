import Foundation
import SkyrowSystem

/// Child programs of tests.
///
/// They do not use `Foundation.Process`: on Linux it detects the end of a program by the end of a socket that the
/// program's children inherit, so it would wait until a server started by the program ends.
enum Program {
    /// Runs a program to its end, and returns its standard output.
    ///
    /// - Throws: ``TemporaryClusterError`` with the error output of a failed program, `ToolError` if it cannot be
    ///   started, or ``WaitTimedOut`` if it does not end, after killing it.
    @discardableResult
    static func run(_ words: [String], input: String = "", within limit: Duration = patience) async throws -> String {
        // Files are used instead of pipes: a server would keep an inherited pipe open, and a full pipe would block the program.
        let files = try (
            input: FileDescriptor.temporary(), output: FileDescriptor.temporary(), errors: FileDescriptor.temporary()
        )
        try files.input.write(input.utf8)
        lseek(files.input.number, 0, SEEK_SET)
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

    /// Starts a program, which ``end(_:with:)`` ends.
    static func start(_ words: [String], _ descriptors: [FileDescriptor]) throws -> pid_t {
        try command(words, descriptors).spawn()
    }

    /// Starts a program without input, whose output goes to a file.
    static func start(_ words: [String], log: String = "/dev/null") throws -> pid_t {
        let input = try FileDescriptor(opening: "/dev/null", O_RDONLY)
        let output = try FileDescriptor(opening: log, O_WRONLY | O_CREAT)
        return try start(words, [input, output, output])
    }

    /// Waits until a program has written this many numbers to a file, and returns them.
    static func numbers(
        _ count: Int,
        in file: String,
        until what: String,
        within limit: Duration = patience
    ) async throws -> [Int] {
        var numbers: [Int] = []
        try await waiting(until: what, within: limit) {
            let text = try? String(contentsOfFile: file, encoding: .utf8)
            numbers = text?.split(separator: " ").compactMap { Int($0) } ?? []
            return numbers.count == count
        }
        return numbers
    }

    /// Sends a signal to a program and waits for its end.
    static func end(_ process: pid_t, with signal: Int32 = SIGKILL) {
        kill(process, signal)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    }

    /// Makes the command of a program. It leads its own session and process group, so neither an interrupt at the
    /// terminal nor the end of a run signals it.
    private static func command(_ words: [String], _ descriptors: [FileDescriptor]) -> Command {
        let environment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PGCONNECT_TIMEOUT": "600"]
        var command = Command(words, environment: environment, descriptors: descriptors)
        command.leavesSession = true
        return command
    }
}
