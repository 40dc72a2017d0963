import SkyrowActions
package import SkyrowModel

/// A difference between the rows of `_asset` and the files in the storage.
package struct FileDifference: Hashable, Sendable {
    package enum Kind: String, CaseIterable, Sendable {
        /// A row without its file.
        case missing
        /// A file without a row.
        case orphaned
        case wrongSize = "wrong-size"
        case wrongChecksum = "wrong-checksum"
    }

    package var kind: Kind
    package var name: AssetName
    /// What the row says, or the size of an orphaned file.
    package var size: Int64
    /// The size of the file, if it is not that of the row.
    package var found: Int64?

    package init(_ kind: Kind, _ name: AssetName, size: Int64, found: Int64? = nil) {
        self.kind = kind
        self.name = name
        self.size = size
        self.found = found
    }

    /// Compares a row with what was read of its file; nil if they agree.
    init?(_ row: FileRow, _ contents: FileContents) {
        if row.size != contents.size {
            self.init(.wrongSize, row.name, size: row.size, found: contents.size)
        } else if let sha256 = row.sha256, sha256 != contents.sha256 {
            self.init(.wrongChecksum, row.name, size: row.size)
        } else {
            return nil
        }
    }
}

/// Some differences and the number of all: a list of them has bounded length.
package struct FileDifferences: Hashable, Sendable {
    static let maximumListed = 10_000

    /// The first ones that were found.
    package private(set) var listed: [FileDifference] = []
    package private(set) var counts: [FileDifference.Kind: Int] = [:]

    package init(_ differences: [FileDifference] = []) {
        for difference in differences { add(difference) }
    }

    package var count: Int { counts.values.reduce(0, +) }

    package var isEmpty: Bool { counts.isEmpty }

    mutating func add(_ difference: FileDifference) {
        counts[difference.kind, default: 0] += 1
        if listed.count < Self.maximumListed { listed.append(difference) }
    }
}
