/// What one committed transaction changed in the tables of a publication.
///
/// Transactions come in the order of their commits. A rolled-back one never comes, nor does what was rolled back to a
/// savepoint.
package struct ChangeTransaction: Sendable {
    /// The lower 32 bits of its id; ``fullID(near:)`` finds the rest.
    package let transactionID: UInt32
    /// Where its commit record is.
    package let commitPosition: PostgresLSN
    /// Where the log goes on after it.
    package let endPosition: PostgresLSN
    package let committedAt: PostgresTimestamp
    /// Every row that changed, in the order of the changes; none when the transaction is not complete.
    package let rows: [RowChange]
    /// The tables that were emptied, in their order among the rows.
    package let truncations: [Truncation]
    /// How many rows of each table changed, those included that were not kept, and 0 for one that was truncated only.
    package let counts: [PostgresOID: Int]
    /// The tables in ``counts``.
    package let relations: [PostgresOID: ReplicationRelation]
    /// Whether ``rows`` are all of them: of a transaction above the limits none is kept, since a part of it is no state
    /// that anyone may act on.
    package let isComplete: Bool
    /// The memory that its rows hold, about.
    package let byteCount: Int

    package struct Truncation: Sendable {
        package let relation: ReplicationRelation
        /// How many of the transaction's rows come before it.
        package let index: Int
    }

    /// How many rows it changed.
    package var rowCount: Int { counts.values.reduce(0, +) }

    /// The id in the form of `xid8`: of all numbers with its lower 32 bits the one that is next to `reference`, a
    /// recent id such as the `xmax` of a snapshot. Ids that are in use together differ by less than 2^31.
    package func fullID(near reference: UInt64) -> UInt64 {
        let distance = Int64(Int32(truncatingIfNeeded: Int64(transactionID) - Int64(truncatingIfNeeded: reference)))
        return reference &+ UInt64(bitPattern: distance)
    }
}

/// One row before and after a change.
package struct RowChange: Sendable {
    package enum Kind: Sendable, Hashable {
        case insert
        case update
        case delete
    }

    package let kind: Kind
    package let relation: ReplicationRelation
    /// The row before: of an update it is nil where the table sends keys only and the key stayed the same.
    package let old: ReplicationOldTuple?
    /// The row after; nil for a delete.
    package let new: ReplicationTuple?

    /// The bytes of a column after the change, valid while the caller keeps the change: what is missing in the new row,
    /// because the change left a large value alone, is taken from the old one. Nil for null, and for what neither has.
    package func unsafeNewBytes(_ column: Int) -> UnsafeRawBufferPointer? {
        guard let new else { return nil }
        if new.form(column) == .unchanged, case .full(let old) = old { return old.unsafeBytes(column) }
        return new.unsafeBytes(column)
    }
}

/// What of a transaction is kept.
package struct ChangeTransactionLimits: Sendable {
    /// The most rows; of a transaction with more, rows are counted and not kept.
    package var rows = 10_000
    /// The most bytes of rows, likewise.
    package var bytes = 16 << 20
}
