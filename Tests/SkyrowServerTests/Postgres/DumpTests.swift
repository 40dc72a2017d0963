import Foundation
import SkyrowModel
import SkyrowPostgres
import SkyrowStore
import Testing

@testable import SkyrowServer
@testable import SkyrowTestSupport

/// Dumps of a database that PostgreSQL's own programs make and restore.
@Suite struct DumpTests {
    /// Everything that a database may have, restored by another role of another cluster; `pg_restore` fails at the first error.
    private func restore(_ url: String, by role: String) async throws {
        let folder = try TemporaryDirectory()
        // PostgreSQL's programs run as another user than the tests of root.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: folder.path)
        let other = try await TemporaryCluster.start(identity: .own)
        let file = folder.path + "/dump"
        _ = try await other.installation.run("pg_dump", ["-Fc", "-f", file, "-d", url])
        if role != "postgres" { try await other.psql("CREATE ROLE \(role) LOGIN") }
        try await other.psql("CREATE DATABASE restored OWNER \(role)")
        let target = other.url(database: "restored").replacing("user=postgres", with: "user=\(role)")
        let output = try await other.installation.run("pg_restore", ["-O", "-d", target, file])
        #expect(output == "")
        let kept = try await other.psql(
            """
            SELECT count(*) FROM app.note JOIN app.list ON list._id = note._parent;
            INSERT INTO app.note (_id) VALUES ('fresh');
            SELECT count(*) FROM pg_constraint WHERE conname IN ('_id_fits', '_database_fits', '_access_fits') AND NOT convalidated
            """,
            database: "restored"
        )
        #expect(kept == "1\n0")
        for (values, name) in [
            ("('~x')", "_id_fits"), ("('~_x/1', '_x')", "_database_fits"), ("('x', '_public', '[]')", "_access_fits"),
        ] {
            let columns = ["_id", "_database", "_access"].prefix(values.split(separator: ",").count).joined(
                separator: ", "
            )
            let error = await #expect(throws: (any Error).self) {
                try await other.psql("INSERT INTO app.note (\(columns)) VALUES \(values)", database: "restored")
            }
            #expect("\(error.map { "\($0)" } ?? "")".contains("\"\(name)\""), "\(name)")
        }
    }

    private func fill(_ url: String) async throws {
        try await withPostgresClient(url) { client in
            let store = RecordStore(client: client, schema: "app", mode: .development, logger: .quiet)
            try await store.prepare()
            _ = try await store.createTypes(
                [
                    RecordType(name: type("list"), fields: [field("name"): .string]),
                    RecordType(
                        name: type("note"),
                        fields: [
                            field("title"): .string, field("n"): .sequence, .parent: .reference(type("list")),
                            field("lists"): .array(.reference(type("list"))), field("likes"): .relation(type("list")),
                            field("next"): .reference(type("note")),
                        ],
                        textLanguages: [field("title"): .english],
                        storedTexts: [field("title")]
                    ),
                ]
            )
            for statement in [
                "INSERT INTO app.list (_id, name) VALUES ('l', 'x')",
                """
                INSERT INTO app.note (_id, title, _parent, lists, next, _access)
                VALUES ('1', 'Some words', 'l', '{l}', '1', '{"public": "read"}')
                """,
                "INSERT INTO app.\"note.likes\" (_from, _to) VALUES ('1', 'l')",
                "DELETE FROM app.list WHERE _id = 'none'",
            ] as [SQL] {
                _ = try await client.write(statement)
            }
        }
    }

    @Test func aDatabaseOfTheEmbeddedPostgreSQLIsRestoredWithoutErrors() async throws {
        let cluster = try await TemporaryCluster.start()
        try await cluster.psql("CREATE DATABASE \(EmbeddedCluster.database)")
        // Twice, as after an update.
        for _ in 0..<2 { try await cluster.psql(ClusterRole.script, database: EmbeddedCluster.database) }
        let url = cluster.url(database: EmbeddedCluster.database)
        try await fill(url.replacing("user=postgres", with: "user=\(ClusterRole.service.rawValue)"))
        try await restore(url, by: "postgres")
    }

    @Test func aDatabaseOfAnOrdinaryRoleIsRestoredByAnotherWithoutErrors() async throws {
        let cluster = try await TemporaryCluster.start()
        try await cluster.psql("CREATE ROLE someone LOGIN; CREATE DATABASE own OWNER someone")
        let url = cluster.url(database: "own").replacing("user=postgres", with: "user=someone")
        try await fill(url)
        try await restore(url, by: "other")
    }
}
