import SkyrowModel
import SkyrowPostgres
import SkyrowProtocol
import SkyrowQuery
import SkyrowTestSupport

@testable import SkyrowActions
@testable import SkyrowStore

struct ModelRow {
    let revision: Int64
    let group: Int64
}

/// Transactions that overlap: a record is written by one at a time, and a commit is in the log before others see it.
struct ModelDatabase {
    var ids = ["1", "2", "3", "4"]
    var logsBefore = false
    private(set) var rows: [String: ModelRow] = [:]
    /// The revisions of the last deletions.
    private var graves: [String: Int64] = [:]
    private var lastID: Int64 = 100
    /// What transactions have written: the value of `grp`, nil for a deletion.
    private var running: [Int64: [String: Int64?]] = [:]
    private var logged: [(transaction: CommittedTransaction, id: Int64, writes: [String: Int64?])] = []
    private(set) var position: UInt64 = 1000
    /// What the stream has sent, in the order of the log, with the transaction it is of.
    var streamed: [(transaction: CommittedTransaction, id: Int64)] = []

    var isIdle: Bool { running.isEmpty && logged.isEmpty }

    var moment: ChangeMoment {
        let open = (running.keys + logged.map(\.id)).sorted()
        return ChangeMoment(
            snapshot: TransactionSnapshot(xmin: open.first ?? lastID + 1, xmax: lastID + 1, running: open),
            transactions: TransactionSet(end: lastID + 1, missing: open),
            place: HistoryPlace(branch: 7, start: 1, position: 0),
            takenAt: 0,
            walPosition: position
        )
    }

    var snapshot: ModelSnapshot { ModelSnapshot(moment: moment, rows: rows, graves: graves) }

    mutating func begin() {
        guard running.count < 3 else { return }
        lastID += 1
        running[lastID] = [:]
    }

    mutating func write(_ random: inout SeededGenerator) {
        if let id = running.keys.sorted().randomElement(using: &random) { write(in: id, &random) }
    }

    /// A transaction of one write.
    mutating func writeAlone(_ random: inout SeededGenerator) {
        lastID += 1
        running[lastID] = [:]
        write(in: lastID, &random)
        log(lastID)
        end(at: logged.count - 1)
    }

    private mutating func write(in id: Int64, _ random: inout SeededGenerator) {
        guard let record = ids.randomElement(using: &random) else { return }
        let isLocked =
            running.contains { $0.key != id && $0.value.keys.contains(record) }
            || logged.contains { $0.writes.keys.contains(record) }
        let group: Int64? = [1, 1, 2, nil].randomElement(using: &random) ?? nil
        guard !isLocked, group != nil || rows[record] != nil else { return }
        running[id]?[record] = .some(group)
    }

    /// Writes the commit of a transaction into the log, or takes it back.
    mutating func log(_ random: inout SeededGenerator) {
        guard let id = running.keys.sorted().randomElement(using: &random) else { return }
        if Int.random(in: 0..<8, using: &random) > 0 { log(id) } else { running[id] = nil }
    }

    private mutating func log(_ id: Int64) {
        guard let writes = running.removeValue(forKey: id) else { return }
        position += 10
        let changes = writes.sorted { $0.key < $1.key }.compactMap { record, group -> RecordChange? in
            let old = rows[record].map { StoredRecord.note(record, $0.group, $0.revision) }
            guard old != nil || group != nil else { return nil }
            let before: RecordChange.Before = old.map { logsBefore ? .row($0) : .unknown(mayBeNew: false) } ?? .missing
            return RecordChange(note: record, before, to: group, revision: id)
        }
        let transaction = CommittedTransaction(
            id: .truncated(UInt32(truncatingIfNeeded: id)),
            end: position,
            changes: changes
        )
        logged.append((transaction, id, writes))
        streamed.append((transaction, id))
    }

    /// Has others see a transaction that is in the log.
    mutating func end(_ random: inout SeededGenerator) {
        if let place = logged.indices.randomElement(using: &random) { end(at: place) }
    }

    private mutating func end(at place: Int) {
        let (_, id, writes) = logged.remove(at: place)
        for (record, group) in writes {
            if let group {
                rows[record] = ModelRow(revision: id, group: group)
            } else if rows.removeValue(forKey: record) != nil {
                graves[record] = id
            }
        }
    }

    /// The next transaction of the stream, which waits until others see it.
    mutating func nextStreamed() -> CommittedTransaction? {
        guard let first = streamed.first, !logged.contains(where: { $0.id == first.id }) else { return nil }
        return streamed.removeFirst().transaction
    }
}

/// What is to be seen at a moment.
struct ModelSnapshot {
    let moment: ChangeMoment
    let rows: [String: ModelRow]
    let graves: [String: Int64]

    var records: [StoredRecord] { rows.map { .note($0.key, $0.value.group, $0.value.revision) } }

    /// As `PollingChangeSource` reads them.
    func changes(since seen: ChangeMoment, _ random: inout SeededGenerator) -> [CommittedTransaction] {
        var parts: [Int64: [RecordChange]] = [:]
        for (id, row) in rows where !seen.transactions.contains(row.revision) {
            let wasDeleted = graves[id].map { !seen.transactions.contains($0) } ?? false
            if wasDeleted { parts[row.revision, default: []].append(RecordChange(deleting: id, of: LiveScene.table)) }
            let before: RecordChange.Before =
                wasDeleted ? .missing : .unknown(mayBeNew: Bool.random(using: &random))
            parts[row.revision, default: []].append(
                RecordChange(note: id, before, to: row.group, revision: row.revision)
            )
        }
        for (id, revision) in graves where rows[id] == nil && !seen.transactions.contains(revision) {
            parts[revision, default: []].append(RecordChange(deleting: id, of: LiveScene.table))
        }
        return parts.sorted { $0.key < $1.key }.map { revision, changes in
            CommittedTransaction(id: .revision(revision), changes: changes, readAt: moment)
        }
    }

    /// Some records of a group, by their ids: all that match, or all that have changed since; and the id of the last one where more follow.
    func page(
        of group: SubscriptionGroup,
        since: TransactionSet?,
        after last: String,
        count: Int
    ) throws -> (page: ChangesResult, last: String?) {
        var page = ChangesResult()
        for id in Set(rows.keys).union(graves.keys).sorted() where id > last {
            let row = rows[id]
            guard let revision = row?.revision ?? graves[id], !(since?.contains(revision) ?? false) else { continue }
            if let row, group.matches(.note(id, row.group, revision)) {
                page.changed.append(try Record(note: id, row))
            } else if since != nil {
                page.removed.append("note/\(id)")
            }
            if page.changed.count + page.removed.count == count { return (page, id) }
        }
        return (page, nil)
    }
}

extension StoredRecord {
    static func note(_ id: String, _ group: Int64, _ revision: Int64) -> StoredRecord {
        var record = StoredRecord(
            type: LiveScene.table.name,
            storedID: id,
            fields: [field("grp"): .scalar(.integer(group))]
        )
        record.revision = revision
        return record
    }
}

extension Record {
    fileprivate init(note id: String, _ row: ModelRow) throws {
        self.init(id: try RecordID(type: LiveScene.table.name, id: id), fields: [field("grp"): .integer(row.group)])
        revision = row.revision
    }
}

extension RecordChange {
    /// A change with the rows that events are written of.
    convenience init(note id: String, _ before: Before, to group: Int64?, revision: Int64) {
        var groups: [Int64] = group.map { [$0] } ?? []
        if case .row(let record) = before, case .scalar(.integer(let old))? = record.fields[field("grp")] {
            groups.append(old)
        }
        let plan = LiveScene.table.wholeRow.plan
        let values = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 * groups.count + id.utf8.count, alignment: 8)
        defer { values.deallocate() }
        values.copyBytes(from: groups.flatMap { group in withUnsafeBytes(of: group.bigEndian) { Array($0) } } + id.utf8)
        let rows = PostgresResult(rowCount: groups.count, of: LiveScene.table.rowLayout) { row, column in
            if column == plan.idColumn { return UnsafeRawBufferPointer(rebasing: values[(8 * groups.count)...]) }
            guard plan.members.contains(where: { $0.column == column && $0.key.name == "grp" }) else { return nil }
            return UnsafeRawBufferPointer(rebasing: values[(8 * row)..<(8 * row + 8)])
        }
        self.init(
            of: LiveScene.table,
            storedID: id,
            before: before,
            after: group.map { .note(id, $0, revision) },
            rows: rows
        )
    }
}
