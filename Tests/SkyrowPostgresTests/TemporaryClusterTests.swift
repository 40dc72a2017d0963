import SkyrowTestSupport
import Testing

@Suite struct TemporaryClusterTests {
    @Test func everyTestHasADatabaseOfItsOwn() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            #expect(try await database.psql("SELECT current_database()") == database.name)
            try await database.psql("CREATE TABLE note (title text)")
        }
        try await withTemporaryDatabaseAndPsql { database in
            let isMissing = try await database.psql("SELECT to_regclass('note') IS NULL")
            #expect(isMissing == "t")
        }
    }

    @Test func aTemplateIsPreparedOnceAndCopied() async throws {
        let cluster = try await TemporaryCluster.shared()
        let template = DatabaseTemplate(key: "once") { url in
            let name = String(url.dropFirst("postgresql:///".count).prefix { $0 != "?" })
            try await cluster.psql("CREATE TABLE note (title text); INSERT INTO note VALUES ('x')", database: name)
        }
        for _ in 0..<2 {
            try await withTemporaryDatabaseAndPsql(template: template) { database in
                #expect(try await database.psql("SELECT count(*) FROM note") == "1")
                try await database.psql("INSERT INTO note VALUES ('y')")
            }
        }
    }

    @Test func aKilledClusterStartsAgainWithWhatWasCommitted() async throws {
        let cluster = try await TemporaryCluster.start()
        try await cluster.psql("CREATE TABLE note (title text); INSERT INTO note VALUES ('x')")
        try await cluster.kill()
        await #expect(throws: TemporaryClusterError.self) { try await cluster.psql("SELECT 1") }
        try await cluster.launch()
        #expect(try await cluster.psql("SELECT title FROM note") == "x")
    }
}
