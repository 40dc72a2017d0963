/// Where a moment stands in the history of a database, by which it is found that the database is another by now: restored, taken over by
/// another server, or put back to an earlier state with its data directory.
///
/// ```swift
/// known.isBehind(present, endOfStart: nil)  // false where the log has not come as far as it had
/// ```
package struct HistoryPlace: Hashable, Sendable {
    /// The history: another one after a failover or a restore.
    package var branch: UInt64
    /// The start of PostgreSQL.
    package var start: Int64
    /// How far the log had come when all transactions had ended that were visible (an LSN); it is on the disk up to there.
    package var position: UInt64

    package init(branch: UInt64, start: Int64, position: UInt64) {
        self.branch = branch
        self.start = start
        self.position = position
    }

    /// Whether a database that is at another place now was at this one before.
    ///
    /// - Parameter endOfStart: where the log of this place's start of PostgreSQL has ended; nil where the database had no such start.
    package func isBehind(_ present: HistoryPlace, endOfStart: UInt64?) -> Bool {
        guard branch == present.branch else { return false }
        return position <= (start == present.start ? present.position : endOfStart ?? 0)
    }
}
