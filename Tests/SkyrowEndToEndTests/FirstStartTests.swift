import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

@Suite struct FirstStartTests {
    @Test func whatTheFirstStartPrintsWorksWhenItIsPasted() async throws {
        try await withService { service in
            let curl = try #require(service.announcement.first { $0.hasPrefix("  curl ") })
            let saved = try await Tool.run(words: ["sh", "-c", curl])
            #expect(saved.status == .exited(0))
            #expect(saved.output.contains(#""_id":"note/first""#))

            let psql = try #require(service.announcement.first { $0.contains(" psql ") })
            let shown = try await Tool.run(words: ["sh", "-c", psql])
            #expect(shown.status == .exited(0))
            #expect(shown.output.contains("Hello"))

            #expect(service.announcement.contains { $0.contains(try! service.key("SKYROW_API_KEY")) })
            #expect(service.announcement.contains { $0.contains(try! service.key("SKYROW_MASTER_KEY")) })
        }
    }

    @Test func withAFrozenSchemaItPrintsHowToMakeAType() async throws {
        try await withService(arguments: []) { service in
            let curl = try #require(service.announcement.first { $0.hasPrefix("  curl ") })
            let made = try await Tool.run(words: ["sh", "-c", curl])
            #expect(made.output.contains("content"))
            #expect(!made.output.contains("error"))
            await #expect(throws: ServiceFailure.self) {
                _ = try await service.call("record:save", #"{"records":[{"_id":"other/1","a":1}]}"#)
            }
            #expect(try await service.saveNote("1") == "1")
        }
    }

    @Test func keysArePrintedOnceAndKeptForTheOwnerAlone() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        let key = try first.key("SKYROW_MASTER_KEY")
        #expect(await first.terminate() == .exited(0))
        let mode = try FileManager.default.attributesOfItem(atPath: data + "/keys")[.posixPermissions] as? Int
        #expect(mode == 0o600)

        let second = try await RunningService.start(in: data)
        #expect(try second.key("SKYROW_MASTER_KEY") == key)
        #expect(!second.announcement.contains { $0.contains(key) })
        #expect(await second.terminate() == .exited(0))
    }

    @Test func rowsOfTheAPIAndRowsOfPsqlAreTheSame() async throws {
        try await withService { service in
            _ = try await service.saveNote("from-api")
            #expect(try await service.psql("SELECT content FROM note") == "from-api")

            _ = try await service.psql("INSERT INTO note (_id, content) VALUES ('from-psql', 'Hello')")
            let answer = try await service.call("record:fetch", #"{"ids":["note/from-psql"]}"#)
            #expect(answer.contains(#""content":"Hello""#))

            let all = try await service.call("record:query", #"{"record_type":"note"}"#)
            #expect(all.contains("note\\/from-api") || all.contains("note/from-api"))
        }
    }
}
