import SkyrowModel
import SkyrowQuery
import SkyrowStore

/// The records that match the predicates of groups, for changes that lack the record before.
///
/// For each record that matches any predicate it holds what access checks need. Records are identified by a 64-bit hash.
struct Membership {
    /// What is kept of a record: only the fields that access rules name, and digests of all values if fields of the type are
    /// hidden from some readers.
    final class Member: Sendable {
        let record: StoredRecord
        /// Hashes of the values, in the order of the columns of ``table``; nil for an unknown value.
        private let digests: [Int?]
        /// nil if no field of the type is hidden.
        private let table: RecordTable?

        /// - Parameter known: the fields whose values the record has; nil for all.
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

        /// Returns the fields whose values differ in another version of the record, as far as they are known here; nil if nothing
        /// is.
        func changedFields(in record: StoredRecord, of other: RecordTable) -> Set<FieldName>? {
            guard let table else { return nil }
            var changed: Set<FieldName> = []
            for column in other.columns {
                // A field that the table lacked had no value.
                let known = table.position(of: column.field).map { digests[$0] } ?? Optional<StoredValue>.none.hashValue
                guard let digest = known else { continue }
                if digest != record.fields[column.field].hashValue { changed.insert(column.field) }
            }
            return changed
        }

        /// Returns whether a change read at a snapshot is older than this version, so that another change follows that leads to
        /// this version or a later one.
        func isNewer(than moment: ChangeMoment?) -> Bool {
            guard let moment, let revision = record.revision else { return false }
            return !moment.transactions.contains(revision)
        }
    }

    /// A version of a record that clients of a group may hold.
    struct Form {
        fileprivate let group: SubscriptionIndex.Group
        fileprivate let member: Member
        /// The audience to which a page showed it, when it lacks fields that access checks need; nil for a version that has them
        /// all.
        fileprivate let audience: LiveAudience?

        var record: StoredRecord { member.record }

        /// Returns the fields whose values differ in a record, as far as this version has them; nil if that is unknown.
        func changedFields(in record: StoredRecord, of table: RecordTable) -> Set<FieldName>? {
            member.changedFields(in: record, of: table)
        }

        /// Returns whether an audience may read it.
        func isSeen(by reader: LiveAudience, isRelated: (UserID, ResolvedUserRelation) -> Bool) -> Bool {
            audience.map { $0 === reader } ?? reader.key.read.admits(record, isRelated: isRelated)
        }
    }

    /// What is known of a record.
    struct Known {
        fileprivate var member: Member
        /// The groups that hold this version.
        fileprivate var groups: Set<SubscriptionIndex.Group>
        /// Other versions as read, possibly newer than the next change.
        fileprivate var others: [Form] = []

        fileprivate var isEmpty: Bool { groups.isEmpty && others.isEmpty }

        /// The groups whose predicates it matched.
        var allGroups: Set<SubscriptionIndex.Group> { groups.union(others.lazy.map(\.group)) }

        /// Its versions in all groups.
        var records: [StoredRecord] { (groups.isEmpty ? [] : [member.record]) + others.map(\.record) }

        /// Returns its versions in a group; empty if it did not match.
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

    /// Upper bound on the versions of a record in addition to the first one.
    static let maximumForms = 64

    /// Returns the number of records of a group.
    func count(of group: SubscriptionIndex.Group) -> Int { keys[group]?.count ?? 0 }

    /// Returns what is known of a record; nil if it matched no predicate.
    func known(_ type: RecordTypeName, _ storedID: String) -> Known? { entries[Self.key(type, storedID)] }

    /// Adds a record to a group, as read.
    ///
    /// - Parameters:
    ///   - table: the table of its type; nil for one without rules.
    ///   - known: the fields whose values the record has; nil for all.
    ///   - audience: the audience that it is shown to when it lacks fields that access checks need; nil if it has them all.
    /// - Returns: false when too many versions of it are known.
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

    /// Applies a change of a record to a group.
    ///
    /// - Parameters:
    ///   - record: the record after the change if it matches; nil otherwise.
    ///   - moment: the snapshot in which the record was read after the change; nil if changes arrive in order.
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
