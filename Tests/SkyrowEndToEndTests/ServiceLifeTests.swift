import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Synchronization
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What is promised about the ends of the service and of its PostgreSQL.
@Suite struct ServiceLifeTests {
    /// The process of the embedded server; nil while there is none.
    static func server(of directory: String) -> Int32? {
        contentsOfFile(directory + "/postgres/postmaster.pid")?.split(separator: "\n").first.flatMap { Int32($0) }
    }

    /// Field 41 of `/proc/<process>/task/<thread>/stat` (proc(5)).
    static func schedulingPolicies(of process: pid_t) throws -> Set<String> {
        let tasks = "/proc/\(process)/task"
        return try Set(
            FileManager.default.contentsOfDirectory(atPath: tasks).map { task in
                let stat = try String(contentsOfFile: "\(tasks)/\(task)/stat", encoding: .utf8)
                let fields = stat[stat.index(after: try #require(stat.lastIndex(of: ")")))...].split(separator: " ")
                return String(fields[38])
            }
        )
    }

    @Test func everyThreadWaitsItsTurn() async throws {
        try await withService { service in
            _ = try await service.saveNote("1")
            let policies = try Self.schedulingPolicies(of: service.process.processID)
            #expect(policies == ["\(BatchScheduling.policy)"])
        }
    }

    /// libcurl brings eight more libraries, which take more than 1 MB.
    @Test(arguments: [(["--development"], false), (["--development", "--mail", "smtp://127.0.0.1:9"], true)])
    func libcurlIsLoadedForMailServersAlone(_ arguments: [String], _ isLoaded: Bool) async throws {
        let mail = ["--mail-from", "no-reply@example.org", "--public-url", "http://127.0.0.1:9"]
        try await withService(arguments: arguments + (isLoaded ? mail : [])) { service in
            // The application opens with its first request.
            _ = try await service.saveNote("1")
            let maps = try #require(contentsOfFile("/proc/\(service.process.processID)/maps"))
            #expect(maps.contains("/libcurl.so") == isLoaded)
        }
    }

    @Test func afterTheServiceIsKilledItStartsAgainWithAllItAcknowledged() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        let load = Load()
        async let running: Void = load.run(on: first)
        try await load.awaitProgress(50)
        first.process.send(signal: SIGKILL)
        #expect(await first.process.ended() == .killed(signal: SIGKILL))
        await running

        let second = try await RunningService.start(in: data)
        let ids = Set(try await second.psql("SELECT _id FROM note").split(separator: "\n").map(String.init))
        #expect(load.acknowledged.subtracting(ids).isEmpty)
        _ = try await second.saveNote("after")
        #expect(await second.terminate() == .exited(0))
    }

    @Test func anEarlierServicesPostgresThatStillRunsIsEnded() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        _ = try await first.saveNote("1")
        // A stopped server cannot follow the signal that its service's death sends it, unless the kernel wakes it, as it
        // does with stopped processes that lose their group's last parent; then it is gone all the sooner.
        let server = try #require(Self.server(of: data))
        kill(server, SIGSTOP)
        first.process.send(signal: SIGKILL)
        _ = await first.process.ended()
        kill(server, SIGCONT)

        let second = try await RunningService.start(in: data)
        #expect(Self.server(of: data) != server)
        #expect(try await second.psql("SELECT _id FROM note") == "1")
        #expect(await second.terminate() == .exited(0))
    }

    @Test func aSecondServiceOnTheDirectoryIsRefused() async throws {
        try await withService { service in
            let second = try await Tool.run("serve", "--data-directory", service.directory, "--port", "0")
            #expect(second.status == .exited(1))
            #expect(second.errors.contains("in use by another skyrow (process \(service.process.processID))"))
            #expect(try await service.saveNote("1") == "1")
        }
    }

    @Test func aSecondServiceOnThePortIsRefused() async throws {
        try await withService { service in
            let folder = try TemporaryDirectory()
            let port = try #require(service.address.port)
            let second = try await Tool.run("serve", "--data-directory", folder.path + "/data", "--port", "\(port)")
            #expect(second.status == .exited(1))
            #expect(second.errors.contains("Another program is listening on port \(port)"))
            // It was found out before a cluster was made for nothing.
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/data") == ["lock"])
            let metrics = try await Tool.run(
                "serve",
                "--data-directory",
                folder.path + "/data",
                "--port",
                "0",
                "--metrics",
                "127.0.0.1:\(port)"
            )
            #expect(metrics.status == .exited(1))
            #expect(metrics.errors.contains("Metrics cannot be served on port \(port) of 127.0.0.1"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/data") == ["lock"])
        }
    }

    /// What keeps PostgreSQL from being used is said by libpq.
    @Test func whyPostgreSQLCannotBeUsedIsSaid() async throws {
        let folder = try TemporaryDirectory()
        let result = try await Tool.run(
            "serve",
            "--data-directory",
            folder.path + "/data",
            "--port",
            "0",
            "--log-level",
            "error",
            environment: ["SKYROW_DATABASE_URL": "postgresql:///nothing?host=\(folder.path)/no-such-directory"]
        )
        #expect(result.status != .exited(0))
        #expect(
            result.errors.contains("PostgreSQL is not usable: ") && result.errors.contains("No such file or directory")
        )
    }

    @Test func afterPostgresIsKilledUnderLoadTheServiceRecoversWithAllItAcknowledged() async throws {
        try await withService(refusesInTime: true) { service in
            let load = Load()
            async let running: Void = load.run(on: service)
            try await load.awaitProgress(50)
            let server = try #require(Self.server(of: service.directory))
            kill(server, SIGKILL)
            // What its children still finish does not count as recovery.
            try await waiting(until: "another PostgreSQL runs") {
                ![nil, server].contains(Self.server(of: service.directory))
            }
            try await load.awaitProgress(50)
            load.stop()
            await running

            let ids = Set(try await service.psql("SELECT _id FROM note").split(separator: "\n").map(String.init))
            #expect(load.acknowledged.subtracting(ids).isEmpty)
            try await waiting(until: "the service is ready") { try await service.status("readyz") == 200 }
        }
    }

    @Test func anAcceptedRequestIsAnsweredDuringShutdown() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: [
                    "--development", "--database-url", database.url, "--statement-timeout", "1h",
                    "--response-timeout", "1h", "--shutdown-timeout", "1h",
                ]
            )
            _ = try await service.saveNote("first")
            try await withPostgresClient(database.url) { holder in
                let save = try await holder.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                    let save = Task { try await service.saveNote("second") }
                    try await waiting(until: "the save waits for the lock") {
                        try await database.sessionsWaitingForALock() == 1
                    }
                    service.process.send(signal: SIGTERM)
                    try await waiting(until: "the service takes no requests any more") {
                        (try? await service.status("readyz")) != 200
                    }
                    return save
                }
                #expect(try await save.value == "second")
            }
            #expect(await service.process.ended() == .exited(0))
            #expect(try await database.psql("SELECT count(*) FROM app.note") == "2")
        }
    }

    @Test func theEmbeddedPostgreSQLEndsWithTheService() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(in: folder.path + "/data")
        #expect(Self.server(of: service.directory) != nil)
        #expect(await service.terminate() == .exited(0))
        #expect(Self.server(of: service.directory) == nil)
    }

    @Test func aNewerDatabaseIsRefused() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let service = try await RunningService.start(in: data)
        _ = try await service.psql(
            "INSERT INTO app_internal._migration (version, name) VALUES (9999, 'from the future')"
        )
        _ = await service.terminate()
        let refused = try await Tool.run("serve", "--data-directory", data, "--port", "0")
        #expect(refused.status == .exited(1))
        #expect(refused.errors.contains("9999"))
        #expect(!refused.output.contains("Skyrow serves"))
    }

    /// It has its tables among those of the records.
    @Test func aDatabaseFromBeforeTheFirstReleaseIsRefusedAndLeftAlone() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            try await database.psql(
                """
                CREATE SCHEMA app; CREATE TABLE app._migration (version integer PRIMARY KEY, name text);
                INSERT INTO app._migration VALUES (50, '0050_valid_constraints')
                """
            )
            let place = ["--data-directory", folder.path + "/data", "--database-url", database.url]
            let commands = [
                ["serve", "--port", "0"], ["migrate"], ["backup", folder.path + "/b.tar"], ["key", "list"],
            ]
            for command in commands {
                let refused = try await Tool.run(words: [Tool.path] + command + place)
                #expect(refused.status == .exited(1), "\(command)")
                #expect(
                    refused.errors.contains("skyrow export") && refused.errors.contains("skyrow import"),
                    "\(refused.errors)"
                )
            }
            let doctor = try await Tool.run(words: [Tool.path, "doctor", "--check", "migrations"] + place)
            let report = doctor.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            #expect(report.contains("before the first release"), "\(doctor.output)")
            #expect(try await database.psql("SELECT to_regnamespace('app_internal') IS NULL") == "t")
        }
    }

    @Test func migrateTellsWhatItDid() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let first = try await Tool.run("migrate", "--data-directory", data)
        #expect(first.output.contains("created the reserved tables"))
        let second = try await Tool.run("migrate", "--data-directory", data)
        #expect(second.output == "The database is up to date.")
    }

    @Test func aWrongSettingIsOneSentenceAndExit64() async throws {
        let result = try await Tool.run("serve", "--port", "http")
        #expect(result.status == .exited(64))
        #expect(result.errors == "skyrow: --port must be a whole number from 0 to 65535; it is 'http'.")
    }
}
