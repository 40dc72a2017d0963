import SkyrowActions
import SkyrowModel
import SkyrowSystem

/// Copies the stored files of a snapshot.
struct FileCopy {
    let source: any FileStorage
    let progress: ProgressMaker

    /// - Parameters:
    ///   - lacks: Returns whether the destination lacks a file of this size.
    ///   - write: Writes a file, and returns what was read.
    func callAsFunction(
        _ snapshot: FileSnapshot,
        lacks: (AssetName, _ size: Int64) async throws(ToolError) -> Bool = { _, _ in true },
        _ write: (AssetName, FileDescriptor) async throws(ToolError) -> FileContents
    ) async throws -> FileTally {
        var tally = FileTally()
        var progress = progress(nil, "files")
        defer { progress.finish() }
        try await snapshot.each { row in
            guard try await lacks(row.name, row.size) else {
                tally.present += 1
                return
            }
            guard let file = try await source.file(row.name) else { return tally.add(missing: row) }
            tally.add(try await write(row.name, file), of: row)
            progress.report(tally.count)
        }
        return tally
    }
}

/// The files that were copied.
package struct FileTally: Hashable, Sendable {
    package private(set) var count = 0
    /// The bytes of the copied files.
    package private(set) var bytes: Int64 = 0
    /// The number of files that the destination had already.
    package var present = 0
    /// The files that could not be copied, or are not what their rows say.
    package private(set) var faults = FileDifferences()

    package init() {}

    mutating func add(missing row: FileRow) {
        faults.add(FileDifference(.missing, row.name, size: row.size))
    }

    mutating func add(_ contents: FileContents, of row: FileRow) {
        add(contents)
        if let difference = FileDifference(row, contents) { faults.add(difference) }
    }

    mutating func add(_ contents: FileContents) {
        count += 1
        bytes += contents.size
    }
}
