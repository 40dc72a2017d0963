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
}
