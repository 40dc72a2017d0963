package import SkyrowActions
package import SkyrowModel
import SkyrowPostgres
package import SkyrowStore
package import SkyrowSystem

/// One comparison of the rows of stored files with the files in the storage, beside running services.
package struct FileVerification: Sendable {
    /// What is done about files without a row.
    package enum Repair: Hashable, Sendable {
        case nothing
        /// They get rows.
        case adopt
        /// Those older than ``FileVerification/removalAge`` are deleted.
        case remove
    }

    /// A younger file without a row may be that of an upload, whose row is written next.
    package static let settlingTime = Duration.seconds(600)
    package static let removalAge = Duration.seconds(86_400)

    /// Whether the contents of files are read and compared with the checksums of their rows.
    package let comparesContents: Bool
    package let repair: Repair
    /// The present time.
    package let time: Timestamp
    package let progress: ProgressMaker

    package init(
        comparesContents: Bool = false,
        repair: Repair = .nothing,
        time: Timestamp,
        progress: @escaping ProgressMaker
    ) {
        self.comparesContents = comparesContents
        self.repair = repair
        self.time = time
        self.progress = progress
    }

    /// Throws ``ToolError`` if the database or the storage cannot be read or changed.
    package func callAsFunction(_ storage: any FileStorage, of store: RecordStore) async throws(ToolError) -> FileReport
    {
        do {
            if repair == .remove, try await store.assets.rows(after: nil, limit: 1).isEmpty {
                // The database and the directory probably do not belong together.
                throw ToolError.failure(
                    """
                    The schema \(store.schema.name) has no row of a stored file, so no file is removed: check the database and \
                    the directory.
                    """
                )
            }
            var comparison = Comparison(run: self, storage: storage, assets: store.assets)
            return try await comparison.report()
        } catch {
            throw ToolError(databaseFailure: error)
        }
    }

    /// Returns the age of a file; 0 for a time in the future.
    fileprivate func age(of file: FileEntry) -> Duration {
        .microseconds(max(0, time.microseconds - file.modifiedAt.microseconds))
    }
}

/// The result of a comparison.
package struct FileReport: Hashable, Sendable {
    /// The number of stored files according to their rows, and their bytes.
    package var count = 0
    package var bytes: Int64 = 0
    package var differences = FileDifferences()
    /// The number of files without the row of a stored file that are being uploaded or deleted.
    package var unsettled = 0
    /// The number of files that got rows.
    package var adopted = 0
    /// The number of files that were deleted.
    package var removed = 0

    package init() {}

    /// The number of differences that remain.
    package var remaining: Int { differences.count - adopted - removed }
}

/// A comparison in progress.
private struct Comparison {
    let run: FileVerification
    let storage: any FileStorage
    let assets: AssetTable
    private var result = FileReport()
    /// What differs in the listings, at most a page of each. These are not of one moment, so it is looked up before it counts.
    private var missing: [FileRow] = []
    private var orphaned: [FileEntry] = []

    init(run: FileVerification, storage: any FileStorage, assets: AssetTable) {
        self.run = run
        self.storage = storage
        self.assets = assets
    }

    mutating func report() async throws -> FileReport {
        var progress = run.progress(nil, "files")
        defer { progress.finish() }
        var pairing = FilePairing()
        while true {
            if pairing.needsRows {
                let rows = try await assets.rows(after: pairing.lastRow?.name, limit: pairing.pageLength)
                pairing.add(rows.map { FileRow(name: $0.asset.name, size: $0.asset.size, sha256: $0.sha256) })
            }
            if pairing.needsFiles { pairing.add(try await storage.page(after: pairing.lastFile?.name)) }
            guard let pair = pairing.next() else { break }
            try await examine(pair)
            if missing.count == pairing.pageLength { try await settleMissing() }
            if orphaned.count == pairing.pageLength { try await settleOrphaned() }
            progress.report(result.count)
        }
        try await settleMissing()
        try await settleOrphaned()
        return result
    }

    private mutating func examine(_ pair: FilePairing.Pair) async throws {
        switch pair {
        case .row(let row):
            count(row)
            missing.append(row)
        case .file(let file):
            orphaned.append(file)
        case .both(let row, let file):
            count(row)
            guard row.size == file.size else {
                return result.differences.add(FileDifference(.wrongSize, row.name, size: row.size, found: file.size))
            }
            guard run.comparesContents, row.sha256 != nil else { return }
            guard let contents = try await storage.contents(of: row.name) else { return missing.append(row) }
            if let difference = FileDifference(row, contents) { result.differences.add(difference) }
        }
    }

    private mutating func count(_ row: FileRow) {
        result.count += 1
        result.bytes += row.size
    }

    private mutating func settleMissing() async throws {
        defer { missing.removeAll(keepingCapacity: true) }
        for row in missing {
            // A deletion removes the row first, so a row that is still there has not lost its file to one.
            guard try await storage.size(of: row.name) == nil, try await assets.asset(row.name)?.state == .stored else {
                continue
            }
            result.differences.add(FileDifference(.missing, row.name, size: row.size))
        }
    }

    private mutating func settleOrphaned() async throws {
        guard !orphaned.isEmpty else { return }
        defer { orphaned.removeAll(keepingCapacity: true) }
        let unknown = try await assets.unknown(among: orphaned.map(\.name))
        for file in orphaned {
            // A file that is still there after its row was not found has not lost the row to a deletion that is complete.
            guard try await storage.size(of: file.name) != nil else { continue }
            guard unknown.contains(file.name), run.age(of: file) >= FileVerification.settlingTime else {
                result.unsettled += 1
                continue
            }
            result.differences.add(FileDifference(.orphaned, file.name, size: file.size))
            try await repair(file)
        }
    }

    private mutating func repair(_ file: FileEntry) async throws {
        switch run.repair {
        case .nothing: break
        case .adopt:
            guard let contents = try await storage.contents(of: file.name) else { return }
            let asset = StoredAsset(adopting: file.name, contents)
            if try await assets.adopt(asset, sha256: contents.sha256, storage: storage.kind) { result.adopted += 1 }
        case .remove:
            guard run.age(of: file) >= FileVerification.removalAge else { return }
            try await storage.remove(file.name)
            result.removed += 1
        }
    }
}

extension StoredAsset {
    /// The row of a file that was found in the storage: without an uploader, and with the media type of its extension.
    init(adopting name: AssetName, _ contents: FileContents) {
        let filename = String(name.filename)
        self.init(
            name: name,
            filename: filename,
            contentType: MediaTypes.type(ofFilename: filename) ?? "application/octet-stream",
            size: contents.size,
            state: .stored,
            owner: nil,
            sniffed: contents.sniffed
        )
    }
}
