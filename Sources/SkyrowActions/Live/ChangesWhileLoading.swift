import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// What has changed while the records at the beginning of subscriptions are read, where changes come without the records before.
///
/// A page may show a record as it was for a moment that no question for changes has met: it matches in the page, and neither
/// before nor after. When the later change comes before the page is sent, nothing else says that the page is out of date.
struct ChangesWhileLoading {
    /// The last change of a record.
    struct Entry {
        /// Its place among all changes.
        let number: Int
        /// nil for a record that is gone.
        let after: StoredRecord?
        /// The moment at which the record was as it is after the change; nil where that is not known.
        let readAt: ChangeMoment?
    }

    private var loading: [RecordTypeName: Set<LiveRegistry.Subscriber>] = [:]
    private var entries: [RecordTypeName: (records: [TextKey: Entry], bytes: Int)] = [:]
    private var lastNumber = 0

    /// How many records of a type are kept; when more have changed, their subscriptions read the records once more.
    static let maximumRecords = 10_000
    /// Likewise of the bytes of their values.
    static let maximumBytes = 16 << 20

    /// A subscription reads the records of its beginning.
    mutating func begin(_ subscriber: LiveRegistry.Subscriber, of type: RecordTypeName) {
        loading[type, default: []].insert(subscriber)
    }

    /// It reads them no more.
    mutating func end(_ subscriber: LiveRegistry.Subscriber, of type: RecordTypeName) {
        guard loading[type]?.remove(subscriber) != nil, loading[type]?.isEmpty == true else { return }
        loading[type] = nil
        entries[type] = nil
    }

    /// Keeps what a transaction has changed; returns the subscriptions that have to read the records once more.
    mutating func note(_ transaction: CommittedTransaction) -> Set<LiveRegistry.Subscriber> {
        guard !loading.isEmpty else { return [] }
        var overflown: Set<LiveRegistry.Subscriber> = []
        for change in transaction.changes where transaction.readAt != nil || change.lacksBefore {
            let type = change.table.name
            guard let subscribers = loading[type] else { continue }
            lastNumber += 1
            let entry = Entry(number: lastNumber, after: change.after, readAt: transaction.readAt)
            entries[type, default: ([:], 0)].records[TextKey(change.storedID)] = entry
            // Of a record that changes again, both forms count: the bound is one of the work as well.
            entries[type]?.bytes += change.after?.valueBytes ?? 0
            guard let kept = entries[type], kept.records.count > Self.maximumRecords || kept.bytes > Self.maximumBytes
            else { continue }
            entries[type] = nil
            overflown.formUnion(subscribers)
        }
        return overflown
    }

    /// Forgets the changes: all subscriptions read their records anew.
    mutating func removeAll() {
        entries = [:]
    }

    /// Whether anything of a type has changed.
    func hasChanges(of type: RecordTypeName) -> Bool { entries[type] != nil }

    /// The last change of a record, by its stored id; nil where none has come.
    func last(of storedID: String, _ type: RecordTypeName) -> Entry? {
        entries[type]?.records[TextKey(storedID)]
    }
}

/// Whether the predicate of a subscription is true of records after changes, by the numbers of these.
typealias PageVerdicts = [Int: Bool]

extension LiveRegistry {
    /// What is known of a record in a page of a beginning.
    enum PageRecord {
        /// It is as the page has it, or as an event will say.
        case present
        /// It has left the results since, or is out of sight.
        case gone
        /// The records have to be read once more.
        case unknown
    }

    /// The last changes of some records of a page whose verdicts are not known.
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

    /// Judges a record of a page by the changes that have come while it was on its way.
    func judge(_ record: StoredRecord, for number: Subscriber, _ verdicts: PageVerdicts) -> PageRecord {
        guard let subscriber = subscribers[number]?.value, let group = groups[subscriber.group]?.value,
            let last = whileLoading.last(of: record.storedID, group.type)
        else { return .present }
        if let after = last.after {
            // It changes faster than it is judged.
            guard let matches = verdicts[last.number] else { return .unknown }
            // PostgreSQL has asked for relations of users where the page has the record as the change left it; else an event says what
            // comes of them.
            let isSame = record.revision != nil && record.revision == after.revision
            if matches, subscriber.audience.key.read.admits(after, isRelated: { _, _ in isSame }) { return .present }
        }
        guard let moment = last.readAt else { return .unknown }
        // The page is newer than the change where its transaction was not visible yet.
        return record.revision.map { moment.transactions.contains($0) } ?? true ? .gone : .present
    }
}

extension StoredRecord {
    /// The bytes of its long values, more or less.
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
