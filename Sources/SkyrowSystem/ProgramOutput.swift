import Glibc

/// The output of a program, read while it runs, and its error messages.
package final class ProgramOutput: Sendable {
    private let program: String
    private let process: ChildProcess
    private let output: FileDescriptor
    private let complaints: FileDescriptor

    /// Starts a program; throws ``ToolError`` if it cannot be started.
    ///
    /// - Parameters:
    ///   - others: the program's descriptors 3, 4, ….
    package init(
        of words: [String],
        environment: [String: String] = ProgramOutput.plainEnvironment,
        input: FileDescriptor? = nil,
        others: [FileDescriptor] = []
    ) async throws(ToolError) {
        program = words.first.map { String($0.split(separator: "/").last ?? "") } ?? ""
        let input = if let input { input } else { try FileDescriptor(opening: "/dev/null", O_RDONLY) }
        let (reading, writing) = try FileDescriptor.pipe()
        complaints = try FileDescriptor.temporary()
        let descriptors = [input, writing, complaints] + others
        process = try await ChildProcess.launch(Command(words, environment: environment, descriptors: descriptors))
        output = reading
    }

    deinit {
        // A reader that closed the pipe does not need the rest.
        process.send(signal: SIGTERM)
    }

    package static let plainEnvironment = ["PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"]

    /// Returns the next bytes; empty at the end. Throws ``ToolError`` with the program's error messages if it failed.
    package func next() async throws(ToolError) -> [UInt8] {
        let chunk = try output.read(upTo: 256 << 10)
        guard chunk.isEmpty else { return chunk }
        let status = await process.exit
        guard status != .exited(0) else { return [] }
        let lines = complaints.text.split(separator: "\n").suffix(3)
        throw .failure(lines.isEmpty ? "\(program) failed with \(status)." : lines.joined(separator: "\n"))
    }

    /// Returns all of the output as text.
    package func text() async throws(ToolError) -> String {
        var bytes: [UInt8] = []
        while true {
            let chunk = try await next()
            if chunk.isEmpty { return String(decoding: bytes, as: UTF8.self) }
            bytes += chunk
        }
    }

    /// Returns the output of a program without input.
    package static func text(of words: [String]) async throws(ToolError) -> String {
        try await ProgramOutput(of: words).text()
    }
}

extension FileDescriptor {
    /// Creates a file without a name, open for reading and writing.
    package static func temporary() throws(ToolError) -> FileDescriptor {
        guard let file = tmpfile() else { throw .system("Cannot create a temporary file") }
        defer { fclose(file) }
        let number = fcntl(fileno(file), F_DUPFD_CLOEXEC, 3)
        guard number >= 0 else { throw .system("Cannot create a temporary file") }
        return FileDescriptor(owning: number)
    }

    /// The contents of a small file, from its start.
    package var text: String {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = pread(number, &part, part.count, off_t(bytes.count))
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += part[..<count]
        }
    }
}
