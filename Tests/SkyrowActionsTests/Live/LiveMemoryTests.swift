import CGlibc
import Foundation
import SkyrowConcurrency
import SkyrowModel
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowActions

/// What live queries take of the memory, counted by the allocator of a process that does nothing else.
@Suite struct LiveMemoryTests {
    private static let connections = seededCases(50)
    private static let each = 100

    /// Bytes that are allocated, of which none is mapped by itself: of what was, glibc counts a page too many each time.
    private static func allocated() -> Int { mallinfo2().uordblks }

    /// What each of many subscriptions takes, its part of the connection's account included.
    ///
    /// - Parameter isDistinct: whether each has a query of its own.
    private static func bytes(isDistinct: Bool) throws -> Int {
        #expect(mallopt(M_MMAP_MAX, 0) == 1)
        var scene = LiveScene()
        // What is made once.
        _ = try scene.subscribe("first", on: 0)
        let before = allocated()
        for connection in 1...connections {
            for place in 0..<each {
                let number = Int64(connection * each + place)
                let subscriber = try scene.subscribe("s\(place)", on: connection, group: isDistinct ? number : nil)
                // A thousand begin in a second, while others write and one transaction stays open.
                let moment = LiveScene.moment(1000 + number, at: number / 1000, running: [500])
                scene.finish(subscriber, at: moment, query: isDistinct ? UInt64(number) : 3)
            }
        }
        scene.state.registry.passed(.max)
        let bytes = (allocated() - before) / (connections * each)
        return withExtendedLifetime(scene) { bytes }
    }

    @Test func aSubscriptionTakesLittle() async throws {
        try await alone {
            let bytes = try Self.bytes(isDistinct: false)
            #expect(bytes < 300, "\(bytes) bytes")
        }
    }

    @Test func aQueryOfItsOwnTakesLittle() async throws {
        try await alone {
            let bytes = try Self.bytes(isDistinct: true)
            #expect(bytes < 1500, "\(bytes) bytes")
        }
    }

    private static let mark = "SKYROW_TEST_ALONE"

    /// Runs a body in a process of the tests that runs this test and no other.
    ///
    /// An exit test would do the same, but its end may go unnoticed where the process has other children.
    private func alone(_ test: String = #function, _ body: () throws -> Void) async throws {
        guard ProcessInfo.processInfo.environment[Self.mark] == nil else { return try body() }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = [
            "--testing-library", "swift-testing", "--filter", "LiveMemoryTests/\(test.prefix { $0 != "(" })",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([Self.mark: "1"]) { $1 }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        // Reading blocks, and other tests need the threads of tasks meanwhile.
        let reading = Deferred<Result<Data?, any Error>>()
        try process.run()
        Thread.detachNewThread { reading.settle(Result { try output.fileHandleForReading.readToEnd() }) }
        let text = try await waiting(for: "the end of \(test) in a process of its own") {
            process.terminate()
        } _: {
            String(decoding: try await reading.value().get() ?? Data(), as: UTF8.self)
        }
        process.waitUntilExit()
        // One that ran nothing has measured nothing.
        #expect(process.terminationStatus == 0 && text.contains("1 test in 1 suite passed"), "\(text)")
    }
}
