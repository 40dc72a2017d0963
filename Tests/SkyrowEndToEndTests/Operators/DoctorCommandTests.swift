import Foundation
import SkyrowStore
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// The doctor at a running service: healthy, with faults, and cured by what was said.
@Suite struct DoctorCommandTests {
    /// What `--json` printed.
    private struct Report: Decodable {
        struct Check: Decodable {
            var name: String
            var state: String
            var findings: [Finding]
        }

        struct Finding: Decodable {
            var severity: String
            var what: String
            var meaning: String
            var remedy: String
            var commands: [String]
        }

        var state: String
        var checks: [Check]

        init(_ result: Tool.Result) throws {
            self = try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
        }

        subscript(name: String) -> Check? { checks.first { $0.name == name } }
    }

    /// Every check but those that depend on the machine that the tests run on.
    private static let checks = (DoctorCheck.ofTheMachine + DoctorCheck.ofTheDatabase).map(\.name)
        .filter { ![DoctorCheck.disk.name, DoctorCheck.openFiles.name, DoctorCheck.memory.name].contains($0) }
        .filter { !elsewhere.contains($0) }

    /// The checks of other disks and servers, of which a service without mail and providers needs none.
    private static let elsewhere = [DoctorCheck.fileDisk, .mailServer, .providers].map(\.name)

    /// What psql does, the check that finds it, and what is said. The commands that are printed cure all of it.
    private static let faults: [(statements: String, check: String, what: String)] = [
        ("ALTER DATABASE skyrow SET timezone = 'Asia/Tokyo'", "time-zone", "PostgreSQL's time zone is Asia/Tokyo."),
        ("DROP TRIGGER _tombstone_deleted ON note", "schema-drift", "note lacks _tombstone_deleted: "),
        ("DROP INDEX note_category_idx", "foreign-key-indexes", "The reference category of note has no index."),
        (
            "CREATE INDEX one ON note (title); CREATE INDEX two ON note (title)", "duplicate-indexes",
            "note has 2 indexes of the form btree (title)."
        ),
        (
            "INSERT INTO note (_id, _owner) VALUES ('lost', 'eve')", "records",
            "are owned by a user that does not exist"
        ),
        (
            "INSERT INTO note (_id, _revision) VALUES ('later', 9000000000000000)", "records",
            "have a _revision in the future"
        ),
        ("INSERT INTO \"user\" (_id) VALUES ('ghost')", "accounts", "have no account, such as 'ghost'."),
        ("ALTER TABLE category SET (autovacuum_enabled = off)", "autovacuum", "disabled for category."),
    ]

    @Test func whatIsWrongIsNamedAndWhatIsSaidCuresIt() async throws {
        try await withService { service in
            func doctor(_ words: String...) async throws -> Tool.Result {
                let place = ["--data-directory", service.directory]
                return try await Tool.run(
                    words: [Tool.path, "doctor"] + Self.checks.flatMap { ["--check", $0] } + place + words
                )
            }
            _ = try await service.call(
                "record:save",
                """
                {"records": [{"_id": "category/c", "name": "x"},
                  {"_id": "note/1", "title": "a", "category": {"$type": "ref", "$id": "category/c"}}]}
                """
            )
            let healthy = try await doctor()
            #expect(healthy.status == .exited(0), "\(healthy.output)")
            #expect(healthy.output.hasSuffix("\(Self.checks.count) checks, no findings."))
            #expect(healthy.errors.isEmpty)

            for fault in Self.faults { _ = try await service.psql(fault.statements) }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: service.directory + "/keys")
            let before = try await service.psql("SELECT * FROM note ORDER BY 1")
            let reported = try await doctor()
            #expect(reported.status == .exited(2))
            let report = try Report(try await doctor("--json"))
            #expect(report.state == "error")
            for fault in Self.faults {
                let found = report[fault.check]?.findings ?? []
                #expect(found.contains { $0.what.contains(fault.what) }, "\(fault.what): \(found.map(\.what))")
            }
            #expect(report["key-files"]?.findings.map(\.severity) == ["error"])
            #expect(report["clock"]?.state == "ok" && report["server"]?.state == "ok")
            let findings = report.checks.flatMap(\.findings)
            #expect(findings.allSatisfy { !$0.meaning.isEmpty && !$0.remedy.isEmpty })
            // To look is not to change.
            #expect(try await service.psql("SELECT * FROM note ORDER BY 1") == before)

            for command in findings.flatMap(\.commands) {
                if command.hasPrefix("$ ") {
                    let result = try await Tool.run(words: ["bash", "-c", String(command.dropFirst(2))])
                    #expect(result.status == .exited(0), "\(command): \(result.errors)")
                } else {
                    _ = try await service.psql(command)
                }
            }
            let cured = try await doctor()
            #expect(cured.status == .exited(0), "\(cured.output)")
        }
    }

    @Test func warningsAndWhatIsLeftOutAreSaid() async throws {
        try await withService { service in
            _ = try await service.psql(
                """
                UPDATE app_internal._role SET is_admin = false;
                INSERT INTO "user" (_id) VALUES ('ann'); INSERT INTO app_internal._user (id) VALUES ('ann')
                """
            )
            func doctor(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(words: [Tool.path, "doctor", "--data-directory", service.directory] + words)
            }
            let warned = try await doctor("--check", "accounts", "--check", "records", "--quick")
            #expect(warned.status == .exited(1))
            #expect(
                warned.output == """
                    warning  accounts  Accounts and profiles
                             No role grants administrator rights.
                             Only the master key can assign roles and disable accounts.
                             Create one, if administrators are needed.
                                 UPDATE app_internal._role SET is_admin = true WHERE name = 'Admin';

                    skipped  records   Invalid rows of record tables

                    1 check run and 1 skipped: 1 warning.
                    """
            )
            let all = try Report(try await doctor("--json"))
            #expect(all.checks.map(\.name) == (DoctorCheck.ofTheMachine + DoctorCheck.ofTheDatabase).map(\.name))
            #expect(all.checks.filter { $0.state == "skipped" }.map(\.name) == Self.elsewhere)
            let unknown = try await doctor("--check", "nonsense")
            #expect(unknown.status == .exited(64))
            #expect(
                unknown.errors.hasPrefix(
                    "skyrow: The check 'nonsense' does not exist; the checks are key-files, disk, "
                )
            )
            _ = try await service.psql(
                """
                INSERT INTO app_internal._key (id, hash, name, kind, scopes)
                VALUES ('k00000001', sha256('1'), 'web', 'client', '{action:schema:fetch,action:schema:fech}')
                """
            )
            let keys = try Report(try await doctor("--json", "--check", "keys"))
            #expect(
                keys["keys"]?.findings.map(\.what) == [
                    "The key k00000001, 'web', has the scope 'action:schema:fech', which names an action that does not exist."
                ]
            )
        }
    }

    /// Looks at the servers that the service needs, with these settings, and returns the findings of each check.
    private func lookElsewhere(_ environment: [String: String]) async throws -> Report {
        let folder = try TemporaryDirectory()
        let checks = (Self.elsewhere + ["account-settings"]).flatMap { ["--check", $0] }
        let words = [Tool.path, "doctor", "--json", "--data-directory", folder.path + "/none"] + checks
        return try Report(try await Tool.run(words: words, environment: environment))
    }

    @Test func theMailServerIsAskedWhetherItTakesMail() async throws {
        try await withMailServer(.starttls) { mail in
            func look(_ change: (inout [String: String]) -> Void = { _ in }) async throws -> Report.Check? {
                var environment = [
                    "SKYROW_MAIL": "smtp://\(TemporaryMailServer.user)@127.0.0.1:\(mail.port)",
                    "SKYROW_MAIL_PASSWORD": TemporaryMailServer.password, "SKYROW_MAIL_CA": mail.certificate,
                    "SKYROW_MAIL_FROM": "no-reply@example.org", "SKYROW_PUBLIC_URL": "https://api.example.org",
                ]
                change(&environment)
                return try await lookElsewhere(environment)["mail-server"]
            }
            let well = try await look()
            #expect(well?.state == "ok" && well?.findings.isEmpty == true, "\(String(describing: well))")
            let faults: [(String, (inout [String: String]) -> Void)] = [
                ("Login denied", { $0["SKYROW_MAIL_PASSWORD"] = "another" }),
                ("certificate", { $0["SKYROW_MAIL_CA"] = nil }),
                ("onnect", { $0["SKYROW_MAIL"] = "smtp://\(TemporaryMailServer.user)@127.0.0.1:1" }),
            ]
            for (said, change) in faults {
                let check = try await look(change)
                #expect(check?.findings.map(\.severity) == ["error"], "\(said)")
                #expect(check?.findings.first?.what.contains(said) == true, "\(String(describing: check))")
                #expect(check?.findings.first?.what.contains("another") == false)
            }
            // Nothing was sent by looking.
            #expect(mail.mails.isEmpty)
        }
    }

    @Test func providersAreAskedForTheirKeysAndTheTime() async throws {
        try await withIdentityProvider { provider in
            let environment = [
                "SKYROW_DEVELOPMENT": "true",
                "SKYROW_PROVIDERS": "test issuer=\(provider.issuer) client-ids=app-1",
                "SKYROW_TEST_PATIENCE": "1",
            ]
            for (mode, said) in [
                (.normal, nil), (.ahead, "The clock of the provider test is 7"), (.behind, "seconds behind"),
                (.failing, "The keys of the provider test cannot be fetched"),
                (.impostor, "The keys of the provider test cannot be fetched"),
                (.garbled, "The keys of the provider test cannot be fetched"), (.normal, nil),
            ] as [(TemporaryIdentityProvider.Mode, String?)] {
                try await provider.set(mode)
                let check = try await lookElsewhere(environment)["providers"]
                #expect(check?.state == (said == nil ? "ok" : "error"), "\(mode) \(String(describing: check))")
                if let said {
                    #expect(check?.findings.first?.what.contains(said) == true, "\(String(describing: check))")
                }
            }
        }
    }

    @Test func settingsThatNameFaultyFilesAreNamed() async throws {
        let folder = try TemporaryDirectory()
        let keys = folder.path + "/keys"
        try "k1:short\n".write(toFile: keys, atomically: true, encoding: .utf8)
        let templates = folder.path + "/templates"
        try FileManager.default.createDirectory(atPath: templates + "/app/en", withIntermediateDirectories: true)
        try "{{#open".write(toFile: templates + "/app/en/verify.txt.mustache", atomically: true, encoding: .utf8)
        let mail = [
            "SKYROW_MAIL": "file:\(folder.path)/mail", "SKYROW_MAIL_FROM": "no-reply@example.org",
            "SKYROW_PUBLIC_URL": "https://api.example.org",
        ]
        for (environment, said) in [
            ([:], nil), (mail, nil), (["SKYROW_SECRETS_KEY": keys], "secrets-key"),
            (mail.merging(["SKYROW_TEMPLATES": templates]) { $1 }, "templates"),
            (["SKYROW_PROVIDERS": "test issuer=http://127.0.0.1:1 client-ids=a"], "providers"),
        ] as [([String: String], String?)] {
            let check = try await lookElsewhere(environment)["account-settings"]
            #expect(check?.state == (said == nil ? "ok" : "error"), "\(environment) \(String(describing: check))")
            if let said { #expect(check?.findings.first?.what.contains(said) == true, "\(String(describing: check))") }
        }
    }

    @Test func aDatabaseThatCannotBeReachedIsAnError() async throws {
        let folder = try TemporaryDirectory()
        let url = "postgresql://ann:hunter2@/app?host=/nowhere/at/all"
        let words = [Tool.path, "doctor", "--json", "--data-directory", folder.path + "/none"]
        let result = try await Tool.run(words: words, environment: ["SKYROW_DATABASE_URL": url])
        #expect(result.status == .exited(2))
        let report = try Report(result)
        #expect(report["database"]?.state == "error")
        #expect(report["disk"]?.state == "skipped" && report["records"]?.state == "skipped")
        #expect(!result.output.contains("hunter2") && !result.errors.contains("hunter2"))
    }
}
