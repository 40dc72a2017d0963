import Glibc
import SkyrowModel
import SkyrowSystem
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowPostgres
@testable import SkyrowStore

/// Backups of databases with policies.
@Suite(.timeLimit(.minutes(60))) struct PolicyRestoreTests {
    private struct Silent: ProgressDisplay {
        mutating func report(_ done: Int) {}
        func finish() {}
    }

    private func database(_ f: PolicyFixture) throws -> BackupDatabase {
        let connection = try PostgresConfiguration.environment(ofConnection: f.records.database.url)
        let path = getenv("PATH").map { String(cString: $0) } ?? ""
        return BackupDatabase(
            client: f.store.client,
            schema: "app",
            logger: .silent,
            environment: connection.merging(["PATH": path]) { first, _ in first },
            descriptors: []
        )
    }

    private func backUp(_ f: PolicyFixture, to path: String) async throws {
        let run = BackupRun(
            path: path,
            overwrites: true,
            withSessions: true,
            time: Timestamp(microseconds: 0),
            progress: { _, _ in Silent() }
        )
        _ = try await run(try database(f))
    }

    private func restore(_ f: PolicyFixture, from path: String) async throws {
        let run = try RestoreRun(
            try BackupReader(opening: path),
            schema: "app",
            replaces: true,
            trusts: true,
            time: Timestamp(microseconds: 0),
            progress: { _, _ in Silent() }
        )
        _ = try await run(try database(f))
    }

    @Test func aDatabaseWithPoliciesIsRestoredInItsPlace() async throws {
        try await withPolicies { f in
            let path = "/tmp/skyrow-\(f.prefix)-\(getpid()).tar"
            defer { unlink(path) }
            try await f.psql(
                """
                INSERT INTO _field_rule VALUES ('note', 'stars', 'read', '{owner}');
                INSERT INTO note (_id, _owner, title, stars, _access) VALUES ('1', 'ann', 'hers', 3, NULL),
                    ('2', 'bob', 'his', 4, '{}'), ('3', 'bob', 'his', 5, '{"user:ann": "read"}')
                """
            )
            try await f.apply()
            let seen = "SELECT _id, stars FROM app_visible.note ORDER BY _id"
            let before = try await f.sql("ann", seen)
            #expect(before == "1|3\n3|")
            try await backUp(f, to: path)
            try await f.psql("DELETE FROM note")

            // What shows these views by another one is not dropped in passing.
            try await f.psql("CREATE SCHEMA mine; CREATE VIEW mine.shown AS SELECT _id FROM app_visible.note")
            let error = await #expect(throws: ToolError.self) { try await restore(f, from: path) }
            #expect(error.map { "\($0)".contains("mine.shown") } == true, "\(String(describing: error))")
            #expect(try await f.psql("SELECT count(*) FROM note") == "0")
            try await f.psql("DROP SCHEMA mine CASCADE")

            try await restore(f, from: path)
            #expect(try await f.psql("SELECT count(*) FROM note") == "3")
            // No rights come back by themselves, and no record is open meanwhile.
            let refusal = try await f.refusal("ann", "SELECT _id FROM app.note")
            #expect(refusal.contains("permission denied"))
            #expect(try await f.differences() != [])
            try await f.apply()
            #expect(try await f.differences() == [])
            #expect(try await f.sql("ann", seen) == before)
        }
    }
}
