package import SkyrowModel

/// A source of record changes.
///
/// All sources have one contract: they deliver every transaction that commits after ``ChangeSourceEvent/started``, until an
/// ``ChangeSourceEvent/interrupted(_:)``.
package protocol ChangeSource: Sendable {
    /// Delivers events one after the other, until the task is cancelled.
    func run(_ take: @Sendable (ChangeSourceEvent) async -> Void) async
}

package enum ChangeSourceEvent: Sendable {
    /// Every transaction from here on will be delivered.
    case started
    /// A stream cannot start yet, because transactions that write are open.
    case delayed
    case transaction(CommittedTransaction)
    /// Every transaction whose commit ends at or before this LSN has been delivered.
    case position(UInt64)
    /// Every transaction that was visible at this point in time has been delivered.
    case moment(ChangeMoment)
    /// Changes are missed until the next `started`.
    case interrupted(ChangeInterruption)
}

/// The reason why changes are missed.
package struct ChangeInterruption: Error, Hashable, Sendable {
    /// A word for a metric label.
    package let reason: String
    /// Whether it lasts until a setting or a role is changed.
    package let isLasting: Bool
    /// Whether received data could not be decoded.
    package var isUnreadable = false
    /// A sentence for the log and for `skyrow doctor`.
    package let message: String
}

/// Returns the types whose changes are subscribed to, and the databases of their records.
package typealias WatchedTypes = @Sendable () -> [RecordTypeName: [DatabaseScope]]
