import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

@Suite(.timeLimit(.minutes(60))) struct SignalTests {
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

    /// Every process of PostgreSQL is stopped, so it hears of no request to end but SIGKILL.
    @Test func aStoppedPostgreSQLDoesNotKeepTheServiceFromEnding() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: ["--development", "--shutdown-timeout", "1s"],
            refusesInTime: true
        )
        _ = try await service.saveNote("before")
        let record = try #require(contentsOfFile(folder.path + "/data/postgres/postmaster.pid"))
        let postmaster = try #require(record.split(separator: "\n").first.flatMap { pid_t(String($0)) })
        let children = try #require(contentsOfFile("/proc/\(postmaster)/task/\(postmaster)/children"))
        let processes = [postmaster] + children.split(separator: " ").compactMap { pid_t(String($0)) }
        for process in processes { kill(process, SIGSTOP) }
        defer {
            for process in processes.dropFirst() { kill(process, SIGKILL) }
        }
        // Something to wait for, so that the connections are in use.
        async let abandoned: Void = { _ = try? await service.saveNote("abandoned") }()
        _ = await service.terminate()
        await abandoned
    }
}
