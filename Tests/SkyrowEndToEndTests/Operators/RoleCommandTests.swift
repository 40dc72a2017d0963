import Foundation
import SkyrowClient
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Roles from a terminal, as their users notice them.
@Suite struct RoleCommandTests {
    @Test func rolesAreFilledAndEmptiedBesideTheService() async throws {
        try await withService { service in
            func run(_ words: String...) async throws -> [String: Any] {
                let place = ["--data-directory", service.directory, "--json"]
                return try CommandOutputTests.object(try await Tool.run(words: [Tool.path] + words + place))
            }
            let master = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_MASTER_KEY"))
            let ann = SkyrowClient(endpoint: service.address, apiKey: try service.key("SKYROW_API_KEY"))
            let account = try await ann.signUp(["username": "ann"], password: "correct horse")
            let made = try await run("role", "create", "staff")["roles"] as? [[String: Any]]
            #expect(made?.compactMap { $0["name"] as? String } == ["staff"])
            _ = try await run("role", "create", "chief", "--administrators", "--default")
            let chief = try await service.psql(
                "SELECT is_admin, by_default FROM app_internal._role WHERE name = 'chief'"
            )
            #expect(chief == "t|t")
            try await master.deleteRole("chief")
            #expect(try await run("role", "add", "staff", "--user", "ann")["added"] as? Int == 1)
            #expect(try await run("role", "add", "Admin", "--role", "staff")["added"] as? Int == 1)
            // The service applies it within a second.
            try await waiting(until: "ann is an administrator") {
                do throws(ClientError) {
                    return try await ann.roles().elements.map(\.name) == ["Admin", "staff"]
                } catch {
                    return false
                }
            }
            let listed = try await run("role", "list")["roles"] as? [[String: Any]]
            #expect(listed?.compactMap { $0["name"] as? String } == ["Admin", "staff"])
            let members = try await run("role", "members", "staff")["members"] as? [[String: String]]
            #expect(members == [["user_id": account.userID.rawValue]])
            #expect(try await run("role", "members", "Admin")["members"] as? [[String: String]] == [["role": "staff"]])
            #expect(try await run("role", "remove", "Admin", "--role", "staff")["removed"] as? Int == 1)
            #expect(try await run("role", "remove", "Admin", "--role", "staff")["removed"] as? Int == 0)
            for (words, reason) in [
                (["role", "add", "none", "--user", "ann"], "The role 'none' does not exist"),
                (["role", "add", "staff", "--role", "staff"], "cannot contain itself"),
                (["role", "add", "staff", "--user", "ghost"], "The account 'ghost' does not exist"),
                (["role", "members", "none"], "The role does not exist"),
                (["role", "add", "staff"], "Specify a --user or a --role"),
                (["role", "create", "staff"], "The role 'staff' already exists"),
                (["role", "create", "chief"], "name"),
                (["role", "create", " x"], "name"),
            ] {
                let failed = try await Tool.run(words: [Tool.path] + words + ["--data-directory", service.directory])
                #expect(failed.status != .exited(0), "\(words)")
                #expect(failed.errors.contains(reason), "\(failed.errors)")
            }
        }
    }
}
