import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Clients that close their connections while their requests are worked on.
@Suite(.timeLimit(.minutes(60))) struct DepartedClientTests {
    @Test func theStatementsOfClientsWhoLeaveAreCancelled() async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            let service = try await RunningService.start(
                in: folder.path + "/data",
                arguments: [
                    "--development", "--database-url", database.url, "--statement-timeout", "1h",
                    "--read-statement-timeout", "1h", "--response-timeout", "1h",
                ]
            )
            _ = try await service.saveNote("first")
            let stuck = """
                SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name LIKE 'skyrow%'
                """
            try await withPostgresClient(database.url) { holder in
                try await holder.withTransaction { transaction in
                    try await transaction.execute("LOCK TABLE app.note IN ACCESS EXCLUSIVE MODE")
                    let query = Task { try await service.call("record:query", #"{"record_type":"note"}"#) }
                    let save = Task { try await service.saveNote("second") }
                    try await waiting(until: "the query and the save wait for the lock") {
                        try await database.psql(stuck) == "2"
                    }
                    query.cancel()
                    save.cancel()
                    _ = await (query.result, save.result)
                    try await waiting(until: "nothing waits for the lock") { try await database.psql(stuck) == "0" }
                }
            }
            // What was cancelled left nothing behind, and delayed no other request.
            let notes = try await service.call("record:query", #"{"record_type":"note"}"#)
            #expect(notes.contains("note\\/first") && !notes.contains("note\\/second"))
            #expect(await service.terminate() == .exited(0))
        }
    }
}
