import SkyrowModel
import SkyrowStore

/// The changes that arrive while members of groups are read: each transaction is stored once for all groups.
struct MembersLoading {
    /// The number of a read.
    ///
    /// When members are forgotten and read again, the earlier read is no longer current.
    typealias Reading = Int

    private struct Entry {
        let transaction: CommittedTransaction
        /// The number of its changes to the types being read.
        let changes: Int
        let bytes: Int
    }

    private struct Begun {
        let reading: Reading
        /// The number of transactions before it.
        let from: Int
        let type: RecordTypeName
    }

    private var readings: [SubscriptionIndex.Group: Begun] = [:]
    private var lastReading = 0
    /// How many reads have ended, in any way.
    private(set) var ended = 0
    /// The number of reads by type.
    private var types: [RecordTypeName: Int] = [:]
    private var entries: [Entry] = []
    /// How many transactions before the first entry were dropped.
    private var dropped = 0
    private var changes = 0
    private var bytes = 0

    /// Upper bound on kept changes; beyond it, all members that are being read are read again.
    static let maximumChanges = 10_000
    /// Upper bound on the bytes of their values.
    static let maximumBytes = 16 << 20

    /// Registers the start of a read of a group's members.
    mutating func begin(_ group: SubscriptionIndex.Group, of type: RecordTypeName) -> Reading {
        lastReading += 1
        readings[group] = Begun(reading: lastReading, from: dropped + entries.count, type: type)
        types[type, default: 0] += 1
        return lastReading
    }

    func contains(_ group: SubscriptionIndex.Group) -> Bool { readings[group] != nil }

    /// Cancels the read of a group's members.
    mutating func cancel(_ group: SubscriptionIndex.Group) {
        guard let type = readings.removeValue(forKey: group)?.type else { return }
        ended += 1
        types[type, default: 1] -= 1
        if types[type] == 0 { types[type] = nil }
        let needed = readings.values.map(\.from).min() ?? dropped + entries.count
        // Moving the rest is worthwhile when it is the smaller part.
        guard needed - dropped > entries.count / 2 else { return }
        drop(needed - dropped)
    }

    /// Returns the transactions since a read began; empty if the read is no longer current.
    func changes(since reading: Reading, of group: SubscriptionIndex.Group) -> [CommittedTransaction] {
        guard let begun = readings[group], begun.reading == reading else { return [] }
        return entries[(begun.from - dropped)...].map(\.transaction)
    }

    /// Ends a read, and returns the transactions since it began; nil if it is no longer current.
    mutating func finish(_ group: SubscriptionIndex.Group, _ reading: Reading) -> [CommittedTransaction]? {
        guard readings[group]?.reading == reading else { return nil }
        defer { cancel(group) }
        return changes(since: reading, of: group)
    }

    /// Adds a transaction; returns the groups whose members have to be read again because too much has changed.
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
