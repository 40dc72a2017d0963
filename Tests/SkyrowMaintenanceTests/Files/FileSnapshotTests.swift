import Foundation
import SkyrowActions
import SkyrowModel
import SkyrowPostgres
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

/// What a backup or an export reads of files, while the service goes on.
@Suite(.timeLimit(.minutes(60))) struct FileSnapshotTests {
    private static let deletion: SQL = """
        WITH gone AS (DELETE FROM app_internal._asset WHERE name = \(FileFixture.name(2).rawValue) RETURNING name, storage)
        INSERT INTO app_internal._garbage (name, storage) SELECT name, storage FROM gone
        """

    private func names(_ snapshot: FileSnapshot) async throws -> [AssetName] {
        var names: [AssetName] = []
        try await snapshot.each { names.append($0.name) }
        return names
    }

    @Test func aDeletionWaitsAndAnUploadDoesNot() async throws {
        try await withFiles { files in
            let client = files.store.client
            let deletion = try await FileSnapshot.withFiles(of: "app", client: client) { snapshot in
                let deletion = Task { try await client.write(Self.deletion).affectedRows }
                try await waiting(until: "the deletion waits") {
                    try await files.psql(
                        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'app_internal._garbage'::regclass"
                    ) == "1"
                }
                try await files.keep(FileFixture.name(4), "four")
                #expect(try await names(snapshot) == (1...3).map { FileFixture.name($0) })
                // Transactions with an id would delay new streams of changes.
                let open = try await files.psql(
                    """
                    SELECT count(*), count(backend_xid) FROM pg_stat_activity
                    WHERE datname = current_database() AND state = 'idle in transaction'
                    """
                )
                #expect(open == "2|0")
                return deletion
            }
            #expect(try await deletion.value == 1)
            let later = try await FileSnapshot.withFiles(of: "app", client: client) { try await names($0) }
            #expect(later == [1, 3, 4].map { FileFixture.name($0) })
        }
    }

    @Test func theServiceRefusesADeletionUntilTheEnd() async throws {
        try await withFiles { files in
            let assets = files.store.assets
            let name = FileFixture.name(2)
            try await FileSnapshot.withFiles(of: "app", client: files.store.client) { snapshot in
                await #expect(throws: SkyrowError.filesAreHeld) {
                    try await assets.delete([name], owner: nil, force: true)
                }
                let held = try await names(snapshot)
                #expect(held == (1...3).map { FileFixture.name($0) })
            }
            #expect(try await assets.delete([name], owner: nil, force: false) == [name: .deleted])
        }
    }

    @Test func anotherSessionReadsTheSameSnapshot() async throws {
        try await withFiles { files in
            let client = files.store.client
            try await FileSnapshot.withFiles(of: "app", client: client) { snapshot in
                let id = try await snapshot.exported()
                try await files.keep(FileFixture.name(4), "four")
                let seen = try await files.psql(
                    """
                    BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '\(id)';
                    SELECT count(*) FROM _asset; COMMIT
                    """
                )
                #expect(seen == "3")
            }
        }
    }

    /// Files go where they are lacking, and what is wrong with them is reported.
    @Test func aCopyTakesWhatIsLacking() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path
        try await withFiles { files in
            let target = try await FileFixture.directory(path)
            let copy = FileCopy(source: files.storage) { _, _ in NoProgress() }
            func run() async throws -> FileTally {
                try await FileSnapshot.withFiles(of: "app", client: files.store.client) { snapshot in
                    try await copy(snapshot) { name, size throws(ToolError) in
                        try await target.size(of: name) != size
                    } _: { name, file throws(ToolError) in
                        try await target.write(name, file.nextPart)
                    }
                }
            }
            let first = try await run()
            #expect(first.count == 3 && first.bytes == 11 && first.present == 0 && first.faults.isEmpty)
            let second = try await run()
            #expect(second.count == 0 && second.bytes == 0 && second.present == 3)
            try await files.keep(FileFixture.name(4), "four")
            try await files.keep(FileFixture.name(5), "five")
            try await files.write(FileFixture.name(5), "evif")
            try await files.keep(FileFixture.name(6), "six")
            try FileManager.default.removeItem(atPath: files.path(FileFixture.name(6)))
            let third = try await run()
            #expect(third.count == 2 && third.bytes == 8 && third.present == 3)
            #expect(
                third.faults.listed == [
                    FileDifference(.wrongChecksum, FileFixture.name(5), size: 4),
                    FileDifference(.missing, FileFixture.name(6), size: 3),
                ]
            )
            let contents = try #require(try await target.contents(of: FileFixture.name(4)))
            #expect(contents.size == 4)
        }
    }

    /// Nothing gets its name if what was read is not what should be.
    @Test func aFileThatIsRefusedIsNotKept() async throws {
        let folder = try TemporaryDirectory()
        let storage = try await FileFixture.directory(folder.path)
        let name = FileFixture.name(1)
        func write(_ text: String, isTaken: Bool) async throws {
            var parts = [Array(text.utf8), []]
            _ = try await storage.write(name) { () throws(ToolError) in
                parts.removeFirst()
            } check: { contents throws(ToolError) in
                #expect(contents.size == text.utf8.count)
                guard isTaken else { throw .failure("no") }
            }
        }
        await #expect(throws: ToolError.self) { try await write("bad", isTaken: false) }
        #expect(try await storage.size(of: name) == nil)
        try await write("good", isTaken: true)
        #expect(try await storage.size(of: name) == 4)
        await #expect(throws: ToolError.self) { try await write("bad again", isTaken: false) }
        #expect(try await storage.size(of: name) == 4)
    }

    @Test func anExportHasAFolderOfFiles() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/export"
        try await withFiles { files in
            let settings = try ExportSettings(types: [], format: nil, output: path + "/", withFiles: true) { _ in true }
            let run = ExportRun(settings: settings, files: files.storage, time: FileFixture.time) { _, _ in NoProgress()
            }
            let summary = try await run(on: files.store)
            #expect(summary.files?.count == 3)
            let names = try FileManager.default.contentsOfDirectory(atPath: path + "/files").sorted()
            #expect(names == (1...3).map { FileFixture.name($0).rawValue })
            #expect(contentsOfFile("\(path)/files/\(names[2])") == "three")
            #expect(FileManager.default.fileExists(atPath: path + "/export.json"))
        }
    }
}
