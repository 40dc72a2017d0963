import SkyrowJSON
import SkyrowModel
import SkyrowProtocol
import SkyrowQuery
import SkyrowStore
import Synchronization

/// The encoding of changed records for readers who see and select the same fields.
///
/// A class, so that what was written of a change is found by its identity.
final class RecordEncoding: Sendable {
    /// What determines how a record is written.
    struct Key: Hashable, Sendable {
        fileprivate(set) var view: FieldView
        /// The fields to send; nil for all.
        let asked: Set<FieldName>?
        /// The reader, if the fields of a record depend on it. A dependency of the access list alone makes a second form of the
        /// record instead (``RecordEncoding/form(of:for:)``), which all readers share.
        let user: UserID?

        init(of table: RecordTable, for reader: FieldAccess, asked: Set<FieldName>?) {
            view = reader.isUnrestricted ? FieldView() : table.rules.view(for: reader)
            self.asked = asked
            user = view.partial.isEmpty ? nil : reader.user
        }
    }

    private struct Plan {
        let table: RecordTable
        let asked: Set<FieldName>?
        let hasReserved: Bool
        let plan: RowPlan
    }

    let key: Key
    private let reader: FieldAccess
    private let links: FileLinks?
    /// The same encoding with whole access lists, if some readers see the lists of some records.
    private let whole: RecordEncoding?
    /// The plans used last: of whole records, and of old values.
    private let plans = Mutex<[Plan]>([])

    /// - Parameter links: makes the addresses of files; all readers of a file have the same.
    init(_ key: Key, for reader: FieldAccess, _ links: FileLinks? = nil) {
        self.key = key
        self.reader = reader
        self.links = links
        if key.view.list.isAlways || key.view.list.isNever {
            whole = nil
        } else {
            var wholeKey = key
            wholeKey.view.list = .always
            whole = RecordEncoding(wholeKey, for: reader, links)
        }
    }

    /// Returns the encoding of a record for a reader: with the whole access list if the reader sees it.
    func form(of record: StoredRecord?, for reader: FieldAccess) -> RecordEncoding {
        // Most lists name no one, and are sent to everyone as they are.
        guard let whole, let record, record.access?.namesSomeone == true, seesList(of: record, reader) else {
            return self
        }
        return whole
    }

    private func seesList(of record: StoredRecord, _ reader: FieldAccess) -> Bool {
        if key.view.list.isAlways { return true }
        guard !key.view.list.isNever, case .audience(let audience) = reader, let user = audience.user else {
            return false
        }
        return record.database != .everyone
            || key.view.list.holds(
                isOwner: record.owner == user,
                isMember: { record.names(user, in: $0) },
                isListed: { record.access?.admits(audience, $0) ?? false }
            )
    }

    /// Returns the record after a change; nil if it is deleted.
    func record(_ change: RecordChange) -> [UInt8]? {
        change.source(plan(for: change.table, key.asked, hasReserved: true), for: reader).map { source in
            let writer = JSONWriter(capacity: 512)
            writer.links = links?.current
            writer.record(source)
            return writer.bytes
        }
    }

    /// Returns the old values of some fields, `{"status": "open", "due": null}`, as far as they are visible in the record before;
    /// nil if that is unknown.
    func previous(_ change: RecordChange, of fields: Set<FieldName>) -> [UInt8]? {
        guard let old = change.old else { return nil }
        let asked = fields.intersection(key.asked ?? fields)
        let plan = plan(for: change.table, asked, hasReserved: false)
        guard let source = change.oldSource(plan, for: reader) else { return nil }
        let writer = JSONWriter(capacity: 256)
        writer.links = links?.current
        writer.beginObject()
        source.emit(intoMembersOf: writer)
        for field in asked.sorted() where old.fields[field] == nil && sees(field, in: old) {
            writer.key(field.rawValue)
            writer.null()
        }
        writer.endObject()
        return writer.bytes
    }

    /// Returns whether the visible content of a record differs after a change, for a record that is visible before and after.
    ///
    /// Values that every write changes, such as the revision, are ignored: they would disclose that something hidden was written.
    ///
    /// - Parameters:
    ///   - fields: the fields that have another value; used if the record before is known.
    ///   - known: the visible versions before, if the change lacks the record before. Without either, the result is true.
    func shows(
        _ change: RecordChange,
        of fields: Set<FieldName>,
        since known: [Membership.Form],
        to reader: FieldAccess
    ) -> Bool {
        guard let new = change.after else { return true }
        if let old = change.old { return shows(new, of: fields, since: old, in: change.table, to: reader) }
        guard hidesFields, !known.isEmpty else { return true }
        return known.contains { form in
            form.changedFields(in: new, of: change.table).map {
                shows(new, of: $0, since: form.record, in: change.table, to: reader)
            } ?? true
        }
    }

    private var hidesFields: Bool { !key.view.hidden.isEmpty || !key.view.partial.isEmpty }

    private func shows(
        _ new: StoredRecord,
        of fields: Set<FieldName>,
        since old: StoredRecord,
        in table: RecordTable,
        to reader: FieldAccess
    ) -> Bool {
        if old.owner != new.owner { return true }
        if old.access != new.access {
            let isSeen = seesList(of: old, reader) || seesList(of: new, reader)
            if isSeen || old.access?.shownToAll != new.access?.shownToAll { return true }
        }
        guard hidesFields else { return !fields.isEmpty || old.access == new.access }
        if old.createdAt != new.createdAt || old.createdBy != new.createdBy { return true }
        if key.view.partial.keys.contains(where: { sees($0, in: old) != sees($0, in: new) }) { return true }
        guard fields.isEmpty else { return fields.contains { sees($0, in: old) && sees($0, in: new) } }
        // Members of a relation and values of unknown types are in no row, so a write of them shows by itself.
        let unsent = table.columns.filter(\.isBesideRows)
        return old.access == new.access && !unsent.isEmpty
            && unsent.allSatisfy { !key.view.hidden.contains($0.field) && key.view.partial[$0.field] == nil }
    }

    private func sees(_ field: FieldName, in record: StoredRecord) -> Bool {
        if key.view.hidden.contains(field) { return false }
        guard let reach = key.view.partial[field] else { return true }
        guard let user = key.user else { return false }
        return reach.holds(isOwner: record.owner == user) { record.names(user, in: $0) }
    }

    private func plan(for table: RecordTable, _ asked: Set<FieldName>?, hasReserved: Bool) -> RowPlan {
        plans.withLock { plans in
            let known = plans.first { $0.table === table && $0.asked == asked && $0.hasReserved == hasReserved }
            if let known { return known.plan }
            var view = key.view
            if whole != nil { view.list = .never }
            let plan = table.plan(view, asked: asked, hasReserved: hasReserved)
            if plans.count >= 8 { plans.removeFirst() }
            plans.append(Plan(table: table, asked: asked, hasReserved: hasReserved, plan: plan))
            return plan
        }
    }
}

extension RecordColumn {
    /// Whether a row shows only that there is a value.
    fileprivate var isBesideRows: Bool {
        switch type {
        case .relation, .unknown: true
        default: false
        }
    }
}

extension RecordSource {
    /// Writes the members of the record into an open object.
    fileprivate func emit(intoMembersOf writer: JSONWriter) {
        var sink = MembersSink(writer: RecordJSONWriter(writer))
        emit(into: &sink)
    }
}

/// Writes the members of a record without the braces around them.
private struct MembersSink: RecordSink {
    var writer: RecordJSONWriter

    mutating func beginRecord() {}
    mutating func member(_ key: BorrowedKey, _ value: BorrowedValue) { writer.member(key, value) }
    mutating func endRecord() {}
}
