import SkyrowModel
import SkyrowTestSupport
import Testing

@testable import SkyrowMaintenance
@testable import SkyrowStore
@testable import SkyrowSystem

struct NoProgress: ProgressDisplay {
    func report(_ done: Int) {}
    func finish() {}
}

extension StoreFixture {
    /// Exports all records to the files of a directory.
    func exportAll(as format: FileFormat, to directory: String) async throws {
        let settings = try ExportSettings(
            types: [],
            format: format.rawValue,
            output: directory + "/",
            isDirectory: { _ in true }
        )
        let time = Timestamp(microseconds: 0)
        _ = try await ExportRun(settings: settings, time: time) { _, _ in NoProgress() }(on: store)
    }

    /// Imports all files of a directory.
    func importAll(of directory: String) async throws {
        let run = try DirectoryImport(
            directory: directory,
            type: nil,
            isDryRun: false,
            progress: { _, _ in NoProgress() }
        )
        _ = try await run(on: store) {}
    }
}

/// Exports records of one database and imports them into another, where a question is answered alike.
///
/// - Parameters:
///   - rows: the statements that make the records.
///   - question: what is asked of both.
/// - Returns: the types as the second database has them.
func transfer(
    _ types: [RecordType],
    as format: FileFormat,
    rows: String,
    question: String
) async throws -> [RecordTypeName: RecordType] {
    let folder = try TemporaryDirectory()
    let directory = folder.path + "/export"
    let exported = try await withStore { f in
        _ = try await f.store.createTypes(types)
        try await f.psql(rows)
        try await f.exportAll(as: format, to: directory)
        return try await f.psql(question)
    }
    return try await withStore { f in
        try await f.importAll(of: directory)
        #expect(try await f.psql(question) == exported)
        return f.store.cache.current.tables.mapValues(\.recordType)
    }
}
