/// A moment of the database: which transactions were visible, and where the WAL stood.
package struct ChangeMoment: Hashable, Sendable {
    package let snapshot: TransactionSnapshot
    /// The same as revisions.
    package let transactions: TransactionSet
    package let place: HistoryPlace
    /// In seconds since 1970, by the database's clock.
    package let takenAt: Int64
    /// Where the next record of the WAL was going to be written (an LSN).
    package let walPosition: UInt64

    package init(
        snapshot: TransactionSnapshot,
        transactions: TransactionSet,
        place: HistoryPlace,
        takenAt: Int64,
        walPosition: UInt64
    ) {
        self.snapshot = snapshot
        self.transactions = transactions
        self.place = place
        self.takenAt = takenAt
        self.walPosition = walPosition
    }
}
