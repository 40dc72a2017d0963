package import SkyrowModel

/// Where the changes of records come from, for as long as someone wants them.
///
/// One contract and several sources: every transaction that commits after the first ``ChangeSourceEvent/started`` is handed
/// on, until an ``ChangeSourceEvent/interrupted(_:)``.
package protocol ChangeSource: Sendable {
    /// Hands events on, one after the other, until the task is cancelled.
    func run(_ take: @Sendable (ChangeSourceEvent) async -> Void) async
}

package enum ChangeSourceEvent: Sendable {
    /// From here on every transaction comes.
    case started
    /// A stream cannot begin yet, since transactions that write are open.
    case delayed
    case transaction(CommittedTransaction)
    /// Every transaction whose commit ends at or before this position of the log has come.
    case position(UInt64)
    /// Every transaction that was visible at this moment has come.
    case moment(ChangeMoment)
    /// Changes are missed until it starts again.
    case interrupted(ChangeInterruption)
}

/// Why changes are missed.
package struct ChangeInterruption: Error, Hashable, Sendable {
    /// A word for a label.
    package let reason: String
    /// Whether it stays until a setting or a role is changed.
    package let isLasting: Bool
    /// Whether what came could not be read.
    package var isUnreadable = false
    /// A sentence for the log and for doctor.
    package let message: String
}

/// The types whose changes are wanted, and the databases of their records.
package typealias WatchedTypes = @Sendable () -> [RecordTypeName: [DatabaseScope]]
