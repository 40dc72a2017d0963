import Glibc
import Synchronization

/// Compresses through gzip(1) into an open file.
package final class GzipWriter: Sendable {
    private let input: Mutex<FileDescriptor?>
    private let process: ChildProcess

    /// Throws ``ToolError`` if gzip cannot be started.
    package init(to file: FileDescriptor) async throws(ToolError) {
        // If gzip ends before its input does, `write` fails instead of a signal ending the process.
        signal(SIGPIPE, SIG_IGN)
        let (reading, writing) = try FileDescriptor.pipe()
        process = try await ChildProcess.launch(try gzip("-c", from: reading, to: file))
        input = Mutex(writing)
    }

    package func write(_ bytes: [UInt8]) throws(ToolError) {
        guard let pipe = input.withLock({ $0 }) else { return }
        try pipe.write(bytes)
    }

    /// Waits until all data is in the file.
    package func finish() async throws(ToolError) {
        // Closing the pipe ends the input.
        input.withLock { $0 = nil }
        let exit = await process.exit
        guard exit == .exited(0) else { throw .failure("gzip failed with \(exit): is the disk full?") }
    }
}

/// Decompresses a file through gzip(1), from its present position on.
package final class GzipReader: Sendable {
    private let output: FileDescriptor
    private let process: ChildProcess

    /// Throws ``ToolError`` if gzip cannot be started.
    package init(from file: FileDescriptor) async throws(ToolError) {
        let (reading, writing) = try FileDescriptor.pipe()
        process = try await ChildProcess.launch(try gzip("-dc", from: file, to: writing))
        output = reading
    }

    /// Returns the next bytes; empty at the end. Throws ``ToolError`` if the file is not from gzip, or not complete.
    package func next() async throws(ToolError) -> [UInt8] {
        let chunk = try output.read(upTo: 256 << 10)
        if chunk.isEmpty, await process.exit != .exited(0) {
            throw .failure("The file is truncated, or is not a gzip file.")
        }
        return chunk
    }
}

private func gzip(_ mode: String, from input: FileDescriptor, to output: FileDescriptor) throws(ToolError) -> Command {
    let complaints = try FileDescriptor(opening: "/dev/null", O_WRONLY)
    return Command(
        ["gzip", mode],
        environment: ["PATH": "/usr/local/bin:/usr/bin:/bin"],
        descriptors: [input, output, complaints]
    )
}
