/// A position in the history of a database. It reveals that the database has become another one: restored, taken over by
/// another server, or put back to an earlier state with its data directory.
///
/// ```swift
/// known.isBehind(present, endOfStart: nil)  // false when the log is shorter than it was
/// ```
package struct HistoryPlace: Hashable, Sendable {
    /// Identifies the history; it changes with a failover or a restore.
    package var branch: UInt64
    /// Identifies the start of PostgreSQL.
    package var start: Int64
    /// The log position when all visible transactions had ended (an LSN); the log is on disk up to there.
    package var position: UInt64

    package init(branch: UInt64, start: Int64, position: UInt64) {
        self.branch = branch
        self.start = start
        self.position = position
    }

    /// Whether a database that is now at another position has been at this one before.
    ///
    /// - Parameter endOfStart: where the log of this position's start ended; nil when the database never had that start.
    package func isBehind(_ present: HistoryPlace, endOfStart: UInt64?) -> Bool {
        guard branch == present.branch else { return false }
        return position <= (start == present.start ? present.position : endOfStart ?? 0)
    }
}
