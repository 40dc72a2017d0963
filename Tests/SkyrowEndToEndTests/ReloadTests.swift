import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// SIGHUP, and what a running service does with it.
@Suite struct ReloadTests {
    /// A service with a settings file, which `write` replaces before it sends SIGHUP.
    struct Fixture {
        let service: RunningService
        let file: String

        func reload(_ json: String) throws {
            try json.write(toFile: file, atomically: true, encoding: .utf8)
            service.process.send(signal: SIGHUP)
        }
    }

    /// Reads the log on until a line has all of the words.
    static func line(of log: AsyncStream<String>, with words: String...) async throws -> String {
        try await log.line("a line with \(words)") { words.allSatisfy($0.contains) }
    }

    @Test func logLevelAndRateLimitsChangeWhileTheServiceRuns() async throws {
        let folder = try TemporaryDirectory()
        let file = folder.path + "/skyrow.json"
        try #"{"log-level": "error"}"#.write(toFile: file, atomically: false, encoding: .utf8)
        let service = try await RunningService.start(
            in: folder.path + "/data",
            environment: ["SKYROW_CONFIG": file],
            logLevel: nil
        )
        let fixture = Fixture(service: service, file: file)
        let log = service.complaints
        let client = SkyrowClient(
            endpoint: service.address,
            apiKey: try service.key("SKYROW_API_KEY"),
            retryPolicy: .never
        )
        let note = try RecordID("note/1")
        func code() async -> ErrorCode? {
            do {
                _ = try await client.publicDatabase.fetch(note)
                return nil
            } catch {
                return error.serverError?.code
            }
        }
        _ = try await service.saveNote("1")
        for _ in 0..<3 { #expect(await code() == nil) }

        try fixture.reload(#"{"log-level": "info", "rate-limit-client": "2/h", "maximum-body": 4096}"#)
        let reloaded = try await Self.line(of: log, with: "The settings were reloaded")
        #expect(reloaded.contains("rate-limit-client, log-level"))
        let waiting = try await Self.line(of: log, with: "Some settings take effect at the next start")
        #expect(waiting.contains(#""maximum-body""#))
        #expect([await code(), await code(), await code()] == [nil, nil, .rateLimited])
        // Lines about requests were not logged before.
        let request = try await Self.line(of: log, with: #""message":"Request""#)
        #expect(request.contains(#""action":"record:fetch""#))

        // What is wrong changes nothing, and is told.
        try fixture.reload(#"{"log-level": "error", "rate-limit-client": "many"}"#)
        let refused = try await Self.line(of: log, with: "The settings were not reloaded")
        #expect(refused.contains("'rate-limit-client' in \(file) must be 'off'"))
        #expect(await code() == .rateLimited)

        try fixture.reload("{}")
        _ = try await Self.line(of: log, with: "The settings were reloaded")
        #expect(await code() == nil)
        #expect(await service.terminate() == .exited(0))
    }

    @Test func aServiceWhoseTerminalIsGoneShutsDown() async throws {
        let folder = try TemporaryDirectory()
        var terminal: FileDescriptor? = try FileDescriptor(opening: "/dev/ptmx", O_RDWR | O_NOCTTY)
        let other = try #require(terminal).otherEnd()
        let service = try await RunningService.start(in: folder.path + "/data", input: other)
        // While it is there, SIGHUP is but a reload.
        service.process.send(signal: SIGHUP)
        #expect(try await service.saveNote("1") == "1")
        terminal = nil
        // A process that another test starts just now has the far side until it runs its program.
        try await waiting(until: "the terminal is gone") { isatty(other.number) != 1 }
        service.process.send(signal: SIGHUP)
        #expect(await service.process.ended() == .exited(0))
    }
}

extension FileDescriptor {
    /// The terminal of which this one, of `/dev/ptmx`, is the far side.
    fileprivate func otherEnd() throws -> FileDescriptor {
        // TIOCSPTLCK and TIOCGPTN of Linux, whose macros Swift does not see.
        var isLocked: Int32 = 0
        var number: Int32 = 0
        guard ioctl(self.number, 0x4004_5431, &isLocked) == 0, ioctl(self.number, 0x8004_5430, &number) == 0 else {
            throw ToolError.system("Cannot create a terminal")
        }
        return try FileDescriptor(opening: "/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    }
}
