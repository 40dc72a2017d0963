import Testing

@testable import SkyrowTestSupport

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

    /// What psql prints, in the same order.
    @Test(arguments: [
        "", ";; -- nothing", "SELECT 1", "SELECT 1; SELECT 2, NULL, 'a|b', true; SELECT 3 WHERE false;",
        "CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, NULL) RETURNING *; COPY t TO STDOUT; TABLE t",
        "SELECT 'it''s; \\', E'a\\';b', \"x;y\" FROM (SELECT 1 AS \"x;y\") AS s; SELECT $$a;'b$$, $tag$ $$;$tag$",
        "SELECT 1 /* ; /* ; */ ' */ + 1; -- ; '\nSELECT e'\\x41;', 'ü;', U&'\\0041', 'é'",
        "DO $$ BEGIN RAISE NOTICE 'unseen'; END $$; SELECT 1; BEGIN; CREATE TABLE u (); ROLLBACK; SELECT to_regclass('u')",
        "PREPARE p AS SELECT $1::int; EXECUTE p(7); VACUUM pg_class; SELECT (ARRAY[1, 2])[1:2], 1::text; SELECT a$b$c FROM (SELECT 1 AS a$b$c) AS s",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END; SELECT f()",
        "SELECT 1 AS one \\gset\nSELECT :one + 1; \\echo three",
        "CREATE TABLE c (a text); COPY c FROM STDIN;\n;'\n\\.\nTABLE c",
    ])
    func aScriptAnswersAsPsqlPrintsIt(_ script: String) async throws {
        let answers = try await withTemporaryDatabaseAndPsql { try await $0.psql(script) }
        let printed = try await withTemporaryDatabaseAndPsql { try await $0.cluster.psql(script, url: $0.url) }
        #expect(answers == printed)
    }

    @Test func aScriptEndsWhereItFails() async throws {
        try await withTemporaryDatabaseAndPsql { (database: TemporaryDatabase) async throws -> Void in
            let error = await #expect(throws: TemporaryClusterError.self) {
                try await database.psql("CREATE TABLE first (); SELECT 1 / 0; CREATE TABLE second ()")
            }
            #expect(error?.description == "ERROR:  division by zero\n")
            #expect(try await database.psql("SELECT to_regclass('first'), to_regclass('second')") == "first|")
        }
    }

    @Test func aScriptThatDoesNotEndIsGivenUp() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let statements = ["SELECT pg_sleep(600)"]
            await #expect(throws: WaitTimedOut.self) {
                try await ScriptSession.run(statements, url: database.url, within: .milliseconds(1))
            }
        }
    }

    /// Sessions that databases are made over do not outlive their server.
    @Test(arguments: ["fast", "immediate", nil]) func aDatabaseIsDroppedAfterARestart(mode: String?) async throws {
        let cluster = try await TemporaryCluster.start()
        try await withTemporaryDatabase(on: cluster) { _ in
            if let mode { try await cluster.stop(mode: mode) } else { try await cluster.kill() }
            try await cluster.launch()
        }
        #expect(try await cluster.psql("SELECT count(*) FROM pg_database WHERE datname LIKE 't%\\_a%'") == "0")
        try await cluster.stop()
    }

    /// Copies of one data directory are one cluster to PostgreSQL.
    @Test func aClusterHasAnIdentityOfItsOwnWhereATestSaysSo() async throws {
        var identifiers: [String] = []
        for identity in [TemporaryCluster.Identity.common, .common, .own, .own] {
            let cluster = try await TemporaryCluster.start(identity: identity)
            identifiers.append(try await cluster.psql("SELECT system_identifier FROM pg_control_system()"))
            try await cluster.stop()
        }
        #expect(identifiers[0] == identifiers[1] && Set(identifiers).count == 3)
    }
}
