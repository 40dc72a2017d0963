import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What a proxy in front of two services sees while one of them is restarted.
@Suite struct DrainTimeTests {
    @Test func afterSIGTERMItAnswersOnAndSaysThatItIsNotReady() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: ["--development", "--drain-time", "1h"]
        )
        #expect(try await service.status("readyz") == 200)
        service.process.send(signal: SIGTERM)
        try await waiting(until: "it says that it is not ready") { try await service.status("readyz") == 503 }
        #expect(try await service.status("healthz") == 200)
        #expect(try await service.saveNote("late") == "late")

        let postgres = try #require(ServiceLifeTests.server(of: service.directory))
        service.process.send(signal: SIGKILL)
        #expect(await service.process.ended() == .killed(signal: SIGKILL))
        try await waiting(until: "PostgreSQL has ended too") { kill(postgres, 0) != 0 }
    }

    @Test func whenTheTimeIsOverItEnds() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: ["--development", "--drain-time", "100ms"]
        )
        #expect(await service.terminate() == .exited(0))
        await #expect(throws: (any Error).self) { try await service.status("healthz") }
    }
}
