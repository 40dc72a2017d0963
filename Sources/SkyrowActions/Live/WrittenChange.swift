import SkyrowModel
import SkyrowStore

/// The encodings of one change: each form once, for all receivers.
struct WrittenChange {
    private struct PreviousKey: Hashable {
        let encoding: ObjectIdentifier
        let fields: PreviousFields
    }

    /// What the text of an event depends on.
    struct EventKey: Hashable {
        let subscription: String
        let kind: LiveEventKind
        let encoding: ObjectIdentifier
        let previous: PreviousFields?
    }

    /// The total bytes of all encoded records and old values.
    private(set) var byteCount = 0
    private var records: [ObjectIdentifier: [UInt8]] = [:]
    private var previous: [PreviousKey: [UInt8]?] = [:]
    private var changed: Set<FieldName>?
    /// The indexes of the events in the transaction's list: many clients give their subscriptions the same name.
    private var places: [EventKey: Int] = [:]
    /// The last event used, which mostly is the next subscription's, too.
    private var last: (key: EventKey, place: Int)?

    /// Returns the index of an event in the transaction's list; nil without one.
    ///
    /// - Parameter write: writes the event at its first use.
    mutating func place(of key: EventKey, write: (inout WrittenChange) -> Int?) -> Int? {
        if let last, last.key == key { return last.place }
        guard let place = places[key] ?? write(&self) else { return nil }
        places[key] = place
        last = (key, place)
        return place
    }

    mutating func changedFields(_ change: RecordChange) -> Set<FieldName> {
        if let changed { return changed }
        let fields = change.changedFields
        changed = fields
        return fields
    }

    /// Returns the record after the change; nil if it is deleted.
    mutating func record(_ change: RecordChange, _ encoding: RecordEncoding) -> [UInt8]? {
        if let known = records[ObjectIdentifier(encoding)] { return known }
        let bytes = encoding.record(change)
        records[ObjectIdentifier(encoding)] = bytes
        byteCount += bytes?.count ?? 0
        return bytes
    }

    /// Returns the old values of changed fields; nil if there are none, or the record before is unknown.
    mutating func previous(_ change: RecordChange, _ encoding: RecordEncoding, _ fields: PreviousFields) -> [UInt8]? {
        guard change.old != nil, let asked = fields.among(changedFields(change)) else { return nil }
        let key = PreviousKey(encoding: ObjectIdentifier(encoding), fields: fields)
        if let known = previous[key] { return known }
        let bytes = encoding.previous(change, of: asked)
        previous[key] = .some(bytes)
        byteCount += bytes?.count ?? 0
        return bytes
    }
}
