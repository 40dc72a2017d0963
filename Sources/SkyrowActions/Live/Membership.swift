import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// Which records match the predicates of groups, for changes that come without the record before.
///
/// Of each record that matches any predicate it holds what access is judged by. Records are distinguished by 64 bits of a hash.
struct Membership {
    /// What is kept of a record: nothing of its fields but those that rules of access name, and what distinguishes their values
    /// where some of them are hidden from some readers.
    final class Member: Sendable {
        let record: StoredRecord
        /// Hashes of the values, in the order of the columns of ``table``; nil for one that is not known.
        private let digests: [Int?]
        /// nil where no field of the type is hidden.
        private let table: RecordTable?

        /// - Parameter known: the fields of which the record has the values; nil for all.
        init(_ record: StoredRecord, in table: RecordTable?, knowing known: Set<FieldName>? = nil) {
            var kept = StoredRecord(type: record.type, storedID: "", database: record.database)
            kept.owner = record.owner
            kept.access = record.access
            kept.revision = record.revision
            for field in table?.memberFields ?? [] { kept.fields[field] = record.fields[field] }
            guard let table, !table.rules.fields.isEmpty else {
                self.record = kept
                self.table = nil
                digests = []
                return
            }
            kept.createdAt = record.createdAt
            kept.createdBy = record.createdBy
            self.record = kept
            self.table = table
            digests = table.columns.map { column in
                known?.contains(column.field) ?? true ? record.fields[column.field].hashValue : nil
            }
        }

        /// The fields that have another value in another form of the record, as far as they are known of this one; nil where
        /// nothing is.
        func changedFields(in record: StoredRecord, of other: RecordTable) -> Set<FieldName>? {
            guard let table else { return nil }
            var changed: Set<FieldName> = []
            for column in other.columns {
                // A field that the table did not have had no value.
                let known = table.position(of: column.field).map { digests[$0] } ?? Optional<StoredValue>.none.hashValue
                guard let digest = known else { continue }
                if digest != record.fields[column.field].hashValue { changed.insert(column.field) }
            }
            return changed
        }

        /// Whether a change that was read at a moment is older than this form: another one comes that leads to this form, or beyond it.
        func isNewer(than moment: ChangeMoment?) -> Bool {
            guard let moment, let revision = record.revision else { return false }
            return !moment.transactions.contains(revision)
        }
    }

    /// A form of a record that clients of a group may hold.
    struct Form {
        fileprivate let group: SubscriptionIndex.Group
        fileprivate let member: Member
        /// Those to whom a page has shown it, without all that access is judged by; nil for a form that has all of it.
        fileprivate let audience: LiveAudience?

        var record: StoredRecord { member.record }

        /// The fields that have another value in a record, as far as this form has them; nil where that is not known.
        func changedFields(in record: StoredRecord, of table: RecordTable) -> Set<FieldName>? {
            member.changedFields(in: record, of: table)
        }

        /// Whether an audience may read it.
        func isSeen(by reader: LiveAudience, isRelated: (UserID, ResolvedUserRelation) -> Bool) -> Bool {
            audience.map { $0 === reader } ?? reader.key.read.admits(record, isRelated: isRelated)
        }
    }

    /// What is known of a record.
    struct Known {
        fileprivate var member: Member
        /// The groups that know it in that form.
        fileprivate var groups: Set<SubscriptionIndex.Group>
        /// Other forms: as it was read, perhaps after the moment of the next change.
        fileprivate var others: [Form] = []

        fileprivate var isEmpty: Bool { groups.isEmpty && others.isEmpty }

        /// The groups whose predicates it matched.
        var allGroups: Set<SubscriptionIndex.Group> { groups.union(others.lazy.map(\.group)) }

        /// Its forms, of all groups.
        var records: [StoredRecord] { (groups.isEmpty ? [] : [member.record]) + others.map(\.record) }

        /// Its forms of a group; none where it did not match.
        func forms(of group: SubscriptionIndex.Group) -> [Form] {
            (groups.contains(group) ? [Form(group: group, member: member, audience: nil)] : [])
                + others.lazy.filter { $0.group == group }
        }

        fileprivate func knows(_ group: SubscriptionIndex.Group, _ revision: Int64?, _ audience: LiveAudience?) -> Bool
        {
            forms(of: group).contains { form in
                form.record.revision == revision && (form.audience == nil || form.audience === audience)
            }
        }
    }

    private var entries: [Int: Known] = [:]
    /// The keys of the records of each group.
    private var keys: [SubscriptionIndex.Group: Set<Int>] = [:]

    /// How many forms of a record are known beside the first one.
    static let maximumForms = 64

    /// How many records of a group there are.
    func count(of group: SubscriptionIndex.Group) -> Int { keys[group]?.count ?? 0 }

    /// What is known of a record; nil where it matched no predicate.
    func known(_ type: RecordTypeName, _ storedID: String) -> Known? { entries[Self.key(type, storedID)] }

    /// Puts a record into a group, as it was read.
    ///
    /// - Parameters:
    ///   - table: of its type; nil for one without rules.
    ///   - known: the fields of which the record has the values; nil for all.
    ///   - audience: those to whom it is shown where it lacks something that access is judged by; nil where it has all of it.
    /// - Returns: false where too many forms of it are known.
    @discardableResult
    mutating func read(
        _ record: StoredRecord,
        in table: RecordTable?,
        knowing known: Set<FieldName>? = nil,
        for group: SubscriptionIndex.Group,
        by audience: LiveAudience? = nil
    ) -> Bool {
        let key = Self.key(record.type, record.storedID)
        let member = Member(record, in: table, knowing: known)
        var entry = entries.removeValue(forKey: key) ?? Known(member: member, groups: [])
        defer { if !entry.isEmpty { entries[key] = entry } }
        if !entry.knows(group, record.revision, audience) {
            if !entry.groups.isEmpty, entry.member.record.revision == record.revision {
                entry.groups.insert(group)
            } else if audience == nil, entry.isEmpty {
                entry.groups.insert(group)
            } else {
                guard entry.others.count < Self.maximumForms else { return false }
                entry.others.append(Form(group: group, member: member, audience: audience))
            }
        }
        keys[group, default: []].insert(key)
        return true
    }

    /// Takes a change of a record for a group.
    ///
    /// - Parameters:
    ///   - record: what it matches after the change; nil where it does not.
    ///   - moment: the moment at which the record was as it is after the change; nil where each change comes in its order.
    mutating func change(
        _ type: RecordTypeName,
        _ storedID: String,
        to record: StoredRecord?,
        in table: RecordTable?,
        for group: SubscriptionIndex.Group,
        at moment: ChangeMoment?
    ) {
        let key = Self.key(type, storedID)
        let member = record.map { Member($0, in: table) }
        guard var known = entries.removeValue(forKey: key) ?? member.map({ Known(member: $0, groups: []) }) else {
            return
        }
        known.others.removeAll { $0.group == group && !$0.member.isNewer(than: moment) }
        if !known.groups.isEmpty, known.member.isNewer(than: moment) {
            if let member { known.others.append(Form(group: group, member: member, audience: nil)) }
        } else if let member {
            known.member = member
            known.groups.insert(group)
        } else {
            known.groups.remove(group)
        }
        if !known.forms(of: group).isEmpty {
            keys[group, default: []].insert(key)
        } else {
            keys[group]?.remove(key)
        }
        if !known.isEmpty { entries[key] = known }
    }

    /// Forgets a group.
    mutating func removeAll(of group: SubscriptionIndex.Group) {
        for key in keys.removeValue(forKey: group) ?? [] {
            entries[key]?.groups.remove(group)
            entries[key]?.others.removeAll { $0.group == group }
            if entries[key]?.isEmpty == true { entries[key] = nil }
        }
    }

    private static func key(_ type: RecordTypeName, _ storedID: String) -> Int {
        var hasher = Hasher()
        hasher.combine(type)
        // By its bytes, as PostgreSQL compares ids.
        for byte in storedID.utf8 { hasher.combine(byte) }
        return hasher.finalize()
    }
}
