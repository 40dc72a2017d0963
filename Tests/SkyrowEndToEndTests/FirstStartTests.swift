import Foundation
import FoundationNetworking
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

@Suite struct FirstStartTests {
    @Test func whatTheFirstStartPrintsWorksWhenItIsPasted() async throws {
        try await withService(makesCluster: true) { service in
            let curl = try #require(service.announcement.first { $0.hasPrefix("  curl ") })
            let saved = try await Tool.run(words: ["sh", "-c", curl])
            #expect(saved.status == .exited(0))
            #expect(saved.output.contains(#""_id":"note/first""#))

            let psql = try #require(service.announcement.first { $0.contains(" psql ") })
            let shown = try await Tool.run(words: ["sh", "-c", psql])
            #expect(shown.status == .exited(0))
            #expect(shown.output.contains("Hello"))

            // What goes to a pipe ends up in a log.
            #expect(service.announcement.contains { $0.hasPrefix("This is the first start. ") })
            for name in ["SKYROW_API_KEY", "SKYROW_MASTER_KEY"] {
                let key = try service.key(name)
                #expect(!service.announcement.contains { $0.contains(key) })
            }
        }
    }

    @Test(arguments: [
        (true, true, "This is the first start. ", true), (true, false, "This is the first start. ", false),
        (false, true, "The keys of this database were missing. ", true),
        (false, false, "The keys of this database were missing. ", false),
    ])
    func keysAreShownOnATerminalAlone(isFirst: Bool, showsKeys: Bool, sentence: String, areShown: Bool) throws {
        let folder = try TemporaryDirectory()
        let announcement = Announcement(
            settings: try Settings(SettingSources(flags: [:], environment: [:])),
            keys: ServiceKeys(apiKeys: ["the-api-key"], masterKeys: ["the-master-key"], areNew: true),
            port: 3000,
            directory: try DataDirectory(existing: folder.path),
            program: "skyrow",
            isFirstStart: isFirst,
            showsKeys: showsKeys
        )
        #expect(announcement.text.contains("\n\(sentence)"))
        #expect(announcement.text.contains("the-api-key") == areShown)
        #expect(announcement.text.contains("the-master-key") == areShown)
        #expect(announcement.text.contains("curl ") == isFirst)
    }

    /// A database that has records has had keys, and applications have them.
    @Test func missingKeysOfAFullDatabaseAreNoFirstStart() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        let first = try await RunningService.start(in: data)
        _ = try await first.saveNote("1")
        let key = try first.key("SKYROW_MASTER_KEY")
        #expect(await first.terminate() == .exited(0))
        try FileManager.default.removeItem(atPath: data + "/keys")
        let second = try await RunningService.start(in: data)
        #expect(second.announcement.last?.contains("Two new ones were created and stored in ") == true)
        #expect(!second.announcement.contains { $0.contains("first start") })
        #expect(try second.key("SKYROW_MASTER_KEY") != key)
        #expect(try await second.saveNote("2") == "2")
        #expect(await second.terminate() == .exited(0))
    }

    @Test func aBrowserIsToldWhatServesHere() async throws {
        try await withService { service in
            var request = URLRequest(url: service.address)
            request.setValue("text/html,application/xhtml+xml,*/*;q=0.8", forHTTPHeaderField: "Accept")
            let (page, response) = try await URLSession.shared.data(for: request)
            #expect(
                (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Content-Type") == "text/html; charset=utf-8"
            )
            let text = String(decoding: page, as: UTF8.self)
            #expect(text.contains("<h1>Skyrow is running</h1>") && text.contains("POST /rpc"))
        }
    }

    /// The first start makes its tables by a script of a hundred kilobytes, which is no slow statement.
    @Test func theFirstStartLogsNoScript() async throws {
        let folder = try TemporaryDirectory()
        let service = try await RunningService.start(
            in: folder.path + "/data",
            arguments: ["--development", "--slow-statement", "1ms"],
            logLevel: "notice"
        )
        let log = Task { await service.complaints.reduce(into: "") { $0 += $1 + "\n" } }
        _ = try await service.saveNote("1")
        #expect(await service.terminate() == .exited(0))
        let text = await log.value
        #expect(!text.contains("CREATE TABLE _migration"), "\(text.prefix(2000))")
    }

    @Test func withAFrozenSchemaItPrintsHowToMakeAType() async throws {
        try await withService(arguments: [], makesCluster: true) { service in
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

    /// A cluster of an earlier version let in whoever reached its socket.
    @Test func theSocketTakesKnownUsersAndPasswords() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        for isOld in [false, true] {
            if isOld {
                let rules = try FileHandle(forWritingTo: URL(fileURLWithPath: data + "/postgres/pg_hba.conf"))
                try rules.truncate(atOffset: 0)
                try rules.write(contentsOf: Data("local all all trust\nlocal replication all trust\n".utf8))
                try rules.close()
            }
            let service = try await RunningService.start(in: data)
            #expect(try await service.saveNote("\(isOld)") == "\(isOld)")
            let methods = try await Tool.run(
                "psql",
                "--administrator",
                "--data-directory",
                data,
                "-X",
                "-At",
                "-c",
                """
                SELECT string_agg(array_to_string(user_name, ',') || ' ' || auth_method, E'\n' ORDER BY line_number) \
                FROM pg_hba_file_rules
                """
            )
            #expect(
                methods.output == """
                    skyrow,skyrow_service,skyrow_replication peer
                    all scram-sha-256
                    skyrow,skyrow_service,skyrow_replication peer
                    """
            )
            #expect(await service.terminate() == .exited(0))
        }
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
