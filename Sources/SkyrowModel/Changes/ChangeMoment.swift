/// A point in time of the database: the visible transactions and the WAL position.
package struct ChangeMoment: Hashable, Sendable {
    package let snapshot: TransactionSnapshot
    /// The visible transactions as revisions.
    package let transactions: TransactionSet
    package let place: HistoryPlace
    /// In seconds since 1970, by the database's clock.
    package let takenAt: Int64
    /// The position at which the next WAL record would be written (an LSN).
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
