import Foundation
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A service whose database address is that of a PgBouncer which hands each transaction another session.
@Suite(.timeLimit(.minutes(60))) struct PoolerTests {
    /// Whatever is said about prepared statements, or nothing.
    @Test(arguments: ["--no-prepared-statements", "--prepared-statements", nil])
    func everyRecordIsTheOneThatWasAskedFor(flag: String?) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                let service = try await RunningService.start(
                    in: folder.path + "/data",
                    arguments: [
                        "--development", "--database-url", pooler.url(database: database.name), "--listen-database-url",
                        database.url,
                    ] + [flag].compactMap(\.self)
                )
                for number in 1...20 { _ = try await service.saveNote("w\(number)") }
                try await withThrowingTaskGroup { group in
                    for number in 1...200 {
                        group.addTask {
                            let id = "w\(number % 20 + 1)"
                            // Statements of several forms.
                            let call =
                                switch number % 3 {
                                case 0: ("record:fetch", #"{"ids":["note/\#(id)"]}"#)
                                case 1:
                                    (
                                        "record:query",
                                        #"{"record_type":"note","predicate":["eq",{"$type":"keypath","$val":"content"},"\#(id)"]}"#
                                    )
                                default: ("record:save", #"{"records":[{"_id":"note/\#(id)","stars":\#(number)}]}"#)
                                }
                            let answer = try await service.call(call.0, call.1)
                            #expect(answer.contains(#""content":"\#(id)""#), "\(call) \(answer)")
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(await service.terminate() == .exited(0))
            }
        }
    }

    @Test(arguments: [["--no-prepared-statements"], []])
    func aServiceHearsOfChangesBehindAPooler(settings: [String]) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql { database in
            try await withTemporaryPooler(of: database.cluster) { pooler in
                let url = pooler.url(database: database.name)
                let service = try await RunningService.start(
                    in: folder.path + "/data",
                    arguments: [
                        "--development", "--database-url", url, "--listen-database-url", database.url,
                    ] + settings
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
