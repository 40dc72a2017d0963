/// The transactions whose writes were visible at a point in time, as the revisions that they stamp (Documentation/Concepts.md).
///
/// It contains all transactions below ``end`` except those in ``missing``. Revisions only test membership: a later change of a
/// record may have a smaller revision.
///
/// ```swift
/// let seen = TransactionSet(end: 120, missing: [117])
/// seen.contains(117)  // false: it was running
/// ```
package struct TransactionSet: Hashable, Sendable {
    /// Upper bound on missing transactions: those that run, with a second revision each when the offset was changed.
    package static let maximumMissing = 8192

    /// The first revision above the set.
    package let end: Int64
    /// The revisions below the end that are not in the set, ascending.
    package let missing: [Int64]

    package init(end: Int64, missing: [Int64] = []) {
        self.end = end
        self.missing = missing
    }

    /// Creates the set of a PostgreSQL snapshot.
    package init(_ snapshot: TransactionSnapshot, _ offsets: RevisionOffsets) {
        end = snapshot.xmax + offsets.present
        missing = Set(snapshot.running.flatMap { offsets.revisions(of: $0) }).sorted()
    }

    /// Whether the write with a revision was visible.
    package func contains(_ revision: Int64) -> Bool {
        guard revision < end else { return false }
        var range = missing[...]
        while let middle = range.indices.isEmpty ? nil : (range.startIndex + range.endIndex) / 2 {
            if range[middle] == revision { return false }
            range = range[middle] < revision ? range[(middle + 1)...] : range[..<middle]
        }
        return true
    }
}

/// A PostgreSQL snapshot, as `pg_current_snapshot()` prints it: `"117:120:117,118"`.
package struct TransactionSnapshot: Hashable, Sendable {
    /// The oldest running transaction.
    package let xmin: Int64
    /// The first transaction id that was not assigned yet.
    package let xmax: Int64
    /// The running transactions, ascending.
    package let running: [Int64]

    package init(xmin: Int64, xmax: Int64, running: [Int64] = []) {
        self.xmin = xmin
        self.xmax = xmax
        self.running = running
    }

    /// Parses a snapshot; nil for any other text.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let xmin = Int64(parts[0]), let xmax = Int64(parts[1]) else { return nil }
        let running = parts[2].split(separator: ",").map { Int64($0) }
        guard !running.contains(nil) else { return nil }
        self.init(xmin: xmin, xmax: xmax, running: running.compactMap(\.self).sorted())
    }

    /// Whether the writes of a transaction were visible.
    package func isVisible(_ transaction: Int64) -> Bool {
        transaction < xmax && !running.contains(transaction)
    }

    /// Whether the writes of a transaction were visible, given the last 32 bits of its id, as the WAL has them.
    ///
    /// Ids in use lie within 2^31 of each other, so the bits determine the id.
    package func isVisible(truncated transaction: UInt32) -> Bool {
        isVisible(xmax + Int64(Int32(truncatingIfNeeded: Int64(transaction) - xmax)))
    }
}

/// The offsets between the id of a transaction and the revision that it stamps.
package struct RevisionOffsets: Hashable, Sendable {
    /// A former offset, and the first transaction id that never used it.
    package struct Former: Hashable, Sendable {
        package let offset: Int64
        package let until: Int64

        package init(offset: Int64, until: Int64) {
            self.offset = offset
            self.until = until
        }
    }

    package let present: Int64
    package let former: [Former]

    package init(present: Int64, former: [Former] = []) {
        self.present = present
        self.former = former
    }

    /// Returns the revisions that a running transaction may have stamped.
    func revisions(of transaction: Int64) -> [Int64] {
        [transaction + present] + former.lazy.filter { transaction < $0.until }.map { transaction + $0.offset }
    }
}
