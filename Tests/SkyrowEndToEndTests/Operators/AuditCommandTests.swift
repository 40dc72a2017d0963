import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The audit log from a terminal.
@Suite struct AuditCommandTests {
    @Test func eventsAreShownByUserKindAndTime() async throws {
        try await withService { service in
            let place = ["--data-directory", service.directory]
            func lines(_ words: String...) async throws -> [[String: Any]] {
                let run = try await Tool.run(words: [Tool.path, "audit", "--json"] + words + place)
                #expect(run.status == .exited(0), "\(run.errors)")
                return try run.output.split(separator: "\n").map {
                    try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
                }
            }
            func names(_ words: String...) async throws -> [String] {
                let run = try await Tool.run(words: [Tool.path, "audit", "--json"] + words + place)
                return try run.output.split(separator: "\n").map {
                    let event = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                    return "\(event?["event"] as? String ?? "-") \(event?["outcome"] as? String ?? "-")"
                }
            }
            let client = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let ann = try await client.signUp(["username": "ann"], password: "correct horse")
            try await client.signUp(["username": "bob"], password: "correct horse")
            await #expect(throws: ClientError.self) { try await client.logIn(["username": "ann"], password: "wrong") }
            try await waiting(until: "the refusal is stored") {
                try await names("--user", "ann") == ["signup ok", "login InvalidCredentials"]
            }
            #expect(try await names("--user", "ann", "--refusals") == ["login InvalidCredentials"])
            #expect(try await names("--event", "signup") == ["signup ok", "signup ok"])
            #expect(
                try await names("--event", "signup", "--event", "login", "--limit", "1") == ["login InvalidCredentials"]
            )
            #expect(try await names("--since", "1h").count == 3)
            #expect(try await names("--until", "1h").isEmpty)
            #expect(try await names("--since", "2030-01-31T12:00:00Z").isEmpty)
            let made = try await Tool.run(words: [Tool.path, "key", "create", "--name", "x", "--json"] + place)
            let id = try #require(try CommandOutputTests.object(made)["id"] as? String)
            let ofKey = try await lines("--key", id)
            #expect(ofKey.compactMap { $0["event"] as? String } == ["key.create"])
            #expect(ofKey.first?["actor"] as? String == "operator")
            #expect((ofKey.first?["data"] as? [String: Any])?["name"] as? String == "x")
            // Of an account that is gone, its id is what is left.
            let first = try #require(try await lines("--user", ann.userID.rawValue).first)
            #expect(first["user_id"] as? String == ann.userID.rawValue && first["address"] as? String == "127.0.0.1")
            let table = try await Tool.run(words: [Tool.path, "audit", "--user", "ann"] + place)
            #expect(table.output.contains("OUTCOME") && table.output.contains("InvalidCredentials"))
            for (words, reason) in [
                (["--user", "ghost"], "The account 'ghost' does not exist"),
                (["--event", "none"], "--event must be one of"),
                (["--key", "7"], "--key must be the id of a key"), (["--since", "soon"], "--since must be a time"),
                (["--limit", "0"], "--limit must be a number"),
            ] {
                let failed = try await Tool.run(words: [Tool.path, "audit"] + words + place)
                #expect(failed.status != .exited(0), "\(words)")
                #expect(failed.errors.contains(reason), "\(failed.errors)")
            }
        }
    }
}
