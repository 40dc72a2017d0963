import Foundation
import Logging
import SkyrowTestSupport
import Testing

@testable import SkyrowServer
@testable import SkyrowSystem

@Suite struct TraceFileTests {
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func lines(_ path: String) throws -> [String] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    @Test func spansAreWrittenADocumentALine() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/traces"
        let file = try TraceFile(path: path, limit: 1 << 20, version: "1", logger: logger)
        for _ in 0..<600 { file.append(.sample()) }
        file.flush()
        let lines = try lines(path)
        // What goes into one line is bounded, so that nobody has to read a line without end.
        #expect(lines.map { $0.components(separatedBy: "\"traceId\"").count - 1 } == [512, 88])
        #expect(file.counts.accepted == 600)
        #expect(file.counts.dropped == 0)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func spansAreWrittenWithoutBeingAskedFor() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/traces"
        let file = try TraceFile(path: path, limit: 1 << 20, version: "1", logger: logger)
        file.append(.sample())
        try await waiting(until: "a span is written") { try !lines(path).isEmpty }
        #expect(file.counts.accepted == 1)
    }

    @Test func aFullFileMakesRoomForTheNext() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/traces"
        let file = try TraceFile(path: path, limit: 1000, version: "1", logger: logger)
        for _ in 0..<20 {
            file.append(.sample())
            file.flush()
        }
        #expect(try Set(FileManager.default.contentsOfDirectory(atPath: folder.path)) == ["traces", "traces.1"])
        for name in ["/traces", "/traces.1"] {
            #expect(try String(contentsOfFile: folder.path + name, encoding: .utf8).utf8.count <= 1000)
            #expect(try !lines(folder.path + name).isEmpty)
        }
        #expect(file.counts.dropped == 0)
    }

    @Test func aFileThatWasThereGrowsOn() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/traces"
        for _ in 0..<2 {
            let file = try TraceFile(path: path, limit: 1 << 20, version: "1", logger: logger)
            file.append(.sample())
            file.flush()
        }
        #expect(try lines(path).count == 2)
    }

    @Test func whatCannotBeWrittenIsCounted() throws {
        // A disk that is always full (full(4)).
        let file = try TraceFile(path: "/dev/full", limit: 1 << 20, version: "1", logger: logger)
        for _ in 0..<3 { file.append(.sample()) }
        file.flush()
        #expect(file.counts.accepted == 0)
        #expect(file.counts.dropped == 3)
    }

    @Test func spansThatComeTooFastAreDroppedAndCounted() throws {
        let folder = try TemporaryDirectory()
        let file = try TraceFile(
            path: folder.path + "/traces",
            limit: 1 << 30,
            capacity: 8,
            version: "1",
            logger: logger
        )
        for _ in 0..<100_000 { file.append(.sample()) }
        file.flush()
        #expect(file.counts.accepted + file.counts.dropped == 100_000)
        #expect(file.counts.dropped > 0)
    }

    @Test func aFileThatCannotBeMadeIsComplainedAbout() {
        let error = #expect(throws: ToolError.self) {
            try TraceFile(path: "/nowhere/traces", limit: 1, version: "1", logger: logger)
        }
        #expect(error?.description.contains("/nowhere/traces") == true)
    }
}
