import SkyrowModel
import SkyrowStore

/// What has changed while the members of groups are read: each transaction once, however many groups it is kept for.
struct MembersLoading {
    /// The number of a reading.
    ///
    /// Members that were forgotten meanwhile are read anew, and then the earlier reading counts no more.
    typealias Reading = Int

    private struct Entry {
        let transaction: CommittedTransaction
        /// What it has of the types that are read.
        let changes: Int
        let bytes: Int
    }

    private struct Begun {
        let reading: Reading
        /// How many transactions there were before it.
        let from: Int
        let type: RecordTypeName
    }

    private var readings: [SubscriptionIndex.Group: Begun] = [:]
    private var lastReading = 0
    /// How many have ended, in any way.
    private(set) var ended = 0
    /// How many readings each type has.
    private var types: [RecordTypeName: Int] = [:]
    private var entries: [Entry] = []
    /// How many there were before the first of them.
    private var dropped = 0
    private var changes = 0
    private var bytes = 0

    /// How many changes are kept; when more have come, all members that are being read are read anew.
    static let maximumChanges = 10_000
    /// Likewise of the bytes of their values.
    static let maximumBytes = 16 << 20

    /// The members of a group are being read from here on.
    mutating func begin(_ group: SubscriptionIndex.Group, of type: RecordTypeName) -> Reading {
        lastReading += 1
        readings[group] = Begun(reading: lastReading, from: dropped + entries.count, type: type)
        types[type, default: 0] += 1
        return lastReading
    }

    func contains(_ group: SubscriptionIndex.Group) -> Bool { readings[group] != nil }

    /// The members of a group are not wanted any more.
    mutating func cancel(_ group: SubscriptionIndex.Group) {
        guard let type = readings.removeValue(forKey: group)?.type else { return }
        ended += 1
        types[type, default: 1] -= 1
        if types[type] == 0 { types[type] = nil }
        let needed = readings.values.map(\.from).min() ?? dropped + entries.count
        // Moving the rest is worth while where that is the smaller part.
        guard needed - dropped > entries.count / 2 else { return }
        drop(needed - dropped)
    }

    /// What has changed since a reading began; nothing for one that counts no more.
    func changes(since reading: Reading, of group: SubscriptionIndex.Group) -> [CommittedTransaction] {
        guard let begun = readings[group], begun.reading == reading else { return [] }
        return entries[(begun.from - dropped)...].map(\.transaction)
    }

    /// What has changed since a reading began, which ends; nil for one that counts no more.
    mutating func finish(_ group: SubscriptionIndex.Group, _ reading: Reading) -> [CommittedTransaction]? {
        guard readings[group]?.reading == reading else { return nil }
        defer { cancel(group) }
        return changes(since: reading, of: group)
    }

    /// Keeps a transaction; returns the groups whose members have to be read anew since too much has changed.
    mutating func note(_ transaction: CommittedTransaction) -> [SubscriptionIndex.Group] {
        guard !readings.isEmpty else { return [] }
        let concerned = transaction.changes.filter { types[$0.table.name] != nil }
        guard !concerned.isEmpty else { return [] }
        let entry = Entry(
            transaction: transaction,
            changes: concerned.count,
            bytes: concerned.reduce(0) { $0 + ($1.after?.valueBytes ?? 0) + ($1.old?.valueBytes ?? 0) }
        )
        changes += entry.changes
        bytes += entry.bytes
        entries.append(entry)
        guard changes > Self.maximumChanges || bytes > Self.maximumBytes else { return [] }
        defer {
            ended += readings.count
            readings = [:]
            types = [:]
        }
        drop(entries.count)
        return Array(readings.keys)
    }

    private mutating func drop(_ count: Int) {
        for entry in entries.prefix(count) {
            changes -= entry.changes
            bytes -= entry.bytes
        }
        entries.removeFirst(count)
        dropped += count
    }
}
