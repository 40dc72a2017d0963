public import SkyrowModel
public import SkyrowProtocol

/// An event of a live query.
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
/// An event may arrive twice. After an interruption, ``changed(_:)`` and ``removed(_:)`` report what happened meanwhile,
/// without the states in between. ``LiveRecords`` turns events into the current records.
public enum LiveEvent: Hashable, Sendable {
    /// A record that matches when the query starts.
    case initial(Record)
    /// A new record that matches.
    case created(Record)
    /// A record that did not match or was not visible before, with the old values of changed fields if the query asks for them.
    case entered(Record, previous: [FieldName: RecordValue])
    /// A record that matched and still does, with the old values of changed fields if the query asks for them.
    case updated(Record, previous: [FieldName: RecordValue])
    /// A record that no longer matches.
    case left(Record, previous: [FieldName: RecordValue])
    /// A record that was deleted, or is no longer visible.
    case deleted(RecordID)
    /// A record that was created or changed while the query was disconnected, as it is now.
    case changed(Record)
    /// A record that stopped matching, was deleted or became invisible while the query was disconnected.
    case removed(RecordID)
    /// The events so far make up the current state; sent after the initial records and after each interruption.
    case ready
    /// The query starts over; the events up to the next ``ready`` bring the records up to date.
    ///
    /// For a query without initial records, it means that changes may have been missed.
    case reset(LiveReset)
}

extension LiveEvent {
    /// The record of the event; nil when the event has only an id, or no record.
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

    /// The id of the event's record.
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

extension LiveReset {
    /// Whether a record of the same revision is still the same, so that ids and revisions can be compared.
    var allowsComparison: Bool { self == .access || self == .branch || self == .expired }
}
