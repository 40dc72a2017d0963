import Foundation
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowServer
@testable import SkyrowSystem
@testable import skyrow

/// Files come back with the rows that refer to them.
@Suite struct FileBackupTests {
    private static let files = [
        HandMadeFile(1, "one.txt", "one"), HandMadeFile(2, "two.txt", "two"),
        HandMadeFile(3, String(repeating: "long", count: 40) + ".txt", String(repeating: "three", count: 1 << 18)),
    ]

    /// Two databases, the first with files, and their directories.
    private struct Places {
        let source: TemporaryDatabase
        let target: TemporaryDatabase
        let folder: String

        var sourceFiles: String { folder + "/source" }
        var targetFiles: String { folder + "/target" }

        func run(_ words: String..., on database: TemporaryDatabase, in directory: String) async throws -> Tool.Result {
            let trust = words.first == "restore" ? ["--trust-archive"] : []
            return try await Tool.run(
                words: [Tool.path] + words + ["--database-url", database.url] + trust,
                environment: ["SKYROW_FILE_DIRECTORY": directory]
            )
        }

        func backup(_ words: String...) async throws -> Tool.Result {
            try await Tool.run(
                words: [Tool.path, "backup"] + words + ["--database-url", source.url],
                environment: ["SKYROW_FILE_DIRECTORY": sourceFiles]
            )
        }

        func restore(_ words: String...) async throws -> Tool.Result {
            try await Tool.run(
                words: [Tool.path, "restore"] + words + ["--database-url", target.url, "--trust-archive"],
                environment: ["SKYROW_FILE_DIRECTORY": targetFiles]
            )
        }

        /// The files that a directory has of those of the tests.
        func texts(in directory: String) -> [String?] {
            FileBackupTests.files.map { contentsOfFile($0.path(in: directory)) }
        }
    }

    private static func withPlaces(test: String = #function, _ body: (Places) async throws -> Void) async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path
        try await withTemporaryDatabaseAndPsql(test: test) { source in
            try await withTemporaryDatabaseAndPsql(test: test) { target in
                try await ExportTests.run("migrate", on: source)
                let places = Places(source: source, target: target, folder: path)
                for file in files {
                    try file.write(to: places.sourceFiles)
                    try await source.psql(file.row)
                }
                try await body(places)
            }
        }
    }

    @Test func anArchiveWithFilesComesBackWhole() async throws {
        try await Self.withPlaces { places in
            let path = places.folder + "/b.tar"
            let made = try await places.backup(path, "--files")
            #expect(made.status == .exited(0) && made.errors.isEmpty, "\(made)")
            #expect(made.output.hasSuffix("\nFiles in the archive: 3 files, 1.3 MB."))
            let shown = try await Tool.run("restore", path, "--dry-run")
            #expect(shown.output.contains("\nWith 3 files, 1.3 MB.\n"))

            let restored = try await places.restore(path)
            #expect(restored.status == .exited(0), "\(restored)")
            let report = "\nFiles restored: 3 files, 1.3 MB.\nRows and files match: 3 files, 1.3 MB."
            #expect(restored.output.contains(report))
            #expect(places.texts(in: places.targetFiles) == Self.files.map(\.text))
            let rows = "SELECT name, filename, size, sha256, stored_at FROM app_internal._asset ORDER BY 1"
            let before = try await places.source.psql(rows)
            #expect(try await places.target.psql(rows) == before)

            // A second time only what is not as it should be is written.
            try Self.files[0].write(to: places.targetFiles, "eno")
            try FileManager.default.removeItem(atPath: Self.files[1].path(in: places.targetFiles))
            let again = try await places.restore(path, "--replace")
            #expect(again.output.contains("\nFiles restored: 2 files, 0.0 MB; 1 were there already.\n"), "\(again)")
            #expect(places.texts(in: places.targetFiles) == Self.files.map(\.text))
        }
    }

    @Test func withoutFilesThatIsSaid() async throws {
        try await Self.withPlaces { places in
            let path = places.folder + "/b.tar"
            let made = try await places.backup(path)
            #expect(made.output.hasSuffix("\nLeft out: 3 files of records; --files includes them."))
            let restored = try await places.restore(path)
            let hint = "\nThe archive has no files: 'skyrow files verify' lists those that are missing."
            #expect(restored.output.hasSuffix(hint))
            #expect(!FileManager.default.fileExists(atPath: places.targetFiles))
            let both = try await places.backup(path, "--files", "--files-to", places.folder)
            #expect(both.status == .exited(64))
            try await places.source.psql("DELETE FROM app_internal._asset")
            let without = try await places.backup(places.folder + "/c.tar")
            #expect(!without.output.contains("files"))
        }
    }

    /// The directory keeps what was deleted since, so that older archives can be restored with it.
    @Test func aDirectoryIsFilledByEachBackup() async throws {
        try await Self.withPlaces { places in
            let copies = places.folder + "/copies"
            let first = try await places.backup(places.folder + "/1.tar", "--files-to", copies)
            #expect(first.output.hasSuffix("\nFiles copied to \(copies): 3 files, 1.3 MB."), "\(first)")
            let new = HandMadeFile(4, "four.txt", "four")
            try new.write(to: places.sourceFiles)
            let deletion = "DELETE FROM app_internal._asset WHERE name = '\(Self.files[1].name)'"
            try await places.source.psql("\(new.row) \(deletion)")
            try FileManager.default.removeItem(atPath: Self.files[1].path(in: places.sourceFiles))
            let second = try await places.backup(places.folder + "/2.tar", "--files-to", copies)
            #expect(second.output.hasSuffix(": 1 file, 0.0 MB; 2 were there already."), "\(second)")

            let missing = try await places.restore(places.folder + "/1.tar", "--files-from", places.folder + "/none")
            #expect(missing.status == .exited(1))
            let older = try await places.restore(places.folder + "/1.tar", "--files-from", copies)
            #expect(older.output.contains("\nRows and files match: 3 files"), "\(older)")
            #expect(places.texts(in: places.targetFiles) == Self.files.map(\.text))
            #expect(contentsOfFile(new.path(in: places.targetFiles)) == nil)
            let newer = try await places.restore(places.folder + "/2.tar", "--replace", "--files-from", copies)
            #expect(newer.output.contains("\nFiles restored: 1 file, 0.0 MB; 2 were there already.\n"), "\(newer)")
            #expect(contentsOfFile(new.path(in: places.targetFiles)) == "four")
            let archive = places.folder + "/3.tar"
            _ = try await places.backup(archive, "--files")
            let twice = try await places.restore(archive, "--replace", "--files-from", copies)
            #expect(twice.status == .exited(64))
        }
    }

    @Test func missingAndDamagedFilesAreReportedAndTheRestIsBackedUp() async throws {
        try await Self.withPlaces { places in
            try FileManager.default.removeItem(atPath: Self.files[0].path(in: places.sourceFiles))
            try Self.files[1].write(to: places.sourceFiles, "owt")
            let path = places.folder + "/b.tar"
            let made = try await places.backup(path, "--files")
            #expect(made.status == .exited(0))
            #expect(
                made.errors == """
                    missing         \(Self.files[0].name)  3 bytes
                    wrong-checksum  \(Self.files[1].name)  3 bytes
                    2 files could not be backed up as their rows describe them.
                    """
            )
            let restored = try await places.restore(path)
            #expect(restored.status == .exited(0))
            #expect(restored.output.contains("\nmissing  \(Self.files[0].name)  3 bytes\n"))
            #expect(places.texts(in: places.targetFiles) == [nil, "owt", Self.files[2].text])
        }
    }

    @Test func aDamagedArchiveIsRefusedBeforeAFileIsWritten() async throws {
        try await Self.withPlaces { places in
            let path = places.folder + "/b.tar"
            _ = try await places.backup(path, "--files")
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            let place = try #require(whole.range(of: Data("threethree".utf8))?.lowerBound)
            var tampered = whole
            tampered[place] ^= 1
            for (bytes, words) in [
                (tampered, "is damaged: its checksums do not match"), (whole.prefix(place + 1000), "is truncated"),
            ] {
                try bytes.write(to: URL(fileURLWithPath: path))
                let refused = try await places.restore(path)
                #expect(refused.status == .exited(1))
                #expect(refused.errors.contains(words), "\(refused.errors)")
                #expect(!FileManager.default.fileExists(atPath: places.targetFiles))
                #expect(try await places.target.psql("SELECT to_regnamespace('app') IS NULL") == "t")
            }
        }
    }

    /// With the embedded PostgreSQL, whose data directory a restore makes first.
    @Test func filesComeBackOnANewMachine() async throws {
        try await Self.withPlaces { places in
            let path = places.folder + "/b.tar"
            _ = try await places.backup(path, "--files")
            let data = places.folder + "/data"
            let restored = try await Tool.run("restore", path, "--data-directory", data)
            #expect(restored.status == .exited(0), "\(restored)")
            #expect(places.texts(in: data + "/files") == Self.files.map(\.text))
            let mode = try FileManager.default.attributesOfItem(atPath: data)[.posixPermissions] as? Int
            #expect(mode == 0o700)
            let verified = try await Tool.run("files", "verify", "--checksums", "--data-directory", data)
            #expect(verified.status == .exited(0), "\(verified)")
        }
    }

    @Test func anExportHasAFolderOfFiles() async throws {
        try await Self.withPlaces { places in
            let path = places.folder + "/export"
            let exported = try await places.run(
                "export",
                "--output",
                path,
                "--files",
                on: places.source,
                in: places.sourceFiles
            )
            #expect(exported.output.hasSuffix("\nFiles: 3 files, 1.3 MB."), "\(exported)")
            for file in Self.files { #expect(contentsOfFile("\(path)/files/\(file.name)") == file.text) }
            // An import is of records.
            let imported = try await places.run("import", path, on: places.source, in: places.sourceFiles)
            #expect(imported.status == .exited(0), "\(imported)")
        }
    }
}
