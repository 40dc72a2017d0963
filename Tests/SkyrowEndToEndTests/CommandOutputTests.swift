import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// What commands print for people, and with `--json` for programs.
@Suite struct CommandOutputTests {
    /// The JSON object that a run printed, and nothing else.
    static func object(_ result: Tool.Result) throws -> [String: Any] {
        #expect(result.errors.isEmpty)
        #expect(result.status == .exited(0))
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    /// `skyrow config --json` by the settings' names.
    static func config(_ arguments: [String], environment: [String: String] = [:]) async throws -> [String: [String:
        Any]]
    {
        let words = [Tool.path, "config", "--json"] + arguments
        let lines = try #require(
            try object(await Tool.run(words: words, environment: environment))["settings"] as? [[String: Any]]
        )
        return Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in (line["name"] as? String).map { ($0, line) } }
        )
    }

    /// A name may hold what a terminal would obey.
    @Test(arguments: [
        ("plain é 漢 👩‍👩‍👧", "plain é 漢 👩‍👩‍👧"), ("a\u{1b}[2Jb", "a\\u001b[2Jb"), ("a\u{9b}31mb", "a\\u009b31mb"),
        ("a\rb\u{7}\u{8}\u{7f}", "a\\u000db\\u0007\\u0008\\u007f"), ("a\u{202e}b\u{2066}", "a\\u202eb\\u2066"),
        ("line\n\tline", "line\n\tline"),
    ])
    func whatATerminalWouldObeyIsPrintedAsText(text: String, printed: String) {
        #expect(printable(text) == printed)
        #expect(!printable(text, keepingLines: false).unicodeScalars.contains("\n"))
        #expect(textTable([[text, "x"]]) == printable(text, keepingLines: false) + "  x")
    }

    /// What another program prints by itself would not be looked at.
    @Test func everyCommandPrintsByTheSameFunction() throws {
        let folder = "\(ImportTests.project)/Sources/skyrow"
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder) where path.hasSuffix(".swift") {
            let source = try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
            let isIt = path == "Commands/PrintableText.swift"
            #expect(isIt || !source.contains("Swift.print") && !source.contains("STDOUT_FILENO, "), "\(path)")
        }
    }

    @Test func storedNamesDoNoHarmToATerminal() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            try await database.psql(
                """
                SET search_path = app, app_internal;
                INSERT INTO "user" (_id, username) VALUES ('ann', E'\\x1b[2Jann\\nroot');
                INSERT INTO app_internal._user (id) VALUES ('ann'); ALTER TABLE app_internal._role DISABLE TRIGGER USER; INSERT INTO app_internal._role (name) VALUES (E'\\x1b]0;x\\x07');
                INSERT INTO app_internal._user_role VALUES ('ann', E'\\x1b]0;x\\x07')
                """
            )
            for words in [
                ["user", "list"], ["user", "show", "ann"], ["user", "show", "ann", "--json"], ["role", "list"],
                ["role", "members", "\u{1b}]0;x\u{7}"], ["user", "show", "\u{1b}[2J"],
            ] {
                let result = try await Tool.run(words: [Tool.path] + words + ["--database-url", database.url])
                let text = result.output + result.errors
                #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" }, "\(words)")
                #expect(text.contains("\\u001b") || words[1] == "members", "\(words): \(text)")
            }
        }
    }

    @Test func configShowsWhatHoldsAndWhereItComesFrom() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/skyrow.json"
        try #"{"port": 1, "host": "file.example", "schema": "file", "api-key": "hunter2-in-a-file"}"#
            .write(toFile: path, atomically: false, encoding: .utf8)
        let environment = [
            "SKYROW_CONFIG": path, "SKYROW_PORT": "2", "SKYROW_HOST": "environment.example",
            "SKYROW_DATABASE_URL": "postgresql://ann:hunter2@db/app",
        ]
        let settings = try await Self.config(["--port", "3"], environment: environment)
        func line(_ name: String) throws -> [String?] {
            let line = try #require(settings[name])
            return [line["value"] as? String, line["from"] as? String, line["origin"] as? String]
        }
        #expect(try line("port") == ["3", "flag", "--port"])
        #expect(try line("host") == ["environment.example", "environment", "SKYROW_HOST"])
        #expect(try line("schema") == ["file", "file", "'schema' in \(path)"])
        #expect(try line("log-level") == ["info", "default", nil])
        #expect(try line("master-key") == [nil, "default", nil])
        #expect(try line("file-directory") == ["data/files", "default", nil])
        #expect(try line("file-url-prefix") == ["http://environment.example:3/files", "default", nil])
        #expect(try line("api-key") == ["<secret>", "file", "'api-key' in \(path)"])
        #expect(try line("database-url") == ["<secret>", "environment", "SKYROW_DATABASE_URL"])

        let shown = try await Tool.run("config", "--port", "3", environment: environment)
        #expect(shown.output.contains("host  "))
        #expect(shown.output.contains("environment.example  "))
        #expect(!shown.output.contains("hunter2"))
    }

    @Test(
        arguments: [
            (["--port", "http"], [:], 64, "skyrow: --port must be a whole number from 0 to 65535; it is 'http'."),
            (
                [], ["SKYROW_PORT": "http"], 78,
                "skyrow: SKYROW_PORT must be a whole number from 0 to 65535; it is 'http'."
            ),
            ([], ["SKYROW_PROT": "1"], 78, "skyrow: SKYROW_PROT is not a setting; did you mean SKYROW_PORT?"),
            (["--config", "/nowhere.json"], [:], 78, "skyrow: Cannot open /nowhere.json: No such file or directory."),
        ] as [([String], [String: String], Int32, String)]
    )
    func whatServeWouldRefuseIsRefused(
        arguments: [String],
        environment: [String: String],
        status: Int32,
        sentence: String
    ) async throws {
        for command in ["config", "serve"] {
            let result = try await Tool.run(words: [Tool.path, command] + arguments, environment: environment)
            #expect(result.status == .exited(status))
            #expect(result.errors == sentence)
            #expect(result.output.isEmpty)
        }
    }

    @Test func aDatabaseThatCannotBeReachedHasAStatusOfItsOwn() async throws {
        let url = "postgresql://ann:hunter2@/app?host=/nowhere/at/all"
        let result = try await Tool.run("migrate", environment: ["SKYROW_DATABASE_URL": url])
        #expect(result.status == .exited(69))
        #expect(!result.errors.contains("hunter2"))
    }

    @Test func migrateAndImportPrintJSON() async throws {
        let folder = try TemporaryDirectory()
        let data = folder.path + "/data"
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let file = folder.path + "/film.csv"
        try "_id,title,_x\n1,Alien,\n2,Brazil,\n".write(toFile: file, atomically: false, encoding: .utf8)

        let pending = try await Self.object(Tool.run("migrate", "--dry-run", "--json", "--data-directory", data))
        #expect(pending["dry_run"] as? Bool == true)
        #expect(pending["steps"] as? [String] == ["created the reserved tables"])

        let arguments = ["import", file, "--type", "film", "--json", "--data-directory", data]
        let tried = try await Self.object(Tool.run(words: [Tool.path] + arguments + ["--dry-run"]))
        #expect(tried["dry_run"] as? Bool == true)
        #expect(tried["rows"] as? Int == 0)
        let imported = try await Self.object(Tool.run(words: [Tool.path] + arguments))
        #expect(imported["type"] as? String == "film")
        #expect(imported["rows"] as? Int == 2)
        #expect(imported["left_out"] as? Int == 0)
        let columns = try #require(imported["columns"] as? [[String: Any]])
        #expect(columns.map { $0["field"] as? String } == ["_id", "title", nil])
        #expect(columns.map { $0["type"] as? String } == [nil, "string", nil])

        let exported = folder.path + "/export"
        let export = ["export", "--output", exported, "--json", "--data-directory", data]
        #expect(try await Self.object(Tool.run(words: [Tool.path] + export))["rows"] as? Int == 2)
        let again = ["import", exported, "--dry-run", "--json", "--data-directory", data]
        let checked = try await Self.object(Tool.run(words: [Tool.path] + again))
        #expect(checked["dry_run"] as? Bool == true)
        #expect(checked["rows"] as? Int == 2)

        let done = try await Self.object(Tool.run("migrate", "--json", "--data-directory", data))
        #expect(done["steps"] as? [String] == [])
    }

    @Test func theTypesOfActionsArePrinted() async throws {
        let printed = try await Tool.run("types", "typescript")
        #expect(printed.status == .exited(0))
        #expect(printed.output.contains("\n  \"role:add\": { parameters: RoleAddParameters; result: RoleAddResult }\n"))
        #expect(printed.output.hasSuffix("\n}"))
    }

    @Test func completionsKnowCommandsAndSettings() async throws {
        let folder = try TemporaryDirectory()
        for shell in CompletionCommand.Shell.allCases {
            let script = try await Tool.run("completion", shell.rawValue)
            #expect(script.status == .exited(0))
            #expect(script.output.contains("maximum-body"))
        }
        // As bash asks when somebody presses the tab key.
        let script = try await Tool.run("completion", "bash")
        let path = folder.path + "/skyrow"
        try (script.output + "\n").write(toFile: path, atomically: false, encoding: .utf8)
        let function = try #require(script.output.firstMatch(of: /complete .*-F (\S+) skyrow/)?.1)
        let ask = """
            source \(path)
            COMP_WORDS=(skyrow serve --log-l) COMP_CWORD=2
            \(function) skyrow --log-l serve
            echo ${COMPREPLY[@]}
            """
        let answer = try await Tool.run(words: ["bash", "-c", ask])
        #expect(answer.output == "--log-level")
        let refused = try await Tool.run("completion", "csh")
        #expect(refused.status == .exited(64))
    }
}
