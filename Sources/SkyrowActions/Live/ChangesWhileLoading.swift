import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// The changes that arrive while subscriptions load their records, from a source that lacks the record before a change.
///
/// A page may show a version of a record that no poll for changes sees: it matches in the page, but neither before nor after.
/// When the later change arrives before the page is sent, nothing else shows that the page is out of date.
struct ChangesWhileLoading {
    /// The last change of a record.
    struct Entry {
        /// The sequence number of the change.
        let number: Int
        /// nil for a deleted record.
        let after: StoredRecord?
        /// The snapshot in which the record was read after the change; nil when unknown.
        let readAt: ChangeMoment?
    }

    private var loading: [RecordTypeName: Set<LiveRegistry.Subscriber>] = [:]
    private var entries: [RecordTypeName: (records: [TextKey: Entry], bytes: Int)] = [:]
    private var lastNumber = 0

    /// Upper bound on kept records of a type; beyond it, the subscriptions of the type load again.
    static let maximumRecords = 10_000
    /// Upper bound on the bytes of their values.
    static let maximumBytes = 16 << 20

    /// Registers a subscription that starts to load its records.
    mutating func begin(_ subscriber: LiveRegistry.Subscriber, of type: RecordTypeName) {
        loading[type, default: []].insert(subscriber)
    }

    /// Unregisters a subscription that loads no longer.
    mutating func end(_ subscriber: LiveRegistry.Subscriber, of type: RecordTypeName) {
        guard loading[type]?.remove(subscriber) != nil, loading[type]?.isEmpty == true else { return }
        loading[type] = nil
        entries[type] = nil
    }

    /// Records the changes of a transaction; returns the subscriptions that have to load again.
    mutating func note(_ transaction: CommittedTransaction) -> Set<LiveRegistry.Subscriber> {
        guard !loading.isEmpty else { return [] }
        var overflown: Set<LiveRegistry.Subscriber> = []
        for change in transaction.changes where transaction.readAt != nil || change.lacksBefore {
            let type = change.table.name
            guard let subscribers = loading[type] else { continue }
            lastNumber += 1
            let entry = Entry(number: lastNumber, after: change.after, readAt: transaction.readAt)
            entries[type, default: ([:], 0)].records[TextKey(change.storedID)] = entry
            // Every version of a record counts, also a replaced one: the bound limits the work as well.
            entries[type]?.bytes += change.after?.valueBytes ?? 0
            guard let kept = entries[type], kept.records.count > Self.maximumRecords || kept.bytes > Self.maximumBytes
            else { continue }
            entries[type] = nil
            overflown.formUnion(subscribers)
        }
        return overflown
    }

    /// Forgets all changes, since every subscription loads again.
    mutating func removeAll() {
        entries = [:]
    }

    func hasChanges(of type: RecordTypeName) -> Bool { entries[type] != nil }

    /// Returns the last change of a record, by its stored id; nil without one.
    func last(of storedID: String, _ type: RecordTypeName) -> Entry? {
        entries[type]?.records[TextKey(storedID)]
    }
}

/// Whether a subscription's predicate matches records after their changes, by the sequence numbers of the changes.
typealias PageVerdicts = [Int: Bool]

extension LiveRegistry {
    /// The state of a record in a page of a load.
    enum PageRecord {
        /// The page is right about it, or a later event corrects it.
        case present
        /// It has left the results since, or is hidden from the caller.
        case gone
        /// The records have to be loaded again.
        case unknown
    }

    /// Returns the last changes of a page's records for which there is no verdict yet.
    func unjudged(
        _ records: [StoredRecord],
        for number: Subscriber,
        _ verdicts: PageVerdicts
    ) -> [ChangesWhileLoading.Entry] {
        guard let type = group(of: number)?.group.type else { return [] }
        return records.compactMap { record in
            whileLoading.last(of: record.storedID, type).flatMap { last in
                last.after == nil || verdicts[last.number] != nil ? nil : last
            }
        }
    }

    /// Judges a record of a page by the changes that arrived after it was read.
    func judge(_ record: StoredRecord, for number: Subscriber, _ verdicts: PageVerdicts) -> PageRecord {
        guard let subscriber = subscribers[number]?.value, let group = groups[subscriber.group]?.value,
            let last = whileLoading.last(of: record.storedID, group.type)
        else { return .present }
        if let after = last.after {
            // The record changes faster than it is judged.
            guard let matches = verdicts[last.number] else { return .unknown }
            // PostgreSQL evaluated the relations of users when the page has the same version of the record; otherwise an event
            // follows that accounts for them.
            let isSame = record.revision != nil && record.revision == after.revision
            if matches, subscriber.audience.key.read.admits(after, isRelated: { _, _ in isSame }) { return .present }
        }
        guard let moment = last.readAt else { return .unknown }
        // The page is newer than the change when its transaction was not yet visible to the change's snapshot.
        return record.revision.map { moment.transactions.contains($0) } ?? true ? .gone : .present
    }
}

extension StoredRecord {
    /// An estimate of the bytes of its long values.
    var valueBytes: Int {
        fields.values.reduce(0) { sum, value in
            switch value {
            case .scalar(let literal): sum + literal.valueBytes
            case .array(let elements): elements.reduce(sum) { $0 + ($1?.valueBytes ?? 0) }
            case .json(let text): sum + text.utf8.count
            case .opaque: sum
            }
        }
    }
}

extension ResolvedLiteral {
    fileprivate var valueBytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .geometry, .location, .integer, .number, .decimal, .boolean, .datetime: 16
        }
    }
}
