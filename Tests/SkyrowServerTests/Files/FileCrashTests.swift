import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

/// Files of a process that is killed while it writes.
@Suite(.timeLimit(.minutes(60))) struct FileCrashTests {
    private static let mark = "SKYROW_TEST_FILES"
    private static let writers = 4

    /// A part of a file, which is repeated as often as its name says.
    private static func part(of name: AssetName) -> [UInt8] { Array("\(name)\n".utf8) }

    private static func count(of name: AssetName) -> Int { Int(name.filename) ?? 0 }

    /// The names in a file with a line for each; a line may be incomplete.
    private static func names(_ path: String) -> [AssetName] {
        let text = contentsOfFile(path) ?? ""
        return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { AssetName($0) }
    }

    /// After each kill, every file that was acknowledged is there, and no name leads to a part of a file.
    @Test func aKillLosesNoFileThatWasAcknowledged() async throws {
        // This process is the one that is killed.
        if let directory = ProcessInfo.processInfo.environment[Self.mark] { return try await Self.write(in: directory) }
        let folder = try TemporaryDirectory()
        let acknowledged = folder.path + "/acknowledged"
        var random = SeededGenerator.forTest()
        var before = 0
        for round in 1...seededCases(4) {
            let wanted = before + Int.random(in: 1...150, using: &random)
            let writer = try await Self.startWriter(in: folder.path)
            try await waiting(until: "\(wanted) files are stored in round \(round)") {
                let count = Self.names(acknowledged).count
                try #require(count >= wanted || writer.exitIfEnded == nil, "The writer ended before it was killed.")
                return count >= wanted
            }
            writer.send(signal: SIGKILL)
            #expect(await writer.exit == .killed(signal: SIGKILL))

            let storage = try await LocalFileStorage(in: folder.path + "/files", of: .default)
            let stored = try await storage.files(after: nil, limit: .max).map(\.name)
            let names = Self.names(acknowledged)
            #expect(Set(stored).isSuperset(of: names))
            for name in stored {
                let bytes = try await storage.bytes(of: name)
                let expected = Array(repeating: Self.part(of: name), count: Self.count(of: name)).flatMap { $0 }
                #expect(bytes == expected, "\(name)")
            }
            let parts = contents(folder.path + "/files/app/incoming").count
            #expect(parts <= Self.writers)
            #expect(try await storage.sweep(olderThan: .seconds(-1)) { _ in [] } == parts)
            before = names.count
        }
    }

    /// Starts this test in a separate process, where it writes files until it is killed.
    private static func startWriter(
        in directory: String,
        _ test: String = "aKillLosesNoFileThatWasAcknowledged"
    ) async throws -> ChildProcess {
        let program = try #require(targetOfLink("/proc/self/exe"))
        let null = try FileDescriptor(opening: "/dev/null", O_RDWR)
        return try await ChildProcess.launch(
            Command(
                [program, "--testing-library", "swift-testing", "--filter", "FileCrashTests/\(test)"],
                environment: ProcessInfo.processInfo.environment.merging([mark: directory]) { $1 },
                descriptors: [null, null, null]
            )
        )
    }

    /// Stores files and acknowledges each by its name, until the process of the test has ended.
    private static func write(in directory: String) async throws {
        let parent = getppid()
        let storage = try await LocalFileStorage(in: directory + "/files", of: .default)
        let log = try FileDescriptor(opening: directory + "/acknowledged", O_WRONLY | O_CREAT | O_APPEND)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    var random = SystemRandomNumberGenerator()
                    // More than the test waits for, and few enough for the memory.
                    for _ in 0..<500 where getppid() == parent {
                        let count = writer == 0 ? 0 : Int.random(in: 0...500, using: &random)
                        let name = AssetName(id: UUID().uuidString.lowercased(), filename: "\(count)")
                        try await storage.store(Array(repeating: part(of: name), count: count), as: name)
                        // One call of write(2), which appends all of it or nothing.
                        try log.write("\(name)\n".utf8)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
