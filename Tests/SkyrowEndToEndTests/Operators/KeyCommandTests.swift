import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Keys from a terminal, as their clients notice them.
@Suite struct KeyCommandTests {
    @Test func keysAreMadeRotatedAndRevokedBesideTheService() async throws {
        try await withService { service in
            let place = ["--data-directory", service.directory]
            func run(_ words: String...) async throws -> [String: Any] {
                try CommandOutputTests.object(try await Tool.run(words: [Tool.path] + words + place + ["--json"]))
            }
            let query = try RecordQuery("note")
            func code(_ key: String) async -> ErrorCode? {
                let client = SkyrowClient(endpoint: service.address, apiKey: key)
                do throws(ClientError) {
                    _ = try await client.publicDatabase.query(query)
                    return nil
                } catch {
                    return error.serverCode
                }
            }
            let made = try await run("key", "create", "--name", "ios", "--scope", "read", "--scope", "type:note")
            let first = try #require(made["key"] as? String)
            let id = try #require(made["id"] as? String)
            try await waiting(until: "the key counts") { await code(first) == nil }
            let rotated = try await run("key", "rotate", id, "--overlap", "1h")
            let second = try #require(rotated["key"] as? String)
            try await waiting(until: "the new text counts") { await code(second) == nil }
            #expect(await code(first) == nil)
            let listed = try await run("key", "list")["keys"] as? [[String: Any]]
            #expect(listed?.compactMap { $0["id"] as? String } == [id])
            #expect(listed?.first?["key"] == nil)
            let table = try await Tool.run(words: [Tool.path, "key", "list"] + place)
            #expect(table.output.contains("read type:note") && table.output.contains("holds"))
            let revoked = try await Tool.run(words: [Tool.path, "key", "revoke", id] + place)
            #expect(revoked.status == .exited(0), "\(revoked.errors)")
            try await waiting(until: "the key is refused") { await code(second) == .accessKeyNotAccepted }
            for (words, reason) in [
                (["key", "create", "--name", "x", "--scope", "all"], "A scope must be"),
                (["key", "create", "--name", "x", "--network", "10.0.0.1/8"], "must be an address or a range"),
                (["key", "create", "--name", "x", "--expires-in", "soon"], "must be a duration"),
                (["key", "create", "--name", "x", "--expires-in", "0s"], "must be a duration"),
                (["key", "rotate", id], "The key does not exist"),
                (["key", "revoke", "k00000000"], "The key does not exist"),
                (["key", "revoke", "7"], "is not the id of a key"),
                (["key", "rotate", id, "--overlap", "400d"], "--overlap"),
            ] {
                let failed = try await Tool.run(words: [Tool.path] + words + place)
                #expect(failed.status != .exited(0), "\(words)")
                #expect(failed.errors.contains(reason), "\(failed.errors)")
            }
        }
    }
}
