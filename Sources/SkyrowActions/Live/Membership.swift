import SkyrowModel
import SkyrowQuery

/// Which records match the predicates of groups, for changes that come without the record before.
///
/// Of each record that matches any predicate it holds what access is judged by. Records are distinguished by 64 bits of a hash.
struct Membership {
    /// What is kept of a record: nothing of its fields but those that rules of access name.
    final class Member: Sendable {
        let record: StoredRecord

        init(_ record: StoredRecord, naming fields: [FieldName]) {
            var kept = StoredRecord(type: record.type, storedID: "", database: record.database)
            kept.owner = record.owner
            kept.access = record.access
            for field in fields { kept.fields[field] = record.fields[field] }
            self.record = kept
        }
    }

    private struct Entry {
        var member: Member
        var groups: Set<SubscriptionIndex.Group>
    }

    private var entries: [Int: Entry] = [:]
    /// The keys of the records of each group.
    private var keys: [SubscriptionIndex.Group: Set<Int>] = [:]

    /// How many records of a group there are.
    func count(of group: SubscriptionIndex.Group) -> Int { keys[group]?.count ?? 0 }

    typealias Found = (record: StoredRecord, groups: Set<SubscriptionIndex.Group>)

    /// The record as it was, and the groups whose predicates it matched; nil where it matched none.
    func member(_ type: RecordTypeName, _ storedID: String) -> Found? {
        entries[Self.key(type, storedID)].map { ($0.member.record, $0.groups) }
    }

    /// Puts a record into a group.
    ///
    /// - Parameter isChange: whether the record was changed into this form. Otherwise it was read, perhaps before the
    ///   change arrives, and what is known of it stays.
    mutating func insert(
        _ record: StoredRecord,
        naming fields: [FieldName],
        into group: SubscriptionIndex.Group,
        isChange: Bool
    ) {
        let key = Self.key(record.type, record.storedID)
        if isChange || entries[key] == nil {
            let member = Member(record, naming: fields)
            entries[key, default: Entry(member: member, groups: [])].member = member
        }
        entries[key]?.groups.insert(group)
        keys[group, default: []].insert(key)
    }

    mutating func remove(_ type: RecordTypeName, _ storedID: String, from group: SubscriptionIndex.Group) {
        remove(Self.key(type, storedID), from: group)
        keys[group]?.remove(Self.key(type, storedID))
    }

    /// Forgets a group.
    mutating func removeAll(of group: SubscriptionIndex.Group) {
        for key in keys.removeValue(forKey: group) ?? [] { remove(key, from: group) }
    }

    private mutating func remove(_ key: Int, from group: SubscriptionIndex.Group) {
        entries[key]?.groups.remove(group)
        if entries[key]?.groups.isEmpty == true { entries[key] = nil }
    }

    private static func key(_ type: RecordTypeName, _ storedID: String) -> Int {
        var hasher = Hasher()
        hasher.combine(type)
        // By its bytes, as PostgreSQL compares ids.
        for byte in storedID.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}
