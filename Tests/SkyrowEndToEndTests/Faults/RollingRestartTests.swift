import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Two services on one database behind a proxy, restarted one after the other while clients save.
@Suite(.timeLimit(.minutes(60))) struct RollingRestartTests {
    private static let environment = [
        "SKYROW_API_KEY": "rolling-api-key", "SKYROW_MASTER_KEY": "rolling-master-key-of-the-test",
    ]

    @Test func noRequestIsLost() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            func start(_ number: Int) async throws -> RunningService {
                try await RunningService.start(
                    in: folder.path + "/data\(number)",
                    // Long beside the balancer's looks, of which there is one every two seconds.
                    arguments: ["--development", "--database-url", database.url, "--drain-time", "20s"],
                    environment: Self.environment
                )
            }
            let balancer = try await Balancer(in: folder.path, services: 2)
            var services: [RunningService] = []
            for number in 1...2 {
                services.append(try await start(number))
                try await balancer.place(services[number - 1], at: number)
            }
            let load = Load()
            let front = services[0].reached(at: balancer.address)
            async let running: Void = load.run(on: front, outlivesService: true)
            try await load.awaitProgress(20)
            for number in 1...2 {
                #expect(await services[number - 1].terminate() == .exited(0))
                try await load.awaitProgress(20)
                services[number - 1] = try await start(number)
                try await balancer.place(services[number - 1], at: number)
                try await load.awaitProgress(20)
            }
            load.stop()
            await running
            #expect(load.outcomes.losses == [])
            #expect(load.outcomes.refusals == [:])
            let count = try await database.psql("SELECT count(*) FROM app.note")
            #expect(count == "\(load.acknowledged.count)")
            for service in services { service.process.send(signal: SIGKILL) }
            await balancer.stop()
        }
    }
}
