import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What is exported and imported again is the same, and what cannot be is refused whole.
@Suite struct ExportTests {
    /// Runs the tool on a database and requires that it ends well.
    @discardableResult
    static func run(_ words: String..., on database: TemporaryDatabase) async throws -> Tool.Result {
        // The tests' own role is a superuser.
        let trust = words.first == "restore" ? ["--trust-archive"] : []
        let result = try await Tool.run(words: [Tool.path] + words + ["--database-url", database.url] + trust)
        guard result.status == .exited(0) else { throw ServiceFailure(description: result.errors) }
        return result
    }

    /// Runs `body` with two databases that are up to date, the first with nasty records.
    static func withDatabases(
        test: String = #function,
        _ body: (_ source: TemporaryDatabase, _ target: TemporaryDatabase, _ folder: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(test: test) { source in
            try await withTemporaryDatabaseAndPsql(test: test) { target in
                try await run("migrate", on: source)
                try await source.psql(NastyRecords.statements)
                try await run("migrate", on: target)
                try await body(source, target, folder.path)
            }
        }
    }

    @Test(arguments: FileFormat.allCases)
    func exportThenImportGivesEqualTables(format: FileFormat) async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/all"
            let export = try await Self.run("export", "--output", path, "--format", format.rawValue, on: source)
            #expect(export.output.hasPrefix("19 records of 4 types exported to \(path) in "))
            let dry = try await Self.run("import", path, "--dry-run", on: target)
            #expect(dry.output.contains("note  15"))
            #expect(try await target.psql("SELECT to_regclass('app.note') IS NULL") == "t")

            let imported = try await Self.run("import", path, on: target)
            #expect(imported.output.contains("19 records imported in "))
            let before = try await source.psql(NastyRecords.contents)
            let after = try await target.psql(NastyRecords.contents)
            #expect(before.count > 40_000)
            #expect(after == before)

            // Sequences count on, accounts are there without passwords, references still bind.
            let more = try await target.psql(
                """
                SET search_path = app, app_internal;
                INSERT INTO note (_id) VALUES ('more') RETURNING serial;
                SELECT id, password_hash IS NULL FROM _user ORDER BY 1;
                SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'note'::regclass;
                """
            )
            #expect(more == "1001\nann|t\nbob|t\n2")
            // A second time nothing is imported, since everything is there.
            let again = try await Tool.run("import", path, "--database-url", target.url)
            #expect(again.status == .exited(1))
            #expect(again.errors.hasSuffix("Nothing was imported."))
        }
    }

    /// Functions are no records: a backup has them, and neither an export nor the description of the schema does.
    @Test func functionsAndTheirServersAreNotExported() async throws {
        try await Self.withDatabases { source, target, folder in
            try await source.psql(BackupTests.functions)
            let path = folder + "/all"
            try await Self.run("export", "--output", path, "--format", "ndjson", on: source)
            var texts = [try await Self.run("schema", "show", on: source).output]
            for name in try FileManager.default.contentsOfDirectory(atPath: path) {
                texts.append(name)
                texts.append(try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8))
            }
            #expect(texts.contains { $0.contains("note/~bob/1") })
            for word in ["_function", "titled", "referee", "whistle"] {
                #expect(!texts.contains { $0.contains(word) }, "\(word)")
            }
            for table in ["_function", "_function_server"] {
                let refused = try await Tool.run("export", "--type", table, "--database-url", source.url)
                #expect(refused.status != .exited(0) && refused.output.isEmpty, "\(table)")
            }
            try await Self.run("import", path, on: target)
            let counts = "SELECT (SELECT count(*) FROM _function), (SELECT count(*) FROM _function_server)"
            #expect(try await target.psql("SET search_path = app_internal; \(counts)").hasSuffix("0|0"))
        }
    }

    @Test(arguments: ["note.csv", "note.json.gz", "note.ndjson"])
    func oneTypeComesBackFromAFileToo(name: String) async throws {
        try await Self.withDatabases { source, _, folder in
            // Nothing refers to these from outside, so that they may go for a while.
            try await source.psql("UPDATE app.author SET best = NULL")
            let path = "\(folder)/\(name)"
            try await Self.run("export", "--type", "note", "--output", path, on: source)
            let before = try await source.psql(NastyRecords.contents)
            try await source.psql("DELETE FROM app.note")
            let unsaid = try await Tool.run("import", path, "--type", "note", "--database-url", source.url)
            #expect(unsaid.status == .exited(64))
            #expect(unsaid.errors.contains("has a column _database, which sets who owns the records"))
            #expect(unsaid.errors.contains("--keep-owners"))
            #expect(try await source.psql("SELECT count(*) FROM app.note") == "0")
            let result = try await Self.run("import", path, "--type", "note", "--keep-owners", on: source)
            #expect(result.output.contains("the record's owner"))
            #expect(result.output.contains("15 records imported to note"))
            #expect(try await source.psql(NastyRecords.contents) == before)
        }
    }

    @Test func textsThatSpreadsheetsTakeForFormulasAreDefusedOnDemand() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            try await Self.run("migrate", on: database)
            try await database.psql(
                #"""
                SELECT app._create_type('sum'); ALTER TABLE app.sum ADD text text, ADD number bigint;
                INSERT INTO app.sum (_id, text, number) VALUES
                    ('1', '=1+1', -1), ('2', '+1', 2), ('3', '-1', 3), ('4', '@x', 4), ('5', E'\t=1', 5),
                    ('6', E'\r=1', 6), ('7', '=HYPERLINK("a,b")', 7), ('8', 'a=1', 8), ('9', '', 9), ('=0', NULL, 0);
                """#
            )
            func rows(_ flags: String...) async throws -> Set<String> {
                let words = [Tool.path, "export", "--type", "sum", "--database-url", database.url] + flags
                let csv = try await Tool.run(words: words)
                let lines = csv.output.split(separator: "\n").dropFirst().map(String.init)
                return Set(lines.map { $0.replacing(/,_public,.*Z,,/, with: " ") })
            }
            let plain = try await rows()
            #expect(plain.contains("1 -1,=1+1") && plain.contains("=0 0,"))
            let defused: Set = [
                "1 -1,'=1+1", "2 2,'+1", "3 3,'-1", "4 4,'@x", "5 5,'\t=1", "6 6,\"'\r=1\"",
                "7 7,\"'=HYPERLINK(\"\"a,b\"\")\"", "8 8,a=1", "9 9,\"\"", "'=0 0,",
            ]
            let found = try await rows("--for-spreadsheets")
            #expect(found.symmetricDifference(defused) == [])
        }
    }

    @Test func standardOutputHasTheRecordsAndNothingElse() async throws {
        try await Self.withDatabases { source, _, _ in
            let csv = try await Self.run("export", "--type", "author", "--json", on: source)
            let lines = csv.output.split(separator: "\n")
            #expect(
                lines.first
                    == "_id,_database,_owner,_access,_created_at,_created_by,_updated_at,_updated_by,account,best"
            )
            #expect(lines.count == 3)
            #expect(lines.last?.hasPrefix("~ann/writer,ann,,,20") == true)
            #expect(lines.last?.hasSuffix(",,bob,~ann/1") == true)
            let summary = try #require(try JSONSerialization.jsonObject(with: Data(csv.errors.utf8)) as? [String: Any])
            #expect(summary["command"] as? String == "export")
            #expect(summary["rows"] as? Int == 2)
            #expect(summary["bytes"] as? Int == csv.output.utf8.count + 1)
            #expect((summary["types"] as? [[String: Any]])?.first?["name"] as? String == "author")

            let json = try await Self.run("export", "--type", "author", "--format", "ndjson", on: source)
            #expect(json.errors.isEmpty)
            let record = try #require(json.output.split(separator: "\n").last)
            #expect(record.contains(##""_id":"author/~ann/writer","_type":"record","_database":"ann","_access":null"##))
            #expect(record.contains(##""best":{"$type":"ref","$id":"note/~ann/1"}"##))
        }
    }

    @Test func whatIsDamagedIsRefusedWhole() async throws {
        try await Self.withDatabases { source, target, folder in
            let path = folder + "/all"
            let note = path + "/note.ndjson"
            try await Self.run("export", "--output", path, "--format", "ndjson", on: source)
            let whole = try String(contentsOfFile: note, encoding: .utf8)
            let lines = whole.split(separator: "\n", omittingEmptySubsequences: false)
            func refuse(_ text: String, _ words: String) async throws {
                try text.write(toFile: note, atomically: false, encoding: .utf8)
                let result = try await Tool.run("import", path, "--database-url", target.url)
                #expect(result.status == .exited(1))
                #expect(result.errors.contains(words), "\(result.errors)")
                #expect(result.errors.hasSuffix("Nothing was imported."))
                #expect(try await target.psql("SELECT to_regclass('app.note') IS NULL") == "t")
            }
            try await refuse(lines.dropFirst().joined(separator: "\n"), "has 14 records and export.json says 15")
            try await refuse(String(whole.dropLast(20)), "note.ndjson, line 15: ")
            try await refuse(
                whole.replacingOccurrences(of: "note/~bob/1", with: "note/~bo/1"),
                "_id is not an id of the database 'bob'"
            )
            try await refuse(
                whole.replacingOccurrences(of: #""$id":"author/writer""#, with: #""$id":"author/nobody""#),
                "A reference leads to a record that does not exist."
            )
            try await refuse(
                whole.replacingOccurrences(of: #""done":true"#, with: #""done":"yes""#),
                "done does not have the field's type"
            )

            try FileManager.default.removeItem(atPath: path + "/export.json")
            let result = try await Tool.run("import", path, "--database-url", target.url)
            #expect(result.errors.contains("is not a complete export"))
        }
    }

    @Test func filesAreTheOwnersAloneAndReplacedOnlyWhenAsked() async throws {
        try await Self.withDatabases { source, _, folder in
            let (file, directory) = (folder + "/author.csv", folder + "/all")
            try await Self.run("export", "--type", "author", "--output", file, on: source)
            try await Self.run("export", "--output", directory, on: source)
            for path in [file, directory + "/note.csv", directory + "/export.json"] {
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
            for arguments in [["--type", "author", "--output", file], ["--output", directory]] {
                let words = [Tool.path, "export", "--database-url", source.url] + arguments
                let refused = try await Tool.run(words: words)
                #expect(refused.status == .exited(1))
                #expect(refused.errors.contains("--overwrite"))
                #expect(try await Tool.run(words: words + ["--overwrite"]).status == .exited(0))
            }
            let unknown = try await Tool.run("export", "--type", "film", "--database-url", source.url)
            #expect(unknown.status == .exited(1))
            #expect(unknown.errors == "skyrow: The record type film does not exist.")
            #expect(unknown.output.isEmpty)
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(names) == ["author.csv", "all"])
        }
    }

    @Test func theServiceGoesOnMeanwhileAndProfilesOfOthersAreNoOrdinaryImport() async throws {
        try await withService { service in
            _ = try await service.saveNote("1")
            let result = try await Tool.run("export", "--type", "note", "--data-directory", service.directory)
            #expect(result.output.contains("\n1,_public,"))
            let path = service.directory + "/user.csv"
            try "username\neve\n".write(toFile: path, atomically: false, encoding: .utf8)
            let refused = try await Tool.run("import", path, "--type", "user", "--data-directory", service.directory)
            #expect(refused.status == .exited(64))
            #expect(refused.errors.contains("Accounts cannot be imported"))
        }
    }
}
