import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// `skyrow psql` on a database that is given by its address.
@Suite struct PsqlTests {
    @Test func thePasswordStandsInNoCommandLine() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            // What psql's shell sees of psql is what all users of the computer see.
            let look = #"\! tr '\0' ' ' </proc/$PPID/cmdline"#
            let result = try await Tool.run(
                "psql",
                "-X",
                "-At",
                "-c",
                look,
                environment: ["SKYROW_DATABASE_URL": database.url + "&password=hunter2"]
            )
            #expect(result.status == .exited(0))
            #expect(result.output.contains("psql -X -At -c "))
            #expect(!result.output.contains("hunter2"))
        }
    }

    @Test func theSearchPathJoinsOptionsOfTheAddress() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let result = try await Tool.run(
                "psql",
                "--database-url",
                database.url + "&options=-c%20work_mem%3D5MB",
                "-X",
                "-At",
                "-c",
                "SHOW work_mem",
                "-c",
                "SHOW search_path",
                "-c",
                "SELECT current_database()"
            )
            #expect(result.output == "5MB\n\"app\",public,postgis\n\(database.name)")
        }
    }

    @Test func aFreshServiceShowsTheTablesOfRecordsAlone() async throws {
        try await withService { service in
            func show(_ command: String) async throws -> [String] {
                let result = try await Tool.run("psql", "--data-directory", service.directory, "-X", "-c", command)
                #expect(result.status == .exited(0), "\(result.errors)")
                return result.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            }
            #expect(
                try await show(#"\dt"#) == [
                    "List of relations", "Schema | Name | Type  |     Owner",
                    "--------+------+-------+----------------", "app    | user | table | skyrow_service", "(1 row)",
                ]
            )
            _ = try await service.saveNote("1")
            #expect(try await show(#"\dt"#).count == 6)
            let reserved = try await show(#"\dt app_internal.*"#)
            #expect(reserved.contains { $0.hasPrefix("app_internal | _session ") }, "\(reserved)")
            #expect(!reserved.contains { $0.contains(" | note ") || $0.contains(" | user ") }, "\(reserved)")
            #expect(try await service.psql("SELECT count(*) FROM _users") == "0")
        }
    }

    /// A port that nothing listens on.
    private static func freePort() throws -> Int {
        let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(number) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(number, $0, length) == 0 && getsockname(number, $0, &length) == 0
            }
        }
        try #require(isBound)
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// DBeaver, pgAdmin and Metabase know a host, a port and a password, and none of Skyrow's schemas.
    @Test func anyToolReachesTheEmbeddedPostgreSQLByItsPort() async throws {
        let port = try Self.freePort()
        try await withService(arguments: ["--development", "--embedded-port", "\(port)"]) { service in
            _ = try await service.saveNote("1")
            let place = ["--data-directory", service.directory]
            let printed = try await Tool.run(words: [Tool.path, "psql", "--print-url"] + place)
            #expect(printed.status == .exited(0), "\(printed.errors)")
            let url = printed.output
            #expect(url.hasPrefix("postgresql://skyrow_service:") && url.hasSuffix("@127.0.0.1:\(port)/skyrow"))
            func psql(_ url: String, _ statement: String) async throws -> Tool.Result {
                try await Tool.run(words: ["psql", "-X", "-At", "--no-password", "-c", statement, url])
            }
            let found = try await psql(url, "SELECT content, current_user FROM note")
            #expect(found.output == "1|skyrow_service", "\(found.errors)")
            for (other, reason) in [
                (url.replacing(#/:[0-9a-f]{64}@/#, with: ":wrong@"), "password authentication failed"),
                (url.replacing(#/:[0-9a-f]{64}@/#, with: "@"), "no password supplied"),
                (url.replacing(#/skyrow_service:[0-9a-f]{64}@/#, with: "skyrow@"), "pg_hba.conf"),
                (url.dropLast("skyrow".count) + "postgres", "pg_hba.conf"),
            ] {
                let refused = try await psql(other, "SELECT 1")
                #expect(refused.status != .exited(0))
                #expect(refused.errors.contains(reason), "\(refused.errors)")
            }
            let mode = try FileManager.default.attributesOfItem(atPath: service.directory + "/postgres-password")
            #expect(mode[.posixPermissions] as? Int == 0o600)
            // The commands beside the service find its socket, which is called after the port.
            #expect(try await service.psql("SELECT count(*) FROM note") == "1")
        }
    }

    @Test func withoutAPortThereIsNoAddressToPrint() async throws {
        try await withService { service in
            let printed = try await Tool.run("psql", "--print-url", "--data-directory", service.directory)
            #expect(printed.status == .exited(1))
            #expect(printed.errors.contains("start the service with --embedded-port"))
            // Scripts find the tables by their names all the same.
            let path = try await service.psql("SELECT setconfig FROM pg_db_role_setting WHERE setrole = 0")
            #expect(path == #"{"search_path=app, public, postgis"}"#)
        }
    }
}
