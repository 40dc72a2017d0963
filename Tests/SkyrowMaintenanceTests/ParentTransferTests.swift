import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

private struct NoProgress: ProgressDisplay {
    func report(_ done: Int) {}
    func finish() {}
}

/// Parents in files, as other references.
@Suite(.timeLimit(.minutes(10))) struct ParentTransferTests {
    @Test(arguments: [FileFormat.csv, .json, .ndjson])
    func whatIsExportedIsImported(format: FileFormat) async throws {
        let folder = try TemporaryDirectory()
        let directory = folder.path + "/export"
        let question = "SELECT _id, _parent, title FROM folder ORDER BY _id"
        let exported = try await withStore { f in
            let type = RecordType(
                name: type("folder"),
                fields: [.parent: .reference(type("folder")), field("title"): .string]
            )
            _ = try await f.store.createTypes(SchemaCreateRequest(types: [type]))
            try await f.psql(
                """
                INSERT INTO folder (_id, _database, _parent, title) VALUES ('1', '_public', '2', 'x'),
                    ('2', '_public', NULL, 'y'), ('~ann/1', 'ann', '~ann/2', NULL), ('~ann/2', 'ann', NULL, NULL)
                """
            )
            let settings = try ExportSettings(
                types: [],
                format: format.rawValue,
                output: directory + "/",
                isDirectory: { _ in true }
            )
            let time = Timestamp(microseconds: 0)
            _ = try await ExportRun(settings: settings, time: time) { _, _ in NoProgress() }(on: f.store)
            return try await f.psql(question)
        }
        try await withStore { f in
            let run = try DirectoryImport(
                directory: directory,
                type: nil,
                isDryRun: false,
                progress: { _, _ in NoProgress() }
            )
            _ = try await run(on: f.store) {}
            #expect(try await f.psql(question) == exported)
            let folder = f.store.cache.current[type("folder")]?.recordType
            #expect(folder?.fields[.parent] == .reference(type("folder")) && folder?.deleteRules[.parent] == .cascade)
        }
    }
}
