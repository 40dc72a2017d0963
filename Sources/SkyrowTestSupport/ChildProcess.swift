import Foundation

/// Runs a program to its end.
///
/// Not `Foundation.Process`: on Linux that notices the end of a program by the end of a socket which the program's own
/// children inherit, so it would wait for as long as a server that the program started.
enum ChildProcess {
    /// Returns what the program wrote to its standard output.
    ///
    /// - Throws: ``TemporaryClusterError`` with the program's error output when it cannot be started or fails, or
    ///   ``WaitTimedOut`` when it does not end; then it is killed.
    @discardableResult
    static func run(
        _ program: String,
        _ arguments: [String],
        input: String = "",
        within limit: Duration = patience
    ) async throws -> String {
        // Files, not pipes: a server that inherits a pipe would keep it open, and a full pipe would block the program.
        let inputFile = try TemporaryFile(contents: input)
        let output = try TemporaryFile()
        let errors = try TemporaryFile()
        let process = try spawn(
            program,
            arguments,
            descriptors: [inputFile.descriptor, output.descriptor, errors.descriptor]
        )
        let command = ([program] + arguments).joined(separator: " ")
        // The program leads a session, so its process group has its children as well.
        let status = try await waiting(for: "the end of \(command)", within: limit) {
            kill(-process, SIGKILL)
        } _: {
            await onThread {
                var status: Int32 = -1
                while waitpid(process, &status, 0) < 0 && errno == EINTR {}
                return status
            }
        }
        guard status == 0 else {
            let explanation = output.contents() + errors.contents()
            throw TemporaryClusterError(description: "\(command) failed with wait status \(status):\n\(explanation)")
        }
        return output.contents()
    }

    /// Starts a program in a session of its own, so that an interrupt typed at the terminal does not reach it, with
    /// these descriptors as its first ones and no others.
    static func spawn(_ program: String, _ arguments: [String], descriptors: [Int32]) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (target, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(target))
        }
        // glibc ignores those that are closed already by the time the program starts.
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = Int32(name), descriptor >= descriptors.count else { continue }
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID of glibc's <spawn.h>, which Swift does not import.
        posix_spawnattr_setflags(&attributes, 0x80)
        let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C.UTF-8", "PGCONNECT_TIMEOUT=10"]
        var process: pid_t = 0
        let status = withStringPointers([program] + arguments) { arguments in
            withStringPointers(environment) { environment in
                posix_spawnp(&process, program, &actions, &attributes, arguments, environment)
            }
        }
        guard status == 0 else {
            throw TemporaryClusterError(description: "\(program) cannot be run: \(String(cString: strerror(status)))")
        }
        return process
    }

    private static func withStringPointers<Success>(
        _ strings: [String],
        _ body: ([UnsafeMutablePointer<CChar>?]) -> Success
    ) -> Success {
        let pointers = strings.map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers)
    }
}

/// A file without a name, gone when the last descriptor closes.
private final class TemporaryFile: Sendable {
    let descriptor: Int32

    init(contents: String = "") throws {
        guard let file = tmpfile() else {
            throw TemporaryClusterError(description: "No temporary file can be made in /tmp")
        }
        defer { fclose(file) }
        // Above the standard descriptors, so that laying it out for a child never overwrites another one.
        descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 10)
        fputs(contents, file)
        rewind(file)
    }

    deinit {
        close(descriptor)
    }

    func contents() -> String {
        lseek(descriptor, 0, SEEK_SET)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(contentsOf: buffer[..<count])
        }
    }
}
