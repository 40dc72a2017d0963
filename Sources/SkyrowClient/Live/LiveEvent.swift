public import SkyrowModel

/// What a live query says.
///
/// ```swift
/// for try await event in database.live(try RecordQuery("task").filter(Field("done") == false)) {
///     switch event {
///     case .initial(let task), .created(let task), .entered(let task, _), .updated(let task, _), .changed(let task):
///         show(task)
///     case .left(let task, _): hide(task.id)
///     case .deleted(let id), .removed(let id): hide(id)
///     case .ready, .reset: break
///     }
/// }
/// ```
///
/// An event may come twice, and after an interruption ``changed(_:)`` and ``removed(_:)`` bring what happened meanwhile, without
/// the states in between. ``LiveRecords`` makes the present records of it.
public enum LiveEvent: Hashable, Sendable {
    /// A record that matches at the beginning.
    case initial(Record)
    /// A new record that matches.
    case created(Record)
    /// A record that did not match before, or was out of sight; with the old values of the fields that changed, where the query asks for them.
    case entered(Record, previous: [FieldName: RecordValue])
    /// A record that matched and still does; with the old values of the fields that changed, where the query asks for them.
    case updated(Record, previous: [FieldName: RecordValue])
    /// A record that matches no longer.
    case left(Record, previous: [FieldName: RecordValue])
    /// A record that is gone, or out of sight.
    case deleted(RecordID)
    /// A record that was created or changed while the query had no connection, as it is now.
    case changed(Record)
    /// A record that no longer matches, is gone or out of sight since the query had no connection.
    case removed(RecordID)
    /// What came up to here is the present state; it comes after the beginning and after each interruption.
    case ready
    /// The query begins anew; what the service says from here to ``ready`` brings the records up to date.
    ///
    /// A query without initial records learns by it that changes may have been missed.
    case reset(LiveReset)
}

extension LiveEvent {
    /// The record that it is about; nil where it has an id alone, or is about none.
    ///
    /// ```swift
    /// if let task = event.record { show(task) }
    /// ```
    public var record: Record? {
        switch self {
        case .initial(let record), .created(let record), .changed(let record): record
        case .entered(let record, _), .updated(let record, _), .left(let record, _): record
        case .deleted, .removed, .ready, .reset: nil
        }
    }

    /// The id of the record that it is about.
    ///
    /// ```swift
    /// if let id = event.id { print("\(id) has changed") }
    /// ```
    public var id: RecordID? {
        switch self {
        case .deleted(let id), .removed(let id): id
        default: record?.id
        }
    }
}

/// Why a live query begins anew; the set is open, later versions may have more.
///
/// ```swift
/// if case .reset(.access) = event { print("Your rights have changed.") }
/// ```
public struct LiveReset: RawRepresentable, Hashable, Sendable {
    /// As it is on the wire.
    public let rawValue: String

    /// A reason by its name on the wire.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Changes may have been missed.
    public static let gap = LiveReset(rawValue: "gap")
    /// So much changed at once that it is not sent change by change.
    public static let bulk = LiveReset(rawValue: "bulk")
    /// The user has other rights now, or is another one.
    public static let access = LiveReset(rawValue: "access")
    /// The database was restored, or another server has taken its place.
    public static let branch = LiveReset(rawValue: "branch")
    /// The connection was lost for longer than deletions are kept.
    public static let expired = LiveReset(rawValue: "expired")
    /// A field of the type was renamed, deleted, retyped or filled.
    public static let schema = LiveReset(rawValue: "schema")
    /// The session has ended.
    static let session = LiveReset(rawValue: "session")
}

extension LiveReset: CustomStringConvertible {
    /// The reason as it is on the wire.
    public var description: String { rawValue }
}
