import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service whose database address is that of a PgBouncer which hands each transaction another session.
@Suite(.timeLimit(.minutes(10))) struct PoolerTests {
    /// What a start without these settings fails with, whichever of its statements meets another session first.
    @Test(arguments: ["42P05", "26000", "42P01"])
    func aStartThatFailsSaysWhichSettingsToChange(sqlState: String) {
        let failure = PostgresError(code: .server, sqlState: PostgresSQLState(rawValue: sqlState), message: "No")
        let sentence = ToolError(databaseFailure: failure).description
        for setting in ["--no-prepared-statements", "--listen-database-url"] {
            #expect(sentence.contains(setting) == (sqlState != "42P01"))
        }
    }

    @Test func withItsSettingsAServiceWorksBehindAPooler() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                let url = pooler.url(database: database.name)
                let service = try await RunningService.start(
                    in: folder.path + "/data",
                    arguments: [
                        "--development", "--database-url", url, "--no-prepared-statements", "--listen-database-url",
                        database.url,
                    ]
                )
                _ = try await service.saveNote("first")
                try await database.psql("ALTER TABLE app.note ADD COLUMN stars bigint; UPDATE app.note SET stars = 5")
                try await waiting(until: "the service knows of the new field") {
                    try await service.call("record:query", #"{"record_type":"note"}"#).contains(#""stars":5"#)
                }
                #expect(await service.terminate() == .exited(0))
            }
        }
    }
}
