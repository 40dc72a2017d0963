import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The commands of the chapter "Access by SQL" of Operations.md.
@Suite struct PolicyCommandTests {
    @Test func aRoleComesToStandForAUserAndNoMore() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await ExportTests.run("migrate", on: database)
            let role = "\(database.name.prefix(40))_sql"
            try await database.psql(
                """
                SET search_path = app, app_internal; SELECT _create_type('note'), _create_type('person');
                ALTER TABLE note ADD title text; ALTER TABLE person ADD salary bigint;
                INSERT INTO app_internal._field_rule VALUES ('person', 'salary', 'read', '{owner}');
                INSERT INTO "user" (_id, _owner, username) VALUES ('ann', 'ann', 'ann'); INSERT INTO app_internal._user (id) VALUES ('ann');
                INSERT INTO note (_id, _owner, _access, title) VALUES ('1', 'ann', '{}', 'Mine'), ('2', 'bob', '{}', 'More');
                INSERT INTO person (_id, _owner, salary) VALUES ('a', 'ann', 7), ('b', 'bob', 8);
                CREATE ROLE "\(role)" LOGIN
                """
            )
            func run(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(words: [Tool.path, "policies"] + words + ["--database-url", database.url])
            }
            let nothing = try await run("check")
            #expect(nothing.status == .exited(0) && nothing.output == "There are no policies.")
            try await database.psql("UPDATE app.\"user\" SET username = 'Ann' WHERE _id = 'ann'")
            let applied = try await run("apply", "--login", "\(role)=ANN")
            #expect(applied.status == .exited(0), "\(applied.errors)")
            #expect(applied.output == "Created policies for 3 of 3 types, and rights for \(role).")
            let url = database.url.replacingOccurrences(of: "user=postgres", with: "user=\(role)")
            let manual = """
                SELECT _id, title FROM app.note WHERE title LIKE 'M%';
                SELECT _id, salary FROM app_visible.person ORDER BY _id;
                INSERT INTO app.note (_id, title) VALUES ('n1', 'by SQL');
                UPDATE app.note SET title = 'changed' WHERE _id = 'n1';
                SELECT title FROM app.note WHERE _id = 'n1'
                """
            let seen = try await database.cluster.psql(manual, url: url)
            #expect(seen == "1|Mine\na|7\nb|\nchanged")
            let same = try await run("check")
            #expect(same.status == .exited(0) && same.output == "Policies and rights match the rules.")
            try await database.psql("INSERT INTO app_internal._class_rule VALUES ('note', 'read', '{owner}')")
            let different = try await run("check", "--json")
            #expect(different.status == .exited(1))
            let json = try JSONSerialization.jsonObject(with: Data(different.output.utf8)) as? [String: Any]
            let differences = json?["differences"] as? [String]
            #expect(
                differences?.count == 1 && differences?[0].contains("The rules of the type note have changed") == true
            )
            let again = try await run("apply", "--json")
            #expect(try CommandOutputTests.object(again)["changed"] as? [String] == ["note"])
            #expect(try await run("check").status == .exited(0))
            for (words, reason) in [
                (["apply", "--login", "ann"], "--login must be a role and a user"),
                (["apply", "--login", "no_such_role=ann"], "PostgreSQL has no role no_such_role"),
                (["apply", "--login", "postgres=ann"], "The role postgres is a superuser"),
                (["apply", "--login", "\(role)=gone"], "The account 'gone' does not exist."),
                (["drop", "--login", "postgres"], "The role postgres does not represent a user."),
            ] {
                let failed = try await Tool.run(
                    words: [Tool.path, "policies"] + words + ["--database-url", database.url]
                )
                #expect(failed.status != .exited(0), "\(words)")
                #expect(failed.errors.contains(reason), "\(failed.errors)")
            }
            let dropped = try await run("drop", "--login", role)
            #expect(dropped.status == .exited(0), "\(dropped.errors)")
            let all = try await run("drop")
            #expect(all.status == .exited(0), "\(all.errors)")
            #expect(try await run("check").output == "There are no policies.")
            try await database.psql("DROP ROLE \"\(role)\"")
        }
    }
}
