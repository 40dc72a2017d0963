import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The schema as a file: what is shown, what is done, and what is refused.
@Suite struct SchemaCommandTests {
    /// `note` with two records, of which one has a rating that is no whole number.
    private static let statements = """
        SET search_path = app, app_internal;
        SELECT _create_type('note');
        ALTER TABLE note ADD title text, ADD stars double precision, ADD old text;
        COMMENT ON COLUMN note.title IS 'A text.'; COMMENT ON COLUMN note.stars IS 'A number.';
        COMMENT ON COLUMN note.old IS 'A text.';
        INSERT INTO note (_id, title, stars, old) VALUES ('1', 'Milk', 3, 'x'), ('2', 'Beer', 4.5, NULL);
        """

    /// The columns, indexes, comments and triggers of everything, and the notes.
    private static let contents = """
        SELECT attrelid::regclass, attname, atttypid::regtype, col_description(attrelid, attnum),
            (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'app'::regnamespace AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2;
        SELECT tgrelid::regclass, tgname FROM pg_trigger ORDER BY 1, 2;
        SELECT * FROM app.note ORDER BY 1;
        """

    /// A database with those notes, and a way to run the tool on it.
    private struct Bench {
        let database: TemporaryDatabase
        let folder: String

        func run(_ words: String..., input: String? = nil) async throws -> Tool.Result {
            try await Tool.run(words: [Tool.path, "schema"] + words + ["--database-url", database.url], input: input)
        }

        /// Writes a schema file and returns its path.
        func file(_ json: String, _ name: String = "schema.json") throws -> String {
            let path = "\(folder)/\(name)"
            try json.write(toFile: path, atomically: false, encoding: .utf8)
            return path
        }
    }

    private static func withBench(test: String = #function, _ body: (Bench) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        try await withTemporaryDatabaseAndPsql(test: test) { database in
            _ = try await ExportTests.run("migrate", on: database)
            try await database.psql(statements)
            try await body(Bench(database: database, folder: folder.path))
        }
    }

    /// What the tests want: a new name for two things, a new type and an index.
    private static let renamed = """
        {"record_types": {
          "memo": {
            "renamed_from": "note", "comment": "What people wrote down.",
            "fields": [
              {"name": "heading", "type": "string", "renamed_from": "title"},
              {"name": "stars", "type": "number", "default": 0},
              {"name": "old", "type": "string"},
              {"name": "category", "type": "ref(category)"}],
            "indexes": [{"fields": ["stars desc"]}]},
          "category": {"fields": [{"name": "name", "type": "string"}]}
        }}
        """

    @Test func whatIsShownIsAFileThatIsTheSame() async throws {
        try await Self.withBench { bench in
            let shown = try await bench.run("show")
            #expect(shown.status == .exited(0) && shown.errors.isEmpty)
            let path = try bench.file(shown.output)
            let same = try await bench.run("diff", path)
            #expect(same.status == .exited(0))
            #expect(same.output == "The database matches \(path).")
            let applied = try await bench.run("apply", path)
            #expect(applied.status == .exited(0))
            #expect(applied.output.hasSuffix("Nothing to do."))
            let piped = try await bench.run("diff", "-", input: shown.output)
            #expect(piped.status == .exited(0))
            #expect(piped.output == "The database matches standard input.")
        }
    }

    @Test func diffShowsThePlanAndChangesNothingAndApplyDoesIt() async throws {
        try await Self.withBench { bench in
            let before = try await bench.database.psql(Self.contents)
            let path = try bench.file(Self.renamed)
            let shown = try await bench.run("diff", path)
            #expect(shown.status == .exited(1))
            for line in [
                "  ~  memo           renamed from note", "  ~  memo.heading   renamed from title",
                "  +  category       new type", "  +  memo.category  new field, ref(category)",
                "  +  memo           new index (stars desc)", "\n8 changes.",
            ] {
                #expect(shown.output.contains(line), "\(line) is not in \(shown.output)")
            }
            #expect(try await bench.database.psql(Self.contents) == before)

            let plan = try await bench.run("diff", path, "--json")
            #expect(plan.status == .exited(1))
            let object = try #require(try JSONSerialization.jsonObject(with: Data(plan.output.utf8)) as? [String: Any])
            #expect(object["same"] as? Bool == false)
            let changes = try #require(object["changes"] as? [[String: Any]])
            #expect(changes.count == 8)
            #expect(changes.first?["kind"] as? String == "rename_type")
            #expect(changes.allSatisfy { $0["loses_data"] as? Bool == false })

            // Nobody is there to be asked.
            let unasked = try await bench.run("apply", path)
            #expect(unasked.status == .exited(64))
            #expect(unasked.errors == "skyrow: Nothing was changed: confirmation needs a terminal. Add --yes.")
            #expect(try await bench.database.psql(Self.contents) == before)

            let applied = try await bench.run("apply", path, "--yes")
            #expect(applied.status == .exited(0), "\(applied.errors)")
            #expect(applied.output.hasSuffix("Done: 8 changes."))
            // Renamed, not deleted and made anew; a default is for records to come.
            #expect(
                try await bench.database.psql(
                    """
                    INSERT INTO app.memo (_id) VALUES ('3');
                    SELECT _id, heading, stars, old FROM app.memo ORDER BY 1
                    """
                ) == "1|Milk|3|x\n2|Beer|4.5|\n3||0|"
            )
            let again = try await bench.run("apply", path, "--yes", "--json")
            #expect(try CommandOutputTests.object(again)["applied"] as? Int == 0)
        }
    }

    @Test(
        arguments: [
            ("y\n", 0, "heading"), ("n\n", 1, "title"), ("\n", 1, "title"),
        ] as [(String, Int32, String)]
    )
    func aPersonIsAsked(answer: String, status: Int32, column: String) async throws {
        try await Self.withBench { bench in
            let path = try bench.file(
                """
                {"record_types": {"note": {"fields": [{"name": "heading", "type": "string", "renamed_from": "title"},
                  {"name": "stars", "type": "number"}, {"name": "old", "type": "string"}]}}}
                """
            )
            // script(1) gives it a terminal.
            let command = "'\(Tool.path)' schema apply '\(path)' --database-url '\(bench.database.url)'"
            let result = try await Tool.run(words: ["script", "-qec", command, "/dev/null"], input: answer)
            #expect(result.status == .exited(status), "\(result.output) \(result.errors)")
            #expect(result.output.contains("Change the database? [y/N] "))
            #expect(
                try await bench.database.psql(
                    "SELECT attname FROM pg_attribute WHERE attrelid = 'app.note'::regclass AND attname IN ('title', 'heading')"
                ) == column
            )
        }
    }

    /// A file whose plan costs data, and what is said of that.
    private static let losses: [(fields: String, sentence: String, remains: String)] = [
        (
            #"{"name": "title", "type": "string"}, {"name": "stars", "type": "number"}"#,
            "  -  note.old  deleted: 1 of 2 records have a value", "1|Milk|3\n2|Beer|4.5"
        ),
        (
            """
            {"name": "title", "type": "string"}, {"name": "stars", "type": "integer"}, {"name": "old", "type": "string"}
            """,
            "  ~  note.stars  number becomes integer: 1 of 2 records have a value that does not fit and would be lost",
            "1|Milk|3\n2|Beer|"
        ),
    ]

    @Test(arguments: losses.indices)
    func nothingIsLostUnlessThatIsSaid(_ number: Int) async throws {
        let (fields, sentence, remains) = Self.losses[number]
        try await Self.withBench { bench in
            let before = try await bench.database.psql(Self.contents)
            let path = try bench.file(#"{"record_types": {"note": {"fields": [\#(fields)]}}}"#)
            let refused = try await bench.run("apply", path, "--yes")
            #expect(refused.status == .exited(1))
            #expect(refused.output.contains(sentence) && refused.output.hasSuffix(", 1 of which loses data."))
            #expect(
                refused.errors
                    == "skyrow: Nothing was changed, since data would be lost. If this is intended, add --allow-data-loss."
            )
            #expect(try await bench.database.psql(Self.contents) == before)

            let applied = try await bench.run("apply", path, "--yes", "--allow-data-loss")
            #expect(applied.status == .exited(0), "\(applied.errors)")
            #expect(try await bench.database.psql("SELECT _id, title, stars FROM app.note ORDER BY 1") == remains)
        }
    }

    @Test func driftIsReportedAndRepairedOrAccepted() async throws {
        try await Self.withBench { bench in
            let path = try bench.file(try await bench.run("show").output)
            try await bench.database.psql(
                """
                DROP TRIGGER _tombstone_deleted ON app.note;
                ALTER TABLE app.note ALTER _created_at DROP DEFAULT, ADD "two words" text;
                """
            )
            let shown = try await bench.run("diff", path)
            #expect(shown.status == .exited(1))
            for words in [
                "~  note lacks _tombstone_deleted", "[note._created_at:default]",
                "!  note has the column \"two words\"",
            ] {
                #expect(shown.output.contains(words), "\(words) is not in \(shown.output)")
            }
            let left = try await bench.run("apply", path, "--yes", "--leave-drift")
            #expect(left.status == .exited(0) && left.output.hasSuffix("Nothing to do."))
            let repaired = try await bench.run("apply", path, "--yes")
            #expect(
                repaired.status == .exited(0) && repaired.output.hasSuffix("Done: 2 changes."),
                "\(repaired.errors)"
            )
            #expect(
                try await bench.database.psql(
                    "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'app.note'::regclass AND tgname = '_tombstone_deleted'"
                ) == "1"
            )

            // What is left takes a person's decision, which the file can hold.
            #expect(try await bench.run("diff", path).status == .exited(1))
            let content = try String(contentsOfFile: path, encoding: .utf8).dropFirst()
            let accepting = try bench.file(#"{"accepted_drift": ["note:name:two words"],"# + content, "accepting.json")
            #expect(try await bench.run("diff", accepting).status == .exited(0))
        }
    }

    /// Files that make no sense, and the end of what is said about them.
    private static let badFiles: [(json: String, sentence: String)] = [
        ("", "is not valid JSON. The JSON text ends before its value is complete (at byte 0)."),
        ("record_types:", "is not valid JSON. The JSON text has an unexpected character (at byte 0)."),
        ("[]", ": the file is not an object."),
        (
            #"{"record_typs": {}}"#,
            #": the file has the unknown member "record_typs"; allowed are: record_types, access, accepted_drift."#
        ),
        (
            #"{"record_types": {"note": {"fields": [{"name": "_a", "type": "string"}]}}}"#,
            ": record_types.note.fields[0]: A field name must be a letter followed by at most 62 letters, digits or underscores."
        ),
        (
            #"{"record_types": {"note": {"fields": [{"name": "a", "type": "string"}, {"name": "a", "type": "json"}]}}}"#,
            #": record_types.note has the field "a" twice."#
        ),
    ]

    @Test func aFileThatMakesNoSenseGetsOneSentence() async throws {
        try await Self.withBench { bench in
            let before = try await bench.database.psql(Self.contents)
            for (json, sentence) in Self.badFiles {
                let path = try bench.file(json)
                for (command, status) in [("diff", 2), ("apply", 1)] as [(String, Int32)] {
                    let result = try await bench.run(command, path)
                    #expect(result.status == .exited(status))
                    #expect(result.output.isEmpty)
                    #expect(result.errors.hasPrefix("skyrow: \(path)") && result.errors.hasSuffix(sentence))
                    #expect(!result.errors.contains("\n"), "\(result.errors)")
                }
            }
            let missing = try await bench.run("diff", "/nowhere.json")
            #expect(missing.status == .exited(2))
            #expect(missing.errors == "skyrow: Cannot open /nowhere.json: No such file or directory.")

            // A file that is none of a database, though it is one by itself.
            let path = try bench.file(
                #"{"record_types": {"note": {"fields": [{"name": "a", "type": "ref(nothing)"}]}}}"#
            )
            let refused = try await bench.run("apply", path, "--yes", "--allow-data-loss")
            #expect(refused.status == .exited(1))
            #expect(
                refused.errors
                    == "skyrow: Nothing was changed. note.a refers to the type nothing, which is not in the file."
            )
            #expect(try await bench.database.psql(Self.contents) == before)
        }
    }

    /// Without a running service the command itself builds the index, and drops it.
    @Test func aTypeIsFollowedAndFollowedNoMore() async throws {
        let indexes = """
            SELECT count(*) FROM pg_index
            WHERE indrelid = 'app.note'::regclass AND indisvalid AND pg_get_indexdef(indexrelid) LIKE '%(_database, _revision)'
            """
        try await Self.withBench { bench in
            for (words, status, output, count) in [
                (["follow", "note"], 0, "note is followed: an index finds its changes.", "1"),
                (["follow", "note"], 0, "note is followed: an index finds its changes.", "1"),
                (["unfollow", "note"], 0, "note is no longer followed.", "0"),
                (["unfollow", "note"], 0, "note is no longer followed.", "0"),
                (["follow", "memo"], 1, "", "0"),
                (["unfollow", "memo"], 1, "", "0"),
                (["follow", "a\"b"], 64, "", "0"),
            ] as [([String], Int32, String, String)] {
                let result = try await bench.run(words[0], words[1])
                #expect(result.status == .exited(status), "\(words): \(result.errors)")
                #expect(result.output.trimmingCharacters(in: .whitespacesAndNewlines) == output, "\(words)")
                #expect(try await bench.database.psql(indexes) == count, "\(words)")
            }
            #expect(try await bench.run("follow", "memo").errors.contains("The record type memo does not exist."))
        }
    }

    @Test func aDatabaseWithoutTablesIsNotTouched() async throws {
        try await withTemporaryDatabaseAndPsql { database in
            let result = try await Tool.run("schema", "show", "--database-url", database.url)
            #expect(result.status == .exited(1))
            #expect(
                result.errors
                    == "skyrow: The schema app is not up to date with this skyrow: run 'skyrow migrate' first."
            )
            #expect(try await database.psql("SELECT to_regnamespace('app') IS NULL") == "t")
            let away = "postgresql:///app?host=/nowhere/at/all"
            let unreachable = try await Tool.run("schema", "show", "--database-url", away)
            #expect(unreachable.status == .exited(69))
        }
    }
}
