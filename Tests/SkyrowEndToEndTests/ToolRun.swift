import Foundation
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The built `skyrow` beside the test bundle, run as its users run it.
enum Tool {
    /// The program that belongs to these tests.
    static let path: String = {
        let bundle = targetOfLink("/proc/self/exe") ?? CommandLine.arguments[0]
        return (bundle as NSString).deletingLastPathComponent + "/skyrow"
    }()

    /// The environment without what would change the tool's settings.
    static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { name, _ in
            name == "SKYROW_TEST_LATE" || !name.hasPrefix("SKYROW_") && !name.hasPrefix("PG")
        }
    }

    /// What a finished run left.
    struct Result: Sendable {
        var status: ProcessExit
        var output: String
        var errors: String
    }

    /// Runs the tool to its end.
    static func run(_ arguments: String..., environment: [String: String] = [:]) async throws -> Result {
        try await run(words: [path] + arguments, environment: environment)
    }

    /// Runs any program to its end.
    ///
    /// - Parameter input: what it reads on standard input, at most what a pipe holds.
    static func run(words: [String], environment: [String: String] = [:], input: String? = nil) async throws -> Result {
        let (child, output, errors) = try await launch(words, environment: environment, input: input.map(pipe))
        let command = words.joined(separator: " ")
        return try await waiting(for: "the end of \(command)", within: .seconds(1200)) {
            child.send(signal: SIGKILL)
        } _: {
            async let outputText = text(of: output)
            async let errorsText = text(of: errors)
            return try await Result(status: child.exit, output: outputText, errors: errorsText)
        }
    }

    /// Starts a program that is killed with this process; its output and its complaints end with it.
    static func launch(
        _ words: [String],
        environment: [String: String] = [:],
        input: FileDescriptor? = nil
    ) async throws -> (child: ChildProcess, output: FileDescriptor, errors: FileDescriptor) {
        let (output, outputEnd) = try FileDescriptor.pipe()
        let (errors, errorsEnd) = try FileDescriptor.pipe()
        let input = try input ?? FileDescriptor(opening: "/dev/null", O_RDONLY)
        let child = try await ChildProcess.launch(
            Command(
                ["setpriv", "--pdeathsig", "KILL"] + words,
                environment: Tool.environment.merging(environment) { $1 },
                descriptors: [input, outputEnd, errorsEnd]
            )
        )
        return (child, output, errors)
    }

    /// A pipe that holds a text and its end.
    private static func pipe(holding text: String) throws -> FileDescriptor {
        let (reading, writing) = try FileDescriptor.pipe()
        try writing.write(text.utf8)
        return reading
    }

    private static func text(of file: FileDescriptor) async throws -> String {
        var lines: [String] = []
        for await line in Tool.lines(of: file) { lines.append(line) }
        return lines.joined(separator: "\n")
    }

    /// The lines that arrive, read on a thread of their own, until the writing end is closed.
    static func lines(of file: FileDescriptor) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        Thread.detachNewThread {
            var rest: [UInt8] = []
            while let chunk = try? file.read(upTo: 1 << 16), !chunk.isEmpty {
                // Only what is new is searched: a line may have megabytes.
                let parts = chunk.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                for part in parts.dropLast() {
                    continuation.yield(String(decoding: rest + part, as: UTF8.self))
                    rest = []
                }
                rest += parts.last ?? []
            }
            if !rest.isEmpty { continuation.yield(String(decoding: rest, as: UTF8.self)) }
            continuation.finish()
        }
        return stream
    }
}

extension ChildProcess {
    /// How it ended; when it does not end in time, that is an issue and it is killed.
    func ended(_ what: String = "the service") async -> ProcessExit {
        do {
            return try await waiting(for: "the end of \(what)", hearsCancellation: false) { await self.exit }
        } catch {
            Issue.record(error)
            send(signal: SIGKILL)
            return await exit
        }
    }
}

extension AsyncStream<String> {
    /// Reads on until `last` is true of a line, and returns what `last` made of the lines; the rest stays to be read.
    ///
    /// - Throws: ``ServiceFailure`` when the lines end before, with what was read.
    @discardableResult
    func line(
        _ what: String,
        within limit: Duration = patience,
        where isIt: @escaping @Sendable (String) throws -> Bool
    ) async throws -> String {
        try await waiting(for: what, within: limit) {
            var read: [String] = []
            for await line in self {
                if try isIt(line) { return line }
                read.append(line)
            }
            throw ServiceFailure(description: "The output ended before \(what):\n" + read.joined(separator: "\n"))
        }
    }
}

extension FileDescriptor {
    /// A TCP connection to this machine.
    convenience init(connectingTo port: UInt16) throws {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        self.init(owning: socket)
        // A read or write that waits for the other end is an error after that.
        var limit = timeval(tv_sec: Int(patience.components.seconds), tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(socket, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else { throw ToolError.system("Cannot connect") }
    }

    /// Sends bytes on a connection; false if the other end has closed it, which is no signal here.
    func send(_ bytes: some Collection<UInt8>) -> Bool {
        var rest = Array(bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 || errno == EINTR else { return false }
            rest = rest.dropFirst(max(count, 0))
        }
        return true
    }

    /// Ends a connection in both directions, also for the threads that wait for it.
    func shutDown() {
        _ = Glibc.shutdown(number, Int32(SHUT_RDWR))
    }
}
