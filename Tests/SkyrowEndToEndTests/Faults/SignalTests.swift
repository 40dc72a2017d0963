import Foundation
import Testing

@testable import skyrow

@Suite(.timeLimit(.minutes(10))) struct SignalTests {
    /// SIGKILL is among the tests of ``ServiceLifeTests``.
    @Test func afterSIGTERMUnderLoadNothingAcknowledgedIsMissing() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        let load = Load()
        async let running: Void = load.run(on: first)
        try await load.awaitProgress(50)
        #expect(await first.terminate() == .exited(0))
        load.stop()
        await running
        #expect(load.outcomes.refused == 0)

        let second = try await RunningService.start(in: data)
        let ids = Set(try await second.psql("SELECT _id FROM note").split(separator: "\n").map(String.init))
        #expect(load.acknowledged.subtracting(ids).isEmpty)
        #expect(await second.terminate() == .exited(0))
    }
}
