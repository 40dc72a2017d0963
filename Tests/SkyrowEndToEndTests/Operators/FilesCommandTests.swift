import Foundation
import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// A file of a record as an upload leaves it: in the directory, and in a row.
struct HandMadeFile {
    let name: AssetName
    let text: String

    init(_ number: Int, _ filename: String, _ text: String) {
        name = AssetName(id: "0000000\(number)-7135-4912-a6c9-7c1dbec0f5ef", filename: filename)
        self.text = text
    }

    /// The statement that makes its row.
    var row: String {
        """
        INSERT INTO app_internal._asset (name, filename, content_type, size, state, stored_at, sha256)
        VALUES ('\(name)', '\(name.filename)', 'text/plain', \(text.utf8.count), 'stored', now(), sha256('\(text)'));
        """
    }

    /// The path of the file in `file-directory`.
    func path(in directory: String) -> String { "\(directory)/app/\(name.rawValue.prefix(2))/\(name)" }

    /// Writes the file, changed some days ago.
    func write(to directory: String, _ text: String? = nil, days: Double = 7) throws {
        let path = path(in: directory)
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try (text ?? self.text).write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -days * 86_400)],
            ofItemAtPath: path
        )
    }
}

/// Files from a terminal, beside a running service.
@Suite struct FilesCommandTests {
    private static let files = [HandMadeFile(1, "one.txt", "one"), HandMadeFile(2, "two.txt", "two")]

    @Test func differencesAreListedAndRepaired() async throws {
        try await withService { service in
            let directory = service.directory + "/files"
            func verify(_ words: String...) async throws -> Tool.Result {
                try await Tool.run(
                    words: [Tool.path, "files", "verify", "--data-directory", service.directory] + words
                )
            }
            for file in Self.files {
                try file.write(to: directory)
                _ = try await service.psql(file.row)
            }
            let clean = try await verify("--checksums")
            #expect(clean.status == .exited(0), "\(clean)")
            #expect(clean.output == "Rows and files match: 2 files, 0.0 MB.")

            let (orphan, young) = (HandMadeFile(8, "six.png", "6"), HandMadeFile(9, "new.txt", "9"))
            try Self.files[0].write(to: directory, "eno")
            try FileManager.default.removeItem(atPath: Self.files[1].path(in: directory))
            try orphan.write(to: directory)
            try young.write(to: directory, days: 0.5)
            let listed = try await verify("--checksums")
            #expect(listed.status == .exited(1))
            #expect(
                listed.output == """
                    wrong-checksum  \(Self.files[0].name)  3 bytes
                    missing         \(Self.files[1].name)  3 bytes
                    orphaned        \(orphan.name)  1 byte
                    orphaned        \(young.name)  1 byte
                    Compared 2 files, 0.0 MB: 4 differences.
                    """
            )
            let json = try await verify("--json")
            #expect(json.status == .exited(1))
            let report = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            #expect(report["files"] as? Int == 2)
            #expect(
                report["counts"] as? [String: Int]
                    == ["missing": 1, "orphaned": 2, "wrong-size": 0, "wrong-checksum": 0]
            )
            let names = (report["differences"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
            #expect(names == [Self.files[1].name, orphan.name, young.name].map(\.rawValue))

            let removed = try await verify("--remove")
            #expect(removed.status == .exited(1))
            #expect(removed.output.hasSuffix("\n1 file without a row removed."))
            #expect(!FileManager.default.fileExists(atPath: orphan.path(in: directory)))
            try Self.files[0].write(to: directory)
            try Self.files[1].write(to: directory)
            let adopted = try await verify("--checksums", "--adopt")
            #expect(adopted.status == .exited(0), "\(adopted)")
            #expect(adopted.output.hasSuffix("\n1 file got a row."))
            let row = try await service.psql(
                "SELECT content_type, size, owner IS NULL FROM app_internal._asset WHERE name = '\(young.name)'"
            )
            #expect(row == "text/plain|1|t")

            let both = try await verify("--adopt", "--remove")
            #expect(both.status == .exited(64))
        }
    }

    @Test func filesThatNoRecordRefersToAreCollectedAfterTheirGrace() async throws {
        try await withService { service in
            let directory = service.directory + "/files"
            for file in Self.files {
                try file.write(to: directory)
                _ = try await service.psql(file.row)
            }
            func collect(_ words: String...) async throws -> [String: Any] {
                let place = ["--data-directory", service.directory, "--json"]
                return try CommandOutputTests.object(
                    try await Tool.run(words: [Tool.path, "files", "collect"] + words + place)
                )
            }
            for words in [["--dry-run"], [], []] {
                let first = try await Tool.run(
                    words: [Tool.path, "files", "collect", "--data-directory", service.directory] + words
                )
                #expect(first.status == .exited(0), "\(first)")
                #expect(first.output.contains(words.isEmpty ? "Deleted 0 files" : "Would delete 0 files"))
            }
            _ = try await service.psql(
                """
                UPDATE app_internal._asset SET unreferenced_since = now() - interval '2 days' WHERE name = '\(Self.files[0].name)'
                """
            )
            #expect(try await collect("--dry-run")["deleted"] as? Int == 1)
            #expect(FileManager.default.fileExists(atPath: Self.files[0].path(in: directory)))
            #expect(try await collect()["deleted"] as? Int == 1)
            #expect(!FileManager.default.fileExists(atPath: Self.files[0].path(in: directory)))
            #expect(FileManager.default.fileExists(atPath: Self.files[1].path(in: directory)))
            #expect(try await collect()["deleted"] as? Int == 0)
        }
    }

    @Test func aDirectoryThatDoesNotExistIsNotMade() async throws {
        try await withTemporaryDatabaseAndPsql(template: .migrated) { database in
            let folder = try TemporaryDirectory()
            let directory = folder.path + "/typo"
            let result = try await Tool.run(
                words: [Tool.path, "files", "verify", "--database-url", database.url],
                environment: ["SKYROW_FILE_DIRECTORY": directory]
            )
            #expect(result.status == .exited(1))
            let reason = "The directory \(directory) does not exist: set file-directory to that of the service."
            #expect(result.errors == "skyrow: \(reason)")
            #expect(!FileManager.default.fileExists(atPath: directory))
        }
    }
}
