/// The changes of one committed transaction in the tables of a publication.
///
/// Transactions arrive in commit order. Changes that were rolled back, by the transaction or to a savepoint, never arrive.
package struct ChangeTransaction: Sendable {
    /// The lower 32 bits of the transaction id.
    package let transactionID: UInt32
    /// The position of its commit record.
    package let commitPosition: PostgresLSN
    /// The position after its commit record.
    package let endPosition: PostgresLSN
    package let committedAt: PostgresTimestamp
    /// The changed rows, in the order of the changes; empty when the transaction is not complete.
    package let rows: [RowChange]
    /// The tables that were truncated, in order.
    package let truncations: [Truncation]
    /// The number of changed rows of each table, including rows that were not kept; 0 for a table that was only truncated.
    package let counts: [PostgresOID: Int]
    /// The tables in ``counts``.
    package let relations: [PostgresOID: ReplicationRelation]
    /// Whether ``rows`` has all changed rows. Of a transaction above the limits no row is kept, since a part of it is not a
    /// consistent state.
    package let isComplete: Bool
    /// The approximate memory of its rows.
    package let byteCount: Int

    package struct Truncation: Sendable {
        package let relation: ReplicationRelation
        /// The number of the transaction's rows that come before it.
        package let index: Int
    }

    package var rowCount: Int { counts.values.reduce(0, +) }
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
    /// The row before the change; nil for an update when the table sends keys only and the key did not change.
    package let old: ReplicationOldTuple?
    /// The row after; nil for a delete.
    package let new: ReplicationTuple?

    /// The bytes of a column after the change, valid while the caller keeps the change. A large value that the change left alone
    /// is missing in the new row and is taken from the old one. Nil for NULL, and for a value that neither row has.
    package func unsafeNewBytes(_ column: Int) -> UnsafeRawBufferPointer? {
        guard let new else { return nil }
        if new.form(column) == .unchanged, case .full(let old) = old { return old.unsafeBytes(column) }
        return new.unsafeBytes(column)
    }
}

/// Limits on what is kept of a transaction.
package struct ChangeTransactionLimits: Sendable {
    /// Upper bound on the rows; of a transaction with more, rows are counted but not kept.
    package var rows = 10_000
    /// Upper bound on the bytes of the rows, with the same effect.
    package var bytes = 16 << 20
}
