import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What the service does while its PostgreSQL is away, full, stopped or locked: it answers or refuses clearly, recovers
/// by itself, and nothing it acknowledged is missing.
@Suite(.timeLimit(.minutes(60))) struct DatabaseFaultTests {
    /// `122 ResponseTimeout`, `135 Overloaded`, `136 OutcomeUnknown`: what may be tried again, or looked for first; and `10002`,
    /// once it has not been known for a while which rules of access there are.
    static let clearRefusals: Set<Int> = [122, 135, 136, 10002]

    /// Runs `body` with a service on a database of a cluster, and with saves that go on meanwhile; then checks that every
    /// save was acknowledged or clearly refused, and that those acknowledged are there.
    private func underLoad(
        on cluster: TemporaryCluster,
        role: String = "postgres",
        arguments: [String] = [],
        refusesInTime: Bool = true,
        _ body: (_ service: RunningService, _ load: Load, _ database: TemporaryDatabase) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(on: cluster) { database in
            if role != "postgres" {
                try await database.psql("CREATE ROLE \(role) LOGIN; ALTER DATABASE \(database.name) OWNER TO \(role)")
            }
            let url = database.url.replacing("user=postgres", with: "user=\(role)")
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: ["--development", "--database-url", url] + arguments,
                logLevel: "critical",
                refusesInTime: refusesInTime
            )
            let load = Load()
            async let running: Void = load.run(on: service)
            try await load.awaitProgress(20)
            do {
                try await body(service, load, database)
            } catch {
                load.stop()
                service.process.send(signal: SIGKILL)
                await running
                throw error
            }
            try await load.awaitProgress(20)
            load.stop()
            await running
            #expect(load.outcomes.losses == [])
            #expect(Set(load.outcomes.refusals.keys).isSubset(of: Self.clearRefusals))
            let ids = Set(try await database.psql("SELECT _id FROM app.note").split(separator: "\n").map(String.init))
            #expect(load.acknowledged.subtracting(ids).isEmpty)
            #expect(await service.terminate() == .exited(0))
        }
    }

    @Test(arguments: ["fast", "immediate"])
    func aRestartOfPostgreSQLIsSurvived(mode: String) async throws {
        let cluster = try await TemporaryCluster.start()
        try await underLoad(on: cluster) { service, load, _ in
            try await cluster.stop(mode: mode)
            try await load.awaitRefusals(1)
            try await waiting(until: "the service is not ready") { try await service.status("readyz") == 503 }
            #expect(try await service.status("healthz") == 200)
            try await cluster.launch()
            try await waiting(until: "the service is ready") { try await service.status("readyz") == 200 }
        }
    }

    @Test func connectionsThatAreRefusedForWantOfRoomComeBack() async throws {
        let cluster = try await TemporaryCluster.start()
        try await underLoad(on: cluster, role: "app") { service, load, database in
            // What PostgreSQL says then has the code of "too many clients", 53300.
            try await database.psql("ALTER ROLE app CONNECTION LIMIT 0")
            try await waiting(until: "the service is not ready") {
                // One that was being opened may have been let in still.
                try await database.psql(
                    "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'app'"
                )
                return try await service.status("readyz") == 503
            }
            try await load.awaitRefusals(1)
            try await database.psql("ALTER ROLE app CONNECTION LIMIT -1")
            try await waiting(until: "the service is ready") { try await service.status("readyz") == 200 }
        }
    }

    @Test func aServerThatStandsStillIsWaitedForAndRequestsAreNot() async throws {
        let cluster = try await TemporaryCluster.start()
        // What is saved before and after that may take a while.
        try await underLoad(on: cluster, arguments: ["--response-timeout", "5s"]) { service, load, _ in
            // Nobody answers, and nobody lets a new connection in.
            try await cluster.whileStandingStill {
                try await load.awaitRefusals(8)
                // What needs no database is answered meanwhile.
                #expect(try await service.status("healthz") == 200)
            }
        }
    }

    /// Cancels of a server that stands still are not answered either.
    @Test func aServerThatStandsStillDoesNotHoldUpTheEndOfTheService() async throws {
        let cluster = try await TemporaryCluster.start()
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(on: cluster) { database in
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: [
                    "--development", "--database-url", database.url, "--response-timeout", "5s",
                    "--shutdown-timeout", "1s",
                ],
                logLevel: "critical",
                refusesInTime: true
            )
            let load = Load()
            let running = Task { await load.run(on: service) }
            defer { running.cancel() }
            try await load.awaitProgress(20)
            try await cluster.whileStandingStill {
                try await load.awaitRefusals(8)
                load.stop()
                await running.value
                #expect(await service.terminate() == .exited(0))
            }
        }
    }

    @Test func aTableThatPsqlLocksHoldsUpNoOther() async throws {
        let cluster = try await TemporaryCluster.shared()
        // Saves of notes end by this time, and those of memos must not.
        let arguments = ["--statement-timeout", "10s"]
        try await underLoad(on: cluster, arguments: arguments, refusesInTime: false) { service, load, database in
            let other = Load(type: "memo")
            async let running: Void = other.run(on: service)
            try await other.awaitProgress(5)
            try await withPostgresClient(database.url) { holder in
                try await holder.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                    try await load.awaitRefusals(8)
                    try await other.awaitProgress(20)
                    let memos = try await service.call("record:query", #"{"record_type":"memo","limit":1}"#)
                    #expect(memos.contains(#""_type":"record""#))
                }
            }
            other.stop()
            await running
            #expect(other.outcomes.refusals == [:] && other.outcomes.losses == [])
        }
    }
}
